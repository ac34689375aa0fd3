"""An event loop on which waiting takes no time: when nothing can run, the clock jumps to whatever is due next.

So pacing, backoff and timeouts are tested with the real `anyio.sleep` and `anyio.fail_after`, to the second.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")
START = 10_000.0
LONGEST_S = 30 * 86_400.0  # no test takes longer on purpose


class _Jumping(selectors.DefaultSelector):
    """Never sleeps. Where nothing is ready, it moves the loop's clock instead."""

    now = START

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # A worker thread needs real time: it gets some before the clock is moved.
        real_s = 0.002 if timeout != 0 and threading.active_count() > 1 else 0
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(real_s)
        if not ready and timeout != 0:
            # Sleeping for ever is, to asyncio, a sleep of day after day.
            if timeout is None or self.now > START + LONGEST_S:
                self.now = START
                raise RuntimeError("everybody waits, and nothing will ever happen")
            self.now += timeout
        return ready


class TimelapseLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    with asyncio.Runner(loop_factory=TimelapseLoop) as runner:
        return runner.run(main())


def now() -> float:
    """Seconds since the test began, on its own clock."""
    return round(asyncio.get_running_loop().time() - START, 6)
