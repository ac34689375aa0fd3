"""Files that would be written, edited or read: what changes, and what stands around it where that is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from tapgate.cards.edit_text import has_escapes
from tapgate.model import OnDisk
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.forms.content import LANGUAGES, READABLE, Content
from tapgate.telegram.forms.fields import Fields

# Agents take blanks around such a line.
_PATCHED = re.compile(r"^[ \t]*\*\*\* (Add File|Update File|Delete File|Move to): ([^\n]{1,200})", re.MULTILINE)
_MOST_PATCHED = 4
_WITH_BREAK = "\\ with the line break behind it"
_NO_CHANGE = "changes nothing"


def write(fields: Fields, seen: OnDisk | None, setting: DisplayOptions, *, way: int) -> Content | None:
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


def _write_facts(size: str, seen: OnDisk | None, setting: DisplayOptions) -> tuple[str, ...]:
    if seen is None:
        return (size,)
    if seen.is_new:
        return (f"new file · {size}",)
    change = ""
    if seen.brief or seen.diff:
        change = f" · +{seen.added} −{seen.removed} lines" if seen.added or seen.removed else f" · {_NO_CHANGE}"
    return (f"replaces {_bytes(seen.size_bytes)} by {size}{change}, as it was at {setting.clock(seen.at)}",)


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"


def edit(fields: Fields, seen: OnDisk | None, setting: DisplayOptions, *, way: int) -> Content | None:
    if not fields.has("file_path", "old_string", "new_string"):
        return None
    path, old, new = (fields.text(name) for name in ("file_path", "old_string", "new_string"))
    body, asides = _marked(old, new), _about(old, new)
    if way == 0 and seen is not None and len(seen.blocks) == 1:
        body, asides = seen.blocks[0], []
    every = _every(fields, seen)
    return fields.content(
        body,
        every,
        *asides,
        _place(seen, old, setting, every=bool(every)),
        head=path,
        language="diff",
        suffix=".diff",
        signed=bool(body),
    )


def edits(fields: Fields, seen: OnDisk | None, setting: DisplayOptions, *, way: int) -> Content | None:
    found = fields.items("edits")
    if not found or not fields.has("file_path") or not all(_is_edit(fields, one) for one in found):
        return None
    path = fields.text("file_path")
    blocks = seen.blocks if way == 0 and seen is not None and len(seen.blocks) == len(found) else ()
    parts = "\n".join(_parts(fields, found, blocks))
    old, new, every = (fields.field_of(name) for name in ("old_string", "new_string", "replace_all"))
    place = _place(seen, str(found[0][old]), setting, every=found[0].get(every) is True)
    signed = any(one[old] or one[new] for one in found)
    return fields.content(parts, place, head=path, language="diff", suffix=".diff", signed=signed)


def _parts(fields: Fields, edits: list[Any], blocks: tuple[str, ...]) -> Iterator[str]:
    for number, edit in enumerate(fields.while_room(edits), start=1):
        inside = fields.within(edit)
        old, new = inside.text("old_string"), inside.text("new_string")
        about = [] if blocks else _about(old, new)
        # Not the call's own path again and again: it stands above, and times many edits it is no longer small.
        facts = [inside.any("file_path") or f"edit {number}", _every(inside, None), *about, *inside.rest()]
        # On one line each, so that no value can pass for lines of the diff.
        yield from (f"@@ {fact} @@".replace("\n", "⏎") for fact in facts if fact)
        body = blocks[number - 1] if blocks else _marked(old, new)
        fields.join(inside, len(body))
        yield body


def _every(fields: Fields, seen: OnDisk | None) -> str:
    if not fields.flag("replace_all"):
        return ""
    return (
        f"every occurrence: {seen.places} in the file" if seen is not None and seen.places > 0 else "every occurrence"
    )


def _place(seen: OnDisk | None, old: str, setting: DisplayOptions, *, every: bool) -> str:
    if seen is None:
        return ""
    when = f"at {setting.clock(seen.at)}"
    if seen.is_new:
        return f"there was no such file {when}" if old else "new file"
    if seen.blocks:
        ends = "; its line breaks, of two kinds now, become alike" if seen.mixed_ends else ""
        return f"the file as it was {when}{ends}"
    if not old:
        return f"the file was not empty {when}" if seen.size_bytes else ""
    if seen.places > 1 and not every:
        return f"the old text was in the file {seen.places} times {when}: which one is meant is not known"
    return f"the old text was not in the file {when}" if seen.places == 0 else ""


def _marked(old: str, new: str) -> str:
    """The two texts, where the lines around them are not known. They need not end where a line ends.

    With replace and not line by line: a hostile input may have 16 million lines.
    """
    return "\n".join(_signed(sign, text) for sign, text in (("-", old), ("+", new)) if text)


def _signed(sign: str, text: str) -> str:
    lines = sign + text.removesuffix("\n").replace("\n", f"\n{sign}")
    return f"{lines}\n{_WITH_BREAK}" if text.endswith("\n") else lines


def _about(old: str, new: str) -> list[str]:
    """What the two texts do to the lines around them, which do not stand there."""
    if old == new:
        return [_NO_CHANGE]
    about = ["\\u escapes may become the characters they stand for"] if has_escapes(old) and has_escapes(new) else []
    if old and not new:
        return about if old.endswith("\n") else [*about, "with the line break behind it, where there is one"]
    joins = old.endswith("\n") and not new.endswith("\n")
    return [*about, "the next line joins this one"] if joins else about


def _is_edit(fields: Fields, value: object) -> bool:
    return isinstance(value, dict) and fields.within(value).has("old_string", "new_string")


def notebook(fields: Fields, seen: OnDisk | None, setting: DisplayOptions, *, way: int) -> Content | None:
    if not fields.has("notebook_path", "new_source"):
        return None
    source = fields.text("new_source")
    kind, mode, cell = fields.text("cell_type"), fields.text("edit_mode"), fields.text("cell_id")
    if mode == "insert":
        where = f"after cell {cell}" if cell else "before the first cell"
    else:
        where = f"cell {cell}" if cell else ""
    facts = [_CELL_MODES.get(mode, mode), where, f"{kind} cell" if kind else ""]
    if mode == "delete" and source:
        facts.append(f"not used: {source}")
        source = ""
    when = f"at {setting.clock(seen.at)}" if seen is not None else ""
    if seen is not None and seen.places == 0:
        facts.append(f"no such cell was in the notebook {when}")
    head = fields.text("notebook_path")
    if way == 0 and seen is not None and seen.blocks:
        facts.append(f"the notebook as it was {when}")
        return fields.content(seen.blocks[0], *facts, head=head, language="diff", suffix=".diff", signed=True)
    language, suffix = ("markdown", ".md") if kind == "markdown" else ("python", ".py")
    return fields.content(source, *facts, head=head, language=language, suffix=suffix)


_CELL_MODES = {
    "insert": "a new cell",
    "delete": "the cell is deleted",
    "replace": "replaces a cell",
    "": "replaces a cell",
}


def patch(fields: Fields) -> Content | None:
    if not fields.has("command"):
        return None
    text = fields.text("command")
    found = [f"{_PATCH_WORDS[what]} {PurePath(path.strip()).name}" for what, path in _PATCHED.findall(text[:16_384])]
    more = f" and {len(found) - _MOST_PATCHED} more" if len(found) > _MOST_PATCHED else ""
    files = f"{', '.join(found[:_MOST_PATCHED])}{more}" if found else ""
    return fields.content(text, files, language="diff", suffix=".diff")


_PATCH_WORDS = {"Add File": "add", "Update File": "update", "Delete File": "delete", "Move to": "move to"}


def read(fields: Fields) -> Content | None:
    if not fields.has("file_path"):
        return None
    offset, limit = fields.number("offset"), fields.number("limit")
    lines = f"{limit:g} lines" if limit else ""
    start = f"from line {offset:g}" if offset else ""
    return fields.content("", " ".join(part for part in (lines, start) if part), head=fields.text("file_path"))
