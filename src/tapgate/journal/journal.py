"""The journal for the event loop: every call is done by one writer thread, in order. Knows no SQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tapgate.desk.effects import Entry
from tapgate.desk.memory import Remembered
from tapgate.errors import JournalError
from tapgate.journal.patience import Patience
from tapgate.journal.recall import Parse
from tapgate.journal.store import Store
from tapgate.journal.trail import TrailQuery, TrailRow

ResultT = TypeVar("ResultT")


class Journal:
    """What the daemon remembers across restarts.

    Only `record` and `trail` raise, and only JournalError. The others do without what they cannot read or write:
    the fault is in `failure` and is reported. A job that was begun is finished even if nobody waits for it any more.
    After the start, nothing but `record` waits for a file that another program holds locked.
    """

    def __init__(self, store: Store, writer: ThreadPoolExecutor) -> None:
        """Use `open`."""
        self.path: Path = store.path
        self._store = store
        self._writer = writer

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        keep_days: int = 90,
        keep_inputs: bool = True,
        wall: Callable[[], float],
        report: Callable[[str], None],
        patience: Patience | None = None,
        bot: str = "",
    ) -> Journal:
        """Open or create the file. Never raises: `failure` says why nothing can be recorded yet.

        `bot` is whose updates the offset counts; that of another bot is not given back.

        `report` gets one sentence for each thing a person should hear of; it is called in the event loop.
        """
        loop = asyncio.get_running_loop()

        def report_in_loop(sentence: str) -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody is left to hear it
                loop.call_soon_threadsafe(report, sentence)

        store = Store(
            path,
            keep_days=keep_days,
            keep_inputs=keep_inputs,
            wall=wall,
            report=report_in_loop,
            patience=patience or Patience(mono=time.monotonic),
            bot=bot,
        )
        journal = cls(store, ThreadPoolExecutor(max_workers=1, thread_name_prefix="tapgate-journal"))
        try:
            await journal._in_thread(store.open)
        except BaseException:  # cancelled: nobody will have this journal, so nobody could close it
            journal._writer.submit(store.close)
            journal._writer.shutdown(wait=False)
            raise
        return journal

    @property
    def failure(self) -> str | None:
        """Why the last attempt to write failed, in a sentence; None if it did not."""
        return self._store.failure

    async def record(
        self, entries: Sequence[Entry], *, at: float, offset: int | None = None, patient: bool = True
    ) -> None:
        """Write all of it, or nothing and raise JournalError. When this returns, a kill -9 cannot undo it.

        Where another program holds the file locked, `patient` waits for it: see patience.py.
        """
        if entries or offset is not None:
            kept = tuple(entries)
            await self._in_thread(lambda: self._store.record(kept, at=at, offset=offset, patient=patient))

    async def load(
        self, parse: Parse, *, settled_within_s: float = 86_400, settled_most: int = 500
    ) -> list[Remembered]:
        """Requests of earlier runs, in the order in which they were asked: the open ones, the ended ones with a
        copy that does not show it, and those that ended lately. `parse` is called in the writer thread."""
        return await self._in_thread(
            lambda: self._store.load(parse, settled_within_s=settled_within_s, settled_most=settled_most)
        )

    async def offset(self) -> tuple[int, float] | None:
        """The recorded update offset, and the wall time at which it was recorded."""
        return await self._in_thread(self._store.offset)

    async def note_poll(self, at: float) -> None:
        await self._in_thread(lambda: self._store.note_poll(at))

    async def last_poll(self) -> float | None:
        """The wall time of the last poll that was noted."""
        return await self._in_thread(self._store.last_poll)

    async def trail(self, query: TrailQuery) -> list[TrailRow]:
        """Rows of the trail, newest first. Raises JournalError where there is no journal to read."""
        return await self._in_thread(lambda: self._store.trail(query))

    async def purge(self) -> int:
        """Drop what retention does not keep, and return how many rows of the trail that were."""
        return await self._in_thread(self._store.purge)

    async def close(self) -> None:
        """Finish what was begun, then close the file. A second close does nothing."""
        with suppress(JournalError):
            await self._in_thread(self._store.close)
        self._writer.shutdown(wait=False)

    async def _in_thread(self, job: Callable[[], ResultT]) -> ResultT:
        try:
            work = asyncio.get_running_loop().run_in_executor(self._writer, job)
        except RuntimeError as error:
            raise JournalError(f"{self.path}: the journal is closed; nothing more can be recorded") from error
        work.add_done_callback(_retrieve)
        # `wait`, unlike an await of the future itself, leaves the work alone when this task is cancelled.
        await asyncio.wait({work})
        return work.result()


def _retrieve(work: asyncio.Future[ResultT]) -> None:
    """A failure of abandoned work is known as `failure`; asyncio need not complain that nobody fetched it."""
    if not work.cancelled():
        work.exception()
