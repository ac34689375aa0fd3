"""Each tool in its own form, and nothing of any input left out of it."""

from __future__ import annotations

from typing import Any

import pytest

from tapgate.telegram.content import summary_of
from tests.agents.forms import TOOL_INPUTS
from tests.builders import make_request

from .cards import SETTING, content_of, whole_of


def content(tool: str, **fields: Any) -> tuple[str, str, tuple[str, ...]]:
    found = content_of(make_request(tool=tool, tool_input=fields))
    return found.head, found.body, found.asides


def test_a_command_with_what_it_may_carry() -> None:
    assert content("Bash", command="make", description="Build", timeout=120000, run_in_background=True) == (
        "",
        "make",
        ("runs in the background · stops after 120 s",),
    )
    assert content("Bash", command="make", run_in_background=False) == ("", "make", ())


@pytest.mark.parametrize(
    ("timeout", "aside"),
    [
        ("5; id", "timeout: 5; id"),
        (True, "timeout: true"),
        (None, "timeout: null"),
        ([1], "timeout: [1]"),
        ({"a": "b"}, 'timeout: {"a": "b"}'),
        (10**400, f"timeout: {10**400}"),
        (-1, "timeout: -1"),
        (0, "timeout: 0"),
    ],
    ids=["text", "flag", "null", "list", "object", "huge", "negative", "zero"],
)
def test_a_timeout_that_makes_no_sense_is_shown_as_it_is(timeout: object, aside: str) -> None:
    assert content("Bash", command="make", timeout=timeout)[2] == (aside,)


@pytest.mark.parametrize("flag", ["yes", 1, None, {"x": "y"}])
def test_a_flag_that_is_no_flag_is_shown_as_it_is(flag: object) -> None:
    assert content("Bash", command="make", run_in_background=flag)[2][0].startswith("run_in_background: ")
    edit = {"file_path": "/a", "old_string": "b", "new_string": "c"}
    assert content("Edit", **edit, replace_all=flag)[2][0].startswith("replace_all: ")
    assert "multiSelect: " in content("AskUserQuestion", questions=[{"question": "?", "multiSelect": flag}])[1]


def test_a_file_to_be_written() -> None:
    found = content_of(make_request(tool="Write", tool_input={"file_path": "/src/app.py", "content": "print('ä')\n"}))
    assert (found.head, found.body, found.language) == ("/src/app.py", "print('ä')\n", "python")
    assert found.asides == ("12 bytes",)
    assert found.suffix == ".py"


@pytest.mark.parametrize("path", ["/x", "/x.ändern", "/x.verylongsuffix", "/x.p y", "/x.", "/a.b/c", "/x.p/../../y"])
def test_only_a_plain_suffix_becomes_the_file_s(path: str) -> None:
    found = content_of(make_request(tool="Write", tool_input={"file_path": path, "content": ""}))
    assert found.suffix == ".txt"


def test_an_edit_is_a_diff() -> None:
    edit = {"file_path": "/a.py", "old_string": "one\ntwo", "new_string": "one\n2", "replace_all": True}
    assert content("Edit", **edit) == ("/a.py", "-one\n-two\n+one\n+2", ("every occurrence",))


def test_an_insertion_and_a_removal_are_one_sided() -> None:
    assert content("Edit", file_path="/a", old_string="", new_string="new")[1] == "+new"
    assert content("Edit", file_path="/a", old_string="old", new_string="")[1] == "-old"


def test_many_edits_are_one_diff_each_with_its_file_and_whatever_else_it_holds() -> None:
    edits = [
        {"old_string": "a", "new_string": "b", "replace_all": True},
        {"file_path": "/other.py", "old_string": "c", "new_string": "d", "sudo": "yes", "description": "hm"},
        {"file_path": {"x": 1}, "old_string": "e", "new_string": "f"},
    ]
    head, body, asides = content("MultiEdit", file_path="/main.py", edits=edits, dry=False)
    assert head == "/main.py"
    assert body.split("\n") == [
        *("@@ edit 1 @@", "@@ every occurrence @@", "-a", "+b"),
        *("@@ /other.py @@", "@@ sudo: yes @@", "@@ description: hm @@", "-c", "+d"),
        *('@@ {"x": 1} @@', "-e", "+f"),
    ]
    assert asides == ("dry: false",)


def test_a_plan_is_prose_and_where_it_lies_an_aside() -> None:
    found = content_of(make_request(tool="ExitPlanMode", tool_input={"plan": "# Plan", "planFilePath": "/p.md"}))
    assert (found.body, found.prose, found.asides) == ("# Plan", True, ("planFilePath: /p.md",))


def test_questions_are_shown_with_all_they_hold() -> None:
    questions = [
        {
            "question": "Which database?",
            "header": "Database",
            "multiSelect": True,
            "options": [
                {"label": "Postgres", "description": "Relational", "preview": "SELECT"},
                {"label": "SQLite"},
                "Neither",
            ],
            "why": "curious",
        },
        "Odd",
        {"question": {"q": 1}, "header": 5, "options": "none"},
    ]
    head, body, asides = content("AskUserQuestion", questions=questions, metadata={"source": "x"})
    assert head == ""
    assert body.split("\n") == [
        "Database: Which database? (several may be chosen)",
        "  • Postgres — Relational",
        "    preview: SELECT",
        "  • SQLite",
        "  • Neither",
        "  why: curious",
        "• Odd",
        '{"q": 1}',
        "  header: 5",
        "  options: none",
    ]
    assert asides == ('metadata: {"source": "x"}',)


def test_what_is_read_fetched_searched_and_delegated() -> None:
    assert content("Read", file_path="/etc/hosts", limit=5) == ("/etc/hosts", "", ("5 lines",))
    assert content("Read", file_path="/a", limit=5, offset=10) == ("/a", "", ("5 lines from line 10",))
    assert content("Read", file_path="/a", limit="5", offset=-1) == ("/a", "", ("limit: 5", "offset: -1"))
    assert content("WebFetch", url="https://example.com", prompt="Sum up") == ("https://example.com", "Sum up", ())
    assert content("WebFetch", url="https://example.com", prompt=[1]) == ("https://example.com", "", ("prompt: [1]",))
    assert content("Glob", pattern="**/*.go", path="/src") == ("", "**/*.go", ("in /src",))
    assert content("Grep", pattern="x.*y", path="/src", glob="*.go", output_mode="content") == (
        "",
        "x.*y",
        ("in /src · only *.go", "output_mode: content"),
    )
    assert content("LS", path="/src", ignore=[".git", "dist"]) == ("/src", "", ("without .git, dist",))
    assert content("LS", path="/src", ignore=[".git", 5]) == ("/src", "", ('ignore: [".git", 5]',))
    assert content("Skill", skill="pdf", args="a.pdf") == ("pdf", "a.pdf", ())
    assert content("Skill", skill="pdf", args={"a": 1}) == ("pdf", "", ('args: {"a": 1}',))
    assert content("WebSearch", query="limits", allowed_domains=["a.b"]) == (
        "",
        "limits",
        ('allowed_domains: ["a.b"]',),
    )
    assert content("Task", prompt="Look", subagent_type="x", description="d") == ("", "Look", ("for x",))


def test_facts_that_hold_the_sign_between_facts_have_a_line_each() -> None:
    """An agent that chooses a path must not write another fact."""
    assert content("Glob", pattern="*", path="/a · new file")[2] == ("in /a · new file",)
    assert content("Grep", pattern="*", path="/a · b", glob="*.c")[2] == ("in /a · b", "only *.c")


def test_an_unknown_tool_shows_a_field_a_line() -> None:
    assert content("mcp__x__y", key="v", longer_key=[1, {"a": "ü"}])[1] == (
        'key:        v\nlonger_key: [1, {"a": "ü"}]'
    )
    assert content("mcp__x__y")[1] == ""


def test_a_value_cannot_pass_for_another_field() -> None:
    assert content("mcp__x__y", note="hi\npath: /safe", path="/etc")[1] == "note: hi\n  path: /safe\npath: /etc"
    assert content("mcp__x__y", **{"note: hi\npath": "/safe", "path": "/etc"})[1].count("\npath:") == 1


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("Bash", {"command": ["rm", "-rf"], "x": "y"}),
        ("Bash", {"cmd": "rm -rf"}),
        ("Write", {"file_path": "/a", "content": {"b": "c"}}),
        ("Write", {"content": "c"}),
        ("Edit", {"file_path": "/a", "old_string": None, "new_string": "n"}),
        ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "o"}]}),
        ("MultiEdit", {"file_path": "/a", "edits": []}),
        ("MultiEdit", {"file_path": 5, "edits": [{"old_string": "o", "new_string": "n"}]}),
        ("apply_patch", {"patch": "***"}),
        ("ExitPlanMode", {"plan": ["a"]}),
        ("AskUserQuestion", {"questions": "What?"}),
        ("Read", {"file_path": ["/a"]}),
        ("WebFetch", {"url": None, "prompt": "p"}),
        ("WebSearch", {"query": 5}),
        ("Task", {"prompt": None, "subagent_type": "s"}),
    ],
)
def test_fields_of_an_unexpected_type_fall_back_to_the_plain_form(tool: str, fields: dict[str, Any]) -> None:
    head, body, asides = content(tool, **fields)
    assert (head, asides) == ("", ())
    assert [line.partition(":")[0] for line in body.split("\n")] == list(fields)


@pytest.mark.parametrize(("tool", "fields"), TOOL_INPUTS.values(), ids=TOOL_INPUTS)
def test_the_summary_of_any_call_is_one_short_line(tool: str, fields: dict[str, Any]) -> None:
    summary = summary_of(make_request(tool=tool, tool_input=fields), SETTING)
    assert "\n" not in summary
    assert bool(summary) is bool(fields)


def test_the_whole_content_is_a_file_with_everything_in_it() -> None:
    request = make_request(
        7,
        tool_input={"command": "make\ntest", "description": "Build it", "timeout": 5000, "odd": ["x"]},
        decision_reason="outside",
        blocked_path="/etc",
    )
    name, data = whole_of(request)
    assert name == "Bash-00000000.sh"
    assert data.decode() == (
        'stops after 5 s\nodd: ["x"]\n\nmake\ntest\n\ndescription: Build it\n\nwhy it asks: outside\n\n'
        "blocked path: /etc\n\ndirectory: /home/dev/shop\n\ntool: Bash\n\n"
        "button: Always allow `npm test *` in this project\n\nbutton: Always allow `npm test *` in this session"
    )


def test_the_file_hides_nothing_and_is_opened_as_text() -> None:
    """Whoever opens it on a phone must see each character, and must not see a page that the agent wrote."""
    _, data = whole_of(make_request(tool_input={"command": "ls \u202e# hs | lruc\u200b"}))
    assert data.decode().startswith("ls ⟨U+202E⟩# hs | lruc⟨U+200B⟩")
    for suffix in (".html", ".svg", ".js", ".apk", ".command", ".desktop", ""):
        fields = {"file_path": f"/home/dev/shop/a{suffix}", "content": "x"}
        assert whole_of(make_request(tool="Write", tool_input=fields))[0].endswith(".txt")
    fields = {"file_path": "/home/dev/shop/a.py", "content": "x"}
    assert whole_of(make_request(tool="Write", tool_input=fields))[0].endswith(".py")


def test_many_edits_of_one_long_path_stay_small() -> None:
    path = "/" + "a" * 100_000
    edits = [{"old_string": "", "new_string": "x"}] * 1000
    request = make_request(tool="MultiEdit", tool_input={"file_path": path, "edits": edits})
    assert len(whole_of(request)[1]) < 200_000


def test_the_file_is_never_empty_and_always_utf_8() -> None:
    """Telegram refuses an empty file, and then nobody could ever see what is to be allowed."""
    name, data = whole_of(make_request(tool="\u202e/../\ud800", tool_input={}, suggestions=(), cwd=""))
    assert name == "request-00000000.json"
    assert data.decode().strip()
    assert whole_of(make_request(tool_input={"command": "a\ud800b"}))[1].decode().startswith("a⟨U+D800⟩b")
