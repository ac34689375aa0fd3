"""Which sessions were heard from, for `tapgate status`. In memory only; knows nothing of their questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapgate.agents.agent import AgentEvent, Ignored
from tapgate.desk.events import SessionEnded, ToolEnded
from tapgate.model import NO_UID, Caller, Request

KEPT_S = 12 * 3600.0  # an agent that was killed says no goodbye
MOST = 100  # of each user
LONGEST_PATH = 4096  # no path is longer
LONGEST_ID = 200  # agents send 36 characters; others may send anything


@dataclass(frozen=True, slots=True)
class Session:
    agent: str
    id: str
    project: str
    first_at: float
    last_at: float
    uid: int = NO_UID


class Sessions:
    def __init__(self, *, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._sessions: dict[tuple[int, str, str], Session] = {}

    def note(self, caller: Caller, event: AgentEvent) -> None:
        """Somebody spoke: the session is alive, or has just ended."""
        if isinstance(event, Ignored):
            return
        now = self._wall()
        session_id = event.call.session_id if isinstance(event, Request | ToolEnded) else event.session_id
        key = (caller.uid, caller.agent, session_id[:LONGEST_ID])
        known = self._sessions.pop(key, None)  # put in again at the end: the oldest stand first
        if isinstance(event, SessionEnded) or not session_id:
            return
        project = (event.project if isinstance(event, Request) else caller.project) or (known.project if known else "")
        project = project[:LONGEST_PATH]
        if known is None:
            known = Session(*key[1:], project, now, now, caller.uid)
        self._sessions[key] = replace(known, project=project, last_at=now)
        own = [one for one in self._sessions if one[0] == caller.uid]  # one user's many push out no other user's
        for one in own[: max(0, len(own) - MOST)]:
            del self._sessions[one]

    def sessions(self, *, uid: int | None = None) -> tuple[Session, ...]:
        """Those heard from lately, the last one first: of this user, or of all."""
        now = self._wall()
        event = (session for session in reversed(self._sessions.values()) if now - session.last_at < KEPT_S)
        return tuple(session for session in event if uid is None or session.uid == uid)
