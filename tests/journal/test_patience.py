"""A locked journal is waited for once; after that in vain, not for a while."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tapgate.errors import JournalBusyError, JournalError, JournalFaultError
from tapgate.journal import Journal, TrailQuery
from tapgate.journal.patience import HASTE_S, LONG_S, SHORT_S, Patience

from .samples import NOW, asked, parse, settled


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_only_what_somebody_waits_for_is_waited_for_long() -> None:
    patience = Patience(mono=Clock())
    assert (patience.timeout_s(patient=True), patience.timeout_s(patient=False)) == (LONG_S, SHORT_S)


def test_after_a_long_wait_in_vain_waits_are_short_for_a_while() -> None:
    clock = Clock()
    patience = Patience(mono=clock)
    patience.waited_in_vain(LONG_S)
    clock.now += HASTE_S - 0.1
    assert patience.timeout_s(patient=True) == SHORT_S
    clock.now += 0.1
    assert patience.timeout_s(patient=True) == LONG_S


def test_a_short_wait_in_vain_says_nothing_about_long_ones() -> None:
    patience = Patience(mono=Clock())
    patience.waited_in_vain(SHORT_S)
    assert patience.timeout_s(patient=True) == LONG_S and patience.long_waits == 0


def test_a_write_that_succeeds_ends_the_haste() -> None:
    patience = Patience(mono=Clock())
    patience.waited_in_vain(LONG_S)
    patience.wrote()
    assert patience.timeout_s(patient=True) == LONG_S


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


@pytest.fixture
def patience() -> Patience:
    """Its clock stands still, so that haste does not end by itself on a slow machine."""
    return Patience(mono=Clock())


async def open_at(path: Path, patience: Patience) -> Journal:
    return await Journal.open(path, wall=lambda: NOW, report=lambda sentence: None, patience=patience)


async def test_many_records_in_a_row_spend_the_long_wait_once(tmp_path: Path, patience: Patience) -> None:
    journal = await open_at(tmp_path / "journal.db", patience)
    with locked(journal.path):
        for number in range(10):
            with pytest.raises(JournalBusyError, match="another program holds it locked"):
                await journal.record([asked(f"r{number}")], at=NOW)
    assert patience.long_waits == 1
    await journal.record([asked()], at=NOW)
    with locked(journal.path), pytest.raises(JournalBusyError):
        await journal.record([settled()], at=NOW)
    assert patience.long_waits == 2, "after a success there is hope again"
    await journal.close()


async def test_all_that_is_no_question_and_no_answer_waits_for_nothing(tmp_path: Path, patience: Patience) -> None:
    """The note of the last poll, retention, a record that nothing depends on, /history."""
    journal = await open_at(tmp_path / "journal.db", patience)
    await journal.record([asked()], at=NOW)
    with locked(journal.path):
        await journal.note_poll(NOW)
        assert await journal.purge() == 0
        with pytest.raises(JournalBusyError):
            await journal.record([settled()], at=NOW, patient=False)
        assert len(await journal.trail(TrailQuery())) == 1, "reading is possible meanwhile"
    assert patience.long_waits == 0
    await journal.close()


async def test_a_start_with_a_locked_journal_waits_once(tmp_path: Path, patience: Patience) -> None:
    await (await open_at(tmp_path / "journal.db", patience)).close()
    with locked(tmp_path / "journal.db"):
        journal = await open_at(tmp_path / "journal.db", patience)
        assert (await journal.load(parse), await journal.offset(), await journal.last_poll()) == ([], None, None)
        with pytest.raises(JournalBusyError):
            await journal.record([asked()], at=NOW)
    assert patience.long_waits == 1
    await journal.record([asked()], at=NOW)
    await journal.close()


async def test_a_fault_of_the_file_is_told_from_a_bad_entry(tmp_path: Path, patience: Patience) -> None:
    journal = await open_at(tmp_path / "journal.db", patience)
    with pytest.raises(JournalError) as bad:
        await journal.record([settled("never asked")], at=NOW)
    assert not isinstance(bad.value, JournalFaultError)
    await journal.close()
