"""An input on its way into words: what a form has used, what is left, and how much of it was cut off. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from tapgate.masking.mask import mask_text, mask_value
from tapgate.telegram.forms.content import Content

CARD_CHARS = 16_384  # more than any card shows, so that a cut secret never stands on one
_MOST_FIELDS = 200
_LEAST_CHARS = 64
_ONE_LINE_CHARS = 60  # facts that stand together on one line of a phone
_PIECE = 65_536
_MARGIN = 2048  # longer than any secret but a private key, which is hidden also where its end is missing


class Fields:
    """Reads an input. A form takes what it knows; `rest` shows everything else, so that nothing is approved unseen.

    A form asks by the names of model.ToolKind; `names` says which fields stand for them, where that is not the same.
    With `most`, no text is longer than that, and `cut` counts what is missing. The input may have 16 MiB.
    """

    def __init__(
        self, values: Mapping[str, Any], *, most: int | None, mask: bool, names: Mapping[str, str] | None = None
    ) -> None:
        self._values = values
        self._names = names or {}
        self._known: set[str] = set()
        self._most = most
        self._mask = mask
        self.cut = 0
        self.cut_more = False  # by how much is not known
        self._spent = 0

    def field_of(self, name: str) -> str:
        return self._names.get(name, name)

    def has(self, *names: str) -> bool:
        """Whether these fields are texts."""
        return all(isinstance(self._values.get(self.field_of(name)), str) for name in names)

    def text(self, name: str) -> str:
        """A field that `has`; "" where it is no text, which is shown like an unknown field then."""
        name = self.field_of(name)
        value = self._values.get(name)
        if not isinstance(value, str):
            return ""
        self._known.add(name)
        return self.clip(value)

    def flag(self, name: str) -> bool:
        name = self.field_of(name)
        value = self._values.get(name)
        if isinstance(value, bool):
            self._known.add(name)
        return value is True

    def number(self, name: str) -> float | None:
        """A number that makes sense as a size or a time. Any other is shown like an unknown field."""
        name = self.field_of(name)
        value = self._values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            self._known.add(name)
            return value
        return None

    def items(self, name: str) -> list[Any]:
        """A field that is a list, as it is."""
        name = self.field_of(name)
        value = self._values.get(name)
        if not isinstance(value, list):
            return []
        self._known.add(name)
        return value

    def any(self, name: str) -> str:
        """A field of whatever type, in words; "" where there is none."""
        name = self.field_of(name)
        if name not in self._values:
            return ""
        self._known.add(name)
        return self.plain(self._values[name])

    def known(self, *names: str) -> None:
        """Shown elsewhere."""
        self._known |= {self.field_of(name) for name in names}

    def unknown(self, name: str) -> None:
        """Taken, and given back."""
        self._known.discard(self.field_of(name))

    def clip(self, text: str) -> str:
        if self._most is None or len(text) <= self._most:
            return text
        self.cut += len(text) - self._most
        return text[: self._most]

    def within(self, values: Mapping[str, Any]) -> Fields:
        """An object inside, counted together with this one by `join`."""
        return Fields(values, most=self._most, mask=self._mask, names=self._names)

    def join(self, other: Fields, spent: int = 0) -> None:
        self.cut += other.cut
        self.cut_more |= other.cut_more
        self._spent += spent

    def spent(self, line: str) -> str:
        """The line, counted: a form of many parts ends when there is no room for more."""
        self._spent += len(line) + 1
        return line

    def while_room(self, parts: Iterable[Any]) -> Iterator[Any]:
        for part in parts:
            if self._most is not None and self._spent > self._most:
                self.cut_more = True
                return
            yield part

    def size_of(self, name: str) -> str:
        """How large a text is on disk. Counted piece by piece: it may have 16 MiB."""
        text = str(self._values[self.field_of(name)])
        if text.isascii():
            size = len(text)
        else:
            pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
            size = sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
        return f"{size:,} byte{'' if size == 1 else 's'}"

    def rest(self) -> Iterator[str]:
        """Every field that was not taken, as `key: value`."""
        return (f"{key}: {value}" for key, value in self.left())

    def left(self) -> Iterator[tuple[str, str]]:
        budget = self._most
        for number, (key, value) in enumerate(self._values.items()):
            if key in self._known:
                continue
            if self._most is not None and (number >= _MOST_FIELDS or (budget is not None and budget <= 0)):
                self.cut_more = True
                return
            shown = self.plain(value, key, budget)
            key = self.clip(key)
            budget = None if budget is None else budget - len(shown) - len(key)
            yield key, shown

    def content(self, body: str, *asides: str, **more: Any) -> Content:
        """What the form made of it, with all that the form did not know."""
        facts = tuple(aside for aside in asides if aside)
        if sum(map(len, facts)) < _ONE_LINE_CHARS and not any("·" in fact for fact in facts):
            facts = (" · ".join(facts),) if facts else ()
        return Content(body, asides=(*facts, *self.rest()), cut=self.cut, cut_more=self.cut_more, **more)

    def plain(self, value: object, key: str = "", budget: int | None = None) -> str:
        """A value in words, without secrets. Under a secret's name all of it is one."""
        budget = self._most if budget is None else min(budget + _LEAST_CHARS, self._most or budget)
        if budget is not None:
            value, cut = _pruned(value, budget, mask=self._mask)
            self.cut += cut.count
            self.cut_more |= cut.more
        if self._mask:  # by names alone: whoever shows the text masks what can be seen in it
            value = mask_value({key: value}, only_named=True)[0][key]
        return value if isinstance(value, str) else dumped(value)


class _Cut:
    def __init__(self, budget: int, *, mask: bool) -> None:
        self.left = budget
        self.mask = mask
        self.count = 0
        self.more = False


def _pruned(value: object, budget: int, *, mask: bool) -> tuple[Any, _Cut]:
    cut = _Cut(budget, mask=mask)
    return _prune(value, cut), cut


def _prune(value: object, cut: _Cut) -> Any:
    """A copy that is no larger than the budget. The depth is bounded by the dialect that let the input in."""
    if isinstance(value, str):
        room = max(0, cut.left)
        cut.left -= min(len(value), room) + 1
        if len(value) <= room:
            return value
        if not cut.mask:
            cut.count += len(value) - room
            return value[:room]
        # A secret that is cut in two looks like none: masked first, and without what stands at the edge.
        cut.count += len(value) - max(0, room - _MARGIN)
        return mask_text(value[:room]).text[:-_MARGIN]
    if isinstance(value, dict | list) and len(value) > max(0, cut.left):
        cut.more = True
    if isinstance(value, dict):
        found = {}
        for key, item in islice(value.items(), max(0, cut.left)):
            if cut.left <= 0:
                cut.more = True
                break
            found[_prune(key, cut)] = _prune(item, cut)
        return found
    if isinstance(value, list):
        entries = []
        for item in islice(value, max(0, cut.left)):
            if cut.left <= 0:
                cut.more = True
                break
            entries.append(_prune(item, cut))
        return entries
    cut.left -= 8
    return value


def dumped(value: object) -> str:
    """As JSON, piece by piece: the encoder in C would hold up every other thread."""
    return "".join(json.JSONEncoder(ensure_ascii=False).iterencode(value))
