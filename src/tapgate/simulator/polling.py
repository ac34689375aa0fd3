"""Long polling: one poller waits for updates; a second one ends the first with a conflict."""

from __future__ import annotations

from dataclasses import dataclass

from .changes import Changes
from .clock import Clock
from .model import Progress, Update
from .refusal import conflict
from .updates import UpdateQueue

TIMEOUT_CAP_S = 50


@dataclass(slots=True, eq=False)
class _Poller:
    superseded: bool = False


class Polling:
    def __init__(self, *, clock: Clock, changes: Changes, updates: UpdateQueue) -> None:
        self._clock = clock
        self._changes = changes
        self._updates = updates
        self._pollers: list[_Poller] = []
        self.last_poll_t: float | None = None

    @property
    def waiting(self) -> int:
        return len(self._pollers)

    async def fetch(self, *, offset: int, limit: int, timeout_s: float) -> list[Update]:
        """Waits on the virtual clock: advancing it by the timeout ends the poll."""
        self.last_poll_t = self._clock.now()
        for older in self._pollers:
            older.superseded = True
        poller = _Poller()
        self._pollers.append(poller)
        self._changes.publish(Progress())
        try:
            deadline = self._clock.now() + min(max(timeout_s, 0), TIMEOUT_CAP_S)
            while True:
                seen = self._changes.seq
                found = self._updates.fetch(offset=offset, limit=limit)
                left_s = deadline - self._clock.now()
                if poller.superseded:
                    raise conflict()
                if found or left_s <= 0 or self._changes.closed:
                    return found
                await self._changes.wait(since=seen, timeout_s=left_s)
        finally:
            self._pollers.remove(poller)
            self._changes.publish(Progress())
