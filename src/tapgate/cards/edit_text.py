"""Which text of a file an edit means, and what comes in its place, as Claude Code finds it. Pure.

It takes the old text also where the file has other quotes, or characters for which the edit has \\u escapes, and then
changes the new text alike. Escapes in the new text become characters by that, line breaks among them.
"""

from __future__ import annotations

import re

_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})
_ESCAPE = re.compile(r"(\\\\)|\\u([0-9a-fA-F]{4})")
_OPENS = frozenset(" \t\n\r([{—–")  # a quote behind one of these, or at the beginning, opens


def has_escapes(text: str) -> bool:
    return any(found[2] for found in _ESCAPE.finditer(text))


def as_found(text: str, old: str, new: str) -> tuple[str, str]:
    """What is taken out of the text and what is put there; both as they are where the text has no such place."""
    actual = _spelling_in(text, old)
    if actual == old:
        return old, new
    new = _with_quotes_of(actual, new)
    return actual, _unescaped(new) if has_escapes(old) and _unescaped(old) == actual else new


def removed_text(text: str, old: str, new: str) -> str:
    """What is really taken out: where nothing comes in its place, the line break behind it goes with it."""
    return f"{old}\n" if old and not new and not old.endswith("\n") and f"{old}\n" in text else old


def _spelling_in(text: str, old: str) -> str:
    if old in text:
        return old
    at = text.translate(_STRAIGHT).find(old.translate(_STRAIGHT))
    if at >= 0:
        return text[at : at + len(old)]
    plain = _unescaped(old)
    return plain if plain in text else old


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(lambda found: found[0] if found[1] else chr(int(found[2], 16)), text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # two halves make one


def _with_quotes_of(actual: str, new: str) -> str:
    """Straight quotes as curly ones, where the file has such in that place."""
    double, single = "“" in actual or "”" in actual, "‘" in actual or "’" in actual
    if not double and not single:
        return new
    shown = list(new)
    for index, character in enumerate(new):
        opens = index == 0 or new[index - 1] in _OPENS
        if character == '"' and double:
            shown[index] = "“" if opens else "”"
        elif character == "'" and single:
            is_inside = new[max(0, index - 1) : index].isalpha() and new[index + 1 : index + 2].isalpha()
            shown[index] = "‘" if opens and not is_inside else "’"
    return "".join(shown)
