"""Copies that Telegram refused to bring up to date, and when each is tried again. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.model import Copy

FIRST_S = 30.0
LONGEST_S = 3600.0


@dataclass(slots=True)
class _Retry:
    request_id: str
    tries: int
    due: float


class Retries:
    def __init__(self) -> None:
        self._waiting: dict[Copy, _Retry] = {}

    def __contains__(self, copy: Copy) -> bool:
        return copy in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def note(self, request_id: str, copy: Copy, now: float) -> None:
        """It was tried once more, or is being tried now: the next time comes after twice the wait."""
        tries = self._waiting[copy].tries + 1 if copy in self._waiting else 0
        wait_s = min(FIRST_S * 2 ** min(tries, 20), LONGEST_S)
        self._waiting[copy] = _Retry(request_id, tries, now + wait_s)

    def forget(self, copy: Copy) -> None:
        self._waiting.pop(copy, None)

    def next_due(self) -> float | None:
        return min((retry.due for retry in self._waiting.values()), default=None)

    def due(self, now: float) -> list[tuple[str, Copy]]:
        return [(retry.request_id, copy) for copy, retry in self._waiting.items() if retry.due <= now]
