"""A diff holds every line of both texts, leads from one to the other, and costs little whatever the texts are."""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.core.change import change_of, changed_path
from tapgate.core.diff import Line, brief, diff_lines
from tapgate.model import OnDisk

SEEN = OnDisk(at=0.0)
lines = st.lists(st.sampled_from(["a", "b", "c", "", "}", "x = 1"]), max_size=30)


def sides(found: list[Line]) -> tuple[list[str], list[str]]:
    return [line for sign, line in found if sign in " -"], [line for sign, line in found if sign in " +"]


@given(lines, lines)
@settings(max_examples=500, derandomize=True, deadline=None)
def test_the_signs_lead_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    assert sides(diff_lines(old, new)) == (old, new)
    assert sides(diff_lines(old, new, most_edits=2)) == (old, new), "and also where the edits are too many"


@given(lines, lines)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_no_shorter_diff_exists(old: list[str], new: list[str]) -> None:
    """As many lines stay as the longest common subsequence has."""
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for x, one in enumerate(old):
        for y, other in enumerate(new):
            longest[x + 1][y + 1] = longest[x][y] + 1 if one == other else max(longest[x][y + 1], longest[x + 1][y])
    assert sum(sign == " " for sign, _ in diff_lines(old, new)) == longest[-1][-1]


@given(lines, lines)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_the_brief_form_counts_what_it_leaves_out(old: list[str], new: list[str]) -> None:
    found = diff_lines(old, new)
    text, left_out = brief(found, context=1)
    kept = [line for line in text if not line.startswith("@@ ")]
    assert len(kept) + left_out == len(found)
    changed = [sign + line for sign, line in found if sign != " "]
    assert [line for line in kept if line[:1] in "+-" and line in changed] == changed


def steps(old: list[str], new: list[str]) -> int:
    """How many lines of Python it takes: a measure that no other process disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)
    try:
        diff_lines(old, new)
    finally:
        sys.settrace(None)
    return count


def test_hostile_texts_cost_no_more_than_their_size_allows() -> None:
    """difflib takes cubic time for such texts."""
    chance = random.Random(1)
    pair = [[chance.choice("ab") for _ in range(2000)] for _ in range(2)]
    assert steps(*pair) < 4_000_000
    assert steps(["a", "b"] * 1000, ["b", "a"] * 1000) < 4_000_000


# What a call would change


def test_a_write_shows_each_line_of_old_and_new() -> None:
    found = change_of("Write", {"content": "a\nB\nc\n"}, "a\nb\nc\n", seen=SEEN)
    assert found.diff == " a\n-b\n+B\n c"
    assert (found.added, found.removed, found.unchanged) == (1, 1, 0)


def test_a_write_of_a_long_file_has_a_brief_form_that_says_what_is_left_out() -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    found = change_of("Write", {"content": text.replace("line 50\n", "LINE\n")}, text, seen=SEEN)
    assert found.brief.split("\n") == [
        "@@ 47 unchanged lines @@",
        *(" line 47", " line 48", " line 49", "-line 50", "+LINE", " line 51", " line 52", " line 53"),
        "@@ 46 unchanged lines @@",
    ]
    assert found.unchanged == 93


@pytest.mark.parametrize(("old", "new"), [("a\n", "a"), ("a", "a\n"), ("", "a"), ("a", "")])
def test_a_change_of_the_last_line_break_is_a_change(old: str, new: str) -> None:
    found = change_of("Write", {"content": new}, old, seen=SEEN)
    assert found.added + found.removed > 0


def test_an_edit_is_shown_in_its_place() -> None:
    text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
    fields = {"file_path": "/a", "old_string": "ive\nsi", "new_string": "IVE\nSI"}
    found = change_of("Edit", fields, text, seen=SEEN)
    assert found.blocks == ("@@ line 2 @@\n two\n three\n four\n-five\n-six\n+fIVE\n+SIx\n seven\n eight",)
    assert found.places == 1


@given(
    st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=4), st.text("abc\n", max_size=4), st.booleans()
)
@settings(max_examples=500, derandomize=True, deadline=None)
def test_each_line_of_an_edit_stands_in_its_block(text: str, old: str, new: str, every: bool) -> None:
    fields = {"file_path": "/a", "old_string": old, "new_string": new, "replace_all": every}
    found = change_of("Edit", fields, text, seen=SEEN)
    assert found.places == text.count(old)
    if old not in text:
        assert found.blocks == ()
        return
    shown = found.blocks[0].split("\n")[1:]
    if every and text.count(old) > 1:
        assert shown == [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n") if new]
        return
    before = "\n".join(line[1:] for line in shown if line[:1] in (" ", "-"))
    after = "\n".join(line[1:] for line in shown if line[:1] in (" ", "+"))
    assert old.strip("\n") in before
    assert new.strip("\n") in after
    assert before.strip("\n") in text


def test_an_edit_of_a_file_with_other_line_breaks_is_found() -> None:
    fields = {"file_path": "/a", "old_string": "a\nb", "new_string": "c"}
    assert change_of("Edit", fields, "a\r\nb\r\n", seen=SEEN).places == 1


def test_edits_are_shown_one_after_another() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": True}]
    found = change_of("MultiEdit", {"file_path": "/a", "edits": edits}, "a\nb\n", seen=SEEN)
    assert found.blocks == ("@@ line 1 @@\n-a\n+b\n b", "@@ 2 places @@\n-b\n+c")


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
    found = change_of(tool, fields, text, seen=SEEN)
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
    assert changed_path(tool, fields) == path
