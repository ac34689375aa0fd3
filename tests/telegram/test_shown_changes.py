"""A card that can be allowed shows the change: read back from its HTML and done to the file, it is what is done."""

from __future__ import annotations

import html
import json
import random
import re
from typing import Any

import pytest

from tapgate.cards.change import change_of
from tapgate.desk.case import SHOW_WHOLE
from tapgate.model import NO_CONTEXT, Context, OnDisk, Request
from tests.builders import make_request, tool_use
from tests.cards.test_change import as_the_agent_reads, some_edit, some_text
from tests.shown_diff import apply_block, read_fragments, replaced, shows_a_change, unspelled

from .cards import fits, open_card, render_card, shown, whole_of

PATH = "/home/dev/shop/a.txt"
CASES = 2_000
_BLOCK = re.compile(r"<pre>(?:<code class=\"language-\w+\">)?(.*?)(?:</code>)?</pre>", re.DOTALL)


def asked(tool: str, fields: dict[str, Any], before: str | None = None) -> tuple[Request, Context]:
    request = make_request(tool=tool, tool_input=fields, suggestions=())
    if before is None:
        return request, NO_CONTEXT
    seen = OnDisk(at=0.0, size_bytes=len(before.encode()))
    return request, Context(on_disk=change_of(tool_use(tool, request.input), before, seen=seen))


def block_of(request: Request, around: Context) -> str:
    """The block on the card, with its characters in the place of their names."""
    found = _BLOCK.search(render_card(open_card(request, context=around)))
    return unspelled(html.unescape(found[1])) if found else ""


def test_an_edit_on_a_card_is_what_it_does() -> None:
    chance = random.Random(21)
    seen = 0
    for _ in range(CASES):
        text = some_text(chance, 14)
        edit = some_edit(chance, text)
        request, around = asked("Edit", {"file_path": PATH, **edit}, text)
        assert fits(request, around)
        block = block_of(request, around)
        before = as_the_agent_reads(text, [edit])
        after = replaced(before, edit["old_string"], edit["new_string"], every=edit["replace_all"])
        if after is None:
            assert read_fragments(block) == (edit["old_string"], edit["new_string"])
        else:
            seen += 1
            assert apply_block(before, block) == after
            assert shows_a_change(block)
    assert seen > CASES / 3


def test_an_edit_of_an_unknown_file_shows_both_texts_to_their_last_line_break() -> None:
    chance = random.Random(22)
    for _ in range(CASES):
        edit = some_edit(chance, some_text(chance, 14))
        request, around = asked("Edit", {"file_path": PATH, **edit})
        assert read_fragments(block_of(request, around)) == (edit["old_string"], edit["new_string"])


def test_several_edits_on_a_card_are_what_they_do_one_after_another() -> None:
    chance = random.Random(23)
    seen = 0
    for _ in range(CASES // 2):
        text = some_text(chance, 14).replace("\r", "")
        edits = [some_edit(chance, text) for _ in range(2)]
        request, around = asked("MultiEdit", {"file_path": PATH, "edits": edits}, text)
        parts = re.split(r"^@@ edit \d+ @@\n", block_of(request, around), flags=re.MULTILINE)[1:]
        parts = [re.sub(r"^@@ (?!line ).* @@\n", "", part, flags=re.MULTILINE) for part in parts]
        now: str | None = text
        for edit in edits:
            now = (
                None
                if now is None
                else replaced(now, edit["old_string"], edit["new_string"], every=edit["replace_all"])
            )
        if now is None:
            continue
        seen += 1
        after = text
        for part in parts:
            after = apply_block(after, part.removesuffix("\n"))
        assert after == now
    assert seen > CASES / 20


def test_a_write_on_a_card_is_what_it_does() -> None:
    chance = random.Random(24)
    for _ in range(CASES):
        text = some_text(chance, 40)
        content = chance.choice([some_text(chance, 40), text, text + "\n", text[:-1]])
        request, around = asked("Write", {"file_path": PATH, "content": content}, text)
        assert fits(request, around)
        block = block_of(request, around)
        if " blank lines with " not in block:  # how many blanks there are is said, not which line has them
            assert apply_block(text, block) == content


def notebook(*sources: str) -> str:
    cells = [{"id": f"c{number}", "cell_type": "code", "source": source} for number, source in enumerate(sources)]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize("wanted", ["c1", "cell-1"])
def test_a_cell_on_a_card_is_what_becomes_of_it(wanted: str) -> None:
    chance = random.Random(25)
    for _ in range(CASES // 4):
        old = some_text(chance, 14)
        new = chance.choice([some_text(chance, 14), some_edit(chance, old)["new_string"]])
        fields = {"notebook_path": "/a.ipynb", "cell_id": wanted, "new_source": new, "edit_mode": "replace"}
        request, around = asked("NotebookEdit", fields, notebook("x", old, "y"))
        assert fits(request, around)
        block = block_of(request, around)
        if old == new:
            assert block == new or not new.strip(" \t\n")
        else:
            assert block.startswith("@@ cell 2 of 3 @@\n")
            assert apply_block(old, block.partition("\n")[2]) == new


def test_a_deleted_cell_is_shown_where_it_is_known_and_no_other_text_passes_for_it() -> None:
    fields = {"notebook_path": "/a.ipynb", "cell_id": "c1", "new_source": "print('kept')", "edit_mode": "delete"}
    request, around = asked("NotebookEdit", fields, notebook("x", "check()\nrun()", "y"))
    block = block_of(request, around)
    assert apply_block("check()\nrun()", block.partition("\n")[2]) == ""
    assert "not used: print('kept')" in shown(open_card(request, context=around))
    request, around = asked("NotebookEdit", fields)
    assert block_of(request, around) == ""
    assert "not used: print('kept')" in shown(open_card(request))
    request, around = asked("NotebookEdit", {**fields, "cell_id": "c9"}, notebook("x"))
    assert "no such cell was in the notebook" in shown(open_card(request, context=around))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"edit_mode": "insert"}, "a new cell · before the first cell"),
        ({"edit_mode": "insert", "cell_id": "c1"}, "a new cell · after cell c1"),
        ({"cell_id": "c1"}, "replaces a cell · cell c1"),
    ],
)
def test_a_cell_s_text_is_shown_as_it_is_and_where_it_goes(more: dict[str, str], said: str) -> None:
    request, around = asked("NotebookEdit", {"notebook_path": "/a.ipynb", "new_source": "a\n\tb\r\n", **more})
    assert block_of(request, around) == "a\n\tb\r\n"
    assert said in shown(open_card(request))


PATCH_LINES = [
    *("*** Begin Patch", "*** End Patch", "*** Update File: a.py", "*** Move to: .git/hooks/pre-commit", "@@ def f():"),
    *(
        "*** Add File: b.sh",
        "  *** Delete File: c",
        "+curl x | sh",
        "-check()",
        " kept",
        " +looks added",
        "",
        " ",
        "+",
        "-\t",
    ),
    *(
        "+*** End Patch",
        "+a \r",
        "-a",
        "+a",
        "+a  ",
        "+\ta",
        "+@@ 5 unchanged lines @@",
        "+⟨4 blank lines⟩",
        "\\ No newline",
    ),
    *("*** End of File", "+\u2028b", "+\u202eb", "+<b>&amp;"),
]


def test_a_patch_on_a_card_is_the_patch_to_the_last_character() -> None:
    chance = random.Random(26)
    for _ in range(CASES):
        patch = "\n".join(chance.choice(PATCH_LINES) for _ in range(chance.randint(1, 20)))
        request = make_request(agent="codex", tool="apply_patch", tool_input={"command": patch}, suggestions=())
        card = render_card(open_card(request))
        if fits(request) and "blank lines with" not in card and patch.strip(" \t\n"):
            assert block_of(request, NO_CONTEXT) == patch


def test_a_patch_names_every_file_that_it_touches_also_where_it_moves_one() -> None:
    head = "*** Begin Patch\n*** Update File: a.py\n*** Move to: hooks/b.py"
    patch = f"{head}\n@@\n-x\n+y\n  *** Delete File: c\n*** End Patch"
    request = make_request(agent="codex", tool="apply_patch", tool_input={"command": patch}, suggestions=())
    assert "update a.py, move to b.py, delete c" in shown(open_card(request))


# What nobody could see


def edit_of(old: str, new: str, before: str | None = None) -> str:
    fields = {"file_path": PATH, "old_string": old, "new_string": new}
    request, around = asked("Edit", fields, before)
    return shown(open_card(request, context=around))


def test_lines_that_differ_in_blanks_only_show_the_difference() -> None:
    assert "-a⟨1 blank⟩\n+a" in edit_of("a ", "a")
    assert "-⟨tab⟩a\n+ a" in edit_of("\ta", " a")
    assert "-a⟨U+000D⟩\n\\ with the line break behind it\n+a\n" in edit_of("a\r\n", "a\n")
    assert "-⟨2 tabs⟩a⟨3 blanks⟩⟨tab⟩\n+⟨tab⟩a" in edit_of("\t\ta   \t", "\ta")
    assert "-\u200b" not in edit_of("a\u200b", "a")


def test_ordinary_tabs_stay_as_they_are() -> None:
    request, around = asked("Edit", {"file_path": PATH, "old_string": "\tone()", "new_string": "\ttwo()"})
    assert "-\tone()\n+\ttwo()" in render_card(open_card(request, context=around))


def test_a_text_cannot_say_what_only_the_card_says() -> None:
    text = edit_of("a", "a⟨4 blank lines⟩")
    assert "+a⟨U+27E8⟩4 blank lines⟩" in text
    edits = [{"old_string": "a", "new_string": "b", "note": "x @@\n+check_auth()\n@@ y"}]
    request, around = asked("MultiEdit", {"file_path": PATH, "edits": edits})
    assert "\n+check_auth()" not in shown(open_card(request, context=around))


def test_what_changes_nothing_says_so() -> None:
    assert "changes nothing" in edit_of("a", "a")
    assert "changes nothing" in edit_of("", "")
    assert "changes nothing" in edit_of("a", "a", "a\nb\n")
    request, around = asked("Write", {"file_path": PATH, "content": "a\n"}, "a\n")
    assert "changes nothing" in shown(open_card(request, context=around))
    request, around = asked("Write", {"file_path": PATH, "content": "a"}, "a\n")
    assert "changes nothing" not in shown(open_card(request, context=around))


def test_a_diff_without_a_sign_is_not_the_whole() -> None:
    fields = {"file_path": PATH, "old_string": "a", "new_string": "b"}
    request = make_request(tool="Edit", tool_input=fields, suggestions=())
    around = Context(on_disk=OnDisk(at=0.0, blocks=("@@ line 1 @@\n a\n b",), places=1))
    assert fits(request, around), "the texts themselves are shown in its place"
    assert "-a\n+b" in shown(open_card(request, context=around))


def test_line_breaks_that_an_edit_makes_alike_are_named() -> None:
    said = "its line breaks, of two kinds now, become alike"
    assert said in edit_of("b", "x", "a\r\nb\nc\n")
    assert said not in edit_of("b", "x", "a\r\nb\r\n")
    assert said not in edit_of("b", "x", "a\nb\n")


def test_which_of_several_places_is_meant_is_not_made_up() -> None:
    text = edit_of("a", "b", "a\na\n")
    assert "@@ line" not in text
    assert "the old text was in the file 2 times at 00:00: which one is meant is not known" in text


def test_a_removed_text_takes_its_line_break_along_and_the_card_says_so() -> None:
    text = edit_of(" off", "", "# note: off\ncheck_auth(request)\n")
    assert "-# note: off\n-check_auth(request)\n+# note:check_auth(request)" in text
    assert "with the line break behind it, where there is one" in edit_of(" off", "")


def test_escapes_that_become_characters_are_shown_as_those() -> None:
    text = edit_of("caf\\u00e9", "caf\\u00e9\\u000aos.system(x)", "# café\n")
    assert " # café\n+os.system(x)" in text
    assert "\\u escapes may become the characters they stand for" in edit_of("\\u00e9", "\\u000a")


# What pushes everything off the screen


def command(text: str) -> Request:
    return make_request(tool_input={"command": text}, suggestions=())


@pytest.mark.parametrize(
    ("filler", "said"),
    [
        ("\n" * 1901, "ls\n⟨1,900 blank lines⟩\nreboot"),
        ("\n" + " \n" * 700, "ls\n⟨700 blank lines with 700 blanks⟩\nreboot"),
        (" " * 1800 + "; ", "ls⟨1,800 blanks⟩; reboot"),
        ("\t" * 1800 + "; ", "ls⟨1,800 tabs⟩; reboot"),
        (" \t" * 900 + "; ", "ls⟨1,800 blanks and tabs⟩; reboot"),
        ("\n\n\n\n", "ls\n\n\n\nreboot"),
        (" " * 40 + "; ", "ls" + " " * 40 + "; reboot"),
    ],
)
def test_blanks_do_not_push_a_command_off_the_screen(filler: str, said: str) -> None:
    request = command(f"ls{filler}reboot")
    assert fits(request)
    assert html.unescape(_BLOCK.search(render_card(open_card(request)))[1]) == said  # type: ignore[index]


def test_blanks_in_quotes_are_counted_as_well() -> None:
    assert "echo '⟨50 blanks⟩' <<E\n⟨5 blank lines⟩\nE" in shown(
        open_card(command(f"echo '{' ' * 50}' <<E\n{chr(10) * 5}E"))
    )


@pytest.mark.parametrize("filler", ["#\n", ":\n", "\\\n", "\r\n", "\u200b\n", "\u00a0\n"])
def test_other_filler_is_content_and_much_of_it_is_not_shown_as_the_whole(filler: str) -> None:
    request = command(f"ls\n{filler * 900}reboot")
    card = open_card(request)
    assert SHOW_WHOLE in card.choices
    assert "not shown" in shown(card)


def test_the_file_folds_blanks_too() -> None:
    request = command("ls\n" + "\n" * 100_000 + "reboot" + " " * 3000)
    data = whole_of(request)[1].decode()
    assert len(data) < 1000
    assert "reboot⟨3,000 blanks⟩" in data
    counts = [int(count.replace(",", "")) for count in re.findall(r"⟨([\d,]+) blank lines⟩", data)]
    assert sum(counts) == 100_000


def test_a_file_of_nothing_but_blanks_says_so() -> None:
    request, around = asked("Write", {"file_path": PATH, "content": "\n\n "})
    assert "⟨3 blank lines with 1 blank⟩" in shown(open_card(request, context=around))


def test_blanks_that_only_set_a_line_in_are_not_counted() -> None:
    request = make_request(tool="mcp__a__b", tool_input={"text": "a" + "\n" * 6 + "b"}, suggestions=())
    assert "text: a\n⟨5 blank lines⟩\n  b" in shown(open_card(request))


@pytest.mark.parametrize("tool", ["Bash", "Edit"])
def test_hostile_blanks_cost_little(tool: str) -> None:
    """Each character is looked at a few times, however they are arranged."""
    for text in (" " * 16_000 + "x", (" " * 40 + "x") * 400, "\n ".join([" " * 90] * 150), "\t \n" * 5000):
        fields = {"file_path": PATH, "old_string": text, "new_string": text + "x", "command": text}
        request, around = asked(tool, fields)
        assert shown(open_card(request, context=around))
