"""Text that is safe on a card: every character visible, HTML escaped, counted in UTF-16 units. Pure."""

from __future__ import annotations

import unicodedata

MAX_UNITS = 4096  # Telegram's limit for a message, after entity parsing
_MOST_MARKS = 3  # combining marks in a row that still look like a letter

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def units(text: str) -> int:
    """How long Telegram thinks this is."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def visible(text: str, *, one_line: bool = False) -> str:
    """Spell out what a reader could not see: control and direction characters, surrogates, floods of marks."""
    shown: list[str] = []
    marks = 0
    for character in text:
        if character in "\n\t" and not one_line:
            shown.append(character)
            marks = 0
            continue
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if one_line and character in "\n\t\r":
            shown.append("⏎" if character == "\n" else " ")
        elif category in _HIDDEN or marks > _MOST_MARKS:
            shown.append(f"⟨U+{ord(character):04X}⟩")
        elif category == "Zs":
            shown.append(" " if character == " " else f"⟨U+{ord(character):04X}⟩")
        else:
            shown.append(character)
    return "".join(shown)


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def clip(text: str, most_units: int) -> str:
    """At most so many units, never half a character."""
    if len(text) <= most_units // 2:
        return text
    used = 0
    for index, character in enumerate(text):
        used += 2 if ord(character) > 0xFFFF else 1
        if used > most_units:
            return text[:index]
    return text


class Clipper:
    """Makes text fit for a card of so many units, and remembers how much had to be left out."""

    def __init__(self, most_units: int) -> None:
        self._room = most_units
        self.left_out = 0

    def take(self, text: str, most_units: int, *, one_line: bool = False) -> str:
        """The text, visible and escaped; what is beyond the limit is cut off, counted, and marked with …"""
        room = max(0, min(most_units, self._room))
        head = clip(text, room)  # before the character by character work: the text may have 16 MiB
        shown = visible(head, one_line=one_line)
        if len(head) == len(text) and units(shown) <= room:
            self._room -= units(shown)
            return escape(shown)
        # Spelled-out characters need more room than they had: find how much of the original still fits.
        used = len(head)
        while used and units(shown) > room:
            used = used * 9 // 10
            shown = visible(head[:used], one_line=one_line)
        self._room -= units(shown)
        self.left_out += len(text) - used
        return escape(shown) + "…"
