"""What is dropped when its time is over. The one place that deletes; when to run is said elsewhere."""

from __future__ import annotations

import sqlite3

DAY_S = 86_400.0


def drop_expired(connection: sqlite3.Connection, *, now: float, keep_days: int, keep_inputs: bool) -> int:
    """Delete what is older than `keep_days`, and unwanted inputs that no card needs. Returns trail rows deleted."""
    cutoff = now - keep_days * DAY_S
    connection.execute(
        "INSERT INTO meta (key, value) VALUES ('trail_cutoff', ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (cutoff,),
    )
    dropped = connection.execute("DELETE FROM trail WHERE at < ?", (cutoff,)).rowcount
    # One that never ended, long after its caller gave up, is one that no run could read.
    connection.execute("DELETE FROM requests WHERE coalesce(ended_at, deadline_at) < ?", (cutoff,))
    if not keep_inputs:
        connection.execute(
            "UPDATE requests SET input = NULL, updated_input = NULL, summary = ''"
            " WHERE outcome IS NOT NULL AND input IS NOT NULL AND NOT EXISTS ("
            " SELECT 1 FROM copies WHERE request_id = id AND prompt_for = 0 AND shown_version < version)"
        )
    return dropped
