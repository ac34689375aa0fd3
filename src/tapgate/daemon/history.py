"""The last answers as a message for the phone. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import PurePath

from tapgate.agents.registry import is_stock_message
from tapgate.journal import TrailRow
from tapgate.model import Outcome, Ran
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.text import Clipper

MOST = 10
_MARKS = {Outcome.ALLOWED: "✅", Outcome.DENIED: "⛔️", Outcome.TERMINAL_ALLOWED: "🖥", Outcome.TERMINAL_DENIED: "🖥"}


def render_history(
    rows: Sequence[TrailRow], setting: DisplayOptions, clock: Callable[[float], str] | None = None
) -> str:
    """The last settled requests, newest first, as Telegram HTML. No secret, and no more detail than cards show."""
    words = clock or (lambda wall: time.strftime("%d %b %H:%M", time.localtime(wall)))
    settled = [row for row in rows if row.what == "settled"][:MOST]
    if not settled:
        return "Nothing has been answered yet."
    against = {row.request_id for row in rows if row.ran == Ran.AGAINST}
    lines = []
    for row in settled:
        mark = "⚠️" if row.request_id in against else _MARKS.get(Outcome(row.outcome), "▫️")
        project = _short(PurePath(row.project).name or "no project", 24, setting)
        who = f" · {_short(row.person, 20, setting)}" if row.person else f" · {row.outcome.replace('_', ' ')}"
        head = f"{mark} {words(row.at)} <b>{project}</b> {_short(row.tool, 24, setting)}{who}"
        lines.append(head if setting.is_brief else "\n".join([head, *_details(row, setting)]))
    return "\n\n".join(lines)


def _details(row: TrailRow, setting: DisplayOptions) -> list[str]:
    lines = [f"<code>{_short(row.summary, 60, setting)}</code>"]
    if row.instead:
        lines.append(f"instead: <code>{_short(row.instead, 60, setting)}</code>")
    if row.message and not is_stock_message(row.agent, row.message):
        lines.append(f"<i>“{_short(row.message, 60, setting)}”</i>")
    return lines


def _short(text: str, most: int, setting: DisplayOptions) -> str:
    return Clipper(most, mask=setting.mask).take(text, most, one_line=True) or "–"
