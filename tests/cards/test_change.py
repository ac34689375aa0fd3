"""What is shown of a change, done to the file, gives what the agent makes of it: for every tool that changes files."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.cards.change import change_of, changed_path
from tapgate.model import OnDisk
from tests.builders import tool_use
from tests.shown_diff import apply_block, replaced, shows_a_change

SEEN = OnDisk(at=0.0)
CASES = 30_000
# What editors, Python, phones and agents take for a line break, or do not; and what nobody sees.
PIECES = ["a", "b", "\n", "\n", "\n", "\r\n", "\r", " ", "\t", "x\n", "\u2028", "\x0c", "\x85", "\x1c", "\ufeff", "é"]


def some_text(chance: random.Random, most: int) -> str:
    few = chance.choice([PIECES, PIECES[:6], ["a", "\n"], ["a", "b", "\r\n"]])
    return "".join(chance.choice(few) for _ in range(chance.randint(0, most)))


def some_edit(chance: random.Random, text: str) -> dict[str, Any]:
    """Mostly one that matches; often one whose new text differs only at its end."""
    start = chance.randint(0, len(text))
    old = text[start : start + chance.randint(0, 6)] if chance.random() < 0.9 else some_text(chance, 3)
    new = chance.choice([some_text(chance, 4), old + "\n", old[:-1], old.rstrip("\n"), "", old + some_text(chance, 2)])
    return {"old_string": old, "new_string": new, "replace_all": chance.random() < 0.4}


def as_the_agent_reads(text: str, edits: list[dict[str, Any]]) -> str:
    """The agents turn CRLF into plain line breaks while they edit, and back."""
    return text if any("\r" in edit["old_string"] for edit in edits) else text.replace("\r\n", "\n")


def check_edits(tool: str, text: str, edits: list[dict[str, Any]]) -> bool:
    fields = {"file_path": "/a", **edits[0]} if tool == "Edit" else {"file_path": "/a", "edits": edits}
    found = change_of(tool_use(tool, fields), text, seen=SEEN)
    now = as_the_agent_reads(text, edits)
    if not found.blocks:
        for edit in edits:
            after = replaced(now, edit["old_string"], edit["new_string"], every=edit["replace_all"])
            if after is None:
                return False
            now = after
        raise AssertionError(f"nothing is shown of {edits} in {text!r}")
    assert len(found.blocks) == len(edits)
    for edit, block in zip(edits, found.blocks, strict=True):
        after = replaced(now, edit["old_string"], edit["new_string"], every=edit["replace_all"])
        assert after is not None, f"shown although it is refused: {edit} in {now!r}: {block!r}"
        assert apply_block(now, block) == after, (now, edit, block)
        assert shows_a_change(block), (now, edit, block)
        now = after
    return True


def test_what_is_shown_of_an_edit_is_what_it_does() -> None:
    chance = random.Random(11)
    shown = 0
    for _ in range(CASES):
        text = some_text(chance, 14)
        shown += check_edits("Edit", text, [some_edit(chance, text)])
    assert shown > CASES / 3, "and many are not refused"


def test_what_is_shown_of_several_edits_is_what_they_do_one_after_another() -> None:
    chance = random.Random(13)
    shown = 0
    for _ in range(CASES // 3):
        text = now = some_text(chance, 14)
        edits: list[dict[str, Any]] = []
        for _ in range(chance.randint(1, 3)):
            edits.append(some_edit(chance, now))
            now = replaced(now, edits[-1]["old_string"], edits[-1]["new_string"], every=edits[-1]["replace_all"]) or now
        shown += check_edits("MultiEdit", text, edits)
    assert shown > CASES / 30


texts = st.text(st.sampled_from("".join(PIECES)), max_size=30)


@given(texts, st.data(), texts, st.booleans())
@settings(max_examples=500, derandomize=True, deadline=None)
def test_no_edit_is_found_that_is_shown_otherwise(text: str, data: st.DataObject, new: str, every: bool) -> None:
    start = data.draw(st.integers(0, len(text)))
    old = text[start : data.draw(st.integers(start, len(text)))]
    check_edits("Edit", text, [{"old_string": old, "new_string": new, "replace_all": every}])


def test_what_is_shown_of_a_write_is_what_it_does() -> None:
    chance = random.Random(12)
    for _ in range(CASES):
        text = some_text(chance, 40)
        content = chance.choice([some_text(chance, 40), some_edit(chance, text)["new_string"], text, text + "\n"])
        found = change_of(tool_use("Write", {"content": content}), text, seen=SEEN)
        assert apply_block(text, found.diff) == content
        assert apply_block(text, found.brief) == content
        assert shows_a_change(found.diff) == shows_a_change(found.brief) == (text != content)


def test_a_write_shows_each_line_of_old_and_new() -> None:
    found = change_of(tool_use("Write", {"content": "a\nB\nc\n"}), "a\nb\nc\n", seen=SEEN)
    assert found.diff == " a\n-b\n+B\n c"
    assert (found.added, found.removed, found.unchanged) == (1, 1, 0)


def test_a_write_of_a_long_file_has_a_brief_form_that_says_what_is_left_out() -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    found = change_of(tool_use("Write", {"content": text.replace("line 50\n", "LINE\n")}), text, seen=SEEN)
    assert found.brief.split("\n") == [
        "@@ 47 unchanged lines @@",
        *(" line 47", " line 48", " line 49", "-line 50", "+LINE", " line 51", " line 52", " line 53"),
        "@@ 46 unchanged lines @@",
    ]
    assert found.unchanged == 93


@pytest.mark.parametrize(("old", "new"), [("a\n", "a"), ("a", "a\n"), ("", "a"), ("a", "")])
def test_a_change_of_the_last_line_break_is_a_change(old: str, new: str) -> None:
    found = change_of(tool_use("Write", {"content": new}), old, seen=SEEN)
    assert found.added + found.removed > 0


def test_an_edit_is_shown_in_its_place() -> None:
    text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
    fields = {"file_path": "/a", "old_string": "ive\nsi", "new_string": "IVE\nSI"}
    found = change_of(tool_use("Edit", fields), text, seen=SEEN)
    assert found.blocks == ("@@ line 2 @@\n two\n three\n four\n-five\n-six\n+fIVE\n+SIx\n seven\n eight",)
    assert found.places == 1


def test_an_edit_of_a_file_with_other_line_breaks_is_found() -> None:
    fields = {"file_path": "/a", "old_string": "a\nb", "new_string": "c"}
    assert change_of(tool_use("Edit", fields), "a\r\nb\r\n", seen=SEEN).places == 1


def test_edits_are_shown_one_after_another() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": True}]
    found = change_of(tool_use("MultiEdit", {"file_path": "/a", "edits": edits}), "a\nb\n", seen=SEEN)
    assert found.blocks == ("@@ line 1 @@\n-a\n+b\n b", "@@ line 1 @@\n-b\n+c\n-b\n+c")


@pytest.mark.parametrize(
    ("tool", "fields", "text"),
    [
        ("Write", {"content": "x" * 300_000}, "a"),
        ("Write", {"content": "\n" * 6000}, "a"),
        ("Write", {"content": 5}, "a"),
        ("Write", {"content": "x"}, "\n" * 6000),
        ("Edit", {"old_string": "a", "new_string": "b" * 300_000}, "a"),
        ("Edit", {"old_string": "a", "new_string": "b" * 200_000, "replace_all": True}, "a" * 200_000),
        ("Edit", {"old_string": 1, "new_string": "b"}, "a"),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "a"}] * 51}, "a"),
        ("MultiEdit", {"edits": "x"}, "a"),
        ("MultiEdit", {"edits": [5]}, "a"),
    ],
)
def test_what_is_too_much_or_makes_no_sense_is_left_out(tool: str, fields: dict[str, Any], text: str) -> None:
    found = change_of(tool_use(tool, fields), text, seen=SEEN)
    assert (found.diff, found.brief, found.blocks) == ("", "", ())


@pytest.mark.parametrize(
    ("tool", "fields", "path"),
    [
        ("Write", {"file_path": "/a"}, "/a"),
        ("Write", {"file_path": "/a\0b"}, ""),
        ("Write", {"file_path": ["/a"]}, ""),
        ("Bash", {"file_path": "/a"}, ""),
        ("Read", {"file_path": "/a"}, ""),
        ("MultiEdit", {"file_path": "/a", "edits": [{"file_path": "/b"}]}, ""),
    ],
)
def test_only_a_call_that_changes_one_file_names_it(tool: str, fields: dict[str, Any], path: str) -> None:
    assert changed_path(tool_use(tool, fields)) == path
