"""What a card shows while it takes more than one tap: a question, a changed text, a second look, a list. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tapgate.core.drafts import given_at
from tapgate.model import Card, Draft, Request
from tapgate.telegram.text import Clipper

Mask = Callable[[str], str]
Summary = Callable[[Request], str]
"""One line that says what a request is about."""

_ITEM_UNITS = 160
_TEXT_UNITS = 2200
_MOST_OLD = 2000  # characters of the old text that a difference is shown against
_MOST_LINES = 120
_LANGUAGES = {"command": "bash"}
_CURLY = "“”‘’«»—–"
_KNOWN = ("question", "header", "options", "multiSelect")


@dataclass(frozen=True, slots=True)
class Step:
    lines: tuple[str, ...]
    replaces: bool = True  # stands in the place of the call's own content; otherwise below it


def step_of(card: Card, clipper: Clipper, *, mask: Mask, summary: Summary) -> Step | None:
    """What to show for the card's draft; None where it stands as it came."""
    draft = card.draft
    if draft.confirming:
        return Step(_confirming(card), replaces=False)
    if draft.listed:
        return Step(_listed(card, mask=mask, summary=summary))
    if draft.text is not None:
        return Step(_edited(card, clipper, mask=mask))
    if card.request.form is not None:
        return Step(_question(card.request, draft, clipper, mask=mask))
    return None


def questions_fit(request: Request, *, room: int, mask: Mask) -> bool:
    """Whether each question of a form can be shown whole when its turn comes."""
    if request.form is None:
        return True
    for number in range(len(request.form.questions)):
        clipper = Clipper(room)
        _question(request, Draft(at=number), clipper, mask=mask)
        if clipper.left_out:
            return False
    return True


def _question(request: Request, draft: Draft, clipper: Clipper, *, mask: Mask) -> tuple[str, ...]:
    form = request.form
    assert form is not None
    number = min(draft.at, len(form.questions) - 1)
    question, given = form.questions[number], given_at(draft, number)
    raw = request.input["questions"][number]
    count = f"{number + 1} of {len(form.questions)}" if len(form.questions) > 1 else ""
    head = " · ".join(part for part in (f"Question {count}".strip(), question.header) if part)
    lines = [f"❓ <b>{clipper.take(mask(head), _ITEM_UNITS, one_line=True)}</b>"]
    lines.append(f"<b>{clipper.take(mask(question.text), _TEXT_UNITS)}</b>")
    if question.many:
        lines.append("<i>Several may be chosen; then tap the green button.</i>")
    for index, option in enumerate(question.options):
        mark = ("☑ " if question.many else "● ") if index in given.picks else ""
        line = f"{mark}<b>{index + 1}. {clipper.take(mask(option.label), _TEXT_UNITS, one_line=True)}</b>"
        if option.description:
            line += f" — {clipper.take(mask(option.description), _TEXT_UNITS, one_line=True)}"
        lines += [line, *(_others(raw["options"][index], ("label", "description"), clipper, mask=mask))]
    lines += _others(raw, _KNOWN, clipper, mask=mask)
    if given.typed:
        lines.append(f"✍️ {Clipper(_ITEM_UNITS).take(given.typed, _ITEM_UNITS, one_line=True)}")
    return (*lines, *_so_far(request, draft, number, mask=mask))


def _others(value: Mapping[str, Any], known: tuple[str, ...], clipper: Clipper, *, mask: Mask) -> list[str]:
    """Fields that this view does not know are shown all the same."""
    texts = {
        key: text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for key, text in value.items()
    }
    return [
        f"<i>{clipper.take(mask(f'{key}: {text}'), _TEXT_UNITS, one_line=True)}</i>"
        for key, text in texts.items()
        if key not in known and text
    ]


def _so_far(request: Request, draft: Draft, number: int, *, mask: Mask) -> list[str]:
    """The answers to the questions before, so that Back is not needed to remember them."""
    assert request.form is not None
    lines = []
    for index, question in enumerate(request.form.questions[:number]):
        given = given_at(draft, index)
        said = [*(question.options[pick].label for pick in given.picks), *([given.typed] if given.typed else [])]
        about = question.header or question.text
        text = f"{about[:60]}: {', '.join(said)}"
        lines.append(f"✓ {Clipper(_ITEM_UNITS).take(mask(text), _ITEM_UNITS, one_line=True)}")
    return lines


def _edited(card: Card, clipper: Clipper, *, mask: Mask) -> tuple[str, ...]:
    request, draft = card.request, card.draft
    assert draft.text is not None
    old = request.input.get(request.editable)
    author = Clipper(60).take(draft.author, 60, one_line=True)
    lines = [f"✏️ <b>Changed by {author}</b>, not allowed yet:"]
    difference = _difference(old, draft.text) if isinstance(old, str) else None
    if difference is None:
        language = _LANGUAGES.get(request.editable, "")
        shown = clipper.take(mask(draft.text), _TEXT_UNITS)
        lines.append(
            f'<pre><code class="language-{language}">{shown}</code></pre>' if language else f"<pre>{shown}</pre>"
        )
        lines.append(f"<i>in the place of {len(str(old)):,} characters</i>")
    else:
        lines.append(f'<pre><code class="language-diff">{clipper.take(mask(difference), _TEXT_UNITS)}</code></pre>')
    curly = sorted({mark for mark in draft.text if mark in _CURLY and mark not in str(old)})
    if curly:
        lines.append(f"⚠️ A phone's keyboard may have put in {' '.join(curly)} where you meant plain signs.")
    return tuple(lines)


def _difference(old: str, new: str) -> str | None:
    """Every line of the new text, and those that it replaces; None where that would be too much for a card."""
    before, after = old.splitlines() or [""], new.splitlines() or [""]
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


def _confirming(card: Card) -> tuple[str, ...]:
    choice = next((choice for choice in card.request.choices if choice.key == card.draft.confirming), None)
    what = Clipper(_TEXT_UNITS).take(choice.label, 500, one_line=True) if choice is not None else ""
    return ("⚠️ <b>This would last beyond this one call.</b> Really?", f"▸ {what}")


def _listed(card: Card, *, mask: Mask, summary: Summary) -> tuple[str, ...]:
    lines = [f"☑️ <b>Allow these {len(card.draft.listed)} together?</b> Each has a card of its own above or below."]
    for number, request in enumerate(card.listed, start=1):
        tool = Clipper(60).take(request.call.tool, 60, one_line=True)
        about = Clipper(_ITEM_UNITS).take(mask(summary(request)), _ITEM_UNITS, one_line=True)
        lines.append(f"{number}. <b>{tool}</b> <code>{about or '–'}</code>")
    return tuple(lines)
