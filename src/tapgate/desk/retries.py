"""Copies that Telegram refused to bring up to date, and when each is tried again. Pure."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from tapgate.model import Copy

FIRST_S = 30.0
LONGEST_S = 3600.0
SPARE = 64  # outdated moments that the heap may hold before it is made anew


@dataclass(slots=True)
class _Retry:
    request_id: str
    tries: int
    due: float


class Retries:
    def __init__(self) -> None:
        self._waiting: dict[Copy, _Retry] = {}
        self._moments: list[tuple[float, int, int]] = []  # a heap; each with chat and message

    def __contains__(self, copy: Copy) -> bool:
        return copy in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def note(self, request_id: str, copy: Copy, now: float) -> None:
        """It was tried once more, or is being tried now: the next time comes after twice the wait."""
        tries = self._waiting[copy].tries + 1 if copy in self._waiting else 0
        wait_s = min(FIRST_S * 2 ** min(tries, 20), LONGEST_S)
        self._waiting[copy] = _Retry(request_id, tries, now + wait_s)
        heapq.heappush(self._moments, (now + wait_s, copy.chat_id, copy.message_id))
        if len(self._moments) > 2 * len(self._waiting) + SPARE:
            self._moments = [moment for moment in self._moments if self._is_due_then(moment)]
            heapq.heapify(self._moments)

    def forget(self, copy: Copy) -> None:
        self._waiting.pop(copy, None)

    def next_due(self) -> float | None:
        while self._moments and not self._is_due_then(self._moments[0]):
            heapq.heappop(self._moments)
        return self._moments[0][0] if self._moments else None

    def due(self, now: float) -> list[tuple[str, Copy]]:
        """Each is to be noted again, or forgotten."""
        taken: dict[Copy, str] = {}
        while self._moments and self._moments[0][0] <= now:
            moment = heapq.heappop(self._moments)
            if self._is_due_then(moment):
                copy = Copy(*moment[1:])
                taken[copy] = self._waiting[copy].request_id
        return [(request_id, copy) for copy, request_id in taken.items()]

    def _is_due_then(self, moment: tuple[float, int, int]) -> bool:
        retry = self._waiting.get(Copy(*moment[1:]))
        return retry is not None and retry.due == moment[0]
