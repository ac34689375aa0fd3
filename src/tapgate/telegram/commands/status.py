"""/status: how the daemon is. What is wrong stands there in the words of `tapgate status`."""

from __future__ import annotations

from tapgate.telegram.commands.context import CommandContext, DaemonHealth
from tapgate.telegram.commands.registry import command
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.text import Clipper, span

_TROUBLE_UNITS = 400
_NAME_UNITS = 40


@command("status", "how tapgate is")
async def answer_status(context: CommandContext) -> str:
    return render_status(context.health(), context.setting, context.wall())


def render_status(health: DaemonHealth, setting: DisplayOptions, now: float) -> str:
    """As Telegram HTML."""

    def line(text: str, most: int = _TROUBLE_UNITS) -> str:
        return Clipper(most, mask=setting.mask).take(text, most, one_line=True)

    machine = f" on {line(setting.machine, _NAME_UNITS)}" if setting.machine else ""
    heard = f"last heard {span(now - health.last_poll_at)} ago" if health.last_poll_at else "not heard yet"
    lines = [
        f"{_mark(health)} tapgate {line(health.version, _NAME_UNITS)}{machine}, for {span(now - health.started_at)}",
        f"Telegram: {line(health.telegram)}, {heard}",
        f"journal: {line(health.journal)}",
        f"open: {health.open_requests} · sessions: {health.sessions}",
    ]
    if health.stale_cards:
        lines.append(f"cards that could not be updated: {health.stale_cards}")
    return "\n".join(lines)


def _mark(health: DaemonHealth) -> str:
    return "✅" if (health.telegram, health.journal) == ("ok", "ok") else "⚠️"
