"""Hands the desk's records to the journal in their order. What an answer depends on is waited for, the rest is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import anyio

from tapgate.desk.effects import AskedEntry, Entry, Record
from tapgate.errors import JournalBusyError, JournalError, JournalFaultError

MOST_UNWRITTEN = 1000


class Journal(Protocol):
    """Where entries are written. Raises JournalError where they are not on disk.

    `patient`: a journal that another program holds locked is waited for, as long as there is hope; without, hardly.
    """

    async def record(
        self, entries: Sequence[Entry], *, at: float, offset: int | None = None, patient: bool = True
    ) -> None: ...


class Recorder:
    """For one task at a time: the engine's lock keeps the records in the order of the events."""

    def __init__(self, records: Journal, *, report: Callable[[str], None]) -> None:
        self._records = records
        self._report = report
        # What the journal refused, or was not asked to take because it was locked; written before the next record. None
        # of it is required: it has happened, and how a request ended must not be forgotten with a full disk.
        self._unwritten: list[Record] = []
        self._unknown: dict[str, None] = {}  # requests that are not in the journal, so nothing about them can be
        self._is_locked = False
        self.is_behind = anyio.Event()

    async def record(self, records: Sequence[Record], *, at: float, offset: int | None) -> dict[int, str]:
        """Write all in one transaction, or, where that fails, each by itself. Gives what failed, with the reason.

        While another program holds the journal locked, only gates are tried: nothing depends on the others.
        """
        wanted = [
            record
            for record in records
            if record.request_id not in self._unknown or isinstance(record.entry, AskedEntry)
        ]
        if not wanted and offset is None:
            return {}
        is_gated = any(record.required for record in wanted)
        if self._is_locked and not is_gated:
            self._keep([*self._unwritten, *wanted])
            return {}
        failed = await self._write(self._unwritten, wanted, at=at, offset=offset, patient=is_gated)
        self._note_unknown(wanted, failed)
        return failed

    async def catch_up(self, *, at: float) -> None:
        """Try once to write what is unwritten, without waiting for it. What fails is tried again later."""
        if self._unwritten:
            try:
                await self._records.record([record.entry for record in self._unwritten], at=at, patient=False)
            except JournalError:
                return
            self._is_locked = False
            self._keep([])

    async def _write(
        self, late: Sequence[Record], records: Sequence[Record], *, at: float, offset: int | None, patient: bool
    ) -> dict[int, str]:
        together = [*late, *records]
        try:
            await self._records.record([one.entry for one in together], at=at, offset=offset, patient=patient)
        except JournalError as error:
            self._is_locked = isinstance(error, JournalBusyError)
            if len(together) > 1 and not self._is_locked:
                return await self._write_each(late, records, at=at, offset=offset)
            self._report(str(error))
            self._keep(together)
            return {id(one): str(error) for one in together}
        self._is_locked = False
        self._keep([])
        return {}

    async def _write_each(
        self, late: Sequence[Record], records: Sequence[Record], *, at: float, offset: int | None
    ) -> dict[int, str]:
        """One bad entry must not cost the others. Where the file itself takes nothing, the late ones can wait."""
        failed: dict[int, str] = {}
        bad: set[int] = set()  # refused for what they say, not because of the file
        fault = ""
        for number, one in enumerate((*late, *records), start=1 - len(late)):
            is_late = number <= 0
            if self._is_locked or (fault and is_late):
                failed[id(one)] = fault
                continue
            last = offset if number == len(records) else None
            try:
                await self._records.record([one.entry], at=at, offset=last, patient=one.required)
            except JournalError as error:
                failed[id(one)] = str(error)
                if isinstance(error, JournalFaultError):
                    fault = str(error)
                    self._is_locked = isinstance(error, JournalBusyError)
                else:
                    bad.add(id(one))
                if not is_late:
                    self._report(str(error))
        hopeless = bad & {id(one) for one in late} if len(failed) < len(late) + len(records) else set()
        for one in late:
            if id(one) in hopeless:
                self._report(f"what could not be recorded before cannot be recorded now: {failed[id(one)]}")
        self._keep([one for one in (*late, *records) if id(one) in failed and id(one) not in hopeless])
        return failed

    def _keep(self, unwritten: Sequence[Record]) -> None:
        """For later. Not what is required: what was to follow it has not happened."""
        self._unwritten = [record for record in unwritten if not record.required][-MOST_UNWRITTEN:]
        if self._unwritten:
            self.is_behind.set()
        elif self.is_behind.is_set():
            self.is_behind = anyio.Event()

    def _note_unknown(self, records: Sequence[Record], failed: dict[int, str]) -> None:
        for record in records:
            if isinstance(record.entry, AskedEntry):
                self._unknown.pop(record.request_id, None)
                if id(record) in failed:
                    self._unknown[record.request_id] = None
        while len(self._unknown) > MOST_UNWRITTEN:
            del self._unknown[next(iter(self._unknown))]
