"""Characters that make a text look like another: invisible ones, those that turn it around, letters of other scripts.

Cards spell the invisible ones out; here they are named, so that nobody takes the spelling for a part of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_PIECE = 65_536  # a search holds up other threads, and a text may have 16 MiB

_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"
# A carriage return belongs before a line break; alone it lets a terminal overwrite what stands before it. Joiners
# belong into emoji and into the scripts that write with them.
_HIDDEN = re.compile(
    f"[{_DIRECTION}]|[{_UNSEEN}]|[{_CONTROL}]|\r(?!\n|$)|[\ud800-\udfff]|[\u200c\u200d](?![\u0600-\u0dff\u2190-\U0001faff])"
)
_NAMES = ((f"[{_DIRECTION}]", "turns the text around"), ("\x1b|\x9b", "is a terminal's escape"))

# Letters that most fonts draw as a Latin one. Others of their scripts are told apart at a glance.
_ALIKE = frozenset(
    "аеорсухіјѕԁһԛԝѵӏүАВЕЗКМНОРСТХЅІЈҮԌ"  # Cyrillic
    "ονρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"  # Greek
    "օոսցհզՕՍԼ"  # Armenian
    "ꓐꓑꓒꓓꓔꓗꓘꓙꓚꓜꓝꓠꓡꓢꓣꓪꓫꓬꓮꓰꓲꓳꓴꓵꓶꓷꓸꓹ"  # Lisu
    "ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏆᏏᏒᏔᏚᏞᏟᏢᏦᏧ"  # Cherokee
    "ıȷɑɡɩʀⅼⅰⅴⅹⅽⅾⅿ∕⁄／．‐‑"
)
_WORD = re.compile(r"[^\s\"'`;|&<>(){}\[\]=,:!?#$*\\]+")
_MOST_CHARS = 65_536


def find_hidden(texts: Iterable[str]) -> str | None:
    """A sentence about the first character that nobody can see; None where all can be seen."""
    for text in texts:
        found = _first_hidden(text)
        if found:
            code = f"U+{ord(found):04X}"
            does = next((does for pattern, does in _NAMES if re.fullmatch(pattern, found)), "cannot be seen")
            return f"Has a character that {does}: {unicodedata.name(found, 'a control character').lower()} ({code})"
    return None


def _first_hidden(text: str) -> str:
    for start in range(0, len(text), _PIECE):
        for match in _HIDDEN.finditer(text, start, min(len(text), start + _PIECE)):
            if match[0] == "\ufeff" and match.start() == 0:
                continue  # the mark with which some files begin
            return match[0][0]
    return ""


def find_look_alike(texts: Iterable[str]) -> str | None:
    """A sentence about the first word that is not the one it looks like; None where there is none."""
    for text in texts:
        if text.isascii():
            continue
        head = text[:_MOST_CHARS]
        # A text in another script has words that happen to look Latin; it also has letters that do not.
        alone = not any(letter.isalpha() and not letter.isascii() and not _is_alike(letter) for letter in head)
        for match in _WORD.finditer(head):
            for part in match[0].strip("./-").split("/"):
                letter = _disguised(part, alone=alone)
                if letter:
                    name = unicodedata.name(letter, "another letter").lower()
                    return f"“{part[:40]}” is not what it looks like: it has a {name} (U+{ord(letter):04X})"
    return None


def _disguised(word: str, *, alone: bool) -> str:
    """The letter that does not belong there: among Latin letters, or in a word that could be taken for a Latin one."""
    if word.isascii():
        return ""
    alike = [letter for letter in word if _is_alike(letter)]
    if not alike:
        return ""
    if any(letter.isascii() and letter.isalpha() for letter in word) and not _is_foreign(word):
        return alike[0]
    others = [letter for letter in word if letter.isalpha() and not letter.isascii()]
    return alike[0] if alone and len(alike) == len(others) and len(others) > 1 else ""


def _is_alike(letter: str) -> bool:
    return letter in _ALIKE or _is_styled(letter)


def _is_foreign(word: str) -> bool:
    """Whether each part that dots and dashes set apart is of one script and plainly so, as in пример.com."""
    for part in re.split(r"[.\-_@+~%0-9]+", word):
        kinds = {letter.isascii() for letter in part if letter.isalpha()}
        if len(kinds) == 2:
            return False
        if kinds == {False} and all(_is_alike(letter) for letter in part if letter.isalpha()):
            return False
    return True


def _is_styled(letter: str) -> bool:
    """Full-width, bold, script: a Latin letter in other clothes."""
    if letter.isascii() or not letter.isalnum():
        return False
    plain = unicodedata.normalize("NFKC", letter)
    return plain.isascii() and plain.isalnum() and letter not in "ªº²³¹"


_TURNING = ("R", "AL")


def find_turned(words: Sequence[str], others: Iterable[str] = ()) -> str | None:
    """A sentence about right-to-left letters that put words, or parts of a path, into another order than they have.

    `words` are those of a command, one after another; `others` are texts by themselves, as paths and addresses. Between
    two right-to-left letters, and between one and a number, everything without a Latin letter is drawn backwards. In a
    single word with blanks in it, a message for example, that is how its language is written.
    """
    before = ""
    for word in words:
        text = word[:_MOST_CHARS]
        letter = "" if text.isascii() else _turned_inside(text, r"/" if re.search(r"\s", text) else r"[^\w\s]")
        if letter or (before and _first_strong(text) in (*_TURNING, "EN", "AN")):
            return _says_turned(letter or before)
        last = "" if text.isascii() else _last_turning(text)
        before = last or (before if before and not _first_strong(text) else "")
    for text in others:
        letter = "" if text.isascii() else _turned_inside(text[:_MOST_CHARS], r"[^\w]")
        if letter:
            return _says_turned(letter)
    return None


def _says_turned(letter: str) -> str:
    name = unicodedata.name(letter, "a letter").lower()
    return f"Has right-to-left letters, which put words into another order on the screen: {name} (U+{ord(letter):04X})"


def _first_strong(text: str) -> str:
    """The direction of the first letter or number."""
    kinds = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind for kind in kinds if kind in ("L", *_TURNING, "EN", "AN")), "")


def _last_turning(text: str) -> str:
    """The last right-to-left letter, if no Latin one comes behind it."""
    for letter in reversed(text):
        kind = unicodedata.bidirectional(letter)
        if kind in _TURNING:
            return letter
        if kind == "L":
            return ""
    return ""


def _turned_inside(text: str, separator: str) -> str:
    """A letter of the first stretch in which such a separator stands between what is drawn backwards."""
    turning, between = "", ""
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind in _TURNING or (turning and kind in ("EN", "AN")):
            if turning and re.search(separator, between):
                return turning
            turning, between = (letter if kind in _TURNING else turning), ""
        elif kind == "L":
            turning, between = "", ""
        elif kind not in ("BN", "NSM"):  # joiners and marks belong to the letters beside them
            between += letter
    return ""


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, names of fields too. Not recursive: depth is the agent's."""
    work: list[object] = [value]
    while work:
        item = work.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in item.items():
                yield key
                if isinstance(inner, str):
                    yield inner
                elif isinstance(inner, dict | list):
                    work.append(inner)
        elif isinstance(item, list):
            for inner in item:
                if isinstance(inner, str):
                    yield inner
                elif isinstance(inner, dict | list):
                    work.append(inner)
