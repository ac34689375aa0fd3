"""The last few reports, in memory, for `tapgate status` and `tapgate doctor`. Without tokens and request ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tapgate.errors import redact

MOST = 10
LONGEST = 300
_REQUEST_ID = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24}\b")  # the whole of one is its caller's secret


@dataclass(frozen=True, slots=True)
class DaemonReport:
    at: float  # the last time
    sentence: str
    times: int = 1


class Reports:
    """Stands before another `report`: hands each sentence on as it is, and remembers the last distinct ones."""

    def __init__(self, report: Callable[[str], None], *, wall: Callable[[], float]) -> None:
        self._report = report
        self._wall = wall
        self._kept: dict[str, DaemonReport] = {}

    def __call__(self, sentence: str) -> None:
        self._report(sentence)
        short = _REQUEST_ID.sub(r"\1…", redact(sentence))[:LONGEST]
        before = self._kept.pop(short, None)
        now = self._wall()
        self._kept[short] = replace(before, at=now, times=before.times + 1) if before else DaemonReport(now, short)
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]

    def last(self) -> tuple[DaemonReport, ...]:
        """The newest last."""
        return tuple(self._kept.values())
