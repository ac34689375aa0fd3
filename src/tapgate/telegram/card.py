"""A card as Telegram HTML: who asks, what is risky, what would run, what was answered. Pure; never too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from tapgate.desk import words
from tapgate.desk.drafts import edited_text
from tapgate.desk.outcomes import OUTCOMES, PhoneAnswer
from tapgate.model import Action, Card, Choice, Context, Outcome, Phase, Ran, Request, Risk, ToolKind
from tapgate.risk.assess import sentence_of
from tapgate.telegram.content import contents_of, describe, gist_of, summary_of
from tapgate.telegram.display import DisplayOptions, FormatTime
from tapgate.telegram.forms.content import Content
from tapgate.telegram.keyboard import is_cut, is_wide
from tapgate.telegram.markdown import render_markdown
from tapgate.telegram.steps import left_out_of_questions, link_lines, step_of
from tapgate.telegram.text import Clipper, escape, masked_tail, span, units, visible

# Together with the buttons' words and the last lines: under Telegram's 4096, with room to spare for what may be added.
_QUESTION_UNITS = 2200
_BODY_UNITS = 2000
_COMMAND_LINES = 120  # more push what they do off the screen: short comments, say, in hundreds
_HEAD_UNITS = 600
_NOTE_UNITS = 300
_WHY_UNITS = 300
_NAME_UNITS = 40
_TOOL_UNITS = 80
_SHORT_UNITS = 32  # in lists
_LINE_UNITS = 120
_RISK_UNITS = 120
_MOST_RISKS = 3
_MOST_ASIDES = 6
_MOST_LISTED = 4  # long button texts that are spelled out above the buttons
_LISTED_UNITS = 160

_DIFF = '<pre><code class="language-diff">'

__all__ = ["DisplayOptions", "FormatTime", "fits", "render_card", "render_open_line"]


def fits(request: Request, context: Context, setting: DisplayOptions) -> bool:
    """Whether a card can show all of the request. The agent's own words about it may be cut.

    With little detail it "fits": whoever set that wants to answer without seeing it, and the card says so.
    """
    if not setting.is_brief and not _are_spelled_out(request.choices, setting):
        return False
    if request.form is not None:
        return not left_out_of_questions(request, setting)
    return setting.is_brief or _question(request, context, setting)[1]


def render_card(card: Card, setting: DisplayOptions) -> str:
    if card.phase is Phase.SETTLED:
        return "\n".join(_settled(card, setting))
    lines = [_first(card, setting), *_risks(card.risks, setting)]
    step = step_of(card, setting)
    if step is None or not step.replaces:
        lines += _content(card, setting)
    if step is not None:
        lines += step.lines
    left_out = left_out_of_questions(card.request, setting)
    if left_out:
        lines.append(f"✂️ <b>{left_out:,} characters are not shown.</b>{_hint(card)}")
    if step is not None and step.replaces and card.context.why and not setting.is_brief:
        lines.append(_why(card.context, setting))
    lines += _buttons_spelled_out(card, setting)
    if card.phase is Phase.SENDING and card.answer is not None:
        answer = card.answer
        lines.append(f"📤 <b>{_line(answer.label, setting)}</b> by {_line(answer.person, setting)}: sending…")
    else:
        place = "" if setting.is_brief else _line(_home_ground(card.request, setting), setting)
        until = f"⏳ until {escape(setting.clock(card.deadline_at))}"
        lines.append(f"{until} · in {place}" if place else until)
        if card.refreshed:
            lines.append("↻ tapgate was away for a while. If you tapped before, tap again.")
        elif card.restarted:
            lines.append("↻ tapgate was restarted. If you tapped or wrote something here before, tap again.")
    return "\n".join(lines)


def render_open_line(card: Card, setting: DisplayOptions, *, now: float) -> str:
    """An open request in a line of a list: who asks, what would run, for how long it has waited. At most 250 units."""
    request, setting = card.request, setting.of(card.request)
    agent = request.agent_title or request.caller.agent
    what = _line(_tool(request), setting, _SHORT_UNITS)
    summary = summary_of(request, setting)
    if summary:
        is_command = request.tool.kind is ToolKind.COMMAND
        what += f" <code>{_line(summary, setting, 2 * _SHORT_UNITS, as_command=is_command)}</code>"
    parts = [f"<b>{_line(_project(request), setting, _SHORT_UNITS)}</b>", _line(agent, setting, _SHORT_UNITS), what]
    if setting.machine:
        parts.insert(2, _line(setting.machine, setting, _SHORT_UNITS))
    state = "sending…" if card.phase is Phase.SENDING else span(now - card.asked_at)
    return f"{'⚠️' if card.risks else '🔐'} {' · '.join([*parts, state])}"


def _content(card: Card, setting: DisplayOptions) -> list[str]:
    if setting.is_brief:
        return _gist(card.request, setting)
    return _question(card.request, card.context, setting, _hint(card))[0]


def _hint(card: Card) -> str:
    """Where to find what is not shown: behind the button, or, once that was tapped here, in the file."""
    if not card.choices:
        return ""
    is_unseen = any(choice.action is Action.SHOW_WHOLE for choice in card.choices)
    return " “Show all of it” sends the rest." if is_unseen else " The file has all of it."


def _why(context: Context, setting: DisplayOptions) -> str:
    return f"<blockquote expandable>💬 {_last(context.why, _WHY_UNITS, setting)}</blockquote>"


# Who, and what is risky


def _first(card: Card, setting: DisplayOptions) -> str:
    request = card.request
    agent = request.agent_title or request.caller.agent
    who = [f"<b>{_line(_project(request), setting, _NAME_UNITS)}</b>", _line(agent, setting, _NAME_UNITS)]
    if request.call.agent_id:
        kind = request.agent_type or request.call.agent_id
        who.append(f"subagent {_line(kind, setting, _NAME_UNITS)}")
    if setting.machine:
        who.append(_line(setting.machine, setting, _NAME_UNITS))
    return f"{'⚠️' if card.risks else '🔐'} {' · '.join(who)}"


def _project(request: Request) -> str:
    return PurePath(request.project).name or request.project or "no project"


def _risks(risks: Sequence[Risk], setting: DisplayOptions) -> list[str]:
    """At the top, a line each: whoever looks for two seconds must have seen them."""
    said = [sentence_of(risk.name) if setting.is_brief else risk.sentence for risk in risks]
    lines = [f"<b>❗ {_line(sentence, setting, _RISK_UNITS)}</b>" for sentence in said[:_MOST_RISKS]]
    if len(risks) > _MOST_RISKS:
        more = ", ".join(risk.name for risk in risks[_MOST_RISKS:])
        lines.append(f"<b>❗ and: {_line(more, setting, _RISK_UNITS)}</b>")
    return lines


# What would run


def _question(request: Request, context: Context, setting: DisplayOptions, hint: str = "") -> tuple[list[str], bool]:
    """The lines, and whether they show all of it. The hint says where the rest is to be had."""
    lines: list[str] = []
    for content in contents_of(request, context, setting):
        clipper = Clipper(_QUESTION_UNITS, mask=setting.mask)
        lines = _shown(request, content, context, clipper, setting, hint)
        if content.signed and not _has_sign(lines):  # a mask may have hidden it
            clipper = Clipper(_QUESTION_UNITS, mask=setting.mask)
            lines = _shown(request, replace(content, cut_more=True), context, clipper, setting, hint)
        elif not clipper.left_out and not content.unchanged and not content.cut_more:
            return lines, True
    return lines, False


def _has_sign(lines: Sequence[str]) -> bool:
    block = next((line for line in lines if line.startswith(_DIFF)), "")
    return any(line[:1] in ("+", "-") for line in block.removeprefix(_DIFF).split("\n"))


def _shown(
    request: Request, content: Content, context: Context, clipper: Clipper, setting: DisplayOptions, hint: str
) -> list[str]:
    described = describe(request, setting)
    content = replace(content, cut_more=content.cut_more or described.cut_more)
    clipper.left_out += content.cut + described.cut
    top = [_what(request, content, described.body, clipper, setting)]
    bottom = [
        f"<i>{clipper.take(aside, _NOTE_UNITS, one_line=True)}</i>" for aside in content.asides[:_MOST_ASIDES] if aside
    ]
    clipper.left_out += sum(len(aside) for aside in content.asides[_MOST_ASIDES:])
    if request.decision_reason:
        bottom.append(f"Why it asks: {clipper.take(request.decision_reason, _NOTE_UNITS, one_line=True)}")
    if request.blocked_path:
        bottom.append(f"Blocked path: <code>{clipper.take(request.blocked_path, _NOTE_UNITS, one_line=True)}</code>")
    bottom += _where(request, clipper, setting)
    if request.note:
        bottom.append(escape(request.note))
    links = link_lines(context, clipper)
    middle = _body(content, clipper) if content.body else []
    missing = _missing(content, clipper)
    if missing:
        middle.append(f"✂️ <b>{missing} not shown.</b>{hint}")
    if context.why:
        bottom.insert(0, _why(context, setting))
    return [*top, *links, *middle, *bottom]


def _missing(content: Content, clipper: Clipper) -> str:
    parts = []
    if content.unchanged:
        parts.append(f"{content.unchanged:,} unchanged line{'s' if content.unchanged > 1 else ''}")
    if clipper.left_out:
        parts.append(f"{clipper.left_out:,} characters")
    if content.cut_more:
        return f"More than {' and '.join(parts)} are" if parts else "More is"
    return f"{' and '.join(parts)} {'is' if parts == ['1 unchanged line'] else 'are'}" if parts else ""


def _where(request: Request, clipper: Clipper, setting: DisplayOptions) -> list[str]:
    """The project's name stands above, so where that lies is a small fact for the last line; elsewhere is none."""
    if not request.cwd or _home_ground(request, setting):
        return []
    place = clipper.take(setting.place(request.cwd), _NOTE_UNITS, one_line=True)
    return [f"In <code>{place}</code>" + ("" if request.cwd == request.project else ", not where the project is")]


def _home_ground(request: Request, setting: DisplayOptions) -> str:
    """Where the project lies, in few words; "" where the agent works elsewhere or that takes many."""
    place = setting.place(request.cwd)
    return place if request.cwd == request.project and units(visible(place)) <= _NAME_UNITS else ""


def _body(content: Content, clipper: Clipper) -> list[str]:
    if content.marked:
        return [render_markdown(clipper.take(content.body, _BODY_UNITS))]
    most_lines = _COMMAND_LINES if content.is_command else None
    body = clipper.take(
        content.body,
        _BODY_UNITS,
        diff=content.language == "diff",
        most_lines=most_lines,
        as_command=content.is_command,
    )
    if content.prose:
        return [f"<blockquote>{body}</blockquote>"]
    if content.language:
        return [f'<pre><code class="language-{content.language}">{body}</code></pre>']
    return [f"<pre>{body}</pre>"]


def _gist(request: Request, setting: DisplayOptions) -> list[str]:
    """With little detail: which tool, and on what. Nothing of what is in it."""
    gist = gist_of(request)
    on = f" <code>{_line(gist, setting)}</code>" if gist else ""
    lines = [f"<b>{_line(_tool(request), setting, _TOOL_UNITS)}</b>{on}"]
    if request.event == "PreToolUse":
        lines[0] += " (before every call)"
    return [*lines, "🙈 Your config sends a summary only: <b>what you allow here, you have not seen.</b>"]


def _what(request: Request, content: Content, description: str, clipper: Clipper, setting: DisplayOptions) -> str:
    line = f"<b>{clipper.take(_tool(request), _TOOL_UNITS, one_line=True)}</b>"
    if content.head:
        place = setting.place(content.head, request.project)
        line += f" <code>{clipper.take(place, _HEAD_UNITS, one_line=True)}</code>"
    if request.event == "PreToolUse":
        line += " (before every call)"
    if description:
        line += f" — {clipper.take(description, _NOTE_UNITS, one_line=True)}"
    return line


def _tool(request: Request) -> str:
    name = request.call.tool
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return f"{tool or name} of MCP server {request.mcp_server or server}"
    return request.tool.title or name


# What became of it


def _settled(card: Card, setting: DisplayOptions) -> list[str]:
    """Two lines: how it ended, by whom and when; what it was, and what was written."""
    assert card.outcome is not None
    answer = card.answer
    row = OUTCOMES[card.outcome]
    mark = "⚠️" if card.ran is Ran.AGAINST else row.mark
    when = setting.clock(card.ended_at)
    if answer is not None and row.answer is PhoneAnswer.TAKEN:
        when += f", after {_duration(answer.after_s)}"
    ended = f"{mark} <b>{_line(words.ended(card), setting, _NOTE_UNITS)}</b> · {escape(when)}"
    if row.asks_at_terminal:
        ended += f" · the agent {words.asks(card.request)}"
    place = _line(_project(card.request), setting, _NAME_UNITS)
    machine = f" on {_line(setting.machine, setting, _NAME_UNITS)}" if setting.machine else ""
    what = f"{place}{machine} · {_line(_tool(card.request), setting, _TOOL_UNITS)}"
    summary = summary_of(card.request, setting)
    if summary:
        is_command = card.request.tool.kind is ToolKind.COMMAND
        what += f" <code>{_line(summary, setting, as_command=is_command)}</code>"
    return [ended, what + _consequence(card, setting)]


def _consequence(card: Card, setting: DisplayOptions) -> str:
    answer = card.answer
    if answer is None:
        return ""
    if card.ran is Ran.AGAINST:
        return ""  # what the phone said beyond yes or no did not come to pass
    if answer.saved and card.outcome is Outcome.ALLOWED:
        return f" · {_line(answer.saved, setting, _NOTE_UNITS)}"
    text = edited_text(card.request, answer.decision)
    if text is not None and card.outcome is Outcome.ALLOWED:
        is_command = card.request.tool.kind is ToolKind.COMMAND
        return f" · instead: <code>{_line(text, setting, _NOTE_UNITS, as_command=is_command)}</code>"
    said = ""
    if answer.choice_key == "r" and card.outcome is Outcome.DENIED:
        said = f" · <i>“{_line(answer.decision.message, setting, _NOTE_UNITS)}”</i>"
    if answer.decision.interrupt and card.outcome is Outcome.DENIED:
        said += " · the turn was stopped"
    return said


# The buttons' words


def _buttons_spelled_out(card: Card, setting: DisplayOptions) -> list[str]:
    """A phone shows only the beginning of a long button; its exact words stand here. The longest come first."""
    if setting.is_brief:
        return []
    wide = sorted((choice for choice in _own_words(card.choices) if is_wide(choice)), key=is_cut, reverse=True)
    lines = [
        f"<i>▸ {_line(choice.label, setting, _LISTED_UNITS, as_command=True)}</i>" for choice in wide[:_MOST_LISTED]
    ]
    whole = any(choice.action is Action.SHOW_WHOLE for choice in card.choices)
    if whole and not _are_spelled_out(card.request.choices, setting):
        lines.append("✂️ <b>Some buttons say more than fits here.</b> “Show all of it” sends their words.")
    return lines


def _own_words(choices: Iterable[Choice]) -> Iterator[Choice]:
    """Without those whose words stand on the card already: options, second looks, the same rule for a session."""
    return (choice for choice in choices if choice.key[0] not in "noqy")


def _are_spelled_out(choices: Sequence[Choice], setting: DisplayOptions) -> bool:
    """Whether the exact words of every choice would stand on its button or above."""
    long = [choice for choice in _own_words(choices) if is_cut(choice)]
    clipper = Clipper(_MOST_LISTED * _LISTED_UNITS, mask=setting.mask)
    for choice in long:
        clipper.take(choice.label, _LISTED_UNITS, one_line=True, as_command=True)
    return len(long) <= _MOST_LISTED and clipper.left_out == 0


def _line(text: str, setting: DisplayOptions, most: int = _LINE_UNITS, *, as_command: bool = False) -> str:
    return Clipper(most, mask=setting.mask).take(text, most, one_line=True, as_command=as_command)


def _last(text: str, most: int, setting: DisplayOptions) -> str:
    """The end of a longer text: what was said right before the call."""
    tail = masked_tail(text) if setting.mask else text
    shown = visible(tail[-most:])
    cut = len(tail) > most or len(text) > most > len(tail) or units(shown) > most
    while units(shown) > most:
        shown = shown[len(shown) // 10 + 1 :]
    return ("…" if cut else "") + escape(shown)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
