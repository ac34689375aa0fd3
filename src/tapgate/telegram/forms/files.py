"""Files that would be written, edited or read: what changes, and what stands around it where that is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from tapgate.model import OnDisk
from tapgate.telegram.forms.content import LANGUAGES, READABLE, Content
from tapgate.telegram.forms.fields import Fields
from tapgate.telegram.setting import Setting

_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.{1,200})$", re.MULTILINE)
_MOST_PATCHED = 4


def write(fields: Fields, seen: OnDisk | None, setting: Setting, *, way: int) -> Content | None:
    """Three ways: as a diff with every line, as the content, as a diff without most unchanged lines."""
    if not fields.has("file_path", "content"):
        return None
    path, content = fields.text("file_path"), fields.text("content")
    suffix = PurePath(path).suffix.lower()
    facts = _write_facts(fields.size_of("content"), seen, setting)
    if way == 0 and seen is not None and seen.diff:
        return fields.content(seen.diff, *facts, head=path, language="diff", suffix=".diff")
    if way == 2 and seen is not None and seen.brief and seen.unchanged:
        return fields.content(
            seen.brief, *facts, head=path, language="diff", suffix=".diff", unchanged=max(1, seen.unchanged)
        )
    return fields.content(
        content,
        *facts,
        head=path,
        language=LANGUAGES.get(suffix, ""),
        suffix=suffix if suffix in READABLE else ".txt",
    )


def _write_facts(size: str, seen: OnDisk | None, setting: Setting) -> tuple[str, ...]:
    if seen is None:
        return (size,)
    if seen.is_new:
        return (f"new file · {size}",)
    change = f" · +{seen.added} −{seen.removed} lines" if seen.brief or seen.diff else ""
    return (f"replaces {_bytes(seen.size_bytes)} by {size}{change}, as it was at {setting.clock(seen.at)}",)


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"


def edit(fields: Fields, seen: OnDisk | None, setting: Setting, *, way: int) -> Content | None:
    if not fields.has("file_path", "old_string", "new_string"):
        return None
    path, old, new = (fields.text(name) for name in ("file_path", "old_string", "new_string"))
    body = _marked(old, new)
    if way == 0 and seen is not None and len(seen.blocks) == 1:
        body = seen.blocks[0]
    every = _every(fields, seen)
    return fields.content(body, every, _place(seen, old, setting), head=path, language="diff", suffix=".diff")


def multi_edit(fields: Fields, seen: OnDisk | None, setting: Setting, *, way: int) -> Content | None:
    edits = fields.items("edits")
    if not edits or not fields.has("file_path") or not all(_is_edit(edit) for edit in edits):
        return None
    path = fields.text("file_path")
    blocks = seen.blocks if way == 0 and seen is not None and len(seen.blocks) == len(edits) else ()
    parts = "\n".join(_parts(fields, edits, blocks))
    first = str(edits[0]["old_string"])
    return fields.content(parts, _place(seen, first, setting), head=path, language="diff", suffix=".diff")


def _parts(fields: Fields, edits: list[Any], blocks: tuple[str, ...]) -> Iterator[str]:
    for number, edit in enumerate(fields.while_room(edits), start=1):
        inside = fields.within(edit)
        old, new = inside.text("old_string"), inside.text("new_string")
        # Not the call's own path again and again: it stands above, and times many edits it is no longer small.
        facts = [inside.any("file_path") or f"edit {number}", _every(inside, None), *inside.rest()]
        yield from (f"@@ {fact} @@" for fact in facts if fact)
        body = blocks[number - 1] if blocks else _marked(old, new)
        fields.join(inside, len(body))
        yield body


def _every(fields: Fields, seen: OnDisk | None) -> str:
    if not fields.flag("replace_all"):
        return ""
    return (
        f"every occurrence: {seen.places} in the file" if seen is not None and seen.places > 0 else "every occurrence"
    )


def _place(seen: OnDisk | None, old: str, setting: Setting) -> str:
    if seen is None:
        return ""
    when = f"at {setting.clock(seen.at)}"
    if seen.is_new:
        return f"there was no such file {when}" if old else "new file"
    if seen.blocks:
        return f"the file as it was {when}"
    return f"the old text was not in the file {when}" if old and seen.places == 0 else ""


def _marked(old: str, new: str) -> str:
    # With replace and not line by line: a hostile input may have 16 million lines.
    return "\n".join(sign + text.replace("\n", f"\n{sign}") for sign, text in (("-", old), ("+", new)) if text)


def _is_edit(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("old_string", "new_string"))


def notebook_edit(fields: Fields) -> Content | None:
    if not fields.has("notebook_path", "new_source"):
        return None
    kind, mode, cell = fields.text("cell_type"), fields.text("edit_mode"), fields.text("cell_id")
    what = {"insert": "a new cell", "delete": "the cell is deleted", "replace": "replaces a cell"}.get(mode, mode)
    return fields.content(
        fields.text("new_source"),
        what,
        f"after cell {cell}" if cell and mode == "insert" else f"cell {cell}" if cell else "",
        f"{kind} cell" if kind else "",
        head=fields.text("notebook_path"),
        language="markdown" if kind == "markdown" else "python",
        suffix=".md" if kind == "markdown" else ".py",
    )


def apply_patch(fields: Fields) -> Content | None:
    if not fields.has("command"):
        return None
    patch = fields.text("command")
    found = [f"{what.lower()} {PurePath(path).name}" for what, path in _PATCHED.findall(patch[:16_384])]
    more = f" and {len(found) - _MOST_PATCHED} more" if len(found) > _MOST_PATCHED else ""
    files = f"{', '.join(found[:_MOST_PATCHED])}{more}" if found else ""
    return fields.content(patch, files, language="diff", suffix=".diff")


def read(fields: Fields) -> Content | None:
    if not fields.has("file_path"):
        return None
    offset, limit = fields.number("offset"), fields.number("limit")
    lines = f"{limit:g} lines" if limit else ""
    start = f"from line {offset:g}" if offset else ""
    return fields.content("", " ".join(part for part in (lines, start) if part), head=fields.text("file_path"))
