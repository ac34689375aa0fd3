"""One request's state at the desk, and the card that shows it. Only desk.py changes a case."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from tapgate.core.events import Left
from tapgate.core.memory import Remembered
from tapgate.model import (
    NO_BACKGROUND,
    Act,
    Answer,
    Background,
    Card,
    Choice,
    Copy,
    Decision,
    Instant,
    Outcome,
    Phase,
    Ran,
    Request,
    Verdict,
)

SLIM_BYTES = 4096
ADOPT_S = 30.0  # how long a caller may take to come back after a restart
SHOW_WHOLE = Choice("w", "Show all of it", Act.SHOW_WHOLE, seal="whole")


@dataclass(slots=True)
class Case:
    request: Request
    asked: Instant
    deadline: float  # on the monotonic clock
    chats: tuple[int, ...]
    fits: bool = True
    phase: Phase = Phase.OPEN
    caller_here: bool = True
    away_until: float | None = None  # a caller that broke off in a restart is expected back until then
    pending: set[int] = field(default_factory=set)  # chats that a card is on its way to
    copies: dict[Copy, int] = field(default_factory=dict)  # each with the version that it shows
    prompts: dict[Copy, int] = field(default_factory=dict)  # questions for a reason, each with the user asked
    asking: set[tuple[int, int]] = field(default_factory=set)  # (chat, user) whose prompt is on its way
    seen_in: set[int] = field(default_factory=set)  # chats that have the whole content
    answer: Answer | None = None
    answered: Instant | None = None
    query_id: str = ""  # the tap that answered, while it is not yet acknowledged
    resent: bool = False  # the answer may have reached the caller before a restart
    left: Left | None = None
    leave_by: float | None = None
    outcome: Outcome | None = None
    ended_at: float = 0.0
    detail: str = ""
    ran: Ran = Ran.UNKNOWN
    refreshed: bool = False
    version: int = 0
    background: Background = NO_BACKGROUND

    @property
    def deadline_at(self) -> float:
        return self.asked.wall + (self.deadline - self.asked.mono)

    def is_whole(self, chat_id: int) -> bool:
        """Whether all of the request was shown in this chat."""
        return self.fits or chat_id in self.seen_in

    def offered(self, chat_id: int) -> tuple[Choice, ...]:
        """The buttons on the card in this chat. What was not shown whole offers no way to allow it (rule 9)."""
        if self.phase is not Phase.OPEN:
            return ()
        if self.is_whole(chat_id):
            return self.request.choices
        refusing = (choice for choice in self.request.choices if choice.decision.verdict is not Verdict.ALLOW)
        return (SHOW_WHOLE, *refusing)

    def find_choice(self, key: str, seal: str) -> Choice | None:
        for choice in (*self.request.choices, SHOW_WHOLE):
            if choice.key == key and choice.seal == seal:
                return choice
        return None

    def card(self, chat_id: int | None = None) -> Card:
        """The card as it stands in this chat; without one, where the most of it was shown."""
        if chat_id is None:
            chat_id = next(iter(self.seen_in), 0)
        return Card(
            request=self.request,
            phase=self.phase,
            choices=self.offered(chat_id),
            asked_at=self.asked.wall,
            deadline_at=self.deadline_at,
            answer=self.answer,
            outcome=self.outcome,
            ended_at=self.ended_at,
            ran=self.ran,
            detail=self.detail,
            refreshed=self.refreshed,
            version=self.version,
            background=self.background,
        )

    def next_deadline(self) -> float | None:
        """When something happens to this case although nobody does anything."""
        if self.phase is Phase.SETTLED:
            return None
        times = [self.deadline, self.away_until, self.leave_by]
        return min(time for time in times if time is not None)

    def is_open(self) -> bool:
        """Somebody at the terminal, or the agent's own course, can still settle it."""
        return self.phase in (Phase.OPEN, Phase.LEAVING)


def slimmed(request: Request) -> Request:
    """What a settled request still needs: enough for its short card. Hundreds are kept, and one may have 16 MiB."""
    if len(request.raw) <= SLIM_BYTES:
        return request
    kept = {
        key: value[:SLIM_BYTES] if isinstance(value, str) else value
        for key, value in itertools.islice(request.input.items(), 20)
        if isinstance(value, str | int | float | None)
    }
    choices = tuple(replace(choice, decision=Decision(choice.decision.verdict)) for choice in request.choices)
    return replace(request, raw=b"", input=kept, choices=choices)


def recall(memory: Remembered, now: Instant) -> Case:
    """A case from the journal. Its caller is away, and expected back for a while."""
    # The monotonic clock may have begun anew with the machine: what is left is reckoned on the wall clock. A returning
    # caller brings the true figure.
    left_s = max(0.0, min(memory.deadline_at - now.wall, memory.deadline_at - memory.asked_at))
    age_s = max(0.0, now.wall - memory.asked_at)
    found = Case(
        request=memory.request,
        asked=Instant(now.mono - age_s, memory.asked_at),
        deadline=now.mono + left_s,
        chats=memory.chats,
        fits=memory.fits,
        caller_here=False,
        copies=dict(memory.copies),
        prompts=dict(memory.prompts),
        seen_in=set(memory.chats) if memory.seen else set(),
        answer=memory.answer,
        outcome=memory.outcome,
        ended_at=memory.ended_at,
        detail=memory.detail,
        ran=memory.ran,
        version=memory.version,
    )
    found.pending = set(memory.chats) - {copy.chat_id for copy in found.copies}
    if memory.answer is not None:
        found.answered = Instant(now.mono - max(0.0, now.wall - memory.answer.at), memory.answer.at)
    if memory.outcome is not None:
        found.phase = Phase.SETTLED
        found.request = slimmed(memory.request)
        return found
    found.away_until = now.mono + ADOPT_S
    if memory.answer is not None:
        found.phase = Phase.SENDING
        found.resent = True
    return found
