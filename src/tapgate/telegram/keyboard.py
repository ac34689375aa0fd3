"""The buttons under a card. Pure; gives rows of plain values that the edge turns into Telegram's objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tapgate.desk.drafts import refuses, stands
from tapgate.masking.mask import mask_text
from tapgate.model import Action, Card, Choice, Tone
from tapgate.telegram.callback import Button, encode_button
from tapgate.telegram.text import clip, units, visible

MOST_UNITS = 48  # what a button holds at most
SHORT_UNITS = 42  # what is left of a longer one that lasts: so much a phone shows, and its end must be seen
SCOPE_UNITS = 21  # of these at its end, where it says for how long something is allowed
MOST_MASKED = 8192  # of a label is looked at for secrets; no button shows as much
SEEN_UNITS = 32  # what a phone shows of it in any case


@dataclass(frozen=True, slots=True)
class KeyboardButton:
    text: str
    data: str
    style: str


_LEADS = "wyoq"
_STANDING = "sneb"
_RULES = "sn"
_UPPER = ("mz", "zk", "z", "k", "ad", "a", "dx", "d")
_LOWER = ("h", "mx", "mg", "m", "x", "r", "g")
"""Rows by their choices' keys, above and below the standing permissions. A row comes whole or not at all, and what it
holds is not there for the next one."""


def keyboard_of(card: Card, *, mask: bool = True, is_brief: bool = False) -> tuple[tuple[KeyboardButton, ...], ...]:
    """What the usual answer needs comes first: Allow and Deny, or what leads there. Ways of refusing come last.

    With little detail there are no rules on buttons: their words are taken from the call, which is not to be sent. Nor
    is what its masks would hide.
    """
    choices = [choice for choice in card.choices if choice.action is not Action.SHOW_HIDDEN or (mask and not is_brief)]
    rows = _rows([choice for choice in choices if not (is_brief and choice.key[0] in _RULES)])
    warns = any(choice.tone is Tone.BAD and not refuses(choice) for choice in card.choices)
    return tuple(tuple(_key(card, choice, warns=warns, mask=mask) for choice in row) for row in rows)


def _rows(choices: Sequence[Choice]) -> list[list[Choice]]:
    left = {choice.key: choice for choice in choices}

    def each(letters: str) -> Iterator[list[Choice]]:
        for choice in choices:
            if choice.key[0] in letters:
                yield [left.pop(choice.key)]

    def whole(rows: Iterable[str]) -> Iterator[list[Choice]]:
        for row in rows:
            if all(key in left for key in row):
                yield [left.pop(key) for key in row]

    laid = [*each(_LEADS), *whole(_UPPER), *each(_STANDING), *whole(_LOWER)]
    return [*laid, *([choice] for choice in left.values())]


def is_wide(choice: Choice) -> bool:
    """Whether a phone may show only the beginning of the button's words."""
    return is_cut(choice) or units(visible(choice.label, one_line=True)) > SEEN_UNITS


def is_cut(choice: Choice) -> bool:
    """Whether the button cannot hold the choice's words."""
    return len(choice.label) > MOST_UNITS or units(visible(choice.label, one_line=True)) > MOST_UNITS


def _key(card: Card, choice: Choice, *, warns: bool, mask: bool) -> KeyboardButton:
    label = choice.label
    head, end = (_masked(part, mask=mask) for part in (label[:MOST_MASKED], label[-MOST_MASKED:]))
    text = visible(head[:MOST_UNITS], one_line=True)
    if len(label) > MOST_MASKED or is_cut(replace(choice, label=head)):
        scope = visible(end[-SCOPE_UNITS:], one_line=True)[-SCOPE_UNITS:] if stands(choice) else ""
        room = max(SHORT_UNITS - units(scope), 0) if scope else MOST_UNITS
        text = f"{clip(text, room - 1)}…{scope}"
    elif not text.strip():
        text = f"“{text}”"  # Telegram refuses a card with a blank button
    data = encode_button(Button(card.request.id, choice.key, choice.seal))
    return KeyboardButton(text, data, _style(card, choice, warns=warns))


def _style(card: Card, choice: Choice, *, warns: bool) -> str:
    """Red is for one thing at a time: where allowing is risky, that is red, and not the way out of it."""
    if choice.action is Action.SHOW_WHOLE:
        return Tone.MAIN.value
    calm = choice.tone is Tone.BAD and refuses(choice) and (warns or card.request.form is not None)
    return Tone.PLAIN.value if calm else choice.tone.value


def _masked(label: str, *, mask: bool) -> str:
    """A rule's words are a command's: nothing of them is masked where it would be run."""
    return mask_text(label, as_command=True).text if mask else label
