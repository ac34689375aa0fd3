"""What a phone command may ask, as plain values: the daemon fills them in, and commands know no journal and no desk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tapgate.model import Card, Outcome
from tapgate.telegram.display import DisplayOptions


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """How one request ended."""

    at: float
    project: str
    tool: str
    summary: str
    outcome: Outcome
    person: str = ""
    ran_against: bool = False  # it ran although the phone had said no
    instead: str = ""  # what ran in its place
    message: str = ""  # what a person told the agent with a deny


@dataclass(frozen=True, slots=True)
class DaemonHealth:
    """What `tapgate status` tells, in short."""

    version: str
    started_at: float
    last_poll_at: float | None
    telegram: str  # "ok", or what is wrong
    journal: str  # the same
    open_requests: int
    sessions: int
    stale_cards: int = 0


@dataclass(frozen=True, slots=True)
class CommandContext:
    setting: DisplayOptions
    wall: Callable[[], float]
    past_answers: Callable[[int], Awaitable[Sequence[PastAnswer]]]
    """The last ones, the newest first, at most so many. Raises JournalError."""
    open_cards: Callable[[], Sequence[Card]]
    health: Callable[[], DaemonHealth]
