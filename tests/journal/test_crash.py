"""kill -9 at any instant loses nothing that was acknowledged."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from .samples import NOW, Opener, asked, parse

SEED = 20260101
ROUNDS = 8


def run_and_kill(path: Path, prefix: str, after_s: float, *, once_writing: bool) -> list[str]:
    """What a writer said before it was killed: whole lines only."""
    writer = Path(__file__).with_name("writer.py")
    with subprocess.Popen(
        [sys.executable, str(writer), str(path), prefix], stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline() if once_writing else ""
        time.sleep(after_s)  # the instant of the kill is what is tried here
        process.kill()
        said += process.stdout.read()
    return [line.rstrip("\n") for line in said.splitlines(keepends=True) if line.endswith("\n")]


async def test_killed_writer_leaves_every_acknowledged_record(open_journal: Opener) -> None:
    chance = random.Random(SEED)
    said: list[str] = []
    for number in range(ROUNDS):
        once_writing = number % 3 != 0  # the others die while they import, create the file, or migrate
        said += run_and_kill(open_journal.path, f"round{number}", chance.uniform(0.0, 0.2), once_writing=once_writing)
    assert not [line for line in said if line.startswith("report")]
    assert len(said) > ROUNDS

    journal = await open_journal()
    known = {memory.request.id: memory for memory in await journal.load(parse)}
    assert open_journal.reports == []
    for line in said:
        what, request_id = line.split()
        memory = known[request_id]
        if what == "answered":
            assert memory.answer is not None
            assert memory.answer.decision.message == request_id
    await journal.record([asked()], at=NOW)
