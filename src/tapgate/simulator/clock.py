"""The simulator's time: the monotonic clock plus an offset that a test can move."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Seconds on the monotonic clock, so that figures can be compared between processes of one machine."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._monotonic = monotonic
        self._epoch = wall() - monotonic()
        self._offset_s = 0.0

    def real(self) -> float:
        """For waits that a test's clock must not shorten."""
        return self._monotonic()

    def now(self) -> float:
        return self.real() + self._offset_s

    def date(self) -> int:
        """Unix time, as messages carry it."""
        return int(self._epoch + self.now())

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("the clock only moves forward")
        self._offset_s += seconds
