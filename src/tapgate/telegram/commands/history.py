"""/history: the last answers. No secret in it, and no more detail than cards show."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import PurePath

import anyio.to_thread

from tapgate.desk.outcomes import OUTCOMES
from tapgate.telegram.commands.context import CommandContext, PastAnswer
from tapgate.telegram.commands.registry import command
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.text import Clipper

MOST = 10


@command("history", "the last answers")
async def answer_history(context: CommandContext) -> str:
    answers = await context.past_answers(MOST)
    return await anyio.to_thread.run_sync(render_history, answers, context.setting)


def render_history(
    answers: Sequence[PastAnswer], setting: DisplayOptions, clock: Callable[[float], str] | None = None
) -> str:
    """As Telegram HTML, in the order given."""
    words = clock or (lambda wall: time.strftime("%d %b %H:%M", time.localtime(wall)))
    if not answers:
        return "Nothing has been answered yet."
    lines = []
    for answer in answers[:MOST]:
        mark = "⚠️" if answer.ran_against else OUTCOMES[answer.outcome].mark
        project = _short(PurePath(answer.project).name or "no project", 24, setting)
        who = _short(answer.person, 20, setting) if answer.person else answer.outcome.replace("_", " ")
        head = f"{mark} {words(answer.at)} <b>{project}</b> {_short(answer.tool, 24, setting)} · {who}"
        lines.append(head if setting.is_brief else "\n".join([head, *_details(answer, setting)]))
    return "\n\n".join(lines)


def _details(answer: PastAnswer, setting: DisplayOptions) -> list[str]:
    lines = [f"<code>{_short(answer.summary, 60, setting)}</code>"]
    if answer.instead:
        lines.append(f"instead: <code>{_short(answer.instead, 60, setting)}</code>")
    if answer.message:
        lines.append(f"<i>“{_short(answer.message, 60, setting)}”</i>")
    return lines


def _short(text: str, most: int, setting: DisplayOptions) -> str:
    return Clipper(most, mask=setting.mask).take(text, most, one_line=True) or "–"
