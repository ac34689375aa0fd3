"""What an edit would do to a notebook's cell. Pure: the notebook's text is given."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from tapgate.model import Json, ToolUse

_BY_NUMBER = re.compile(r"cell-([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class CellChange:
    """`new` is None for a cell that is put in: there is nothing to compare it with."""

    number: int  # counted from one
    of: int
    old: str
    new: str | None


def cell_change(text: str, use: ToolUse) -> CellChange | None:
    """What the call does to which cell; None where the notebook has no such cell or is none."""
    cells = _cells(text)
    mode, source, wanted = (use.value(name) for name in ("edit_mode", "new_source", "cell_id"))
    if cells is None or not isinstance(source, str):
        return None
    if mode == "insert":
        return CellChange(1, len(cells), "", None)
    place = _place(cells, wanted) if isinstance(wanted, str) else None
    old = _source(cells[place]) if place is not None else None
    if place is None or old is None:
        return None
    return CellChange(place + 1, len(cells), old, "" if mode == "delete" else source)


def _cells(text: str) -> list[Json] | None:
    try:
        notebook = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    return cells if isinstance(cells, list) else None


def _place(cells: list[Json], wanted: str) -> int | None:
    """By its id, or by its number as `cell-0` where no cell has that for its id."""
    for number, cell in enumerate(cells):
        if isinstance(cell, dict) and cell.get("id") == wanted:
            return number
    found = _BY_NUMBER.fullmatch(wanted)
    return int(found[1]) if found and int(found[1]) < len(cells) else None


def _source(cell: Json) -> str | None:
    source = cell.get("source") if isinstance(cell, dict) else None
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(str(line) for line in source)
    return None
