"""How many callers, and how many bytes of their questions, are taken in at once; and who gives way when that is full.

Only what has arrived counts, never what was announced. A caller whose question is whole keeps its place. One that says
nothing, or stalls in the middle, has to make room for the next: the longest waiting first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tapgate.errors import FrameError

GAVE_WAY = "no whole frame had come, and its place was needed"


@dataclass(slots=True, eq=False)
class CallerPlace:
    """What one caller takes up. Until its frame is whole, it may be sent away in favour of another."""

    send_away: Callable[[], None]
    size_bytes: int = 0
    gave_way: bool = False


class Admission:
    def __init__(self, *, most_callers: int, most_bytes: int) -> None:
        self._most_callers = most_callers
        self._most_bytes = most_bytes
        self._bytes = 0
        self._places: set[CallerPlace] = set()
        self._arriving: dict[CallerPlace, None] = {}  # the oldest first

    @contextmanager
    def place(self, send_away: Callable[[], None]) -> Iterator[CallerPlace]:
        """A place for one caller, for as long as it is here. Raises FrameError where there is none."""
        if len(self._places) >= self._most_callers and not self._make_room(lambda other: True):
            raise FrameError(f"more than {self._most_callers} callers are waiting")
        place = CallerPlace(send_away)
        self._places.add(place)
        self._arriving[place] = None
        try:
            yield place
        finally:
            self._free(place)

    def take(self, place: CallerPlace, size_bytes: int) -> None:
        """So many more bytes of its frame are here. Raises FrameError where there is no room for them."""
        if place.gave_way:
            raise FrameError(GAVE_WAY)
        while self._bytes + size_bytes > self._most_bytes:
            if not self._make_room(lambda other: other is not place and other.size_bytes > 0):
                raise FrameError("the questions that wait already take all the memory there is for them")
        place.size_bytes += size_bytes
        self._bytes += size_bytes

    def settle(self, place: CallerPlace) -> None:
        """Its frame is whole: from now on it need not give way. Raises FrameError where it just had to."""
        if place.gave_way:
            raise FrameError(GAVE_WAY)
        del self._arriving[place]

    def _make_room(self, may: Callable[[CallerPlace], bool]) -> bool:
        """Send away the oldest of those whose frame is not whole and who may be sent away. False: there is none."""
        oldest = next((place for place in self._arriving if may(place)), None)
        if oldest is None:
            return False
        self._free(oldest)
        oldest.gave_way = True
        oldest.send_away()
        return True

    def _free(self, place: CallerPlace) -> None:
        if place in self._places:
            self._places.discard(place)
            self._arriving.pop(place, None)
            self._bytes -= place.size_bytes
