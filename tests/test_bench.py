"""The benchmarks run and print every row. What they measure is the machine's business, not the build's."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from bench.figures import Comparison, render_table, render_verdict

ROWS = {
    "hook, answered at once": 1.5,
    "hook, no daemon": None,
    "waiting hook, memory (RSS)": 1.2,
    "frame received to sendMessage": None,
    "tap to the hook's stdout": None,
}


def run_bench(*words: str) -> str:
    process = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", *words],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        check=True,
        text=True,
        timeout=600,
    )
    return process.stdout


def test_a_quick_run_measures_every_row() -> None:
    found = {row["name"]: row for row in json.loads(run_bench("--json"))["rows"]}
    assert ROWS.keys() <= found.keys()
    for name, row in found.items():
        assert row["goal"] == ROWS.get(name)
        for figure in (row["ours"], row["theirs"], row["ratio"], *row["middle_half"]):
            assert math.isfinite(figure) and figure > 0, row


def test_the_table_is_printed_with_a_verdict() -> None:
    printed = run_bench()
    for name in ROWS:
        assert f"| {name} " in printed
    assert "Every goal was met." in printed or "MISSED" in printed
    assert "cpu: " in printed


def test_a_missed_goal_is_said_plainly() -> None:
    missed = Comparison("slow", "fast", "ms", [4.0, 4.0, 5.0], [2.0, 2.0, 2.0], goal=1.5)
    assert "| ≤ 1.5: MISSED |" in render_table([missed])
    assert render_verdict([missed]) == "MISSED: slow: 2.00 times, and the goal is 1.5."


def test_one_slow_run_does_not_move_the_ratio() -> None:
    assert Comparison("a", "b", "ms", [3.0, 3.0, 900.0], [2.0, 2.0, 2.0]).ratio == 1.5


@pytest.mark.parametrize("figure", [0.0, -1.0, math.nan, math.inf])
def test_a_figure_that_cannot_be_true_is_refused(figure: float) -> None:
    with pytest.raises(ValueError, match="not a positive number"):
        Comparison("a", "b", "ms", [1.0, figure], [1.0, 1.0])
