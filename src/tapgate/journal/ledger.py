"""Entries into rows, inside somebody else's transaction. Nothing is overwritten: what was first on disk stands."""

from __future__ import annotations

import sqlite3
from typing import Any

from tapgate.desk.effects import (
    AnsweredEntry,
    AskedEntry,
    CopyEntry,
    Entry,
    RanEntry,
    ReopenedEntry,
    SeenEntry,
    SettledEntry,
    ShownEntry,
)
from tapgate.errors import JournalError
from tapgate.journal.codec import (
    decode_decision,
    decode_number,
    decode_text,
    encode_caller,
    encode_decision,
    encode_input,
    encode_json,
    encode_text,
    same_answer,
    summary_of,
)
from tapgate.journal.trail import append_row
from tapgate.model import Answer, Copy, Prompt


def write_entry(connection: sqlite3.Connection, entry: Entry, *, at: float, keep_inputs: bool) -> None:
    """Write one entry and its row of the trail. A repeated one changes nothing; one that contradicts is refused."""
    match entry:
        case AskedEntry():
            _write_asked(connection, entry, keep_inputs=keep_inputs)
        case CopyEntry():
            _write_copy(connection, entry, at=at)
        case ShownEntry():
            _write_shown(connection, entry, at=at)
        case SeenEntry():
            _write_seen(connection, entry, at=at)
        case AnsweredEntry():
            _write_answered(connection, entry)
        case ReopenedEntry():
            _write_reopened(connection, entry)
        case SettledEntry():
            _write_settled(connection, entry)
        case RanEntry():
            _write_ran(connection, entry)


def read_answer(row: sqlite3.Row) -> Answer | None:
    """The answer in a row of `requests`, as it was given."""
    if row["answered_at"] is None:
        return None
    return Answer(
        person=decode_text(row["person"]),
        user_id=int(row["user_id"]),
        choice_key=decode_text(row["choice_key"]),
        label=decode_text(row["choice"]),
        decision=decode_decision(row["decision"], row["updated_input"]),
        at=decode_number(row["answered_at"]),
        after_s=decode_number(row["after_s"]),
        saved=decode_text(row["saved"]),
    )


def _write_asked(connection: sqlite3.Connection, entry: AskedEntry, *, keep_inputs: bool) -> None:
    request = entry.request
    held, encoding = encode_input(request.raw)
    values: dict[str, Any] = {
        "id": encode_text(request.id),
        "agent": encode_text(request.caller.agent),
        "event": encode_text(request.event),
        "session_id": encode_text(request.call.session_id),
        "agent_id": encode_text(request.call.agent_id),
        "project": encode_text(request.project),
        "cwd": encode_text(request.cwd),
        "tool": encode_text(request.call.tool),
        "fingerprint": encode_text(request.call.fingerprint),
        "digest": encode_text(request.digest),
        "caller": encode_caller(request.caller),
        "input": held,
        "encoding": encoding,
        # The trail cannot be cleaned of it later, so with inputs unwanted it is not written in the first place.
        "summary": encode_text(summary_of(request)) if keep_inputs else "",
        "asked_at": entry.asked_at,
        "deadline_at": entry.deadline_at,
        "fits": entry.fits,
        "chats": encode_json(entry.chats),
    }
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    added = connection.execute(
        f"INSERT INTO requests ({names}) VALUES ({marks}) ON CONFLICT (id) DO NOTHING",  # noqa: S608
        values,
    ).rowcount
    if added:
        append_row(connection, request.id, what="asked", at=entry.asked_at)
    elif decode_text(_known(connection, request.id)["digest"]) != request.digest:
        raise JournalError(f"request {request.id} is recorded with another input; it must ask under a new id")


def _write_copy(connection: sqlite3.Connection, entry: CopyEntry, *, at: float) -> None:
    _known(connection, entry.request_id)
    added = connection.execute(
        "INSERT INTO copies (request_id, chat_id, message_id, shown_version, prompt_for, purpose, question)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request_id, chat_id, message_id) DO NOTHING",
        (*_key(entry.request_id, entry.copy), entry.version, *_prompted(entry.prompt)),
    ).rowcount
    if added and entry.prompt is None:
        _raise_version(connection, entry.request_id, entry.version)
        append_row(
            connection,
            entry.request_id,
            what="posted",
            at=at,
            chat_id=entry.copy.chat_id,
            message_id=entry.copy.message_id,
        )


def _write_shown(connection: sqlite3.Connection, entry: ShownEntry, *, at: float) -> None:
    # A copy whose own entry was lost to a full disk is known from here on.
    _write_copy(connection, CopyEntry(entry.request_id, entry.copy, version=entry.version), at=at)
    connection.execute(
        "UPDATE copies SET shown_version = :version WHERE request_id = :id AND chat_id = :chat_id"
        " AND message_id = :message_id AND shown_version < :version",
        {
            "id": encode_text(entry.request_id),
            "chat_id": entry.copy.chat_id,
            "message_id": entry.copy.message_id,
            "version": entry.version,
        },
    )
    _raise_version(connection, entry.request_id, entry.version)


def _write_seen(connection: sqlite3.Connection, entry: SeenEntry, *, at: float) -> None:
    if not _known(connection, entry.request_id)["seen"]:
        connection.execute("UPDATE requests SET seen = 1 WHERE id = ?", (encode_text(entry.request_id),))
        append_row(connection, entry.request_id, what="seen", at=at)


def _prompted(prompt: Prompt | None) -> tuple[int, str, int]:
    found = prompt or Prompt(user_id=0)
    return found.user_id, found.purpose.value, found.question


def _write_answered(connection: sqlite3.Connection, entry: AnsweredEntry) -> None:
    row = _known(connection, entry.request_id)
    answer = entry.answer
    first = read_answer(row)
    if first is not None:
        if same_answer(first, answer):
            return
        raise JournalError(f"request {entry.request_id} has been answered before; the first answer stands")
    if row["outcome"] is not None:
        raise JournalError(f"request {entry.request_id} ended without this answer; it comes too late")
    decision, updated_input = encode_decision(answer.decision)
    connection.execute(
        "UPDATE requests SET answered_at = :at, person = :person, user_id = :user_id, choice_key = :choice_key,"
        " choice = :choice, saved = :saved, after_s = :after_s, verdict = :verdict, decision = :decision,"
        " updated_input = :updated_input, version = max(version, :version) WHERE id = :id",
        {
            "id": encode_text(entry.request_id),
            "at": answer.at,
            "person": encode_text(answer.person),
            "user_id": answer.user_id,
            "choice_key": encode_text(answer.choice_key),
            "choice": encode_text(answer.label),
            "saved": encode_text(answer.saved),
            "after_s": answer.after_s,
            "verdict": answer.decision.verdict.value,
            "decision": decision,
            "updated_input": updated_input,
            "version": entry.version,
        },
    )
    append_row(connection, entry.request_id, what="answered", at=answer.at)


def _write_reopened(connection: sqlite3.Connection, entry: ReopenedEntry) -> None:
    """The answer that was recorded stays in the trail; the request has none any more."""
    if _known(connection, entry.request_id)["outcome"] is not None:
        raise JournalError(f"request {entry.request_id} has ended before; it cannot be answered again")
    connection.execute(
        "UPDATE requests SET answered_at = NULL, person = '', user_id = NULL, choice_key = '', choice = '', saved = '',"
        " after_s = NULL, verdict = '', decision = NULL, updated_input = NULL WHERE id = ?",
        (encode_text(entry.request_id),),
    )


def _write_settled(connection: sqlite3.Connection, entry: SettledEntry) -> None:
    if _known(connection, entry.request_id)["outcome"] is not None:
        raise JournalError(f"request {entry.request_id} has ended before; how it ended first stands")
    connection.execute(
        "UPDATE requests SET outcome = :outcome, ended_at = :ended_at, detail = :detail,"
        " version = max(version, :version) WHERE id = :id",
        {
            "id": encode_text(entry.request_id),
            "outcome": entry.outcome.value,
            "ended_at": entry.ended_at,
            "detail": encode_text(entry.detail),
            "version": entry.version,
        },
    )
    append_row(connection, entry.request_id, what="settled", at=entry.ended_at)


def _write_ran(connection: sqlite3.Connection, entry: RanEntry) -> None:
    news = _known(connection, entry.request_id)["ran"] != entry.ran.value
    connection.execute(
        "UPDATE requests SET ran = ?, version = max(version, ?) WHERE id = ?",
        (entry.ran.value, entry.version, encode_text(entry.request_id)),
    )
    if news:
        append_row(connection, entry.request_id, what="ran", at=entry.at)


def _known(connection: sqlite3.Connection, request_id: str) -> sqlite3.Row:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    row: sqlite3.Row | None = cursor.execute(
        "SELECT digest, seen, outcome, ran, answered_at, person, user_id, choice_key, choice, saved, after_s,"
        " decision, updated_input FROM requests WHERE id = ?",
        (encode_text(request_id),),
    ).fetchone()
    if row is None:
        raise JournalError(f"request {request_id} is not in the journal, so nothing about it can be recorded")
    return row


def _raise_version(connection: sqlite3.Connection, request_id: str, version: int) -> None:
    """What a copy shows exists, so the request's newest version is never older than that."""
    connection.execute(
        "UPDATE requests SET version = ? WHERE id = ? AND version < ?",
        (version, encode_text(request_id), version),
    )


def _key(request_id: str, copy: Copy) -> tuple[str | bytes, int, int]:
    return encode_text(request_id), copy.chat_id, copy.message_id
