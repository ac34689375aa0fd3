"""/pending: the requests that wait for an answer, a line each, masked as on their cards; never too long to be sent."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from tapgate.model import Card
from tapgate.telegram.card import render_open_line
from tapgate.telegram.commands.context import CommandContext
from tapgate.telegram.commands.registry import command
from tapgate.telegram.display import DisplayOptions

MOST = 15  # lines of up to 250 units: together under Telegram's 4096


@command("pending", "what waits for an answer")
async def answer_pending(context: CommandContext) -> str:
    cards = context.open_cards()
    return await anyio.to_thread.run_sync(render_pending, cards, context.setting, context.wall())


def render_pending(cards: Sequence[Card], setting: DisplayOptions, now: float) -> str:
    """As Telegram HTML: those that have waited longest come first."""
    if not cards:
        return "Nothing is waiting for an answer."
    oldest = sorted(cards, key=lambda card: card.asked_at)[:MOST]
    lines = [f"<b>{len(cards)} open</b>", *(render_open_line(card, setting, now=now) for card in oldest)]
    if len(cards) > MOST:
        lines.append(f"… and {len(cards) - MOST} more")
    return "\n".join(lines)
