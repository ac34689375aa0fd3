"""The counter of changes: a way to wait for the next one, and to follow them all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from .model import Change


class Changes:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self.seq = 0
        self.closed = False
        self._waiting: set[asyncio.Future[None]] = set()
        self._followers: set[asyncio.Queue[Change | None]] = set()

    def publish(self, change: Change) -> None:
        self.seq += 1
        self._wake()
        for queue in self._followers:
            queue.put_nowait(change)

    def close(self) -> None:
        """Ends every wait and every stream, now and later."""
        self.closed = True
        self._wake()
        for queue in self._followers:
            queue.put_nowait(None)

    async def wait(self, *, since: int, timeout_s: float) -> int:
        """Returns when the counter is above since, the time is over, or the server closes."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while self.seq <= since and not self.closed and (left_s := deadline - loop.time()) > 0:
            woken: asyncio.Future[None] = loop.create_future()
            self._waiting.add(woken)
            try:
                await asyncio.wait([woken], timeout=left_s)
            finally:
                self._waiting.discard(woken)
        return self.seq

    @contextmanager
    def follow(self) -> Iterator[asyncio.Queue[Change | None]]:
        """A queue of all changes from now on; None is the end."""
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        self._followers.add(queue)
        if self.closed:
            queue.put_nowait(None)
        try:
            yield queue
        finally:
            self._followers.discard(queue)

    def _wake(self) -> None:
        for woken in self._waiting:
            if not woken.done():
                woken.set_result(None)
