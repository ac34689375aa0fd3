"""How long to wait for a journal that another program holds locked: once long, and after that in vain not for a while.

The daemon answers one event after another, so what one of them waits for, all others wait for too. Pure but for the
clock that it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable

LONG_S = 2.0  # nobody else writes to the file; whoever holds it longer than this is not ours
SHORT_S = 0.05
HASTE_S = 30.0  # after a long wait in vain; a write that succeeds ends it


class Patience:
    def __init__(self, *, mono: Callable[[], float]) -> None:
        self._mono = mono
        self._hasty_until = -math.inf
        self.long_waits = 0  # how often the long time was spent in vain

    def timeout_s(self, *, patient: bool) -> float:
        """`patient`: somebody's answer depends on it. Everything else never waits long."""
        return LONG_S if patient and self._mono() >= self._hasty_until else SHORT_S

    def waited_in_vain(self, timeout_s: float) -> None:
        if timeout_s >= LONG_S:
            self.long_waits += 1
            self._hasty_until = self._mono() + HASTE_S

    def wrote(self) -> None:
        self._hasty_until = -math.inf
