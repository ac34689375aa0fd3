"""What a write or an edit would change in the file as it stands. Pure: the file's text is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tapgate.cards.diff import DiffLine, brief, diff_lines, hunks, in_full, split_lines
from tapgate.cards.edit_text import as_found, removed_text
from tapgate.cards.notebook import cell_change
from tapgate.model import CHANGES_FILES, Json, OnDisk, ToolKind, ToolUse

MOST_CHARS = 256 * 1024  # of the file and of what would be written
MOST_LINES = 5000
MOST_EDITS = 50
_KEPT_CHARS = 8192  # no card shows more, and it is kept as long as the request


def changed_path(use: ToolUse) -> str:
    """The one file whose change can be told from the call's input, or ""."""
    if use.kind not in CHANGES_FILES:
        return ""
    path = use.value("notebook_path" if use.kind is ToolKind.NOTEBOOK else "file_path")
    if not isinstance(path, str) or not path or "\0" in path:
        return ""
    edits, named = use.value("edits") if use.kind is ToolKind.EDITS else None, use.field_of("file_path")
    if isinstance(edits, list) and any(isinstance(edit, dict) and named in edit for edit in edits[:MOST_EDITS]):
        return ""
    return path


def change_of(use: ToolUse, text: str, *, seen: OnDisk) -> OnDisk:
    """`seen` with the lines that the call would change in `text`; as it is where that is too much to tell."""
    if _is_large(text):
        return seen
    if use.kind is ToolKind.WRITE:
        return _written(text, use.value("content"), seen)
    if use.kind is ToolKind.NOTEBOOK:
        return _with_cell(text, use, seen)
    edits = [dict(use.input)] if use.kind is ToolKind.EDIT else use.value("edits")
    return _edited(text, edits, use, seen) if isinstance(edits, list) and 0 < len(edits) <= MOST_EDITS else seen


def _written(text: str, content: Json, seen: OnDisk) -> OnDisk:
    if not isinstance(content, str) or _is_large(content):
        return seen
    lines = diff_lines(split_lines(text), split_lines(content))
    whole = "\n".join(in_full(lines))
    short, unchanged = brief(lines)
    text = "\n".join(short)
    return replace(
        seen,
        diff=whole if len(whole) <= _KEPT_CHARS else "",
        brief=text if len(text) <= _KEPT_CHARS else "",
        unchanged=unchanged,
        added=sum(sign == "+" for sign, _ in lines),
        removed=sum(sign == "-" for sign, _ in lines),
    )


def _with_cell(text: str, use: ToolUse, seen: OnDisk) -> OnDisk:
    change = cell_change(text, use)
    if change is None:
        return replace(seen, places=0)
    if change.new is None or _is_large(change.old + change.new):
        return seen
    lines = diff_lines(split_lines(change.old), split_lines(change.new))
    block = "\n".join([f"@@ cell {change.number} of {change.of} @@", *in_full(lines)])
    is_kept = any(sign != " " for sign, _ in lines) and len(block) <= _KEPT_CHARS
    return replace(seen, places=1, blocks=(block,) if is_kept else ())


def _edited(text: str, edits: Sequence[Json], use: ToolUse, seen: OnDisk) -> OnDisk:
    """A block for each edit, or none at all: where one cannot be told, the text is not known for those after it."""
    pairs = [_texts(edit, use) for edit in edits]
    if any(pair is None for pair in pairs):
        return seen
    if not any("\r" in pair[0] for pair in pairs if pair):
        seen = replace(seen, mixed_ends=0 < text.count("\r\n") < text.count("\n"))
        text = text.replace("\r\n", "\n")  # agents read and write such files with line breaks of their own
    blocks: list[str] = []
    places = -1
    for edit, pair in zip(edits, pairs, strict=True):
        assert isinstance(edit, dict)
        assert pair is not None
        old, new = as_found(text, *pair)
        every = edit.get(use.field_of("replace_all")) is True
        taken = removed_text(text, old, new)
        found = text.count(taken if every else old) if old else 0
        places = found if places < 0 else places
        if found > 1 and not every:  # which one is meant is not known, and agents refuse it
            return replace(seen, places=places)
        lines = _replaced_lines(text, taken, new, found)
        if not lines or not any(sign != " " for sign, _ in lines):
            return replace(seen, places=places)
        blocks.append("\n".join(hunks(lines)))
        text = "".join(line for sign, line in lines if sign != "-")
    kept = tuple(blocks) if sum(map(len, blocks)) <= _KEPT_CHARS else ()
    return replace(seen, blocks=kept, places=places)


def _texts(edit: Json, use: ToolUse) -> tuple[str, str] | None:
    if not isinstance(edit, dict):
        return None
    old, new = (edit.get(use.field_of(name)) for name in ("old_string", "new_string"))
    return (old, new) if isinstance(old, str) and isinstance(new, str) and not _is_large(new) else None


def _replaced_lines(text: str, old: str, new: str, times: int) -> list[DiffLine] | None:
    """Every line of the text, with the changes of so many matches; None where that is refused or too much."""
    if not old:  # an edit without an old text makes a file, or fills an empty one
        return None if text.strip() else diff_lines(split_lines(text), split_lines(new))
    # Before it is made: it can be the product of both.
    if len(text) + times * len(new) > 2 * MOST_CHARS or text.count("\n") + times * new.count("\n") > 2 * MOST_LINES:
        return None
    lines: list[DiffLine] = []
    done = 0
    for start, end, after in _regions(text, old, new, times):
        lines += ((" ", line) for line in split_lines(text[done:start]))
        lines += diff_lines(split_lines(text[start:end]), split_lines(after))
        done = end
    return lines + [(" ", line) for line in split_lines(text[done:])]


def _regions(text: str, old: str, new: str, times: int) -> Iterator[tuple[int, int, str]]:
    """The stretches of whole lines that the matches touch, and what becomes of each. They never touch each other.

    A stretch ends with a line break, before and after: where the new text ends without one, the next line joins it.
    """
    at = text.find(old) if times else -1
    while at >= 0:
        start = end = text.rfind("\n", 0, at) + 1
        after: list[str] = []
        is_at_line_start = True
        while True:
            for part in (text[end:at], new):
                after.append(part)
                is_at_line_start = part.endswith("\n") if part else is_at_line_start
            times -= 1
            end = at + len(old)
            at = text.find(old, end) if times else -1
            stop = end if old.endswith("\n") and is_at_line_start else text.find("\n", end) + 1 or len(text)
            if not end <= at < stop:
                break
        after.append(text[end:stop])
        yield start, stop, "".join(after)


def _is_large(text: str) -> bool:
    return len(text) > MOST_CHARS or text.count("\n") > MOST_LINES
