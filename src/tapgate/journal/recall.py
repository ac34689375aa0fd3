"""What an earlier run knew: rows back into requests. Reads only, and leaves out what it cannot read.

Any process of this user can write the file: a column may hold anything, and a row that makes no sense must not keep the
daemon from starting. What may be believed of a row that does make sense is the desk's business (desk/restart.py).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable

from tapgate.desk.memory import Remembered
from tapgate.journal.codec import decode_caller, decode_input, decode_number, decode_text, readable
from tapgate.journal.ledger import read_answer
from tapgate.model import Action, Caller, Copy, Outcome, Prompt, Ran, Request, ToolCall

Parse = Callable[[str, Caller, bytes], Request]

_WANTED = """
SELECT seq FROM requests WHERE outcome IS NULL
UNION
SELECT seq FROM requests WHERE outcome IS NOT NULL AND EXISTS (
  SELECT 1 FROM copies WHERE request_id = id AND prompt_for = 0 AND shown_version < version
)
UNION
SELECT seq FROM (
  SELECT seq FROM requests WHERE outcome IS NOT NULL AND ended_at >= :since
  ORDER BY ended_at DESC, seq DESC LIMIT :most
)
ORDER BY seq
"""


def read_remembered(
    connection: sqlite3.Connection, parse: Parse, *, since: float, most: int, unreadable: Callable[[str], None]
) -> list[Remembered]:
    """Open requests, ended ones whose cards do not say so yet, and the last `most` that ended after `since`."""
    remembered = []
    for (seq,) in connection.execute(_WANTED, {"since": since, "most": most}).fetchall():
        # Row by row: a text that is not UTF-8, or a page that is damaged, costs its own row only.
        name = f"number {seq}"
        try:
            row = _read_row(connection, seq)
            name = readable(row["id"])
            remembered.append(_decode(connection, row, parse))
        except Exception as error:
            reason = " ".join(readable(str(error) or type(error).__name__).split())
            unreadable(f"request {name} of an earlier run cannot be read and is left out: {reason}")
    return remembered


def _read_row(connection: sqlite3.Connection, seq: int) -> sqlite3.Row:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    row: sqlite3.Row = cursor.execute("SELECT * FROM requests WHERE seq = ?", (seq,)).fetchone()
    return row


def _decode(connection: sqlite3.Connection, row: sqlite3.Row, parse: Parse) -> Remembered:
    messages = connection.execute(
        "SELECT chat_id, message_id, shown_version, prompt_for, purpose, question FROM copies WHERE request_id = ?"
        " ORDER BY rowid",
        (row["id"],),
    ).fetchall()
    messages = [
        (Copy(int(chat), int(message)), int(shown), int(user), purpose, int(question))
        for chat, message, shown, user, purpose, question in messages
    ]
    behind = any(shown < int(row["version"]) for _, shown, user, *_ in messages if not user)
    # A large input of a request that is over and shown as such is of no use any more, and there may be hundreds.
    is_over = row["outcome"] is not None and row["encoding"] != "raw" and not behind
    return Remembered(
        request=_decode_request(row, parse, with_input=not is_over),
        asked_at=decode_number(row["asked_at"]),
        deadline_at=decode_number(row["deadline_at"]),
        chats=tuple(int(chat_id) for chat_id in json.loads(row["chats"])),
        answer=read_answer(row),
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        ended_at=0.0 if row["ended_at"] is None else decode_number(row["ended_at"]),
        detail=decode_text(row["detail"]),
        ran=Ran(row["ran"]),
        version=int(row["version"]),
        copies=tuple((copy, shown) for copy, shown, user, *_ in messages if not user),
        prompts=tuple(
            (copy, Prompt(user, Action(purpose), question)) for copy, _, user, purpose, question in messages if user
        ),
    )


def _decode_request(row: sqlite3.Row, parse: Parse, *, with_input: bool) -> Request:
    request_id = decode_text(row["id"])
    caller = decode_caller(row["caller"], own_uid=os.getuid())
    digest = decode_text(row["digest"])
    if row["input"] is None or not with_input:
        # Without the input, which retention may have dropped, enough is left to tell a late tap the truth.
        return Request(
            id=request_id,
            caller=caller,
            event=decode_text(row["event"]),
            call=ToolCall(
                session_id=decode_text(row["session_id"]),
                agent_id=decode_text(row["agent_id"]),
                tool=decode_text(row["tool"]),
                fingerprint=decode_text(row["fingerprint"]),
            ),
            input={},
            choices=(),
            digest=digest,
            raw=b"",
            cwd=decode_text(row["cwd"]),
        )
    request = parse(request_id, caller, decode_input(row["input"], row["encoding"]))
    if request.digest != digest:
        raise ValueError("its stored input is not the one that was recorded")
    return request
