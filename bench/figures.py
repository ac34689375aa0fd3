"""Two things measured by turns, the ratio between them, and the table that is printed. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_HEADINGS = ("what", "ours", "compared with", "theirs", "ratio", "middle half", "pairs", "goal")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`ours[n]` and `theirs[n]` were taken one right after the other, so noise of the machine meets both."""

    name: str
    against: str
    unit: str
    ours: Sequence[float]
    theirs: Sequence[float]
    goal: float | None = None

    def __post_init__(self) -> None:
        if len(self.ours) != len(self.theirs) or len(self.ours) < 2:
            raise ValueError(f"{self.name}: a comparison needs at least two pairs")
        if not all(math.isfinite(figure) and figure > 0 for figure in (*self.ours, *self.theirs)):
            raise ValueError(f"{self.name}: a figure is not a positive number")

    @property
    def ratio(self) -> float:
        """Of the medians: one slow run moves it by nothing."""
        return statistics.median(self.ours) / statistics.median(self.theirs)

    @property
    def middle_half(self) -> tuple[float, float]:
        """Between which the ratios of half of the pairs lie."""
        ratios = [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return low, high

    @property
    def met(self) -> bool | None:
        return None if self.goal is None else self.ratio <= self.goal


def render_table(rows: Sequence[Comparison]) -> str:
    """A Markdown table, aligned so that it reads well in a terminal too."""
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def render_json(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "against": row.against,
            "unit": row.unit,
            "ours": statistics.median(row.ours),
            "theirs": statistics.median(row.theirs),
            "ratio": row.ratio,
            "middle_half": list(row.middle_half),
            "pairs": len(row.ours),
            "goal": row.goal,
            "met": row.met,
        }
        for row in rows
    ]


def render_verdict(rows: Sequence[Comparison]) -> str:
    """Whether the goals were met, in a sentence for each that was not."""
    missed = [row for row in rows if row.met is False]
    if not missed:
        return "Every goal was met."
    return "\n".join(f"MISSED: {row.name}: {row.ratio:.2f} times, and the goal is {row.goal:g}." for row in missed)


def _cells(row: Comparison) -> tuple[str, ...]:
    low, high = row.middle_half
    goal = "" if row.goal is None else f"≤ {row.goal:g}: {'met' if row.met else 'MISSED'}"
    return (
        row.name,
        f"{statistics.median(row.ours):.2f} {row.unit}",
        row.against,
        f"{statistics.median(row.theirs):.2f} {row.unit}",
        f"{row.ratio:.2f}",
        f"{low:.2f} – {high:.2f}",
        str(len(row.ours)),
        goal,
    )
