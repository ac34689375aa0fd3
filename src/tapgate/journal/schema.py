"""The tables, as numbered migrations. A step that has been released is never edited; a change is a new step."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from tapgate.errors import JournalError

APPLICATION_ID = 0x74617067  # "tapg", in the file's header: another program's database is told apart by it

_FIRST = """
PRAGMA application_id = 1952542823;

CREATE TABLE requests (
  seq           INTEGER PRIMARY KEY,
  id            TEXT NOT NULL UNIQUE,
  agent         TEXT NOT NULL,
  event         TEXT NOT NULL,
  session_id    TEXT NOT NULL,
  agent_id      TEXT NOT NULL,
  project       TEXT NOT NULL,
  cwd           TEXT NOT NULL,
  tool          TEXT NOT NULL,
  fingerprint   TEXT NOT NULL,
  digest        TEXT NOT NULL,
  caller        TEXT NOT NULL,             -- JSON
  input         BLOB,                      -- the agent's own bytes; NULL once retention has dropped them
  encoding      TEXT NOT NULL CHECK (encoding IN ('raw', 'zlib')),
  summary       TEXT NOT NULL,
  asked_at      REAL NOT NULL,
  deadline_at   REAL NOT NULL,
  fits          INTEGER NOT NULL,
  seen          INTEGER NOT NULL DEFAULT 0,
  chats         TEXT NOT NULL,             -- JSON
  answered_at   REAL,                      -- NULL while nobody has answered
  person        TEXT NOT NULL DEFAULT '',
  user_id       INTEGER,
  choice_key    TEXT NOT NULL DEFAULT '',
  choice        TEXT NOT NULL DEFAULT '',
  saved         TEXT NOT NULL DEFAULT '',
  after_s       REAL,
  verdict       TEXT NOT NULL DEFAULT '',
  decision      TEXT,                      -- JSON, without updated_input
  updated_input TEXT,                      -- JSON, apart because it repeats the input and may be dropped with it
  outcome       TEXT,                      -- NULL while open
  ended_at      REAL,
  detail        TEXT NOT NULL DEFAULT '',
  ran           TEXT NOT NULL DEFAULT '',
  version       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX requests_open ON requests (seq) WHERE outcome IS NULL;
CREATE INDEX requests_ended ON requests (ended_at) WHERE outcome IS NOT NULL;

-- The first answer wins, and the first end: here too, should the code above ever forget it.
CREATE TRIGGER requests_first_answer
  BEFORE UPDATE OF answered_at, person, user_id, choice_key, choice, saved, after_s, verdict, decision ON requests
  WHEN OLD.answered_at IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'the first answer stands'); END;
CREATE TRIGGER requests_first_outcome
  BEFORE UPDATE OF outcome, ended_at, detail ON requests
  WHEN OLD.outcome IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'the first outcome stands'); END;

CREATE TABLE copies (
  request_id    TEXT NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
  chat_id       INTEGER NOT NULL,
  message_id    INTEGER NOT NULL,
  shown_version INTEGER NOT NULL,
  prompt_for    INTEGER NOT NULL DEFAULT 0, -- the user who is asked for a reason; 0: a copy of the card
  UNIQUE (request_id, chat_id, message_id)
);

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value NOT NULL
) WITHOUT ROWID;

-- A row holds what was known about its request at that moment, so it stands alone when the request is gone.
CREATE TABLE trail (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at         REAL NOT NULL,
  request_id TEXT NOT NULL,
  what       TEXT NOT NULL CHECK (what IN ('asked', 'posted', 'seen', 'answered', 'settled', 'ran')),
  agent      TEXT NOT NULL,
  session_id TEXT NOT NULL,
  project    TEXT NOT NULL,
  tool       TEXT NOT NULL,
  summary    TEXT NOT NULL,
  chat_id    INTEGER,
  message_id INTEGER,
  person     TEXT NOT NULL,
  user_id    INTEGER,
  verdict    TEXT NOT NULL,
  choice     TEXT NOT NULL,
  saved      TEXT NOT NULL,
  after_s    REAL,
  outcome    TEXT NOT NULL,
  detail     TEXT NOT NULL,
  taken      INTEGER,                      -- NULL while it has not ended
  ran        TEXT NOT NULL
);
CREATE INDEX trail_of_request ON trail (request_id);
CREATE INDEX trail_at ON trail (at);

CREATE TRIGGER trail_no_update BEFORE UPDATE ON trail
  BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END;
CREATE TRIGGER trail_no_replace BEFORE INSERT ON trail
  WHEN EXISTS (SELECT 1 FROM trail WHERE seq = NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END;
-- Retention first writes its cutoff, then deletes what is older; any other DELETE meets a row that is not.
CREATE TRIGGER trail_no_delete BEFORE DELETE ON trail
  WHEN OLD.at >= coalesce((SELECT value FROM meta WHERE key = 'trail_cutoff'), OLD.at)
  BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END;
"""

_DRAFTS = """
ALTER TABLE requests ADD COLUMN draft TEXT;      -- JSON: what was put together on the card so far
ALTER TABLE copies ADD COLUMN purpose TEXT NOT NULL DEFAULT 'ask_reason';  -- what a prompt asks for
ALTER TABLE copies ADD COLUMN question INTEGER NOT NULL DEFAULT 0;         -- and to which question of a form
"""

_REOPENED = """
-- Nothing is put together from the journal any more: the columns `draft`, `seen` and `fits` of `requests` are not read.
UPDATE requests SET draft = NULL;

-- The first answer of a run wins. The next run takes an answer back that never reached its caller.
DROP TRIGGER IF EXISTS requests_first_answer;
CREATE TRIGGER requests_first_answer
  BEFORE UPDATE OF answered_at, person, user_id, choice_key, choice, saved, after_s, verdict, decision ON requests
  WHEN OLD.answered_at IS NOT NULL AND (NEW.answered_at IS NOT NULL OR OLD.outcome IS NOT NULL)
  BEGIN SELECT RAISE(ABORT, 'the first answer stands'); END;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _DRAFTS, _REOPENED)


def version_of(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def check_version(connection: sqlite3.Connection, *, source: str, known: int = len(MIGRATIONS)) -> int:
    """The file's schema version. One that a newer tapgate wrote is refused: writing to it could harm it."""
    version = version_of(connection)
    if version > known:
        raise JournalError(
            f"{source} was written by a newer tapgate (schema {version}; this one knows {known}): "
            "upgrade tapgate, or move the file away to begin a new one"
        )
    return version


def migrate(connection: sqlite3.Connection, *, source: str, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the file to the newest schema. Each step is one transaction together with its number.

    Somebody else may be at it at the same time, an opening that was cancelled and goes on in its thread: so the number
    is read again once nobody else can write.
    """
    for number in range(check_version(connection, source=source, known=len(migrations)), len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version_of(connection) == number:
                for statement in _statements(migrations[number]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _statements(script: str) -> Iterator[str]:
    """One after another: executescript would end the transaction first."""
    statement = ""
    for piece in script.split(";")[:-1]:
        statement += f"{piece};"
        if sqlite3.complete_statement(statement):  # and not in the middle of a trigger or a comment
            yield statement
            statement = ""
