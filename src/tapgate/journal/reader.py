"""The trail for another process than the daemon: opened read-only, beside the writer. Changes nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tapgate.errors import JournalError
from tapgate.journal.database import describe_fault, open_read_only
from tapgate.journal.schema import version_of
from tapgate.journal.trail import TrailQuery, TrailRow, read_histories


def read_log(path: Path, query: TrailQuery) -> list[tuple[TrailRow, ...]] | None:
    """The requests that fit, each with all its rows, newest last. None: there is no journal yet."""
    try:
        with closing(open_read_only(path)) as connection:
            # A file without a schema: the daemon is just creating it.
            return read_histories(connection, query) if version_of(connection) else []
    except FileNotFoundError:
        return None
    except (sqlite3.Error, OSError) as error:
        raise JournalError(describe_fault(path, error, failed="it cannot be read")) from error
