"""Texts that people write about a card: what they mean, and why one cannot be taken. Pure."""

from __future__ import annotations

import unicodedata
from enum import Enum

from tapgate.cards.characters import BLANK
from tapgate.desk.case import Case
from tapgate.desk.people import why_not
from tapgate.masking.mask import has_mask, mask_text
from tapgate.model import Person

MOST_EDITED = 1500  # of a changed text, as room_of counts it: a card must show all of it, and what it was
_ODD_ROOM = 9  # what cannot be seen is spelled out, as ⟨U+202E⟩
UNSEEN = "Not all of it was shown here yet: tap “Show all of it” first."

_YES = frozenset({"y", "yes", "ok", "okay", "👍"})
_NO = frozenset({"n", "no", "👎"})
_TINTS = dict.fromkeys((*range(0x1F3FB, 0x1F400), 0xFE0F))  # a thumb's colour of skin does not matter


class Meaning(Enum):
    YES = "yes"
    NO = "no"
    WORDS = "words"


def meaning_of(text: str) -> Meaning:
    """Yes and no as a watch sends them, and only if nothing else is said: “yes, but …” is no yes."""
    word = text.strip().translate(_TINTS).rstrip(".!").casefold()
    if word in _YES:
        return Meaning.YES
    return Meaning.NO if word in _NO else Meaning.WORDS


def why_unheard(person: Person, text: str, *, is_stopping: bool) -> str | None:
    """Why a text from this person about an open request changes nothing; None where it counts."""
    if is_stopping:
        return "tapgate is stopping; answer at the terminal."
    if not text:
        return "Only a text counts as an answer. Reply again, in words."
    return why_not(person.role)


def room_of(text: str) -> int:
    """How much room a text takes on a card at the most, in UTF-16 units, whether secrets are masked there or not."""
    return max(_room(text), _room(mask_text(text).text))  # a mask may be longer than what it hides


def _room(text: str) -> int:
    odd = sum(1 for sign in text if sign in BLANK or not _is_plain(sign))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 + odd * _ODD_ROOM


def _is_plain(sign: str) -> bool:
    return (sign.isprintable() and not unicodedata.category(sign).startswith("M")) or sign in "\n\t"


def why_not_edit(case: Case, chat_id: int, text: str) -> str | None:
    """Why this cannot stand in the place of the text that was asked for; None where it can."""
    if not case.is_whole(chat_id):
        return UNSEEN
    if text == case.request.input.get(case.request.editable):
        return "That is what the agent asked for already: tap Allow for it."
    if room_of(text) > MOST_EDITED:
        return f"That is too long for a card, which can show {MOST_EDITED:,} plain characters: edit it at the terminal."
    if has_mask(text):
        return "A part of that is masked (‹…›) and would be passed on so: write it out, or edit it at the terminal."
    return None
