"""Edits shown against the file as it stands."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.model import Background
from tapgate.telegram.content import content_of
from tapgate.telegram.diff import edit_diff, file_diff
from tests.builders import make_request

FILE = "".join(f"line {number}\n" for number in range(1, 11))


def test_an_edit_is_shown_with_the_lines_around_it() -> None:
    assert edit_diff(FILE, "line 5", "line five", every=False) == (
        "@@ line 5 @@\n line 2\n line 3\n line 4\n-line 5\n+line five\n line 6\n line 7\n line 8"
    )


def test_an_edit_inside_a_line_shows_the_whole_line() -> None:
    assert edit_diff("a = 1\nb = 2\n", "2", "3", every=False) == "@@ line 2 @@\n a = 1\n-b = 2\n+b = 3"


def test_every_occurrence_is_counted() -> None:
    found = edit_diff("x\nx\nx\n", "x", "y", every=True)
    assert found is not None and found.startswith("@@ line 1 and 2 more @@")


def test_what_the_file_does_not_hold_is_not_made_up() -> None:
    assert edit_diff(FILE, "line 99", "x", every=False) is None
    assert edit_diff(FILE, "", "x", every=False) is None


def test_a_rewritten_file_is_shown_as_its_changes() -> None:
    assert file_diff("a\nb\nc\n", "a\nB\nc\n") == "@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n "
    assert file_diff("same\n", "same\n") is None
    assert file_diff("x\n" * 1000, "y\n") is None


LINES = st.lists(st.text("ab \t-+@", max_size=5), max_size=12).map("\n".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(before=LINES, after=LINES)
def test_every_new_line_of_a_rewritten_file_is_in_its_diff(before: str, after: str) -> None:
    shown = file_diff(before, after)
    if shown is not None:
        kept = set(before.split("\n"))
        lines = shown.split("\n")
        assert all(f"+{line}" in lines for line in after.split("\n") if line not in kept)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(before=LINES, new=LINES, data=st.data())
def test_every_new_line_of_an_edit_is_in_its_diff(before: str, new: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(before)))
    old = before[start : start + data.draw(st.integers(0, 8))]
    shown = edit_diff(before, old, new, every=False)
    if shown is None:
        assert not old
        return
    after = before.replace(old, new, 1).split("\n")
    lines = shown.split("\n")
    assert all(f"+{line}" in lines for line in after if line not in before.split("\n"))


def test_the_forms_use_the_file_where_it_is_known() -> None:
    edit = make_request(
        tool="Edit", tool_input={"file_path": "/x.py", "old_string": "line 5", "new_string": "line five"}
    )
    assert content_of(edit, Background(before=FILE)).body.startswith("@@ line 5 @@")
    assert content_of(edit, Background(before="something else")).body == "-line 5\n+line five"
    assert content_of(edit).body == "-line 5\n+line five"
    write = make_request(tool="Write", tool_input={"file_path": "/x.py", "content": "new\n"})
    assert content_of(write, Background(is_new=True)).asides[0] == "a new file, 4 bytes"
    over = content_of(write, Background(before="old\n"))
    assert (over.language, over.asides[0]) == ("diff", "4 bytes, in the place of 4")
    assert content_of(write, Background(before="x\n" * 1000)).body == "new\n"
