"""How one text becomes another, line by line. Pure, and bounded whatever the texts are: difflib's work is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

DiffLine = tuple[str, str]
"""A sign (" ", "-" or "+") and the line it stands before, with its line break."""

NO_BREAK = "\\ No newline at end of file"
"""Stands below a line that has no line break, as in git's diffs. No sign is before it, so no line can pass for it."""

MOST_EDITS = 200  # Myers' work grows with the lines times the edits; beyond this all is shown as replaced


def diff_lines(old: Sequence[str], new: Sequence[str], *, most_edits: int = MOST_EDITS) -> list[DiffLine]:
    """Lines that turn `old` into `new`; taken with their signs they hold every line of both."""
    numbers: dict[str, int] = {}
    before = [numbers.setdefault(line, len(numbers)) for line in old]
    after = [numbers.setdefault(line, len(numbers)) for line in new]
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    steps = _shortest(before[start : len(before) - end], after[start : len(after) - end], most_edits)
    lines = [(" ", line) for line in old[:start]]
    if steps is None:
        lines += [("-", line) for line in middle_old]
        lines += [("+", line) for line in middle_new]
    else:
        lines += _along(steps, middle_old, middle_new)
    return lines + [(" ", line) for line in old[len(old) - end :]]


def split_lines(text: str) -> list[str]:
    """Lines with their line breaks, so that a missing one at the end makes a difference. Only \\n breaks lines:
    whatever else an editor may take for a break is a character like any other."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def in_full(lines: Iterable[DiffLine]) -> list[str]:
    """As text, with every line."""
    return [part for sign, line in lines for part in _written_out(sign, line)]


def brief(lines: Sequence[DiffLine], *, context: int = 3) -> tuple[list[str], int]:
    """As text, with unchanged lines only near changed ones, and how many lines are left out."""
    text: list[str] = []
    left_out = skipped = 0
    for shown, (sign, line) in zip(_near(lines, context), lines, strict=True):
        if shown:
            text += [_gap(skipped)] if skipped else []
            text += _written_out(sign, line)
            skipped = 0
        else:
            skipped += 1
            left_out += 1
    return text + ([_gap(skipped)] if skipped else []), left_out


def hunks(lines: Sequence[DiffLine], *, context: int = 3) -> list[str]:
    """As text, the changed lines and those near them. Each stretch says at which line of the old text it begins."""
    text: list[str] = []
    number = 1
    is_inside = False
    for shown, (sign, line) in zip(_near(lines, context), lines, strict=True):
        if shown:
            text += [] if is_inside else [f"@@ line {number} @@"]
            text += _written_out(sign, line)
        is_inside = shown
        number += sign != "+"
    return text


def _near(lines: Sequence[DiffLine], context: int) -> list[bool]:
    """Which lines are changed, or stand near changed ones."""
    near = [False] * len(lines)
    for index, (sign, _) in enumerate(lines):
        if sign != " ":
            for place in range(max(0, index - context), min(len(lines), index + context + 1)):
                near[place] = True
    return near


def _written_out(sign: str, line: str) -> tuple[str, ...]:
    return (sign + line[:-1],) if line.endswith("\n") else (sign + line, NO_BREAK)


def _gap(count: int) -> str:
    return f"@@ {count} unchanged line{'s' if count > 1 else ''} @@"


def _along(steps: str, old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Removals before additions within a stretch of changes: that is how people read a diff."""
    x = y = 0
    added: list[DiffLine] = []
    for step in steps:
        if step == "-":
            yield "-", old[x]
            x += 1
        elif step == "+":
            added.append(("+", new[y]))
            y += 1
        else:
            yield from added
            added = []
            yield " ", old[x]
            x, y = x + 1, y + 1
    yield from added


def _shortest(old: Sequence[int], new: Sequence[int], most_edits: int) -> str | None:
    """Myers' greedy algorithm: the steps as signs, or None where it takes more edits than are allowed."""
    reach = {1: 0}
    trail = []
    for edits in range(min(len(old) + len(new), most_edits) + 1):
        trail.append(dict(reach))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return _back(trail, len(old), len(new))
    return None


def _back(trail: Sequence[dict[int, int]], x: int, y: int) -> str:
    steps: list[str] = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, k = trail[edits], x - y
        down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
        previous = k + 1 if down else k - 1
        from_x = reach[previous]
        from_y = from_x - previous
        while x > from_x and y > from_y and x > 0 and y > 0:
            steps.append(" ")
            x, y = x - 1, y - 1
        if edits:
            steps.append("+" if down else "-")
        x, y = from_x, from_y
    return "".join(reversed(steps))
