"""A journal that another program holds locked is never in the way: whoever asks meanwhile is let go at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio

from tapgate.daemon.engine import Engine
from tapgate.desk.desk import Desk
from tapgate.desk.effects import Post
from tapgate.desk.events import Posted, SessionEnded
from tapgate.journal import Journal, TrailQuery
from tapgate.journal.patience import Patience
from tapgate.model import Copy, Instant
from tapgate.wire import FrameKind
from tests.builders import ADA, event_bytes, make_request
from tests.daemon.fakes import Diary, FakeLine, FakePhones
from tests.e2e.world import World, finish, new_world

QUESTIONS = 25
DEADLINE_S = 600.0
SOON_S = 60.0  # far less than the deadline, far more than a slow machine takes for this


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """What another program does that forgot to end its transaction."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


def trail(world: World) -> list[str]:
    with closing(sqlite3.connect(world.state_dir / "journal.db")) as connection:
        return [what for (what,) in connection.execute("SELECT what FROM trail ORDER BY seq")]


def test_many_questions_meet_a_locked_journal_and_all_are_let_go_soon() -> None:
    """With the journal locked for as long as it takes, each of many questions at once ends without an opinion, long
    before its deadline, and the agent asks at the terminal. When the lock is gone, the next question is answered."""
    with new_world() as world:
        world.start_daemon()
        with locked(world.state_dir / "journal.db"):
            began = time.monotonic()
            callers = [world.ask(event_bytes(session=f"s{n}"), deadline_s=DEADLINE_S) for n in range(QUESTIONS)]
            ended = [finish(caller, wait_s=DEADLINE_S) for caller in callers]
            assert time.monotonic() - began < SOON_S
        for output, errors, code in ended:
            assert (output, code) == (b"", 0)
            assert b"another program holds it locked" in errors
        caller = world.ask(event_bytes(session="after"))
        world.tap(world.open_card(), "Allow")
        assert b'"allow"' in finish(caller)[0]


async def test_ten_questions_at_once_spend_the_whole_wait_once(tmp_path: Path) -> None:
    """Ten questions at once, with a second connection to the journal that holds it exclusively: all are let go without
    an opinion, and the long wait for the lock is spent by one of them alone. What was written behind is there, in its
    order, when the lock is gone."""
    diary, patience = Diary(), Patience(mono=lambda: 0.0)  # a clock that stands: haste does not end by itself
    path = tmp_path / "journal.db"
    journal = await Journal.open(path, wall=time.time, report=diary.report, patience=patience)
    engine = Engine(
        Desk([ADA], hold_s=DEADLINE_S),
        journal,
        clock=lambda: Instant(time.monotonic(), time.time()),
        report=diary.report,
    )
    engine.connect(FakePhones(diary))
    waiting, request = FakeLine(diary), make_request(99, session="before")
    await engine.ask(request, waiting)
    lines = [FakeLine(diary) for _ in range(10)]
    with locked(path):
        async with anyio.create_task_group() as group:
            for number, line in enumerate(lines):
                group.start_soon(engine.ask, make_request(number, session=f"s{number}"), line)
        await engine.handle(Posted(request.id, Copy(ADA.chat_id, 10), 0))
        await engine.handle(SessionEnded("before", "exit"))
        assert [line.sent.kind if line.sent else None for line in (*lines, waiting)] == [FrameKind.PASS] * 11
        assert patience.long_waits == 1
    await engine.catch_up()
    rows = await journal.trail(TrailQuery())
    assert [(row.what, row.request_id) for row in reversed(rows)] == [
        (what, request.id) for what in ("asked", "posted", "settled")
    ]
    await journal.close()


async def test_a_short_lock_costs_no_answer(tmp_path: Path) -> None:
    """Where the other program lets go in time, the question is asked as if nothing had been."""
    diary = Diary()
    journal = await Journal.open(tmp_path / "journal.db", wall=time.time, report=diary.report)
    engine = Engine(
        Desk([ADA], hold_s=DEADLINE_S),
        journal,
        clock=lambda: Instant(time.monotonic(), time.time()),
        report=diary.report,
    )
    engine.connect(FakePhones(diary))
    line = FakeLine(diary)
    with locked(journal.path) as other:
        async with anyio.create_task_group() as group:
            group.start_soon(engine.ask, make_request(), line)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            other.execute("ROLLBACK")
    assert line.sent is None and len(diary.all(Post)) == 1 and diary.reports == []
    await journal.close()


def test_a_tap_meets_a_locked_journal_and_is_told_that_it_does_not_count() -> None:
    """An answer that cannot be recorded is not given: the agent gets no opinion, the tap is told so, and what happened
    is in the journal once the lock is gone, in its order, also if nobody asks anything any more."""
    with new_world() as world:
        world.start_daemon()
        caller = world.ask(event_bytes(), deadline_s=DEADLINE_S)
        card = world.open_card()
        world.until(lambda: "posted" in trail(world))
        with locked(world.state_dir / "journal.db"):
            told = world.answer(world.tap(card, "Allow"))
            output, errors, code = finish(caller, wait_s=SOON_S)
            assert (output, code) == (b"", 0) and b"could not be recorded" in errors
            assert "does not count" in told
            world.says(card, "could not be recorded")
        world.until(lambda: "settled" in trail(world))
        assert trail(world) == ["asked", "posted", "settled"]
