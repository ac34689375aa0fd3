"""A check as data: what was looked at, how it is, what to do next, and what could be mended without asking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"  # it works, and something should be looked at
    FAULT = "fault"  # something will not work, or is not safe
    SKIPPED = "skipped"  # it cannot be told, or does not apply here; the detail says why


@dataclass(frozen=True, slots=True)
class Chmod:
    path: Path
    mode: int


@dataclass(frozen=True, slots=True)
class RemoveStaleSocket:
    """A socket file that a killed daemon left. Removed only under the daemon's own lock."""

    path: Path


Fix = Chmod | RemoveStaleSocket


@dataclass(frozen=True, slots=True)
class Check:
    """`name` is for machines and stays; its first part is the group. `advice` is what to do next."""

    name: str
    label: str
    status: Status
    detail: str
    advice: str = ""
    fix: Fix | None = None

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]


def ok(name: str, label: str, detail: str) -> Check:
    return Check(name, label, Status.OK, detail)


def warning(name: str, label: str, detail: str, *, advice: str, fix: Fix | None = None) -> Check:
    return Check(name, label, Status.WARNING, detail, advice, fix)


def fault(name: str, label: str, detail: str, *, advice: str, fix: Fix | None = None) -> Check:
    return Check(name, label, Status.FAULT, detail, advice, fix)


def skipped(name: str, label: str, why: str, *, advice: str = "") -> Check:
    return Check(name, label, Status.SKIPPED, why, advice)


def sum_up(checks: Iterable[Check]) -> str:
    """The last line: how many of what, and where to begin."""
    found = tuple(checks)
    faults = [check for check in found if check.status is Status.FAULT]
    warnings = [check for check in found if check.status is Status.WARNING]
    if not faults and not warnings:
        return "All is well."
    counts = [_count(len(faults), "fault"), _count(len(warnings), "warning")]
    first = (faults or warnings)[0]
    more = f': start with "{first.label}"' if len(faults) + len(warnings) > 1 else f": {first.label}"
    return ", ".join(count for count in counts if count) + more + "."


def render_object(checks: Iterable[Check]) -> dict[str, Any]:
    """For machines. Keys are only ever added."""
    found = tuple(checks)
    faults = sum(check.status is Status.FAULT for check in found)
    return {
        "ok": faults == 0,
        "faults": faults,
        "warnings": sum(check.status is Status.WARNING for check in found),
        "checks": [
            {
                "name": check.name,
                "label": check.label,
                "status": check.status.value,
                "detail": check.detail,
                "advice": check.advice,
                "fixable": check.fix is not None,
            }
            for check in found
        ],
    }


def _count(number: int, word: str) -> str:
    return "" if not number else f"{number} {word}" if number == 1 else f"{number} {word}s"
