"""Any other tool, MCP servers' among them: a field a line."""

from __future__ import annotations

import re

from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields

_WIDEST = 16
_FURTHER = re.compile(r"\n(?=[ \t]*[^ \t\n])")  # not where nothing stands: blanks there would count as the value's own


def aligned(fields: Fields) -> Content:
    """Further lines of a value are set in, so that they cannot pass for another field."""
    shown = list(fields.left())
    width = min(_WIDEST, max((len(key) for key, _ in shown), default=0))
    lines = [_FURTHER.sub("\n  ", f"{key + ':':<{width + 1}} {value}") for key, value in shown]
    return Content("\n".join(lines), suffix=".json", cut=fields.cut, cut_more=fields.cut_more)
