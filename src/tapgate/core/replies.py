"""What a text means that somebody wrote in reply to a card. Pure."""

from __future__ import annotations

from enum import Enum

_YES = frozenset({"y", "yes", "ok", "okay", "👍"})
_NO = frozenset({"n", "no", "👎"})
_TINTS = dict.fromkeys((*range(0x1F3FB, 0x1F400), 0xFE0F))  # a thumb's colour of skin does not matter


class Meaning(Enum):
    YES = "yes"
    NO = "no"
    WORDS = "words"
    NOTHING = "nothing"


def meaning_of(text: str) -> Meaning:
    """Yes and no as a watch sends them, and only if nothing else is said: “yes, but …” is no yes."""
    word = text.strip().translate(_TINTS).rstrip(".!").casefold()
    if word in _YES:
        return Meaning.YES
    if word in _NO:
        return Meaning.NO
    return Meaning.WORDS if text.strip() else Meaning.NOTHING
