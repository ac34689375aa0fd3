"""How the daemon is: as JSON for `tapgate status`, in a line for the service's manager, in short for the phone."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Protocol

from tapgate import __version__
from tapgate.daemon.reports import Reports
from tapgate.daemon.sessions import LONGEST_ID, Sessions
from tapgate.model import Card, Person
from tapgate.telegram.commands.context import DaemonHealth

MOST_PENDING = 100
LONGEST_NAME = 200  # an agent may send anything


class OpenCards(Protocol):
    """What is asked of the desk."""

    def open_cards(self) -> list[Card]: ...

    def stale_copies(self) -> int: ...


class PollState(Protocol):
    """What is asked of the poll loop."""

    @property
    def last_success(self) -> float | None: ...

    @property
    def trouble(self) -> str: ...


class JournalState(Protocol):
    """What is asked of the journal."""

    @property
    def failure(self) -> str | None: ...


class DaemonStatus:
    def __init__(
        self,
        *,
        people: Sequence[Person],
        desk: OpenCards,
        sessions: Sessions,
        poll: PollState,
        journal: JournalState,
        reports: Reports,
        file_limit: int,
        files_needed: int,
        wall: Callable[[], float],
    ) -> None:
        self._people = people
        self._desk = desk
        self._sessions = sessions
        self._poll = poll
        self._journal = journal
        self._reports = reports
        self._file_limit = file_limit
        self._files_needed = files_needed
        self._wall = wall
        self._started_at = wall()

    def json_for(self, uid: int) -> bytes:
        """What `tapgate status` shows to this user. Nothing secret, and nothing of the questions themselves.

        Root and the daemon's own user see the sessions and requests of all, others their own.
        """
        only = None if uid in (0, os.getuid()) else uid
        cards = [card for card in self._desk.open_cards() if only in (None, card.request.caller.uid)]
        requests = [card.request for card in cards]
        waiting = Counter((one.caller.uid, one.caller.agent, one.call.session_id[:LONGEST_ID]) for one in requests)
        return json.dumps(
            {
                "running": True,
                "version": __version__,
                "pid": os.getpid(),
                "started_at": self._started_at,
                "uptime_s": round(self._wall() - self._started_at, 1),
                "people": len(self._people),
                "persons": [{"name": person.name, "role": person.role.value} for person in self._people],
                "open_requests": len(requests),
                "pending": self._pending(cards),
                "stale_cards": self._desk.stale_copies(),
                "sessions": [
                    {**asdict(session), "open_requests": waiting[session.uid, session.agent, session.id]}
                    for session in self._sessions.sessions(uid=only)
                ],
                "last_poll_at": self._poll.last_success,
                "telegram": self._poll.trouble or "ok",
                "journal": self._journal.failure or "ok",
                "file_limit": self._file_limit,
                "files_needed": self._files_needed,
                "reports": [asdict(report) for report in self._reports.last()],
            }
        ).encode()

    def _pending(self, cards: Sequence[Card]) -> list[dict[str, object]]:
        """Who has waited longest. Of what they ask only the tool: the rest stands on their cards."""
        oldest = sorted(cards, key=lambda card: card.asked_at)[:MOST_PENDING]
        return [
            {
                "project": card.request.project[-LONGEST_NAME:],
                "agent": card.request.caller.agent,
                "tool": card.request.call.tool[:LONGEST_NAME],
                "age_s": round(self._wall() - card.asked_at, 1),
                "uid": card.request.caller.uid,
            }
            for card in oldest
        ]

    def health(self) -> DaemonHealth:
        """For /status: every listed person sees the cards of all users, so it counts all of them."""
        return DaemonHealth(
            version=__version__,
            started_at=self._started_at,
            last_poll_at=self._poll.last_success,
            telegram=self._poll.trouble or "ok",
            journal=self._journal.failure or "ok",
            open_requests=len(self._desk.open_cards()),
            sessions=len(self._sessions.sessions()),
            stale_cards=self._desk.stale_copies(),
        )

    def line(self) -> str:
        heard = f"heard at {clock_words(self._poll.last_success)}" if self._poll.last_success else "not heard yet"
        journal = f"; the journal fails: {self._journal.failure}" if self._journal.failure else ""
        trouble = f"; {self._poll.trouble}" if self._poll.trouble else ""
        return f"{count_people(len(self._people))}, Telegram {heard}{trouble}{journal}"


def count_people(people: int) -> str:
    return "1 person" if people == 1 else f"{people} people"


def clock_words(wall: float) -> str:
    return time.strftime("%H:%M", time.localtime(wall))
