"""Any other tool, MCP servers' among them: a field a line."""

from __future__ import annotations

from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields

_WIDEST = 16


def aligned(fields: Fields) -> Content:
    """Further lines of a value are set in, so that they cannot pass for another field."""
    shown = list(fields.left())
    width = min(_WIDEST, max((len(key) for key, _ in shown), default=0))
    lines = [f"{key + ':':<{width + 1}} {value}".replace("\n", "\n  ") for key, value in shown]
    return Content("\n".join(lines), suffix=".json", cut=fields.cut, cut_more=fields.cut_more)
