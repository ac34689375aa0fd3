"""Records reach the journal in their order; what nothing depends on keeps nobody waiting and is not lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tapgate.daemon.recorder import MOST_UNWRITTEN, Recorder
from tapgate.desk.effects import AnsweredEntry, AskedEntry, Entry, Record, SeenEntry, SettledEntry
from tapgate.errors import JournalBusyError, JournalError, JournalFaultError
from tapgate.model import Answer, Decision, Outcome, Verdict
from tests.builders import make_request


class Disk:
    """A journal that can be locked, full, or dislike an entry; it notes how it was asked."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.offset: int | None = None
        self.tries: list[bool] = []  # for each: whether it was patient
        self.fault: type[JournalFaultError] | None = None
        self.bad: list[Entry] = []
        self.room = 1000  # how many entries fit in one transaction

    async def record(
        self, entries: Sequence[Entry], *, at: float, offset: int | None = None, patient: bool = True
    ) -> None:
        self.tries.append(patient)
        if self.fault is not None:
            raise self.fault("the file takes nothing")
        if len(entries) > self.room:
            raise JournalFaultError("that is too much")
        if any(entry in self.bad for entry in entries):
            raise JournalError("this is wrong")
        self.entries += entries
        self.offset = offset if offset is not None else self.offset


class Rig:
    def __init__(self) -> None:
        self.disk = Disk()
        self.reports: list[str] = []
        self.recorder = Recorder(self.disk, report=self.reports.append)

    async def record(self, *records: Record, offset: int | None = None) -> list[str]:
        return list((await self.recorder.record(records, at=1.0, offset=offset)).values())


@pytest.fixture
def rig() -> Rig:
    return Rig()


def asked(number: int) -> Record:
    request = make_request(number)
    return Record(request.id, AskedEntry(request, 0.0, 1.0, True, (1,)), required=True)


def answered(number: int) -> Record:
    answer = Answer("Ada", 1, "a", "Allow", Decision(Verdict.ALLOW), 1.0, 1.0)
    request_id = make_request(number).id
    return Record(request_id, AnsweredEntry(request_id, answer, 1), required=True)


def ended(number: int) -> Record:
    request_id = make_request(number).id
    return Record(request_id, SettledEntry(request_id, Outcome.EXPIRED, 1.0, "", 1))


def seen(number: int) -> Record:
    request_id = make_request(number).id
    return Record(request_id, SeenEntry(request_id))


async def test_only_gates_are_patient(rig: Rig) -> None:
    await rig.record(asked(1))
    await rig.record(seen(1))
    await rig.record(offset=5)
    assert rig.disk.tries == [True, False, False] and rig.disk.offset == 5


async def test_while_it_is_locked_only_gates_are_tried(rig: Rig) -> None:
    await rig.record(asked(1))
    rig.disk.fault = JournalBusyError
    assert await rig.record(answered(1)) == ["the file takes nothing"]
    tries = len(rig.disk.tries)
    assert await rig.record(ended(1), offset=7) == await rig.record(seen(1)) == []
    assert len(rig.disk.tries) == tries, "nobody waited for these"
    assert await rig.record(asked(2)) != []
    assert len(rig.disk.tries) == tries + 1, "a gate is tried once, and with all before it together"


async def test_after_the_lock_everything_is_written_in_its_order_before_the_next_record(rig: Rig) -> None:
    records = [asked(1), asked(2)]
    for record in records:
        await rig.record(record)
    rig.disk.fault = JournalBusyError
    await rig.record(seen(1))
    await rig.record(ended(2))
    await rig.record(ended(1))
    rig.disk.fault = None
    await rig.record(asked(3), offset=9)
    assert rig.disk.entries == [one.entry for one in (*records, seen(1), ended(2), ended(1), asked(3))]
    assert rig.disk.offset == 9
    await rig.record(seen(3))
    assert rig.disk.entries[-1] == seen(3).entry, "and nothing is written twice"


async def test_a_gate_that_failed_is_never_written_later(rig: Rig) -> None:
    """The caller was told that there is no opinion; an answer that appears in the journal afterwards would lie."""
    await rig.record(asked(1))
    rig.disk.fault = JournalBusyError
    await rig.record(answered(1))
    await rig.record(ended(1))
    rig.disk.fault = None
    await rig.recorder.catch_up(at=2.0)
    assert rig.disk.entries == [asked(1).entry, ended(1).entry]


async def test_of_a_request_that_is_not_in_the_journal_nothing_more_is_tried(rig: Rig) -> None:
    rig.disk.fault = JournalBusyError
    await rig.record(asked(1))
    await rig.record(ended(1))
    rig.disk.fault = None
    await rig.record(seen(1))
    await rig.record(asked(2))
    assert rig.disk.entries == [asked(2).entry] and rig.reports == ["the file takes nothing"]
    await rig.record(asked(1))
    await rig.record(ended(1))
    assert rig.disk.entries[1:] == [asked(1).entry, ended(1).entry], "until it is"


async def test_what_is_behind_is_written_without_another_record(rig: Rig) -> None:
    await rig.record(asked(1))
    rig.disk.fault = JournalBusyError
    await rig.record(ended(1))
    assert rig.recorder.is_behind.is_set()
    await rig.recorder.catch_up(at=2.0)
    assert rig.disk.tries[-1] is False and rig.recorder.is_behind.is_set()
    rig.disk.fault = None
    await rig.recorder.catch_up(at=3.0)
    assert rig.disk.entries[-1] == ended(1).entry and not rig.recorder.is_behind.is_set()
    assert rig.reports == ["the file takes nothing"], "trying again is no news"


async def test_one_bad_entry_costs_no_other_and_is_given_up(rig: Rig) -> None:
    await rig.record(asked(1))
    rig.disk.bad = [seen(1).entry]
    await rig.record(seen(1))
    await rig.record(ended(1))
    assert rig.disk.entries == [asked(1).entry, ended(1).entry]
    assert rig.reports[-1] == "what could not be recorded before cannot be recorded now: this is wrong"
    rig.disk.bad = []
    await rig.record(asked(2))
    assert seen(1).entry not in rig.disk.entries


async def test_on_a_full_disk_what_fits_is_written_and_the_rest_waits(rig: Rig) -> None:
    await rig.record(asked(1))
    rig.disk.fault = JournalFaultError
    await rig.record(ended(1))
    await rig.record(seen(1))
    assert await rig.record(asked(2)) == ["the file takes nothing"] * 3
    rig.disk.fault, rig.disk.room = None, 1
    await rig.record(asked(3))
    assert rig.disk.entries == [asked(1).entry, ended(1).entry, seen(1).entry, asked(3).entry]


async def test_what_waits_is_bounded(rig: Rig) -> None:
    await rig.record(asked(1))
    rig.disk.fault = JournalBusyError
    for _ in range(MOST_UNWRITTEN + 50):
        await rig.record(seen(1))
    rig.disk.fault, rig.disk.room = None, 10_000
    await rig.recorder.catch_up(at=2.0)
    assert len(rig.disk.entries) == 1 + MOST_UNWRITTEN
