"""A journal that another program holds locked is never in the way: whoever asks meanwhile is let go at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.builders import event_bytes
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
