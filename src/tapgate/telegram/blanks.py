"""Blanks that push a text off the screen, or that nobody sees at a line's end: named, with their number. Pure.

The names stand in ⟨ ⟩. No text can pass for one: wherever texts are shown, a ⟨ of their own is spelled out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

Fold = tuple[int, int, str]
"""From, to, and the name to show in its place."""

MOST_LINES = 3  # blank lines in a row that are shown as they are
MOST_BLANKS = 40  # blanks in a row; indentation and tables have fewer

_LONG = re.compile(
    rf"^(?P<lines>(?P<sign>)(?:[ \t]*\n){{{MOST_LINES + 1},}})|(?P<run>[ \t]{{{MOST_BLANKS + 1},}})", re.MULTILINE
)
_LONG_IN_DIFF = re.compile(
    rf"^(?P<lines>(?P<sign>[ +-]?)[ \t]*\n(?:(?P=sign)[ \t]*\n){{{MOST_LINES},}})"
    rf"|(?<=[^\n])(?P<run>[ \t]{{{MOST_BLANKS + 1},}})",  # behind the sign
    re.MULTILINE,
)
_CHANGED = re.compile(r"^[+-].*", re.MULTILINE)
_ALIKE = re.compile(r" +|\t+")
_MOST_ALIKE = 4
_TABS = re.compile(r"\t+")


def folds_of(text: str, *, diff: bool = False) -> list[Fold]:
    """The stretches to fold, in order. In a diff they keep their signs, and blanks that are a change are named."""
    if not diff:
        return [*_long(text, _LONG)] if _may_have_long(text) else []
    long = _long(text, _LONG_IN_DIFF)
    folds: list[Fold] = []
    covered = 0
    for fold in sorted([*long, *_changed(text)], key=lambda fold: (fold[0], -fold[1])):
        if fold[0] >= covered:
            folds.append(fold)
            covered = fold[1]
    return folds


def name_of(text: str) -> str:
    """For a text of nothing but blanks."""
    return _lines_name(text, 0) if "\n" in text else _run_name(text)


def _may_have_long(text: str) -> bool:
    """Quickly: most texts have none, and one may have 16 MiB."""
    if " " * (MOST_BLANKS + 1) in text.replace("\t", " "):
        return True
    lines = text.replace(" ", "").replace("\t", "")
    return "\n" * (MOST_LINES + 1) in lines


def _long(text: str, pattern: re.Pattern[str]) -> Iterator[Fold]:
    for found in pattern.finditer(text):
        lines = found["lines"]
        if lines is None:
            yield found.start(), found.end(), _run_name(found["run"])
        else:
            sign = len(found["sign"])
            yield found.start() + sign, found.end() - 1, _lines_name(lines, sign)


def _lines_name(text: str, sign: int) -> str:
    count = text.count("\n") + (not text.endswith("\n"))
    blanks = len(text) - text.count("\n") - count * sign
    inside = f" with {_count(blanks, 'blank')}" if blanks else ""
    return f"⟨{_count(count, 'blank line')}{inside}⟩"


def _run_name(run: str) -> str:
    alike = _ALIKE.findall(run)
    return "".join(map(_alike_name, alike)) if len(alike) <= _MOST_ALIKE else f"⟨{len(run):,} blanks and tabs⟩"


def _alike_name(run: str) -> str:
    return "⟨tab⟩" if run == "\t" else f"⟨{_count(len(run), 'tab' if run[0] == chr(9) else 'blank')}⟩"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _changed(text: str) -> Iterator[Fold]:
    """Blanks at the end of lines that go or come; tabs in those that differ in nothing but their blanks."""
    sides: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    changed = [(found.start(), found[0]) for found in _CHANGED.finditer(text)]
    for _, line in changed:
        sides[_without_blanks(line)][line[0] == "+"].add(line[1:])
    for start, line in changed:
        gone, come = sides[_without_blanks(line)]
        if gone and come and gone != come:
            yield from (
                (start + tabs.start(), start + tabs.end(), _alike_name(tabs[0])) for tabs in _TABS.finditer(line)
            )
        for run in _ALIKE.finditer(line, max(1, len(line.rstrip(" \t")))):
            yield start + run.start(), start + run.end(), _alike_name(run[0])


def _without_blanks(line: str) -> str:
    return line[1:].replace(" ", "").replace("\t", "")
