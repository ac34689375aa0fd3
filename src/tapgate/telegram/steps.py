"""What a card shows while it takes more than one tap: a question, a changed text, a second look, a list. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tapgate.desk.drafts import confirmed_choice, given_at, stands
from tapgate.model import Card, Context, Draft, Request, ToolKind
from tapgate.telegram.content import content_of, gist_of, summary_of
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.text import Clipper

_ITEM_UNITS = 160
_SO_FAR_UNITS = 800  # of all answers to the questions before: together with all the rest under Telegram's limit
_HEAD_UNITS = 300
_TEXT_UNITS = 2200  # of all that a step shows
_LINK_UNITS = 280
_MOST_LINKS = 3
_LINKS_UNITS = 300  # below an edited text, of all of them
_CONFIRMED_UNITS = 400  # of a button that wants a second tap, and of what it means
_EXPLAINED_UNITS = 700
_MOST_OLD = 2000  # characters of the old text that a difference is shown against
_MOST_LINES = 120
_LANGUAGES = {"command": "bash"}
HIDDEN_RUNS = "This runs text that is hidden here, or may run it."
_CURLY = "“”‘’«»—–"
_KNOWN = {"question": str, "header": str, "options": list, "multiSelect": bool}


@dataclass(frozen=True, slots=True)
class Step:
    lines: tuple[str, ...]
    replaces: bool = True  # stands in the place of the call's own content; otherwise below it


def step_of(card: Card, setting: DisplayOptions) -> Step | None:
    """What to show for the card's draft; None where it stands as it came.

    A question is meant for the person who reads it, so it is shown with little detail too.
    """
    draft = card.draft
    if draft.confirming and draft.text is not None:
        return Step((*_edited(card, setting), *_confirming(card, setting)))
    if draft.confirming:
        return Step(_confirming(card, setting), replaces=False)
    if draft.listed:
        return Step(_listed(card, setting))
    if draft.text is not None:
        return Step(_edited(card, setting))
    if card.request.form is not None:
        return Step(_question(card.request, draft, Clipper(_TEXT_UNITS, mask=setting.mask), setting))
    return None


def link_lines(context: Context, clipper: Clipper) -> list[str]:
    """Where paths of the call really lead. The first ones matter most."""
    lines = []
    for link in context.links[:_MOST_LINKS]:
        text = f"{link.path}: {link.says}" if link.path else link.says
        lines.append(f"🔗 {clipper.take(text, _LINK_UNITS, one_line=True)}")
    rest = context.links[_MOST_LINKS:]
    clipper.left_out += sum(len(link.path) + len(link.says) for link in rest)
    return [*lines, f"🔗 and {len(rest)} more"] if rest else lines


def left_out_of_questions(request: Request, setting: DisplayOptions) -> int:
    """How many characters of a form are not shown when the turn of their question comes."""
    left_out = 0
    for number in range(len(request.form.questions) if request.form is not None else 0):
        clipper = Clipper(_TEXT_UNITS, mask=setting.mask)
        _question(request, Draft(at=number), clipper, setting)
        left_out += clipper.left_out
    return left_out


def _line(text: str, setting: DisplayOptions, most: int = _ITEM_UNITS, *, as_command: bool = False) -> str:
    return Clipper(most, mask=setting.mask).take(text, most, one_line=True, as_command=as_command)


def _question(request: Request, draft: Draft, clipper: Clipper, setting: DisplayOptions) -> tuple[str, ...]:
    form = request.form
    assert form is not None
    number = min(draft.at, len(form.questions) - 1)
    question, given = form.questions[number], given_at(draft, number)
    raw = request.input["questions"][number]
    count = f"{number + 1} of {len(form.questions)}" if len(form.questions) > 1 else ""
    head = " · ".join(part for part in (f"Question {count}".strip(), question.header) if part)
    lines = [f"❓ {clipper.take(head, _ITEM_UNITS, one_line=True)}"]
    lines.append(f"<b>{clipper.take(question.text, _TEXT_UNITS)}</b>")
    if question.many:
        is_last = number == len(form.questions) - 1
        lines.append(f"<i>Choose one or more, then tap {'Done' if is_last else 'Next'}.</i>")
    for index, option in enumerate(question.options):
        mark = ("☑ " if question.many else "● ") if index in given.picks else ""
        line = f"{mark}<b>{index + 1}. {clipper.take(option.label, _TEXT_UNITS, one_line=True)}</b>"
        if option.description:
            line += f" — {clipper.take(option.description, _TEXT_UNITS, one_line=True)}"
        lines += [line, *_others(raw["options"][index], {"label": str, "description": str}, clipper)]
    lines += _others(raw, _KNOWN, clipper)
    if number == 0:
        lines += _others(request.input, {"questions": list}, clipper)
    if given.typed:
        lines.append(f"✍️ {_line(given.typed, setting)}")
    return (*lines, *_so_far(request, draft, number, setting))


def _others(value: Mapping[str, Any], known: Mapping[str, type], clipper: Clipper) -> list[str]:
    """Fields that this view does not know, or not of this type, are shown all the same."""
    others = {key: item for key, item in value.items() if not isinstance(item, known.get(key, ()))}
    return [
        f"<i>{clipper.take(f'{key}: {_plain(item)}', _TEXT_UNITS, one_line=True)}</i>" for key, item in others.items()
    ]


def _plain(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def _so_far(request: Request, draft: Draft, number: int, setting: DisplayOptions) -> list[str]:
    """The answers to the questions before, so that Back is not needed to remember them."""
    assert request.form is not None
    lines = []
    for index, question in enumerate(request.form.questions[:number]):
        given = given_at(draft, index)
        said = [*(question.options[pick].label for pick in given.picks), *([given.typed] if given.typed else [])]
        about = question.header or question.text
        text = f"{about[:60]}: {', '.join(said)}"
        lines.append(f"✓ {_line(text, setting, min(_ITEM_UNITS, _SO_FAR_UNITS // number))}")
    return lines


def _edited(card: Card, setting: DisplayOptions) -> tuple[str, ...]:
    """The new text, all of it, against the old one where that is short enough and may be shown."""
    request, draft = card.request, card.draft
    assert draft.text is not None
    old = request.input.get(request.editable)
    lines = [f"✏️ <b>Changed by {_line(draft.author, setting, 60)}</b>, not allowed yet:", *_what(request, setting)]
    clipper = Clipper(_TEXT_UNITS, mask=setting.mask)
    difference = _difference(old, draft.text) if isinstance(old, str) and not setting.is_brief else None
    language = "diff" if difference is not None else _LANGUAGES.get(request.editable, "")
    is_command = request.editable == "command"
    text = draft.text if difference is None else difference
    shown = clipper.take(text, _TEXT_UNITS, diff=language == "diff", as_command=is_command)
    if clipper.left_out and difference is not None:  # masks and spelled-out signs may need more room than was reckoned
        language = _LANGUAGES.get(request.editable, "")
        shown = Clipper(_TEXT_UNITS, mask=setting.mask).take(draft.text, _TEXT_UNITS, as_command=is_command)
    lines.append(f'<pre><code class="language-{language}">{shown}</code></pre>' if language else f"<pre>{shown}</pre>")
    if language != "diff" and isinstance(old, str):
        lines.append(f"<i>in the place of {len(old):,} characters</i>")
    if not setting.is_brief:
        lines += link_lines(card.context, Clipper(_LINKS_UNITS, mask=setting.mask))
    curly = sorted({mark for mark in draft.text if mark in _CURLY and mark not in str(old)})
    if curly:
        lines.append(f"⚠️ A phone's keyboard may have put in {' '.join(curly)} where you meant plain signs.")
    return tuple(lines)


def _what(request: Request, setting: DisplayOptions) -> list[str]:
    """The tool, and on what: somebody may see this card only now that it has another text."""
    content = None if setting.is_brief else content_of(request, setting)
    where = gist_of(request) if content is None else setting.place(content.head, request.project)
    on = f" <code>{_line(where, setting, _HEAD_UNITS)}</code>" if where else ""
    asides = " · ".join(content.asides) if content is not None else ""
    if not where and not asides:
        return []  # a command says itself what it is
    lines = [f"<b>{_line(request.call.tool, setting, 60)}</b>{on}"]
    return [*lines, f"<i>{_line(asides, setting)}</i>"] if asides else lines


def _difference(old: str, new: str) -> str | None:
    """Every line of the new text, and those that it replaces; None where that would be too much for a card."""
    before, after = old.split("\n"), new.split("\n")  # other breaks are signs like any other, and are spelled out
    if len(old) > _MOST_OLD or len(before) > _MOST_LINES or len(after) > _MOST_LINES:
        return None
    lines: list[str] = []
    for tag, start, end, from_, to in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f"  {line}" for line in before[start:end]]
        else:
            lines += [f"- {line}" for line in before[start:end]]
            lines += [f"+ {line}" for line in after[from_:to]]
    return "\n".join(lines)


def _confirming(card: Card, setting: DisplayOptions) -> tuple[str, ...]:
    choice = confirmed_choice(card.request, card.draft)
    what = _line(choice.label, setting, _CONFIRMED_UNITS, as_command=True) if choice is not None else ""
    why = "This would last beyond this one call." if choice is None or stands(choice) else HIDDEN_RUNS
    room = Clipper(_EXPLAINED_UNITS, mask=setting.mask)
    explained = choice.explained if choice is not None and not setting.is_brief else ()
    lines = [room.take(line, _EXPLAINED_UNITS, one_line=True) for line in explained]
    return (f"⚠️ <b>{why}</b> Really?", f"▸ {what}", *(line for line in lines if line))


def _listed(card: Card, setting: DisplayOptions) -> tuple[str, ...]:
    lines = [f"☑️ <b>Allow these {len(card.draft.listed)} together?</b> Each has a card of its own here."]
    for number, request in enumerate(card.listed, start=1):
        about = _line(summary_of(request, setting), setting, as_command=request.tool.kind is ToolKind.COMMAND)
        lines.append(f"{number}. <b>{_line(request.call.tool, setting, 60)}</b> <code>{about or '–'}</code>")
    return tuple(lines)
