"""`python -m bench`: measure, print the table, say which goals were missed. Timing never fails a build."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.callers import measure_absent, measure_memory, measure_start
from bench.figures import render_json, render_table, render_verdict
from bench.journal import measure_journal
from bench.machine import describe_machine

PAIRS = {"start": 200, "absent": 200, "memory": 15, "journal": 200}
QUICK_PAIRS = {"start": 8, "absent": 8, "memory": 2, "journal": 5}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="What tapgate costs, as ratios within one run."
    )
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="where the journal is written; it should be on a disk, not in memory"
    )
    given = parser.parse_args()
    pairs = QUICK_PAIRS if given.quick else PAIRS
    with tempfile.TemporaryDirectory(prefix="tg-", dir=given.dir) as name:
        folder = Path(name)
        machine = describe_machine(folder)
        rows = []
        _tell("the hook's start …")
        rows.append(measure_start(folder, pairs["start"]))
        _tell("the hook without a daemon …")
        rows.append(measure_absent(folder, pairs["absent"]))
        _tell("a waiting hook's memory …")
        rows += measure_memory(folder, pairs["memory"])
        _tell("the journal …")
        rows += measure_journal(folder, pairs["journal"])
    if given.json:
        print(json.dumps({"machine": machine, "rows": render_json(rows)}, indent=2))
        return
    for key, value in machine.items():
        print(f"{key}: {value}")
    print(f"\n{render_table(rows)}\n\n{render_verdict(rows)}")


def _tell(line: str) -> None:
    print(f"measuring {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
