"""How far each chat's message numbers have come, and where a card may stand that nobody told us of. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tapgate.desk.effects import Sound, Sweep
from tapgate.model import Copy

MOST_SWEPT = 50


class Soundings:
    def __init__(self) -> None:
        self._highest: dict[int, int] = {}  # the newest message known in each chat
        self._suspects: dict[int, int] = {}  # chats where an unknown card may stand, and after which message

    def note(self, copy: Copy) -> None:
        self._highest[copy.chat_id] = max(copy.message_id, self._highest.get(copy.chat_id, 0))

    def suspect(self, chat_id: int) -> None:
        self._suspects.setdefault(chat_id, self._highest.get(chat_id, 0))

    def sound(self, chats: Iterable[int]) -> list[Sound]:
        return [Sound(chat_id) for chat_id in sorted(chats) if chat_id in self._suspects]

    def sweep(self, newest: Copy, is_known: Callable[[Copy], bool]) -> list[Sweep]:
        """A card that arrived without our being told stands between the newest message we knew and this one."""
        after = self._suspects.pop(newest.chat_id, None)
        self.note(newest)
        if after is None or after + 1 >= newest.message_id:
            return []
        after = max(after, newest.message_id - MOST_SWEPT)
        between = range(after, newest.message_id + 1)
        known = frozenset(number for number in between if is_known(Copy(newest.chat_id, number)))
        return [Sweep(newest.chat_id, after, newest.message_id, known)]
