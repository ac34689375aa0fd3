"""The event loop goes on while the journal works, waits or is cancelled."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from tapgate.errors import JournalError
from tapgate.journal import Journal
from tapgate.journal.database import BUSY_TIMEOUT_S

from .samples import NOW, Opener, asked, make_request, parse

BLOCKED_S = 0.25  # far more than a busy machine's hiccup, far less than the lock is held


@asynccontextmanager
async def unblocked() -> AsyncIterator[None]:
    """Fails if the loop stood still at any time in between."""
    longest_s = 0.0

    async def tick() -> None:
        nonlocal longest_s
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            longest_s = max(longest_s, time.monotonic() - before)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        ticking.cancel()
    assert longest_s < BLOCKED_S


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


async def test_locked_file_fails_the_record_and_never_the_loop(journal: Journal) -> None:
    started = time.monotonic()
    with locked(journal.path):
        async with unblocked():
            with pytest.raises(JournalError, match="another program holds it locked"):
                await journal.record([asked()], at=NOW)
    assert time.monotonic() - started >= BUSY_TIMEOUT_S * 0.9
    assert journal.failure is not None
    await journal.record([asked()], at=NOW)
    assert journal.failure is None


async def test_record_waits_for_a_lock_that_is_released(journal: Journal) -> None:
    with locked(journal.path) as other:
        async with unblocked():
            recording = asyncio.create_task(journal.record([asked()], at=NOW))
            await asyncio.sleep(0.3)
            assert not recording.done()
            other.execute("ROLLBACK")
            await recording
    assert len(await journal.load(parse)) == 1


async def test_opening_a_locked_file_never_blocks_the_loop(open_journal: Opener) -> None:
    await (await open_journal()).close()
    with locked(open_journal.path):
        async with unblocked():
            journal = await open_journal()
    assert journal.failure is not None
    assert "locked" in journal.failure
    await journal.record([asked()], at=NOW)
    assert open_journal.reports == []  # nothing was set aside


async def test_big_input_never_blocks_the_loop(journal: Journal) -> None:
    request = make_request(input={"content": "0123456789abcdef" * 1_000_000})
    async with unblocked():
        await journal.record([asked(request)], at=NOW)


@pytest.mark.parametrize("way", ["task", "scope"])
async def test_cancelled_record_is_finished(journal: Journal, way: str) -> None:
    """Both the one that is being written and the one that waits behind it."""
    with locked(journal.path) as other:
        if way == "task":
            tasks = [asyncio.create_task(journal.record([asked(name)], at=NOW)) for name in ("a", "b")]
            await asyncio.sleep(0.1)
            for task in tasks:
                task.cancel()
            assert [type(result) for result in await asyncio.gather(*tasks, return_exceptions=True)] == [
                asyncio.CancelledError
            ] * 2
        else:
            with anyio.move_on_after(0.1):
                async with anyio.create_task_group() as group:
                    for name in ("a", "b"):
                        group.start_soon(partial(journal.record, [asked(name)], at=NOW))
        other.execute("ROLLBACK")
    assert [memory.request.id for memory in await journal.load(parse)] == ["a", "b"]


async def test_failure_of_a_cancelled_record_makes_no_noise(journal: Journal) -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    recording = asyncio.create_task(journal.record([asked(at=float("nan"))], at=NOW))
    await asyncio.sleep(0)
    recording.cancel()
    await asyncio.gather(recording, return_exceptions=True)
    del recording
    assert await journal.load(parse) == []
    gc.collect()  # asyncio complains when the future goes
    assert complaints == []


async def test_cancelled_open_leaves_nothing_open(open_journal: Opener) -> None:
    opening = asyncio.create_task(open_journal())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    journal = await open_journal()
    await journal.record([asked()], at=NOW)


async def test_many_at_once_are_recorded_in_their_order(journal: Journal) -> None:
    await asyncio.gather(*(journal.record([asked(str(number))], at=NOW) for number in range(100)))
    assert [memory.request.id for memory in await journal.load(parse)] == [str(number) for number in range(100)]


async def test_reports_are_made_in_the_loop(tmp_path: Path) -> None:
    """So that whoever is told may touch what belongs to the loop."""
    loops: list[object] = []
    (tmp_path / "journal.db").write_text("garbage")
    journal = await Journal.open(
        tmp_path / "journal.db", wall=lambda: NOW, report=lambda _: loops.append(asyncio.get_running_loop())
    )
    await journal.close()
    assert loops == [asyncio.get_running_loop()]
