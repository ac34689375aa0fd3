"""What stands around a hidden value: the name that it is given to, and whether that says that it is only data. Pure."""

from __future__ import annotations

import re

from tapgate.masking.assignments import How
from tapgate.masking.mask import hidden_finds
from tapgate.masking.shapes import URL_SECRET

STAND_IN = "Zq7Xk2Wm9Tb4Rf6Hn3"
"""Stands for a hidden value: it looks like one wherever a value would be taken for a secret."""

_NAME = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]{0,95})(?:\\{0,7}[\"'])?\]?[ \t]*(?:[:?+!]?={1,3}>?|:)[ \t]*"
    r"[bfruBFRU@$]{0,2}\\{0,7}[\"']{0,3}\Z"
)
_NAME_OF_STRING = re.compile(r"(?P<name>[A-Za-z_]\w{0,95})[ \t]*=[ \t]*[bfru]?[\"'][^\"'\n]{0,400}\Z")
_IN_HEADER = re.compile(
    r"(?:^|[\"'`:=(,] ?)(?:[Bb]earer|[Bb]asic|[Tt]oken) +(?:[\"'`] *[+.] *|[{$(]{1,3}|[\"']? *, *)?\Z"
)


def name_before(text: str, start: int) -> str:
    """The last part of the name to which a value at this place is given; "" where there is none."""
    before = text[max(0, start - 600) : start]
    match = _NAME.search(before[-200:]) or _NAME_OF_STRING.search(before)
    return re.split(r"[.-]", match["name"])[-1] if match else ""


def says_itself(text: str, start: int, end: int, *, hows: tuple[How, ...] = (How.NAME, How.CONTEXT)) -> bool:
    """Whether a value at this place would be taken for a secret by what stands around it, in the same line or two."""
    left, right = max(0, start - 240), min(len(text), end + 120)
    before, after = text[left:start], text[end:right]
    if How.CONTEXT in hows and _IN_HEADER.search(before):
        return True
    value = f"{STAND_IN}000Zz"
    line = before + value + after
    place = len(before)
    return any(
        find.start <= place and place + len(value) <= find.end
        for find in hidden_finds(line)
        if find.how in hows and (find.kind is not URL_SECRET or "://" in before)
    )
