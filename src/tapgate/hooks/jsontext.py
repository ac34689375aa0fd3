"""JSON as a person wrote it: where its values stand, and edits that leave everything around them as it is. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Path = Sequence[str | int]

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)
_SAFE_DIGITS = 4000  # Python refuses to read whole numbers that are longer; nobody here calculates with them
_SURROGATES = re.compile("[\ud800-\udfff]")


class FaultError(Exception):
    """This text is not JSON, or not nested like any settings; says where."""

    def __init__(self, what: str, *, line: int, column: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.column = column


class _ConstantError(Exception):
    pass


def _refuse(_: str) -> None:
    raise _ConstantError


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _SAFE_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=_whole)


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object or an item of a list: from `start` (of the key, if any) to `end`."""

    name: str | int
    start: int
    value_start: int
    end: int


def place_of(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a position, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def parse(text: str) -> Any:
    """The value. Raises FaultError for what an agent would not read as JSON either."""
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        raise _fault(text, error.pos, error.msg[:1].lower() + error.msg[1:]) from None
    except _ConstantError:
        found = next(hit for hit in _STRING_OR_CONSTANT.finditer(text) if hit[0][0] != '"')
        raise _fault(text, found.start(), f"{found[0]} is not JSON") from None
    except RecursionError:
        raise FaultError("nested too deeply", line=1, column=1) from None
    rest = _skip(text, end)
    if rest != len(text):
        raise _fault(text, rest, "extra data")
    return value


def children(text: str, start: int) -> list[Child]:
    """What the object or list that opens at `start` holds. The text must have been parsed once."""
    is_object = text[start] == "{"
    found: list[Child] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, name = at, len(found)
        key: str | int = name
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value_start = at
        _, at = _DECODER.raw_decode(text, at)
        found.append(Child(key, begin, value_start, at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def locate(text: str, path: Path) -> int:
    """Where the value at this path begins. Of several members with one name the last counts, as for the agents."""
    at = _skip(text, 0)
    for name in path:
        at = [child for child in children(text, at) if child.name == name][-1].value_start
    return at


def replace(text: str, path: Path, value: Any) -> str:
    """With another value at this path, written as the old one was: on one line, or on several."""
    start = locate(text, path)
    _, end = _DECODER.raw_decode(text, start)
    style = _style_of(text)
    written = style.spread(value, _indent_of(text, start)) if "\n" in text[start:end] else style.packed(value)
    return text[:start] + written + text[end:]


def add(text: str, path: Path, value: Any, *, key: str | None = None) -> str:
    """With one more member (or item, without a key) at the end of the object (or list) at this path."""
    start = locate(text, path)
    style = _style_of(text)
    inside = children(text, start)
    if not inside:
        end = text.index("}" if key is not None else "]", start) + 1
        whole = [value] if key is None else {key: value}
        written = style.packed(whole) if style.on_one_line else style.spread(whole, _indent_of(text, start))
        return text[:start] + written + text[end:]
    last = inside[-1]
    gap = text[_gap_start(text, last.start) : last.start]
    if "\n" in gap:
        indent = gap[gap.rindex("\n") + 1 :]
        between, written = style.newline + indent, style.spread(value, indent)
    else:
        between, written = (gap if len(inside) > 1 else style.after_comma), style.packed(value)
    label = "" if key is None else style.label(key)
    return text[: last.end] + "," + between + label + written + text[last.end :]


def remove(text: str, path: Path) -> str:
    """Without the member or item at this path; what `add` put there goes as it came."""
    start = locate(text, path[:-1])
    inside = children(text, start)
    number = [child.name for child in inside].index(path[-1])
    if isinstance(path[-1], str):
        number = len(inside) - 1 - [child.name for child in reversed(inside)].index(path[-1])
    if len(inside) == 1:
        _, end = _DECODER.raw_decode(text, start)
        return text[: start + 1] + text[end - 1 :]
    if number == 0:
        return text[: inside[0].start] + text[inside[1].start :]
    return text[: inside[number - 1].end] + text[inside[number].end :]


@dataclass(frozen=True, slots=True)
class _Style:
    newline: str
    unit: str
    on_one_line: bool
    after_comma: str
    colon: str

    def spread(self, value: Any, indent: str) -> str:
        text = json.dumps(
            value,
            indent=self.unit,
            ensure_ascii=_needs_escapes(value),
            separators=(",", self.colon),
            allow_nan=False,
        )
        return text.replace("\n", self.newline + indent)

    def packed(self, value: Any) -> str:
        separators = ("," + self.after_comma, self.colon)
        return json.dumps(value, ensure_ascii=_needs_escapes(value), separators=separators, allow_nan=False)

    def label(self, key: str) -> str:
        return json.dumps(key, ensure_ascii=_needs_escapes(key)) + self.colon


def _style_of(text: str) -> _Style:
    """How this file is written, from its first line break and its first member."""
    broken = text.find("\n")
    newline = "\r\n" if broken > 0 and text[broken - 1] == "\r" else "\n"
    root = _skip(text, 0)
    inside = children(text, root) if text[root] in "{[" else []
    if not inside:
        return _Style(newline, "  ", on_one_line=False, after_comma=" ", colon=": ")
    first = inside[0]
    _, key_end = _DECODER.raw_decode(text, first.start)
    colon = ":" if text[key_end : first.value_start] == ":" else ": "
    gap = text[root + 1 : first.start]
    if "\n" in gap:
        return _Style(newline, gap[gap.rindex("\n") + 1 :], on_one_line=False, after_comma=" ", colon=colon)
    after_comma = " " if colon == ": " else ""
    return _Style(
        newline, "  ", on_one_line="\n" not in text[root : inside[-1].end], after_comma=after_comma, colon=colon
    )


def _indent_of(text: str, at: int) -> str:
    """The white space at the beginning of the line that this position stands on."""
    start = text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*", text[start:at])
    return found[0] if found else ""


def _gap_start(text: str, at: int) -> int:
    """Where the white space before this position begins."""
    while text[at - 1] in " \t\n\r":
        at -= 1
    return at


def _needs_escapes(value: Any) -> bool:
    """Half a surrogate pair can be written as an escape, and not as UTF-8."""
    return bool(_SURROGATES.search(json.dumps(value, ensure_ascii=False)))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _fault(text: str, at: int, what: str) -> FaultError:
    line, column = place_of(text, at)
    return FaultError(what, line=line, column=column)
