"""The file is brought to the newest schema step by step, and one from the future is left alone."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tapgate.desk.effects import ReopenedEntry
from tapgate.errors import JournalError
from tapgate.journal import TrailQuery
from tapgate.journal.ledger import write_entry
from tapgate.journal.schema import APPLICATION_ID, MIGRATIONS, migrate, version_of
from tapgate.model import Verdict

from .samples import NOW, Opener, answered, asked, make_answer, parse, settled


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "some.db", isolation_level=None)) as found:
        yield found


def names(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_migration_from_nothing_makes_every_table(connection: sqlite3.Connection) -> None:
    migrate(connection, source="some.db")
    assert {"requests", "copies", "meta", "trail"} <= names(connection)
    assert version_of(connection) == len(MIGRATIONS)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_migration_again_changes_nothing(connection: sqlite3.Connection) -> None:
    migrate(connection, source="some.db")
    before = list(connection.iterdump())
    migrate(connection, source="some.db")
    assert list(connection.iterdump()) == before


def test_later_step_finds_the_data_of_earlier_ones(connection: sqlite3.Connection) -> None:
    migrate(connection, source="some.db", migrations=["CREATE TABLE a (x); INSERT INTO a VALUES (1);"])
    migrate(connection, source="some.db", migrations=["never run again", "ALTER TABLE a ADD y; UPDATE a SET y = 2;"])
    assert connection.execute("SELECT x, y FROM a").fetchall() == [(1, 2)]
    assert version_of(connection) == 2


def test_step_that_fails_leaves_the_version_before_it(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, source="some.db", migrations=["CREATE TABLE a (x);", "CREATE TABLE b (x); nonsense;"])
    assert (version_of(connection), names(connection)) == (1, {"a"})


@pytest.mark.parametrize("content", ["nothing", "an empty database"])
async def test_empty_file_becomes_a_journal(open_journal: Opener, content: str) -> None:
    open_journal.path.parent.mkdir()
    open_journal.path.touch()
    if content == "an empty database":
        with closing(sqlite3.connect(open_journal.path)) as connection:
            connection.execute("VACUUM")
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    assert (journal.failure, open_journal.reports) == (None, [])


async def test_an_answer_in_an_older_file_can_be_taken_back_and_given_again(open_journal: Opener) -> None:
    open_journal.path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(open_journal.path, isolation_level=None)) as connection:
        migrate(connection, source="some.db", migrations=MIGRATIONS[:2])
        for entry in (asked(), answered()):
            write_entry(connection, entry, at=NOW, keep_inputs=True)
        connection.execute("UPDATE requests SET draft = '{}'")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("UPDATE requests SET answered_at = NULL")
    journal = await open_journal()
    again = make_answer(Verdict.DENY)
    await journal.record([ReopenedEntry("r1"), answered(answer=again)], at=NOW + 9)
    [memory] = await journal.load(parse)
    assert memory.answer == again
    with pytest.raises(JournalError, match="first answer stands"):
        await journal.record([answered()], at=NOW + 10)
    rows = await journal.trail(TrailQuery())
    assert [(row.what, row.verdict) for row in reversed(rows)] == [
        ("asked", ""),
        ("answered", "allow"),
        ("answered", "deny"),
    ]


async def test_the_answer_of_a_request_that_is_over_cannot_be_taken_back(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked(), answered(), settled()], at=NOW)
    with pytest.raises(JournalError, match="has ended before"):
        await journal.record([ReopenedEntry("r1")], at=NOW)
    with closing(sqlite3.connect(open_journal.path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE requests SET answered_at = NULL")


async def test_newer_schema_is_refused_and_kept(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    await journal.close()
    with closing(sqlite3.connect(open_journal.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = open_journal.path.read_bytes()
    journal = await open_journal()
    assert journal.failure is not None
    assert "newer tapgate (schema 99" in journal.failure
    assert "upgrade tapgate" in journal.failure
    with pytest.raises(JournalError, match="newer tapgate"):
        await journal.record([asked("r2")], at=NOW)
    assert await journal.load(parse) == []
    assert await journal.offset() is None
    await journal.close()
    assert open_journal.path.read_bytes() == before
    assert [path.name for path in open_journal.path.parent.glob("*damaged*")] == []


def test_two_that_bring_a_file_up_to_date_at_once_do_it_once(tmp_path: Path) -> None:
    """The second has read the old number already, and has to wait for the first."""
    path = tmp_path / "journal.db"
    first = sqlite3.connect(path, isolation_level=None)
    second = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=300)
    first.execute("PRAGMA journal_mode = WAL")
    waiting = threading.Event()
    second.set_trace_callback(lambda statement: waiting.set() if "BEGIN" in statement else None)
    first.execute("BEGIN IMMEDIATE")
    failed: list[Exception] = []

    def bring_up_to_date() -> None:
        try:
            migrate(second, source=str(path))
        except sqlite3.Error as error:
            failed.append(error)

    other = threading.Thread(target=bring_up_to_date)
    other.start()
    assert waiting.wait(30)
    first.execute("CREATE TABLE requests (by_the_first)")
    first.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    first.execute("COMMIT")
    other.join(60)
    assert not other.is_alive() and not failed
    assert names(second) == {"requests"}, "and the second has left it as it was"
    first.close()
    second.close()
