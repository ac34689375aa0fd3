"""What leaves the machine: no secrets, and no more detail than the owner wants. What the agent gets is untouched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tapgate.masking.mask import mask_pieces, mask_text
from tapgate.model import Context, Detail, OnDisk, Outcome, Phase, Risk
from tapgate.telegram.commands.context import PastAnswer
from tapgate.telegram.commands.history import render_history
from tapgate.telegram.content import gist_of
from tapgate.telegram.keyboard import keyboard_of
from tests.builders import choice_of, make_request

from .cards import SETTING, answer_by, every_state, fits, open_card, sending_card, settled_card, shown, whole_of

SECRET = "gh" + "p_notARealToken0123456789abcdefABCDEF1"
CORE = SECRET[4:-4]
BRIEF = replace(SETTING, detail=Detail.SUMMARY, machine="studio")
OPEN = replace(SETTING, mask=False)
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "command": ("Bash", {"command": f"curl -H 'Authorization: Bearer {SECRET}' https://x.example"}),
    "description": ("Bash", {"command": "ls", "description": f"with {SECRET}"}),
    "unknown field": ("Bash", {"command": "ls", "odd": {"deep": [SECRET]}}),
    "content": ("Write", {"file_path": "/home/dev/shop/a.py", "content": f"TOKEN = '{SECRET}'\n"}),
    "path": ("Read", {"file_path": f"/home/dev/shop/{SECRET}"}),
    "old text": ("Edit", {"file_path": "/a", "old_string": SECRET, "new_string": "x"}),
    "new text": ("Edit", {"file_path": "/a", "old_string": "x", "new_string": SECRET}),
    "edits": ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "x", "new_string": SECRET, "n": SECRET}]}),
    "notebook": ("NotebookEdit", {"notebook_path": "/a.ipynb", "new_source": SECRET, "cell_id": SECRET}),
    "patch": ("apply_patch", {"command": f"*** Add File: a\n+{SECRET}"}),
    "pattern": ("Grep", {"pattern": SECRET, "path": SECRET, "glob": SECRET}),
    "ignored": ("LS", {"path": "/a", "ignore": [SECRET]}),
    "address": ("WebFetch", {"url": f"https://x.example/?t={SECRET}", "prompt": SECRET}),
    "search": ("WebSearch", {"query": SECRET}),
    "prompt": ("Task", {"prompt": SECRET, "subagent_type": SECRET}),
    "skill": ("Skill", {"skill": SECRET, "args": SECRET}),
    "plan": ("ExitPlanMode", {"plan": f"# {SECRET}\n`{SECRET}`"}),
    "question": ("AskUserQuestion", {"questions": [{"question": SECRET, "options": [{"label": SECRET}]}]}),
    "argument": ("mcp__a__b", {"x": SECRET, "y": {"z": [SECRET]}}),
    "name of a field": ("mcp__a__b", {SECRET: "x"}),
    "name of a tool": (f"mcp__{SECRET}__b", {"x": "y"}),
}


@pytest.mark.parametrize(("tool", "fields"), CALLS.values(), ids=CALLS)
def test_no_secret_stands_on_a_card_or_in_its_file(tool: str, fields: dict[str, Any]) -> None:
    request = make_request(
        tool=tool,
        tool_input=fields,
        suggestions=(),
        decision_reason=f"because of {SECRET}",
        blocked_path=f"/{SECRET}",
        cwd=f"/srv/{SECRET}",
    )
    around = Context(why=f"I use {SECRET} now.", on_disk=OnDisk(0.0, diff=f" {SECRET}", blocks=(f"-{SECRET}",)))
    for card in every_state(request):
        text = shown(replace(card, context=around, risks=(Risk("r", f"Sends {SECRET}"),)))
        assert CORE not in text
        assert card.phase is Phase.SETTLED or "GitHub token, 40 chars›" in text
    data = whole_of(request, around)[1].decode()
    assert CORE not in data
    assert "GitHub token, 40 chars›" in data or tool == f"mcp__{SECRET}__b"


@pytest.mark.parametrize(("tool", "fields"), CALLS.values(), ids=CALLS)
def test_whoever_wants_no_masks_gets_none(tool: str, fields: dict[str, Any]) -> None:
    request = make_request(tool=tool, tool_input=fields, suggestions=())
    assert CORE in shown(open_card(request), OPEN)
    assert "‹" not in shown(open_card(request), OPEN)
    assert CORE in whole_of(request, setting=OPEN)[1].decode()


def test_what_the_agent_receives_is_never_masked() -> None:
    request = make_request(tool_input=CALLS["command"][1])
    shown(open_card(request))
    assert SECRET in request.input["command"]
    assert SECRET.encode() in request.raw


def test_a_typed_reason_and_a_button_are_masked_on_the_settled_card() -> None:
    request = make_request()
    answer = answer_by(choice_of(request, "r"), message=f"use {SECRET}")
    assert CORE not in shown(settled_card(request, Outcome.DENIED, answer=answer))
    saved = replace(answer_by(choice_of(request, "s0")), saved=f"rule `{SECRET}` saved", label=SECRET)
    assert CORE not in shown(settled_card(request, Outcome.ALLOWED, answer=saved))
    assert CORE not in shown(sending_card(request, saved))


@pytest.mark.parametrize("size", [1900, 1990, 2000, 2010, 6100, 6144, 8150, 8192, 16_350, 16_384])
def test_a_secret_that_would_be_cut_in_two_does_not_show_a_half(size: int) -> None:
    """Masked first, cut then: a half of a token looks like no token."""
    for before in range(size - 45, size + 5, 5):
        request = make_request(tool_input={"command": "x " * (before // 2) + SECRET + " y" * 9000}, suggestions=())
        text = shown(open_card(request))
        assert SECRET[:12] not in text
        request = make_request(tool="mcp__a__b", tool_input={"text": "x " * (before // 2) + SECRET + " y" * 9000})
        assert SECRET[:12] not in shown(open_card(request))


@pytest.mark.parametrize("tool", ["Bash", "mcp__a__b"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_secret_in_a_field_for_which_little_room_is_left_does_not_show_a_half(tool: str, nested: bool) -> None:
    """Fields share a budget, and each may be shown on a line of its own: the last one is cut anywhere."""
    for before in range(0, 80, 3):
        last: Any = "x " * (before // 2) + SECRET
        last = [{"deep": last}] if nested else last
        for first in (16_300, 16_350, 16_384, 17_000):
            fields = {"command": "ls", "first": "y " * (first // 2), "second": last}
            request = make_request(tool=tool, tool_input=fields, suggestions=())
            assert SECRET[:9] not in shown(open_card(request)).replace("ghp_‹", "")


def test_a_masked_text_that_became_short_shows_no_half_of_a_secret_from_further_down() -> None:
    """Masks can be shorter than what they hide, so more of the text gets onto the card than is counted on."""
    many = "\n".join(f"TOKEN_{number}={SECRET}{number}" for number in range(2000))
    text = shown(open_card(make_request(tool_input={"command": many})))
    assert CORE not in text
    assert all(SECRET[:10] not in line or "‹" in line for line in text.split("\n"))


def test_the_agent_s_words_show_no_half_of_a_secret_at_their_cut_beginning() -> None:
    """They are read from the end, and a long key behind the cut becomes a short mask."""
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7q7W8e9R0\n" * 200
    for cut in range(0, 40, 3):
        words = (f"{SECRET[cut:]} and then\n{key}-----END PRIVATE KEY-----\nso I ask.")[-10_000:]
        text = shown(open_card(make_request(), context=Context(why=words)))
        assert SECRET[-12:] not in text
        assert "q7W8e9R0" not in text
        assert "so I ask." in text


def test_two_different_secrets_stay_two_different_lines() -> None:
    """A diff must show that a value changes, though not to what."""
    fields = {"file_path": "/a", "old_string": "API_KEY=q7w8e9r0t1y2u3i4", "new_string": "API_KEY=a1s2d3f4g5h6j7k8"}
    text = shown(open_card(make_request(tool="Edit", tool_input=fields)))
    assert "-API_KEY=q7‹" in text
    assert "+API_KEY=a1‹" in text


# Long texts in pieces


@pytest.mark.parametrize("cut", [1, 7, 1000, 65_536, 10**9])
def test_pieces_are_masked_like_one_text_wherever_they_are_cut(cut: int) -> None:
    lines = [f"ordinary line number {number} of the text" for number in range(4000)]
    lines[1::97] = [f"PASSWORD='{SECRET}{number}'" for number in range(len(lines[1::97]))]
    text = "\n".join(lines)
    masked = "".join(mask_pieces(text[start : start + cut] for start in range(0, len(text), cut)))
    assert CORE not in masked
    assert masked == "\n".join(mask_text(line).text for line in lines)
    assert mask_text(text).text == masked


@pytest.mark.parametrize("shift", range(0, 200, 7))
def test_a_secret_at_the_seam_of_two_pieces_is_masked(shift: int) -> None:
    filler = "word " * 13_107
    for text in (
        f"{filler[: 65_536 - shift]} {SECRET} {filler}",
        f"{filler[: 65_536 - shift]} --password {SECRET[4:]} {filler}",
        f"{filler[: 65_536 - shift]} \nDB_PASSWORD={SECRET[4:]}\n{filler}",
    ):
        assert CORE[2:-2] not in mask_text(text).text


def test_a_private_key_at_the_seam_is_masked() -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" + "q7W8e9R0"] * 40)
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    for shift in range(0, 2600, 200):
        text = "line of text\n" * 5041
        text = f"{text[: 65_536 - shift]}\n{key}{text}"
        assert "MIIEvQ" not in mask_text(text).text


# Little detail


@pytest.mark.parametrize(("tool", "fields"), CALLS.values(), ids=CALLS)
def test_a_summary_holds_nothing_of_the_content(tool: str, fields: dict[str, Any]) -> None:
    words = "zebra giraffe"
    named = ("file_path", "notebook_path", "path")  # of these the last part is shown
    fields = {key: words for key in fields if key not in named}
    request = make_request(
        tool=tool, tool_input=fields, suggestions=(), decision_reason=words, blocked_path=words, cwd=f"/{words}"
    )
    around = Context(why=words, on_disk=OnDisk(0.0, diff=words, brief=words, blocks=(words,)))
    for card in (open_card(request, context=around, setting=BRIEF), settled_card(request, Outcome.ALLOWED)):
        text = shown(replace(card, risks=(Risk("privilege", "Deletes ~/giraffe"),)), BRIEF)
        assert "giraffe" not in text
    assert "giraffe" not in shown(open_card(make_request(tool_input={"command": words}), setting=BRIEF), BRIEF)


def test_a_summary_says_who_what_how_risky_and_that_it_is_one() -> None:
    request = make_request(tool_input={"command": "FOO=bar /usr/bin/npm publish --tag x"}, suggestions=())
    card = replace(open_card(request, setting=BRIEF), risks=(Risk("publishes", "Publishes shop 1.2 on npm"),))
    assert shown(card, BRIEF) == (
        "⚠️ shop · Claude Code · studio\n"
        "❗ Publishes something for everybody\n"
        "Bash npm\n"
        "🙈 Your config sends a summary only: what you allow here, you have not seen.\n"
        "⏳ until 08:09"
    )


def test_with_a_summary_no_rule_stands_on_a_button() -> None:
    """Its words are taken from the call."""
    card = open_card(make_request(), setting=BRIEF)
    labels = [key.text for row in keyboard_of(card, is_brief=True) for key in row]
    assert "Allow" in labels and not [label for label in labels if "npm" in label]
    assert "npm test *" not in shown(card, BRIEF)


def test_a_summary_can_be_answered_and_its_file_holds_only_the_buttons() -> None:
    request = make_request(tool_input={"command": "x" * 10_000})
    assert fits(request, setting=BRIEF)
    assert not fits(request)
    data = whole_of(request, setting=BRIEF)[1].decode()
    assert data == (
        "tool: Bash\n\n\nbutton: Always allow `npm test *` in this project\n\n"
        "button: Always allow `npm test *` in this session"
    )


@pytest.mark.parametrize(
    ("tool", "fields", "gist"),
    [
        ("Bash", {"command": "npm test"}, "npm"),
        ("Bash", {"command": "TOKEN=x A=b /usr/bin/env ls"}, "env"),
        ("Bash", {"command": "$(secret) x"}, ""),
        ("Bash", {"command": "hunter2!'"}, ""),
        ("Bash", {"command": ["ls"]}, ""),
        ("Write", {"file_path": "/a/b/cart.py", "content": "x"}, "cart.py"),
        ("NotebookEdit", {"notebook_path": "/a/b.ipynb"}, "b.ipynb"),
        ("mcp__a__b", {"x": "y"}, ""),
        ("WebFetch", {"url": "https://x.example"}, ""),
    ],
)
def test_the_gist_is_a_name_and_no_content(tool: str, fields: dict[str, Any], gist: str) -> None:
    assert gist_of(make_request(tool=tool, tool_input=fields)) == gist


# /history


def row(summary: str) -> PastAnswer:
    return PastAnswer(
        at=0.0, project="/home/dev/shop", tool="Bash", summary=summary, outcome=Outcome.ALLOWED, person="Ada"
    )


def test_the_history_shows_no_secret_and_no_more_than_cards_do() -> None:
    text = render_history([row(f"login {SECRET}")], SETTING)
    assert CORE not in text
    assert "GitHub token" in text
    assert CORE in render_history([row(f"login {SECRET}")], OPEN)
    assert "login" not in render_history([row(f"login {SECRET}")], BRIEF)
