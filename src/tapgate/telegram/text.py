"""Text that is safe on a card: every character visible, HTML escaped, counted in UTF-16 units. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tapgate.cards.characters import BLANK, EMOJI_STYLE
from tapgate.masking.mask import mask_text
from tapgate.telegram.blanks import folds_of, name_of

MAX_UNITS = 4096  # Telegram's limit for a message, after entity parsing
_MOST_CHARS = 16_384  # that are looked at for a card: the text may have 16 MiB, and folded it may need little room
_WINDOW = 8192  # more than a card shows of any text
_MARGIN = 2048  # longer than any secret but a private key, which is hidden also where its end is missing
_MOST_MARKS = 3  # combining marks in a row that still look like a letter

_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_OURS = "⟨"  # what we say about a text stands in these; one in the text itself is spelled out, so that it cannot do so


def units(text: str) -> int:
    """How long Telegram thinks this is."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def visible(text: str, *, one_line: bool = False) -> str:
    """Spell out what a reader could not see: control and direction characters, surrogates, floods of marks."""
    return "".join(_spelled(text, one_line=one_line))


def _spelled(text: str, *, one_line: bool) -> Sequence[str]:
    """What to show for each character."""
    if text.isascii() and (text if one_line else text.replace("\n", "").replace("\t", "")).isprintable():
        return text
    shown: list[str] = []
    marks = 0
    before = ""
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if character in " \n\t":
            shown.append({"\n": "⏎", "\t": " "}.get(character, " ") if one_line else character)
        elif (
            category in _HIDDEN
            or category == "Zs"
            or marks > _MOST_MARKS
            or character in _OURS
            or (one_line and character == "⏎")
            or (character in BLANK and not (character in EMOJI_STYLE and before == "So"))
        ):
            shown.append(f"⟨U+{ord(character):04X}⟩")
        else:
            shown.append(character)
        before = category
    return shown


def folded(text: str, *, diff: bool = False) -> str:
    """As `visible`, with long stretches of blanks and blank lines folded."""
    return "".join(chain.from_iterable(pieces for pieces, _ in _parts(text, one_line=False, diff=diff)))


def _parts(text: str, *, one_line: bool, diff: bool, most: int | None = None) -> Iterator[tuple[Sequence[str], int]]:
    """Stretches of text, with what to show for each character; and names, with how many characters each stands for.

    With `most`, of each stretch only so many characters: whoever asks has no room for more.
    """
    done = 0
    for start, end, name in folds_of(text, diff=diff):
        yield _spelled(text[done:start][:most], one_line=one_line), 1
        yield (name,), end - start
        done = end
    yield _spelled(text[done:][:most], one_line=one_line), 1


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
    """Makes text fit for a card of so many units, and remembers how much had to be left out.

    With `mask`, no secret passes. Masks come first: a secret that was cut in two looks like none.
    """

    def __init__(self, most_units: int, *, mask: bool) -> None:
        self._room = most_units
        self._mask = mask
        self.left_out = 0

    def take(
        self,
        text: str,
        most_units: int,
        *,
        one_line: bool = False,
        diff: bool = False,
        fold: bool = True,
        most_lines: int | None = None,
        as_command: bool = False,
    ) -> str:
        """The text, visible and escaped; what is beyond the limits is cut off, counted, and marked with …

        `as_command`: it is one, in which nothing is masked where it is run.
        """
        room = max(0, min(most_units, self._room))
        beyond = 0
        if self._mask:
            text, beyond = _masked_head(text, as_command=as_command)
        if len(text) > _MOST_CHARS:
            beyond += len(text) - _MOST_CHARS
            text = text[:_MOST_CHARS]
        pieces = _pieces(text, room, one_line=one_line, diff=diff, fold=fold)
        shown, used = _fitting(pieces, room, most_lines or len(text), is_cut=beyond > 0)
        self._room -= units(shown)
        self.left_out += beyond + len(text) - used
        return escape(shown)


def _pieces(text: str, room: int, *, one_line: bool, diff: bool, fold: bool) -> list[tuple[str, int]]:
    """What to show, each piece with the characters it stands for: all of it, or more than there is room for."""
    parts: Iterable[tuple[Sequence[str], int]]
    if not fold:
        parts = [(_spelled(text[: room + 1], one_line=one_line), 1)]
    elif text and not text.strip(" \t\n") and not one_line:
        parts = [((name_of(text),), len(text))]
    else:
        parts = _parts(text, one_line=one_line, diff=diff, most=room + 1)
    pieces: list[tuple[str, int]] = []
    for shown, count in parts:
        pieces += ((piece, count) for piece in shown)
        if len(pieces) > room:  # each needs a unit at least
            break
    return pieces


def _fitting(pieces: Sequence[tuple[str, int]], room: int, most_lines: int, *, is_cut: bool) -> tuple[str, int]:
    """The beginning that fits, with … where something is missing; and for how many characters it stands."""
    whole = "".join(piece for piece, _ in pieces)
    if not is_cut and units(whole) <= room and whole.count("\n") <= most_lines:
        return whole, sum(count for _, count in pieces)
    mark = "…" if room else ""
    shown: list[str] = []
    used = length = breaks = 0
    for piece, count in pieces:
        length += units(piece)
        breaks += piece == "\n"
        if length > room - len(mark) or breaks > most_lines:
            break
        shown.append(piece)
        used += count
    return "".join(shown) + mark, used


def plain_line(text: str, most_units: int, *, mask: bool) -> str:
    """One visible line for places that know no HTML. Masks come first here, too."""
    text = _masked_head(text)[0] if mask else text
    return clip(visible(clip(text, most_units), one_line=True), most_units)


def _masked_head(text: str, *, as_command: bool = False) -> tuple[str, int]:
    """The beginning of the text without its secrets, and how much is beyond it: it may have 16 MiB."""
    if len(text) <= _WINDOW:
        return mask_text(text, as_command=as_command).text, 0
    # What stands at the window's end may be one half of a secret, so it is not shown.
    return mask_text(text[:_WINDOW], as_command=as_command).text[:-_MARGIN], len(text) - _WINDOW + _MARGIN


def masked_tail(text: str) -> str:
    """The end of the text without its secrets; of a long one, without what stands where it was cut."""
    end = _KEY_END.search(text)
    if end and "PRIVATE KEY" not in text[: end.start()]:
        text = text[end.start() :]  # a key whose beginning was cut off looks like no key
    if len(text) <= _WINDOW:
        return mask_text(text).text
    return masked_tail(text[-_WINDOW:])[_MARGIN:]


def span(seconds: float) -> str:
    """How long, in the one unit that says enough."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h" if whole < 172_800 else f"{whole // 86_400} d"
