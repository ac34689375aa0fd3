"""How many sends and edits Telegram lets through: per chat, per group, and over all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .clock import Clock
from .refusal import too_many_requests


@dataclass(slots=True)
class _Bucket:
    capacity: float
    refill_per_s: float
    level: float
    t: float

    def settle(self, now: float) -> None:
        self.level = min(self.capacity, self.level + (now - self.t) * self.refill_per_s)
        self.t = now

    def wait_s(self) -> float:
        # The slack is for the rounding of level * refill, not for the sender.
        return 0.0 if self.level >= 1 - 1e-9 else (1 - self.level) / self.refill_per_s


class Rates:
    """Token buckets; a refused call takes nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[int, _Bucket] = {}
        self.enabled = True

    def take(self, chat_id: int) -> None:
        if not self.enabled:
            return
        overall = self._bucket(0, capacity=30, refill_per_s=30)
        chat = self._bucket(chat_id, capacity=20, refill_per_s=1 if chat_id > 0 else 20 / 60)
        wait_s = max(overall.wait_s(), chat.wait_s())
        if wait_s > 0:
            raise too_many_requests(max(1, math.ceil(wait_s - 1e-9)))
        overall.level -= 1
        chat.level -= 1

    def switch(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self._buckets.clear()

    def _bucket(self, key: int, *, capacity: float, refill_per_s: float) -> _Bucket:
        now = self._clock.now()
        bucket = self._buckets.setdefault(key, _Bucket(capacity, refill_per_s, capacity, now))
        bucket.settle(now)
        return bucket
