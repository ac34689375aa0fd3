"""A detector for whatever holds up the event loop: code that does not wait, and C code that keeps the interpreter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

BEAT_S = 0.005


@dataclass
class Pulse:
    """While the loop was watched: the longest time in which nothing else could run, and how long it was in all."""

    longest_s: float = 0.0
    total_s: float = 0.0

    @property
    def share(self) -> float:
        return self.longest_s / self.total_s


@asynccontextmanager
async def watched() -> AsyncIterator[Pulse]:
    pulse = Pulse()
    started = time.monotonic()

    async def beat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(BEAT_S)
            pulse.longest_s = max(pulse.longest_s, time.monotonic() - before - BEAT_S)

    task = asyncio.ensure_future(beat())
    await asyncio.sleep(0)
    try:
        yield pulse
    finally:
        # A beat that is overdue must count before the watch ends.
        await asyncio.sleep(2 * BEAT_S)
        pulse.total_s = time.monotonic() - started
        task.cancel()
