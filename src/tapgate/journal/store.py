"""The journal as one thread sees it: a connection that heals, faults as sentences. Knows no event loop."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tapgate.desk.effects import Entry
from tapgate.desk.memory import Remembered
from tapgate.errors import JournalBusyError, JournalError, JournalFaultError
from tapgate.journal.codec import decode_number
from tapgate.journal.database import (
    DamagedError,
    describe_fault,
    is_busy,
    is_damage,
    may_pass,
    open_database,
    set_aside,
    transaction,
)
from tapgate.journal.ledger import write_entry
from tapgate.journal.patience import SHORT_S, Patience
from tapgate.journal.recall import Parse, read_remembered
from tapgate.journal.retention import drop_expired
from tapgate.journal.trail import TrailQuery, TrailRow, read_trail

MOST_OFFSET = 2**40  # far beyond what Telegram counts to
ResultT = TypeVar("ResultT")
StoreJob = Callable[[sqlite3.Connection], ResultT]


class Store:
    """All methods but the constructor run in one and the same thread; `failure` may be read from any."""

    def __init__(
        self,
        path: Path,
        *,
        keep_days: int,
        keep_inputs: bool,
        wall: Callable[[], float],
        report: Callable[[str], None],
        patience: Patience,
        bot: str = "",
    ) -> None:
        self.path = path
        self.failure: str | None = None
        self._keep_days = keep_days
        self._keep_inputs = keep_inputs
        self._wall = wall
        self._report = report
        self._patience = patience
        self._bot = bot
        self._timeout_s = SHORT_S  # of the connection
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    def open(self) -> None:
        """Open and clean up. Never raises: a journal that cannot be opened says so in `failure`."""
        self._try_write(self._drop_expired, default=0, report=False, patient=True)

    def record(self, entries: Sequence[Entry], *, at: float, offset: int | None, patient: bool) -> None:
        def write(connection: sqlite3.Connection) -> None:
            for entry in entries:
                write_entry(connection, entry, at=at, keep_inputs=self._keep_inputs)
            if offset is not None:
                _write_meta(connection, "offset", offset)
                _write_meta(connection, "offset_at", at)
                _write_meta(connection, "offset_bot", self._bot)

        if entries or offset is not None:
            self._write(write, patient=patient)

    def load(self, parse: Parse, *, settled_within_s: float, settled_most: int) -> list[Remembered]:
        def read(connection: sqlite3.Connection) -> list[Remembered]:
            return read_remembered(
                connection,
                parse,
                since=self._wall() - settled_within_s,
                most=settled_most,
                unreadable=lambda sentence: self._report(f"{self.path}: {sentence}"),
            )

        return self._try_read(read, default=[])

    def offset(self) -> tuple[int, float] | None:
        def read(connection: sqlite3.Connection) -> tuple[int, float] | None:
            offset, at = _read_meta(connection, "offset"), _read_meta(connection, "offset_at")
            if offset is None or at is None or _read_meta(connection, "offset_bot") != self._bot:
                return None  # each bot numbers its updates on its own
            # A negative one would make Telegram forget updates, and a larger one is none that it could have given.
            return (int(offset), decode_number(at)) if 0 < int(offset) < MOST_OFFSET else None

        return self._try_read(read, default=None)

    def note_poll(self, at: float) -> None:
        self._try_write(lambda connection: _write_meta(connection, "last_poll", at), default=None)

    def last_poll(self) -> float | None:
        def read(connection: sqlite3.Connection) -> float | None:
            at = _read_meta(connection, "last_poll")
            return None if at is None else decode_number(at)

        return self._try_read(read, default=None)

    def trail(self, query: TrailQuery) -> list[TrailRow]:
        return self._attempt(lambda: read_trail(self._connected(SHORT_S), query), timeout_s=SHORT_S)

    def purge(self) -> int:
        return self._try_write(self._drop_expired, default=0)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _drop_expired(self, connection: sqlite3.Connection) -> int:
        return drop_expired(connection, now=self._wall(), keep_days=self._keep_days, keep_inputs=self._keep_inputs)

    def _try_read(self, job: StoreJob[ResultT], *, default: ResultT) -> ResultT:
        """For what the daemon can do without: a fault is reported once, and there is nothing to read."""
        before = self.failure
        timeout_s = self._patience.timeout_s(patient=True)  # this happens at the start only, before anybody waits
        try:
            return self._attempt(lambda: job(self._connected(timeout_s)), timeout_s=timeout_s)
        except JournalError as error:
            if str(error) != before:
                self._report(str(error))
            return default

    def _try_write(
        self, job: StoreJob[ResultT], *, default: ResultT, report: bool = True, patient: bool = False
    ) -> ResultT:
        before = self.failure
        try:
            return self._write(job, patient=patient)
        except JournalError as error:
            if report and str(error) != before:
                self._report(str(error))
            return default

    def _write(self, job: StoreJob[ResultT], *, patient: bool) -> ResultT:
        timeout_s = self._patience.timeout_s(patient=patient)

        def write() -> ResultT:
            connection = self._connected(timeout_s)
            with transaction(connection):
                return job(connection)

        result = self._attempt(write, timeout_s=timeout_s)
        self._patience.wrote()
        self.failure = None
        return result

    def _attempt(self, job: Callable[[], ResultT], *, timeout_s: float) -> ResultT:
        """Every way in which SQLite or the disk can fail becomes a JournalError here, and only here."""
        try:
            return job()
        except JournalError:
            raise
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError) as error:
            raise JournalError(f"{self.path}: this cannot be recorded: {error}") from error
        except (sqlite3.Error, OSError) as error:
            if is_damage(error):
                raise self._begin_anew(str(error)) from error
            if not may_pass(error):
                self._drop_connection()
            self.failure = describe_fault(self.path, error)
            if is_busy(error):
                self._patience.waited_in_vain(timeout_s)
                raise JournalBusyError(self.failure) from error
            raise JournalFaultError(self.failure) from error
        except Exception as error:  # a value that no column or JSON can hold; the file has nothing to do with it
            reason = f"{type(error).__name__}: {error}"
            raise JournalError(f"{self.path}: this cannot be recorded: {reason}") from error

    def _connected(self, timeout_s: float) -> sqlite3.Connection:
        """The connection, set to wait so long for another program's lock."""
        if self._connection is not None and self._inode != _inode_of(self.path):
            # SQLite would go on writing to a file that no longer has a name, and every record would be lost.
            self._report(f"{self.path} was removed or replaced while tapgate was running; it is opened again")
            self._drop_connection()
        if self._connection is None:
            self._connection = self._connect(timeout_s)
            self._inode = _inode_of(self.path)
        elif self._timeout_s != timeout_s:
            self._connection.execute(f"PRAGMA busy_timeout = {round(timeout_s * 1000)}")
        self._timeout_s = timeout_s
        return self._connection

    def _connect(self, timeout_s: float) -> sqlite3.Connection:
        try:
            try:
                connection = open_database(self.path, timeout_s=timeout_s)
            except DamagedError as error:
                self._set_aside(str(error))
                connection = open_database(self.path, timeout_s=timeout_s)
        except JournalError as error:
            self.failure = str(error)
            raise
        except DamagedError as error:
            self.failure = describe_fault(self.path, error)
            raise JournalError(self.failure) from error
        self.failure = None
        return connection

    def _begin_anew(self, reason: str) -> JournalError:
        """The file turned out to be damaged while in use. What was to be done just now is not done."""
        try:
            # Renamed before it is closed: closing would write the WAL into the damaged file and remove it.
            self._set_aside(reason)
            self._drop_connection()
            self._connected(SHORT_S)
        except JournalError as error:
            return error
        except (sqlite3.Error, OSError) as error:
            self.failure = describe_fault(self.path, error)
            return JournalError(self.failure)
        finally:
            if self.failure is not None:
                self._drop_connection()
        return JournalError(
            f"{self.path} was damaged ({reason}); a new one has been begun, but this was not recorded: ask again"
        )

    def _set_aside(self, reason: str) -> None:
        kept = set_aside(self.path, wall=self._wall())
        self._report(
            f"{self.path} is damaged or not a journal ({reason}); it is kept as {kept.name} and a new one is begun"
        )

    def _drop_connection(self) -> None:
        try:
            self.close()
        except sqlite3.Error:
            self._connection = None  # it had a fault already, and has been described


def _inode_of(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _write_meta(connection: sqlite3.Connection, key: str, value: float | str) -> None:
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def _read_meta(connection: sqlite3.Connection, key: str) -> Any:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else row[0]
