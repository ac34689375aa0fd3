"""The last few reports, in memory, for `tapgate status` and `tapgate doctor`. Never a token in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapgate.errors import redact

MOST = 10
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Report:
    at: float  # the last time
    sentence: str
    times: int = 1


class Reports:
    """Stands before another `report`: hands each sentence on as it is, and remembers the last distinct ones."""

    def __init__(self, report: Callable[[str], None], *, wall: Callable[[], float]) -> None:
        self._report = report
        self._wall = wall
        self._kept: dict[str, Report] = {}

    def __call__(self, sentence: str) -> None:
        self._report(sentence)
        short = redact(sentence)[:LONGEST]
        before = self._kept.pop(short, None)
        now = self._wall()
        self._kept[short] = replace(before, at=now, times=before.times + 1) if before else Report(now, short)
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]

    def last(self) -> tuple[Report, ...]:
        """The newest last."""
        return tuple(self._kept.values())
