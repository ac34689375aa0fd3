"""What is recorded stays as it was first recorded, and a batch is recorded whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tapgate.desk.effects import CopyEntry, Entry, RanEntry, SeenEntry, ShownEntry
from tapgate.errors import JournalError
from tapgate.journal import Journal, TrailQuery
from tapgate.model import Copy, Decision, Outcome, Ran, Verdict

from .samples import NOW, Opener, answered, asked, make_answer, make_request, parse, posted, settled

CARD = Copy(11, 100)


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(
    "entry",
    [asked(), posted(), SeenEntry("r1"), answered(), RanEntry("r1", Ran.OK, NOW + 9, 3), ShownEntry("r1", CARD, 2)],
    ids=lambda entry: type(entry).__name__,
)
async def test_repeated_entry_changes_nothing(journal: Journal, entry: Entry) -> None:
    await journal.record([asked(), posted(), SeenEntry("r1"), answered(), settled()], at=NOW)
    await journal.record([RanEntry("r1", Ran.OK, NOW + 9, 3), ShownEntry("r1", CARD, 2)], at=NOW)
    before = dump(journal.path)
    await journal.record([entry], at=NOW + 30)
    assert dump(journal.path) == before


@pytest.mark.parametrize(
    "entry",
    [
        answered("unknown"),
        settled("unknown"),
        posted("unknown"),
        SeenEntry("unknown"),
        RanEntry("unknown", Ran.OK, NOW, 1),
        ShownEntry("unknown", CARD, 1),
        answered(answer=make_answer(Verdict.DENY)),
        answered(answer=make_answer(person="Eve")),
        answered(answer=replace(make_answer(), decision=Decision(Verdict.ALLOW, updates=(True,)))),
        settled(),
        settled(outcome=Outcome.DENIED),
        asked(make_request(input={"command": "rm -rf /"})),
    ],
    ids=lambda entry: type(entry).__name__,
)
async def test_contradicting_entry_is_refused_and_its_whole_batch_with_it(journal: Journal, entry: Entry) -> None:
    first = replace(make_answer(), decision=Decision(Verdict.ALLOW, updates=(1,)))
    await journal.record([asked(), posted(), answered(answer=first), settled()], at=NOW, offset=7)
    before = dump(journal.path)
    with pytest.raises(JournalError):
        await journal.record([asked("r2"), entry], at=NOW + 30, offset=8)
    assert dump(journal.path) == before
    assert journal.failure is None  # the file is sound; what was asked of it was not


async def test_answer_after_the_end_is_refused(journal: Journal) -> None:
    await journal.record([asked(), settled(outcome=Outcome.EXPIRED)], at=NOW)
    with pytest.raises(JournalError, match="too late"):
        await journal.record([answered()], at=NOW)
    [memory] = await journal.load(parse)
    assert memory.answer is None


async def test_disk_refuses_a_second_answer_even_without_the_code(journal: Journal) -> None:
    await journal.record([asked(), answered(), settled()], at=NOW)
    with closing(sqlite3.connect(journal.path)) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="the first answer stands"):
            connection.execute("UPDATE requests SET verdict = 'deny'")
        with pytest.raises(sqlite3.IntegrityError, match="the first outcome stands"):
            connection.execute("UPDATE requests SET outcome = 'denied'")


@pytest.mark.parametrize(
    "entry",
    [
        CopyEntry("r1", Copy(2**63, 1)),
        answered(answer=replace(make_answer(), decision=Decision(Verdict.ALLOW, updates=(object(),)))),
        asked("r2", at=float("nan")),
    ],
    ids=["too big", "not JSON", "not a time"],
)
async def test_what_cannot_be_written_is_refused_in_words(journal: Journal, entry: Entry) -> None:
    await journal.record([asked()], at=NOW)
    before = dump(journal.path)
    with pytest.raises(JournalError, match=r"journal\.db: this cannot be recorded"):
        await journal.record([entry], at=NOW)
    assert dump(journal.path) == before


async def test_shown_version_only_rises(journal: Journal) -> None:
    await journal.record([asked(), posted(), ShownEntry("r1", CARD, 3), ShownEntry("r1", CARD, 1)], at=NOW)
    [memory] = await journal.load(parse)
    assert memory.copies == ((CARD, 3),)


async def test_newest_version_is_never_older_than_what_a_copy_shows(journal: Journal) -> None:
    """Otherwise the next version after a restart would look as if it stood on the phone already."""
    await journal.record([asked(), posted(version=3)], at=NOW)
    [memory] = await journal.load(parse)
    assert memory.version == 3


async def test_copy_that_was_only_heard_of_as_shown_is_known(journal: Journal) -> None:
    await journal.record([asked(), ShownEntry("r1", CARD, 1)], at=NOW)
    [memory] = await journal.load(parse)
    assert memory.copies == ((CARD, 1),)


async def test_offset_is_written_with_its_entries(journal: Journal) -> None:
    assert await journal.offset() is None
    await journal.record([asked()], at=NOW + 1, offset=812)
    assert await journal.offset() == (812, NOW + 1)
    await journal.record([], at=NOW + 2, offset=5)  # Telegram may begin anew after a week of silence
    assert await journal.offset() == (5, NOW + 2)


async def test_nothing_to_record_touches_nothing(open_journal: Opener) -> None:
    journal = await open_journal()
    before = dump(journal.path)
    await journal.record([], at=NOW)
    assert dump(journal.path) == before
    await journal.close()
    await journal.record([], at=NOW)


async def test_last_poll_is_remembered(open_journal: Opener) -> None:
    journal = await open_journal()
    assert await journal.last_poll() is None
    await journal.note_poll(NOW)
    await journal.note_poll(NOW + 10)
    await journal.close()
    assert await (await open_journal()).last_poll() == NOW + 10


async def test_closed_journal_refuses_in_words(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.close()
    await journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.record([asked()], at=NOW)
    with pytest.raises(JournalError, match="closed"):
        await journal.trail(TrailQuery())
