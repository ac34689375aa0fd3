"""A look at the journal from outside, for `tapgate doctor`: sound or not, how large. Opened read-only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tapgate.errors import JournalError
from tapgate.journal.database import COMPANIONS, describe_fault, open_read_only


@dataclass(frozen=True, slots=True)
class Health:
    size_bytes: int  # the file and what belongs to it
    fault: str = ""  # in a sentence, why it cannot be used
    set_aside: tuple[Path, ...] = ()  # damaged ones of earlier days


def examine_journal(path: Path) -> Health | None:
    """None: there is no journal yet."""
    set_aside = tuple(
        sorted(kept for kept in path.parent.glob(f"{path.name}.damaged-*") if not kept.name.endswith(COMPANIONS))
    )
    try:
        size_bytes = path.stat().st_size
        for ending in COMPANIONS:
            companion = path.with_name(path.name + ending)
            size_bytes += companion.stat().st_size if companion.exists() else 0
        with closing(open_read_only(path)) as connection, closing(connection.execute("PRAGMA quick_check(1)")) as rows:
            found = str(rows.fetchone()[0])
    except FileNotFoundError:
        return Health(0, set_aside=set_aside) if set_aside else None
    except JournalError as error:
        return Health(0, str(error), set_aside)
    except (sqlite3.Error, OSError) as error:
        return Health(0, describe_fault(path, error, failed="it cannot be read"), set_aside)
    problem = "" if found == "ok" else f"{path}: it is damaged: {' '.join(found.split())}"
    return Health(size_bytes, problem, set_aside)
