"""The buttons under a card. Pure; gives rows of plain values that the edge turns into Telegram's objects."""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.model import Act, Card, Choice
from tapgate.telegram.callback import Button, encode_button
from tapgate.telegram.text import clip, units, visible

MOST_UNITS = 48  # more than a phone shows on one button


@dataclass(frozen=True, slots=True)
class Key:
    text: str
    data: str
    style: str


def keyboard_of(card: Card) -> tuple[tuple[Key, ...], ...]:
    """Allow and Deny side by side; every other choice has long words and a row of its own, the refusals last."""
    first = [choice for choice in card.choices if choice.key in ("a", "d")]
    last = [choice for choice in card.choices if choice.key in ("r", "x")]
    middle = [choice for choice in card.choices if choice not in first and choice not in last]
    if first and first[0].act is Act.DECIDE and len(first) == 1:
        last = [*first, *last]  # nothing to allow here: Deny joins the other refusals
        first = []
    rows = [first, *([choice] for choice in middle), last]
    return tuple(tuple(_key(card, choice) for choice in row) for row in rows if row)


def is_cut(choice: Choice) -> bool:
    """Whether the button cannot hold the choice's words."""
    return units(visible(choice.label, one_line=True)) > MOST_UNITS


def _key(card: Card, choice: Choice) -> Key:
    text = visible(choice.label, one_line=True)
    if is_cut(choice):
        text = clip(text, MOST_UNITS - 1) + "…"
    data = encode_button(Button(card.request.id, choice.key, choice.seal))
    return Key(text, data, choice.tone.value)
