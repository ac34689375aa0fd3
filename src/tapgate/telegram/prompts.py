"""The messages that ask somebody for a text: a reason, a changed command, an answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.masking.mask import mask_text
from tapgate.model import Action, Card, Prompt, ToolKind
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.text import Clipper

_CURRENT_UNITS = 3000
_QUESTION_UNITS = 600
_NAMES = {ToolKind.EDIT: "new text", ToolKind.FETCH: "address"}
_REASONS = {ToolKind.PLAN: ("What should change?", "What should change in the plan")}
"""Where a no is meant to be followed by another try."""


@dataclass(frozen=True, slots=True)
class Asking:
    text: str  # Telegram HTML
    placeholder: str  # in the empty field; at most 64 characters


def render_prompt(card: Card, prompt: Prompt, setting: DisplayOptions, *, is_group: bool) -> Asking:
    """In a group, the person who tapped is named: only their reply counts."""
    you = f'<a href="tg://user?id={prompt.user_id}">You</a>: ' if is_group else ""
    match prompt.purpose:
        case Action.ASK_EDIT:
            return Asking(f"{you}{_edit(card, setting)}", "The text to allow instead")
        case Action.ASK_ANSWER:
            return Asking(f"{you}{_answer(card, prompt.question, setting)}", "Your answer")
        case _:
            asked, placeholder = _REASONS.get(card.request.tool.kind, ("Why not?", "The reason for your no"))
            asked = asked[0].lower() + asked[1:] if you else asked
            return Asking(f"{you}{asked} Reply to this message; the agent gets your words.", placeholder)


def _edit(card: Card, setting: DisplayOptions) -> str:
    request = card.request
    now = card.draft.text if card.draft.text is not None else str(request.input.get(request.editable) or "")
    name = _NAMES.get(request.tool.kind, request.editable)
    asked = f"Reply to this message with the {name} to allow instead; then tap once more."
    if setting.is_brief and card.draft.text is None:
        return asked
    # Not folded: it is there to be copied and changed.
    shown = Clipper(_CURRENT_UNITS, mask=setting.mask).take(now, _CURRENT_UNITS, fold=False)
    is_masked = setting.mask and bool(mask_text(now[: _CURRENT_UNITS * 2]).kinds)
    hidden = " A part of it is masked: write that out, or edit at the terminal." if is_masked else ""
    return f"{asked}{hidden} Now it is:\n<pre>{shown or ' '}</pre>"


def _answer(card: Card, number: int, setting: DisplayOptions) -> str:
    form = card.request.form
    question = form.questions[number].text if form is not None and number < len(form.questions) else ""
    shown = Clipper(_QUESTION_UNITS, mask=setting.mask).take(question, _QUESTION_UNITS)
    return f"<b>{shown or 'Your answer?'}</b>\nReply to this message with your answer."
