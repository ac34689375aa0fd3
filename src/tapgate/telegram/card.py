"""A card as Telegram HTML: who asks, what would run, what was answered. Pure; never more than Telegram takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath

from tapgate.core import words
from tapgate.model import NO_BACKGROUND, Act, Background, Card, Choice, Outcome, Phase, Ran, Request
from tapgate.telegram.content import Content, content_of, describe, summary_of
from tapgate.telegram.keyboard import is_cut, is_wide
from tapgate.telegram.steps import questions_fit, step_of
from tapgate.telegram.text import Clipper, escape, units, visible

_QUESTION_UNITS = 2400  # with the first line, the buttons' words and the last lines: under Telegram's 4096
_BODY_UNITS = 2200
_WHY_UNITS = 300
_LINE_UNITS = 160
_NOTE_UNITS = 300
_MOST_ASIDES = 6
_MOST_LISTED = 4  # long button texts that are spelled out above the buttons
_LISTED_UNITS = 160

_TITLES = {"claude": "Claude Code", "codex": "Codex"}
_MARKS = {
    Outcome.ALLOWED: "✅",
    Outcome.DENIED: "⛔️",
    Outcome.TERMINAL_ALLOWED: "🖥",
    Outcome.TERMINAL_DENIED: "🖥",
    Outcome.EXPIRED: "⌛️",
    Outcome.NOT_RECORDED: "⚠️",
    Outcome.NOT_SHOWN: "⚠️",
    Outcome.NOT_TAKEN: "⚠️",
    Outcome.UNCONFIRMED: "⚠️",
}

Clock = Callable[[float], str]
"""Turns a wall time into words for a person, in their time zone."""


def fits(request: Request, background: Background = NO_BACKGROUND) -> bool:
    """Whether a card can show all of the request. The agent's own words about it may be cut."""
    clipper = Clipper(_QUESTION_UNITS)
    _question(request, background, clipper)
    fitting = questions_fit(request, room=_QUESTION_UNITS, mask=str) if request.form else clipper.left_out == 0
    return fitting and _are_spelled_out(request.choices)


def render_card(card: Card, clock: Clock) -> str:
    if card.phase is Phase.SETTLED:
        return "\n".join(_settled(card, clock))
    lines = _question(card.request, card.background, Clipper(_QUESTION_UNITS), card)
    lines += _buttons_spelled_out(card)
    if card.phase is Phase.SENDING and card.answer is not None:
        lines.append(f"📤 <b>{_line(card.answer.label)}</b> by {_line(card.answer.person)}: sending…")
    else:
        number, of = card.place
        several = f" · {number} of {of} open" if of > 1 else ""
        lines.append(f"⏳ until {escape(clock(card.deadline_at))}{several}")
        if card.refreshed:
            lines.append("↻ tapgate was away for a while. If you tapped before, tap again.")
    return "\n".join(lines)


def _question(request: Request, background: Background, clipper: Clipper, card: Card | None = None) -> list[str]:
    step = step_of(card, clipper, mask=str, summary=summary_of) if card is not None else None
    content = content_of(request) if step is None or not step.replaces else Content("")
    top = [f"🔐 {_who(request)}", _what(request, clipper)]
    if background.why:
        top.append(f"<blockquote expandable>{_last(background.why, _WHY_UNITS)}</blockquote>")
    if content.head:
        top.append(f"<code>{clipper.take(content.head, _NOTE_UNITS, one_line=True)}</code>")
    bottom = [
        f"<i>{clipper.take(aside, _NOTE_UNITS, one_line=True)}</i>" for aside in content.asides[:_MOST_ASIDES] if aside
    ]
    clipper.left_out += sum(len(aside) for aside in content.asides[_MOST_ASIDES:])
    if request.decision_reason:
        bottom.append(f"Why it asks: {clipper.take(request.decision_reason, _NOTE_UNITS, one_line=True)}")
    if request.blocked_path:
        bottom.append(f"Blocked path: <code>{clipper.take(request.blocked_path, _NOTE_UNITS, one_line=True)}</code>")
    if request.cwd and request.cwd != request.project:
        bottom.append(f"In <code>{clipper.take(request.cwd, _NOTE_UNITS, one_line=True)}</code>")
    if request.note:
        bottom.append(escape(request.note))
    middle = _body(content, clipper) if content.body.strip(" \n\t") else []
    if clipper.left_out:
        middle.append(f"✂️ <b>{clipper.left_out:,} characters are not shown.</b> “Show all of it” sends them.")
    return [*top, *middle, *(step.lines if step is not None else ()), *bottom]


def _body(content: Content, clipper: Clipper) -> list[str]:
    body = clipper.take(content.body, _BODY_UNITS)
    if content.prose:
        return [f"<blockquote>{body}</blockquote>"]
    if content.language:
        return [f'<pre><code class="language-{content.language}">{body}</code></pre>']
    return [f"<pre>{body}</pre>"]


def _settled(card: Card, clock: Clock) -> list[str]:
    assert card.outcome is not None
    answer = card.answer
    mark = "⚠️" if card.ran is Ran.AGAINST else _MARKS.get(card.outcome, "▫️")
    when = clock(card.ended_at)
    if answer is not None and card.outcome in (Outcome.ALLOWED, Outcome.DENIED):
        when += f", after {_duration(answer.after_s)}"
    lines = [f"{mark} <b>{_line(words.ended(card), _NOTE_UNITS)}</b> · {escape(when)}"]
    lines.append(f"{_who(card.request)} · {_line(_tool(card.request))}")
    summary = summary_of(card.request)
    if summary:
        lines.append(f"<code>{_line(summary)}</code>")
    if answer is not None and answer.saved and card.outcome is Outcome.ALLOWED:
        lines.append(f"Written: {_line(answer.saved, _NOTE_UNITS)}")
    if answer is not None and answer.choice_key == "r" and card.outcome is Outcome.DENIED:
        lines.append(f"<i>“{_line(answer.decision.message, _NOTE_UNITS)}”</i>")
    if answer is not None and answer.decision.interrupt and card.outcome is Outcome.DENIED:
        lines.append("The turn was stopped.")
    if card.outcome in words.ASKS_AT_TERMINAL:
        lines.append("The agent asks at the terminal.")
    return lines


def _who(request: Request) -> str:
    project = PurePath(request.project).name or request.project or "no project"
    agent = _TITLES.get(request.caller.agent, request.caller.agent)
    subagent = f" · subagent {_line(request.agent_type or request.call.agent_id)}" if request.call.agent_id else ""
    return f"<b>{_line(project)}</b> · {_line(agent)}{subagent}"


def _what(request: Request, clipper: Clipper) -> str:
    line = f"<b>{clipper.take(_tool(request), _LINE_UNITS, one_line=True)}</b>"
    if request.event == "PreToolUse":
        line += " (before every call)"
    description = describe(request)
    if description:
        line += f" — {clipper.take(description, _NOTE_UNITS, one_line=True)}"
    return line


def _tool(request: Request) -> str:
    name = request.call.tool
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return f"{tool or name} of MCP server {request.mcp_server or server}"
    return {"ExitPlanMode": "Plan", "AskUserQuestion": "Question"}.get(name, name)


def _buttons_spelled_out(card: Card) -> list[str]:
    """A phone shows only the beginning of a long button; its exact words stand here. The longest come first."""
    wide = sorted((choice for choice in card.choices if is_wide(choice)), key=is_cut, reverse=True)
    lines = [f"<i>▸ {_line(choice.label, _LISTED_UNITS)}</i>" for choice in wide[:_MOST_LISTED]]
    if any(choice.act is Act.SHOW_WHOLE for choice in card.choices) and not _are_spelled_out(card.request.choices):
        lines.append("✂️ <b>Some buttons say more than fits here.</b> “Show all of it” sends their words.")
    return lines


def _are_spelled_out(choices: Sequence[Choice]) -> bool:
    """Whether the exact words of every choice would stand on its button or above."""
    long = [choice for choice in choices if is_cut(choice)]
    clipper = Clipper(_MOST_LISTED * _LISTED_UNITS)
    for choice in long:
        clipper.take(choice.label, _LISTED_UNITS, one_line=True)
    return len(long) <= _MOST_LISTED and clipper.left_out == 0


def _line(text: str, most: int = _LINE_UNITS) -> str:
    return Clipper(most).take(text, most, one_line=True)


def _last(text: str, most: int) -> str:
    """The end of a longer text: what was said right before the call."""
    shown = visible(text[-most:])
    cut = len(text) > most or units(shown) > most
    while units(shown) > most:
        shown = shown[len(shown) // 10 + 1 :]
    return ("…" if cut else "") + escape(shown)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
