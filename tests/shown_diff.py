"""Reads a diff as a person reads it on a card, and does what it says. Knows nothing of the code that made it.

A line begins with a sign: " " stays, "-" goes, "+" comes. A line that begins with a backslash says that the line above
it has no line break. `@@ line 7 @@` says where the lines below it stand; `@@ 5 unchanged lines @@` stands for as many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NO_BREAK = "\\ No newline at end of file"
WITH_BREAK = "\\ with the line break behind it"
_AT = re.compile(r"@@ line (\d+) @@")
_GAP = re.compile(r"@@ (\d+) unchanged lines? @@")
_SPELLED = re.compile(r"⟨(?:U\+([0-9A-F]{4,6})|(tab)|([\d,]+) (blank|tab)s?)⟩")
_FOLDED = re.compile(r"([ +-]?)⟨([\d,]+) blank lines⟩")


@dataclass
class Hunk:
    """Lines with their line breaks; a number in `lines` stands for so many unchanged ones."""

    at: int | None
    lines: list[tuple[str, str] | int] = field(default_factory=list)


class UnreadableError(AssertionError):
    """The block says nothing that could be done."""


def hunks_of(block: str) -> list[Hunk]:
    found: list[Hunk] = []
    for line in block.split("\n") if block else []:
        at, gap = _AT.fullmatch(line), _GAP.fullmatch(line)
        if at:
            found.append(Hunk(int(at[1])))
            continue
        if not found:
            found.append(Hunk(None))
        lines = found[-1].lines
        if gap:
            lines.append(int(gap[1]))
        elif line == NO_BREAK:
            last = lines.pop()
            assert isinstance(last, tuple)
            assert last[1].endswith("\n")
            lines.append((last[0], last[1][:-1]))
        elif line[:1] in (" ", "-", "+") and line:
            lines.append((line[0], line[1:] + "\n"))
        else:
            raise UnreadableError(f"no sign before {line!r} in {block!r}")
    return found


def apply_block(text: str, block: str) -> str:
    """The text after the change that the block shows. Fails where the block does not fit the text."""
    before = _lines(text)
    after: list[str] = []
    position = 0
    for hunk in hunks_of(block):
        start = position if hunk.at is None else hunk.at - 1
        assert start >= position, f"hunks overlap: {block!r}"
        after += before[position:start]
        position = start
        for entry in hunk.lines:
            if isinstance(entry, int):
                after += before[position : position + entry]
                position += entry
                continue
            sign, line = entry
            if sign in " -":
                assert before[position : position + 1] == [line], f"{line!r} does not stand there: {block!r}, {text!r}"
                position += 1
            if sign in " +":
                after.append(line)
    after += before[position:]
    broken = [line for line in after[:-1] if not line.endswith("\n")]
    assert not broken, f"a line without a break in the middle: {block!r}"
    return "".join(after)


def read_fragments(block: str) -> tuple[str, str]:
    """The old and the new text, where the file is not known. The last line has a break only where it says so."""
    parts: dict[str, list[str]] = {"-": [], "+": []}
    sign = ""
    for line in block.split("\n") if block else []:
        if line == WITH_BREAK:
            parts[sign][-1] += "\n"
        elif line[:1] in parts and line:
            sign = line[0]
            if parts[sign]:
                parts[sign][-1] += "\n"
            parts[sign].append(line[1:])
        else:
            raise UnreadableError(f"{line!r} in {block!r}")
    return "".join(parts["-"]), "".join(parts["+"])


def shows_a_change(block: str) -> bool:
    return any(line[:1] in ("-", "+") for line in block.split("\n"))


def unspelled(shown: str) -> str:
    """What stands on a card, with the characters in the place of their names. Folded lines come back as so many."""
    lines: list[str] = []
    for line in shown.split("\n"):
        folded = _FOLDED.fullmatch(line)
        lines += [folded[1]] * _number(folded[2]) if folded else [_SPELLED.sub(_character, line)]
    return "\n".join(lines)


def _character(found: re.Match[str]) -> str:
    code, tab, count, what = found.groups()
    if code:
        return chr(int(code, 16))
    return "\t" if tab else {"blank": " ", "tab": "\t"}[what] * _number(count)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _lines(text: str) -> list[str]:
    """Each with its line break, as a file has them: only the last may be without."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


# What the agents do to a file


def replaced(text: str, old: str, new: str, *, every: bool) -> str | None:
    """Claude Code's Edit, as its program reads (2.1.325); None where it refuses."""
    if not old:
        return new if not text.strip() and new != text else None
    if old not in text or (text.count(old) > 1 and not every):
        return None
    search = f"{old}\n" if not new and not old.endswith("\n") and f"{old}\n" in text else old
    after = text.replace(search, new) if every else text.replace(search, new, 1)
    return after if after != text else None
