"""Requests, entries and a parser for the tests of the journal, made by hand once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tapgate.desk.effects import AnsweredEntry, AskedEntry, CopyEntry, SettledEntry
from tapgate.errors import InputError
from tapgate.journal import Journal
from tapgate.model import Answer, Caller, Copy, Decision, Json, Outcome, Request, ToolCall, Verdict

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
DAY_S = 86_400.0


def parse(request_id: str, caller: Caller, raw: bytes) -> Request:
    """A dialect of its own: the whole stdin is an object with a tool and its input."""
    try:
        found = json.loads(raw)
    except ValueError as error:
        raise InputError("this is not JSON") from error
    return Request(
        id=request_id,
        caller=caller,
        event="PermissionRequest",
        call=ToolCall(
            session_id=found.get("session", "session-1"),
            agent_id="",
            tool=found.get("tool", "Bash"),
            fingerprint=hashlib.sha256(raw).hexdigest(),
        ),
        input=found.get("input", {}),
        choices=(),
        digest=hashlib.sha256(raw).hexdigest(),
        raw=raw,
        cwd=found.get("cwd", "/home/ada/shop"),
    )


def make_request(request_id: str = "r1", *, caller: Caller | None = None, **content: Json) -> Request:
    raw = json.dumps({"input": {"command": "make test"}, **content}).encode()
    return parse(request_id, caller or Caller(agent="claude", deadline_s=590.0, pid=7, parent_pid=6), raw)


def asked(request: Request | str = "r1", *, at: float = NOW, chats: tuple[int, ...] = (11,)) -> AskedEntry:
    found = make_request(request) if isinstance(request, str) else request
    return AskedEntry(request=found, asked_at=at, deadline_at=at + 590, fits=True, chats=chats)


def make_answer(verdict: Verdict = Verdict.ALLOW, *, at: float = NOW + 4, person: str = "Ada") -> Answer:
    return Answer(
        person=person,
        user_id=42,
        choice_key="a",
        label="Allow" if verdict is Verdict.ALLOW else "Deny",
        decision=Decision(verdict),
        at=at,
        after_s=at - NOW,
    )


def answered(request_id: str = "r1", *, answer: Answer | None = None, version: int = 1) -> AnsweredEntry:
    return AnsweredEntry(request_id, answer or make_answer(), version)


def settled(
    request_id: str = "r1", outcome: Outcome = Outcome.ALLOWED, *, at: float = NOW + 5, version: int = 2
) -> SettledEntry:
    return SettledEntry(request_id, outcome, at, "", version)


def posted(request_id: str = "r1", *, message_id: int = 100, version: int = 0) -> CopyEntry:
    return CopyEntry(request_id, Copy(11, message_id), version)


class Clock:
    """The wall clock, standing still until a test moves it."""

    def __init__(self) -> None:
        self.now = NOW + 60

    def __call__(self) -> float:
        return self.now


class Opener:
    """Opens journals, keeps what they report, and closes those that a test left open."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "state" / "journal.db"
        self.wall = Clock()
        self.reports: list[str] = []
        self._opened: list[Journal] = []

    async def __call__(self, *, path: Path | None = None, keep_days: int = 90, keep_inputs: bool = True) -> Journal:
        journal = await Journal.open(
            path or self.path,
            keep_days=keep_days,
            keep_inputs=keep_inputs,
            wall=self.wall,
            report=self.reports.append,
        )
        self._opened.append(journal)
        return journal

    async def close(self) -> None:
        for journal in self._opened:
            await journal.close()
