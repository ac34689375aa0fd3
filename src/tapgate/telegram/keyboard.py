"""The buttons under a card. Pure; gives rows of plain values that the edge turns into Telegram's objects."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapgate.core.masking import mask_text
from tapgate.model import Card, Choice
from tapgate.telegram.callback import Button, encode_button
from tapgate.telegram.text import clip, units, visible

MOST_UNITS = 48  # what a button holds at most
MOST_MASKED = 8192  # of a label is looked at for secrets; no button shows as much
SEEN_UNITS = 32  # what a phone shows of it in any case


@dataclass(frozen=True, slots=True)
class Key:
    text: str
    data: str
    style: str


_PAIRS = (("a", "d"), ("m", "x"), ("z", "k"))
"""Keys whose buttons stand side by side; every other choice has long words and a row of its own."""

_LAST = ("r", "g")


def keyboard_of(card: Card, *, mask: bool = True) -> tuple[tuple[Key, ...], ...]:
    """What the usual answer needs comes first: Allow and Deny, or what leads there. Ways of refusing come last."""
    choices = {choice.key: choice for choice in card.choices}
    leads = [choice for choice in card.choices if choice.key[0] in "wyo" or choice.key == "q"]
    standing = [choice for choice in card.choices if choice.key[0] in "sneb"]
    pairs = [[choices[key] for key in pair if key in choices] for pair in _PAIRS]
    first, second, third = pairs
    rows = [*([choice] for choice in leads), third, first, *([choice] for choice in standing), second]
    rows += [[choices[key]] for key in _LAST if key in choices]
    known = {choice.key for row in rows for choice in row}
    rows += [[choice] for choice in card.choices if choice.key not in known]
    return tuple(tuple(_key(card, choice, mask=mask) for choice in row) for row in rows if row)


def is_wide(choice: Choice) -> bool:
    """Whether a phone may show only the beginning of the button's words."""
    return is_cut(choice) or units(visible(choice.label, one_line=True)) > SEEN_UNITS


def is_cut(choice: Choice) -> bool:
    """Whether the button cannot hold the choice's words."""
    return len(choice.label) > MOST_UNITS or units(visible(choice.label, one_line=True)) > MOST_UNITS


def _key(card: Card, choice: Choice, *, mask: bool) -> Key:
    label = mask_text(choice.label[:MOST_MASKED]).text if mask else choice.label
    text = visible(label[:MOST_UNITS], one_line=True)
    if is_cut(replace(choice, label=label)):
        text = clip(text, MOST_UNITS - 1) + "…"
    elif not text.strip():
        text = f"“{text}”"  # Telegram refuses a card with a blank button
    data = encode_button(Button(card.request.id, choice.key, choice.seal))
    return Key(text, data, choice.tone.value)
