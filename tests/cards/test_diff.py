"""A diff holds every line of both texts, leads from one to the other, and costs little whatever the texts are."""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.cards.diff import DiffLine, brief, diff_lines, hunks, in_full, split_lines

lines = st.lists(st.sampled_from(["a", "b", "c", "", "}", "x = 1"]), max_size=30)


def sides(found: list[DiffLine]) -> tuple[list[str], list[str]]:
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
    found = diff_lines([f"{line}\n" for line in old], [f"{line}\n" for line in new])
    text, left_out = brief(found, context=1)
    kept = [line for line in text if not line.startswith("@@ ")]
    assert len(kept) + left_out == len(found)
    changed = [sign + line[:-1] for sign, line in found if sign != " "]
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


@given(st.text("a \n\r\u2028\x0c\x85", max_size=20))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_lines_are_the_text_cut_behind_each_line_break_and_nowhere_else(text: str) -> None:
    found = split_lines(text)
    assert "".join(found) == text
    assert all(line.index("\n") == len(line) - 1 for line in found[:-1])
    assert len(found) == text.count("\n") + (text[-1:] not in ("", "\n"))


def test_a_missing_line_break_is_marked_below_its_line() -> None:
    found = diff_lines(["a\n", "b"], ["a\n", "b\n"])
    assert in_full(found) == [" a", "-b", "\\ No newline at end of file", "+b"]
    assert brief(found)[0] == hunks(found)[1:] == in_full(found)
    assert in_full(diff_lines(["b"], ["b"])) == [" b", "\\ No newline at end of file"]


def test_each_stretch_says_where_it_begins_in_the_old_text() -> None:
    old = [f"{number}\n" for number in range(1, 21)]
    new = [*old[:4], "new\n", *old[4:15], *old[16:]]
    assert hunks(diff_lines(old, new), context=1) == [
        *("@@ line 4 @@", " 4", "+new", " 5"),
        *("@@ line 15 @@", " 15", "-16", " 17"),
    ]
