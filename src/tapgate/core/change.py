"""What a Write or an Edit would change in the file as it stands. Pure: the file's text is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tapgate.core.diff import brief, diff_lines
from tapgate.model import Json, OnDisk

MOST_CHARS = 256 * 1024  # of the file and of what would be written
MOST_LINES = 5000
MOST_EDITS = 50
_KEPT_CHARS = 8192  # no card shows more, and it is kept as long as the request
_CONTEXT = 3
_END = "\\ No newline at end of file"

CHANGING = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path"}
"""The tools whose effect on a file can be told from their input, and where they name it."""


def changed_path(tool: str, fields: Mapping[str, Json]) -> str:
    """The one file that the call names, or ""."""
    path = fields.get(CHANGING.get(tool, ""))
    if not isinstance(path, str) or not path or "\0" in path:
        return ""
    edits = fields.get("edits") if tool == "MultiEdit" else None
    if isinstance(edits, list) and any(isinstance(edit, dict) and "file_path" in edit for edit in edits[:MOST_EDITS]):
        return ""
    return path


def change_of(tool: str, fields: Mapping[str, Json], text: str, *, seen: OnDisk) -> OnDisk:
    """`seen` with the lines that the call would change in `text`; as it is where that is too much to tell."""
    if _is_large(text):
        return seen
    if tool == "Write":
        return _written(text, fields.get("content"), seen)
    edits = [fields] if tool == "Edit" else fields.get("edits")
    return _edited(text, edits, seen) if isinstance(edits, list) and 0 < len(edits) <= MOST_EDITS else seen


def _written(text: str, content: Json, seen: OnDisk) -> OnDisk:
    if not isinstance(content, str) or _is_large(content):
        return seen
    differ = text.endswith("\n") != content.endswith("\n")
    old, new = ([*_lines(one), _END] if differ and one and one[-1] != "\n" else _lines(one) for one in (text, content))
    lines = diff_lines(old, new)
    whole = "\n".join(sign + line for sign, line in lines)
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


def _edited(text: str, edits: Sequence[Json], seen: OnDisk) -> OnDisk:
    if "\r\n" in text and not any("\r" in str(edit) for edit in edits):
        text = text.replace("\r\n", "\n")  # agents read and write such files with line breaks of their own
    blocks: list[str] = []
    places = -1
    for edit in edits:
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if not isinstance(old, str) or not isinstance(new, str) or _is_large(new):
            return seen
        found = text.count(old) if old else 0
        places = found if places < 0 else places
        if not found:
            return replace(seen, places=places)
        times = found if edit.get("replace_all") is True else 1
        if len(text) + times * len(new) > 2 * MOST_CHARS:  # before it is made: it can be the product of both
            return replace(seen, places=places)
        blocks.append(_in_place(text, old, new) if times == 1 else _everywhere(times, old, new))
        text = text.replace(old, new, times)
    kept = tuple(blocks) if sum(map(len, blocks)) <= _KEPT_CHARS else ()
    return replace(seen, blocks=kept, places=places)


def _in_place(text: str, old: str, new: str) -> str:
    """The lines that the first match touches, before and after, with a few of the file's around them."""
    at = text.index(old)
    start = text.rfind("\n", 0, at) + 1
    end = at + len(old)
    if not old.endswith("\n"):
        end = text.find("\n", end) % (len(text) + 1)  # -1, no further line break, is the text's end
    inside = text[start:end]
    after = text[start:at] + new + text[at + len(old) : end]
    rest = text[end:].removeprefix("\n") if end < len(text) and not old.endswith("\n") else text[end:]
    above = text[:start].removesuffix("\n").split("\n")[-_CONTEXT:] if start else []
    below = rest.split("\n", _CONTEXT)[:_CONTEXT] if rest else []
    while below and not below[-1]:
        below.pop()
    lines = diff_lines(_lines(inside), _lines(after))
    number = text.count("\n", 0, start) - len(above) + 1
    shown = [*(f" {line}" for line in above), *(sign + line for sign, line in lines), *(f" {line}" for line in below)]
    return "\n".join([f"@@ line {number} @@", *shown])


def _everywhere(times: int, old: str, new: str) -> str:
    """In several places: what becomes of the words says more than one of the places."""
    signed = [sign + line for sign, text in (("-", old), ("+", new)) if text for line in text.split("\n")]
    return "\n".join([f"@@ {times} places @@", *signed])


def _lines(text: str) -> list[str]:
    """Without the empty one behind the last line break."""
    if not text:
        return []
    return text[:-1].split("\n") if text.endswith("\n") else text.split("\n")


def _is_large(text: str) -> bool:
    return len(text) > MOST_CHARS or text.count("\n") > MOST_LINES
