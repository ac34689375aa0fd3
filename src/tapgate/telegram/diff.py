"""What an edit would change, with the lines around it from the file as it stands. Pure."""

from __future__ import annotations

import difflib

CONTEXT = 3  # lines around a change
MOST_LINES = 400  # beyond this a line-by-line comparison takes too long to be worth it


def edit_diff(before: str, old: str, new: str, *, every: bool) -> str | None:
    """The hunk for replacing `old` by `new`; None where the file does not hold `old`, so that nothing is made up."""
    found = before.find(old) if old else -1
    if found < 0:
        return None
    start = before.rfind("\n", 0, found) + 1
    end = before.find("\n", found + len(old))
    end = len(before) if end < 0 else end
    removed = before[start:end].split("\n")
    added = (before[start:found] + new + before[found + len(old) : end]).split("\n")
    above = before[:start].split("\n")[:-1][-CONTEXT:] if start else []
    below = before[end + 1 :].split("\n", CONTEXT)[:CONTEXT] if end < len(before) else []
    below = below[:-1] if below and below[-1] == "" and len(below) < CONTEXT else below
    number = before.count("\n", 0, start) + 1
    places = before.count(old) - 1
    more = f" and {places} more" if every and places else ""
    lines = [f"@@ line {number}{more} @@", *(f" {line}" for line in above)]
    lines += _compare(removed, added)
    lines += [f" {line}" for line in below]
    return "\n".join(lines)


def file_diff(before: str, after: str) -> str | None:
    """The hunks between two versions of a file; None where they are too long to compare, or the same."""
    old, new = before.split("\n"), after.split("\n")
    if len(old) > MOST_LINES or len(new) > MOST_LINES or before == after:
        return None
    hunks = difflib.unified_diff(old, new, lineterm="", n=CONTEXT)
    return "\n".join(list(hunks)[2:])


def _compare(removed: list[str], added: list[str]) -> list[str]:
    if len(removed) > MOST_LINES or len(added) > MOST_LINES:
        return [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    # ndiff's "? " lines are hints for the eye, not content.
    return [line[0] + line[2:] for line in difflib.ndiff(removed, added, charjunk=None) if not line.startswith("?")]
