"""The SQLite file itself: opening, modes, transactions, faults in words, setting aside. Knows no table's meaning."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from tapgate.errors import JournalError
from tapgate.journal.patience import LONG_S
from tapgate.journal.schema import APPLICATION_ID, check_version, migrate

BUSY_TIMEOUT_S = LONG_S
WAL_KEEP_BYTES = 4 * 1024 * 1024
COMPANIONS = ("-wal", "-shm")


class DamagedError(Exception):
    """The file is no journal, or no longer one. `str(error)` says how that shows."""


def open_database(path: Path, *, timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open or create the file for writing. Raises DamagedError, JournalError, OSError or sqlite3.Error."""
    _prepare(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=timeout_s)
    try:
        _check_ours(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL with WAL: a commit is in the operating system's hands when it returns, so it survives kill -9 of
        # this process. Only a power cut or a kernel crash can lose the last commits; the file stays consistent.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what retention drops is gone from the file
        connection.execute(f"PRAGMA journal_size_limit = {WAL_KEEP_BYTES}")
        migrate(connection, source=str(path))
        for companion in _companions(path):  # SQLite gives new ones the file's mode; these may be older
            with suppress(FileNotFoundError):
                companion.chmod(0o600)
    except sqlite3.Error as error:
        connection.close()
        if is_damage(error):
            raise DamagedError(str(error)) from error
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open an existing journal beside its writer. Raises FileNotFoundError where there is none, or JournalError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise JournalError(f"{path} is not a file, so there is no journal to read")
    try:
        connection = _connect_read_only(path, "mode=ro")
    except sqlite3.Error as error:
        wal = _companions(path)[0]
        if wal.exists() and wal.stat().st_size:
            raise JournalError(describe_fault(path, error, failed="it cannot be read")) from error
        # A WAL database needs its side files even for reading, and a read-only disk refuses them. With nothing
        # in the WAL the file alone is the whole truth.
        try:
            connection = _connect_read_only(path, "immutable=1")
        except sqlite3.Error as second:
            raise JournalError(describe_fault(path, second, failed="it cannot be read")) from second
    try:
        check_version(connection, source=str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_read_only(path: Path, parameters: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{parameters}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        _refuse_foreign(connection)
    except DamagedError as error:
        connection.close()
        raise JournalError(
            f"{path} is not a tapgate journal ({error}); the daemon sets it aside when it starts"
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. The lock is taken at the start, so that a later statement cannot find the file locked."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some faults end the transaction by themselves
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def set_aside(path: Path, *, wall: float) -> Path:
    """Rename the file and its companions out of the way, and say where it is now.

    The main file goes first: a WAL that were left behind by a crash in between belongs to no database, and SQLite
    removes it when it meets an empty new one.
    """
    stamp = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%dT%H%M%SZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    again = 1
    while target.exists():
        again += 1
        target = path.with_name(f"{path.name}.damaged-{stamp}-{again}")
    path.rename(target)
    for companion, kept in zip(_companions(path), _companions(target), strict=True):
        with suppress(FileNotFoundError):
            companion.rename(kept)
    return target


def is_damage(error: BaseException) -> bool:
    return isinstance(error, DamagedError) or _code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_busy(error: BaseException) -> bool:
    return _code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def may_pass(error: BaseException) -> bool:
    """A fault after which the same connection can be used again."""
    return _code_of(error) in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_TOOBIG,
    )


def describe_fault(path: Path, error: BaseException, *, failed: str = "nothing can be recorded") -> str:
    """One sentence: the file, what does not work, why, and what to do."""
    return f"{path}: {failed}: {_cause(error)}"


def _cause(error: BaseException) -> str:
    number = error.errno if isinstance(error, OSError) else None
    code = _code_of(error)
    if is_damage(error):
        return f"{error}; the daemon sets such a file aside when it starts"
    if code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; free some space, and it goes on by itself"
    if code == sqlite3.SQLITE_READONLY or number == errno.EROFS:
        return "the file or its disk is read-only; make it writable, and it goes on by itself"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another program holds it locked; close that program"
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return f"{error}; check that the directory exists, is yours and has space"
    if code == sqlite3.SQLITE_IOERR:
        name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
        return f"{error} ({name}); check that the disk is sound and has space"
    if number in (errno.EACCES, errno.EPERM):
        return "permission denied; make the file and its directory yours"
    if isinstance(error, OSError):
        return f"{error.strerror or error}; check the directory"
    return f"{error}; if it goes on, move the file away and start the daemon again"


def _code_of(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None  # the low byte is the kind, the rest its refinement


def _prepare(path: Path) -> None:
    """The directory (0700, if it is new) and the file (0600 whatever the umask), so that SQLite only opens it."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)
    try:
        # Nothing is opened here if the file exists: closing a descriptor would drop this process's SQLite locks.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DamagedError("it is not a file") from None
    else:
        os.close(descriptor)
    path.chmod(0o600)


def _check_ours(connection: sqlite3.Connection) -> None:
    _refuse_foreign(connection)
    with closing(connection.execute("PRAGMA quick_check(1)")) as cursor:
        fault = cursor.fetchone()[0]
    if fault != "ok":
        raise DamagedError(" ".join(str(fault).split()))


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if identity != APPLICATION_ID and (identity or tables):
        raise DamagedError("it is another program's database")


def _companions(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in COMPANIONS)
