"""Characters that draw nothing although they are letters or marks: a reader cannot see them. Pure."""

from __future__ import annotations

BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}
"""Fillers, joiners, variation selectors, the empty Braille cell."""

EMOJI_STYLE = "\ufe0e\ufe0f"  # they belong behind a symbol, where they choose between text and emoji
