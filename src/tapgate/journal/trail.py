"""The trail: one row for each thing that happened, never changed. Rows are added by the ledger and read from here."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

from tapgate.desk.outcomes import OUTCOMES, PhoneAnswer
from tapgate.journal.codec import encode_text, readable, summary_of_input
from tapgate.model import Verdict

DEFAULT_LIMIT = 50
_TAKEN = ", ".join(f"'{outcome.value}'" for outcome, row in OUTCOMES.items() if row.answer is PhoneAnswer.TAKEN)


@dataclass(frozen=True, slots=True)
class TrailRow:
    """One thing that happened. The other columns say what was known about its request at that moment."""

    seq: int
    at: float
    request_id: str
    what: str  # asked, posted, seen, answered, settled or ran
    agent: str
    session_id: str
    project: str
    tool: str
    summary: str
    chat_id: int | None
    message_id: int | None
    person: str
    user_id: int | None
    verdict: str  # "" while nothing is decided; "none" where it ended without an answer
    choice: str
    saved: str
    after_s: float | None
    outcome: str  # "" while open
    detail: str
    taken: bool | None  # did the caller take the answer; None while open
    ran: str
    message: str = ""  # what a deny told the agent
    instead: str = ""  # what the call was about after somebody had changed it, where that is another


@dataclass(frozen=True, slots=True)
class TrailQuery:
    """Which rows. An empty value asks for nothing; `since` is included, `until` is not."""

    project: str = ""  # an absolute path: that directory and below; anything else: a part of the path
    session: str = ""  # the id, or how it begins
    person: str = ""  # the name, or the user id
    decision: str = ""  # allow, deny, none, or an outcome
    since: float | None = None
    until: float | None = None
    limit: int = DEFAULT_LIMIT


_SAID = ("message", "instead")  # not in the trail itself: told by the request, for as long as it is kept
_NAMES = tuple(field.name for field in fields(TrailRow) if field.name not in _SAID)
_MOST_UPDATED_BYTES = 65_536  # of a changed input; of a longer one only the beginning could be shown
_COLUMNS = ", ".join(
    [
        *_NAMES,
        "(SELECT decision FROM requests WHERE id = trail.request_id)",
        "(SELECT CASE WHEN length(updated_input) <= :most_updated THEN updated_input END FROM requests"
        " WHERE id = trail.request_id)",
    ]
)


def append_row(
    connection: sqlite3.Connection,
    request_id: str,
    *,
    what: str,
    at: float,
    chat_id: int | None = None,
    message_id: int | None = None,
) -> None:
    """Add a row for something that has just been written to `requests`, with all that stands there now."""
    connection.execute(
        "INSERT INTO trail (at, request_id, what, agent, session_id,"  # noqa: S608
        " project, tool, summary, chat_id, message_id,"
        " person, user_id, verdict, choice, saved, after_s, outcome, detail, taken, ran)"
        " SELECT :at, id, :what, agent, session_id, project, tool, summary, :chat_id, :message_id, person, user_id,"
        " CASE WHEN answered_at IS NOT NULL THEN verdict WHEN outcome IS NOT NULL THEN 'none' ELSE '' END,"
        " choice, saved, after_s, coalesce(outcome, ''), detail,"
        f" CASE WHEN outcome IS NOT NULL THEN outcome IN ({_TAKEN}) END, ran"
        " FROM requests WHERE id = :id",
        {
            "id": encode_text(request_id),
            "what": what,
            "at": at,
            "chat_id": chat_id,
            "message_id": message_id,
        },
    )


def read_trail(connection: sqlite3.Connection, query: TrailQuery) -> list[TrailRow]:
    """The rows that fit, newest first."""
    where, values = _condition(query)
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM trail WHERE {where} ORDER BY seq DESC LIMIT :limit",  # noqa: S608
        values,
    )
    return [_row(values) for values in found]


def read_histories(connection: sqlite3.Connection, query: TrailQuery) -> list[tuple[TrailRow, ...]]:
    """All rows of each request with at least one row that fits: the request asked last, and each last row, last."""
    where, values = _condition(query)
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM trail WHERE request_id IN"  # noqa: S608
        f" (SELECT request_id FROM trail WHERE {where} GROUP BY request_id ORDER BY max(seq) DESC LIMIT :limit)"
        " ORDER BY min(seq) OVER (PARTITION BY request_id), seq",
        values,
    )
    rows = (_row(values) for values in found)
    return [tuple(history) for _, history in groupby(rows, key=lambda row: row.request_id)]


def _row(values: tuple[Any, ...]) -> TrailRow:
    *own, decision, updated_input = values
    held: dict[str, Any] = {
        name: readable(value) if isinstance(value, str | bytes) else value
        for name, value in zip(_NAMES, own, strict=True)
    }
    taken = held.pop("taken")
    row = TrailRow(**held, taken=None if taken is None else bool(taken))
    if row.verdict == Verdict.DENY:
        return replace(row, message=_message(decision))
    if row.verdict == Verdict.ALLOW and row.summary:
        return replace(row, instead=_instead(updated_input, row.summary))
    return row


def _message(decision: str | None) -> str:
    message = _parsed(decision).get("message")
    return readable(message) if isinstance(message, str) else ""


def _instead(updated_input: str | None, summary: str) -> str:
    updated = _parsed(updated_input)
    changed = readable(summary_of_input(updated)) if updated else ""
    return "" if changed == summary else changed


def _parsed(held: str | None) -> dict[str, Any]:
    """An object, or nothing: what somebody has spoiled in the file keeps nobody from reading the rest."""
    try:
        value = json.loads(held) if held else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _condition(query: TrailQuery) -> tuple[str, dict[str, Any]]:
    """SQL without a value in it, and the values by name."""
    parts = ["1"]
    values: dict[str, Any] = {"limit": max(query.limit, 0), "most_updated": _MOST_UPDATED_BYTES}
    if query.project.startswith("/"):
        parts.append("(project = :project OR substr(project, 1, length(:project) + 1) = :project || '/')")
        values["project"] = encode_text(query.project.rstrip("/"))
    elif query.project:
        parts.append("instr(lower(project), lower(:project)) > 0")
        values["project"] = encode_text(query.project)
    if query.session:
        parts.append("substr(session_id, 1, length(:session)) = :session")
        values["session"] = encode_text(query.session)
    if query.person:
        parts.append("(person = :person COLLATE NOCASE OR CAST(user_id AS TEXT) = :person)")
        values["person"] = encode_text(query.person)
    if query.decision:
        parts.append("(verdict = :decision OR outcome = :decision)")
        values["decision"] = encode_text(query.decision)
    if query.since is not None:
        parts.append("at >= :since")
        values["since"] = query.since
    if query.until is not None:
        parts.append("at < :until")
        values["until"] = query.until
    return " AND ".join(parts), values
