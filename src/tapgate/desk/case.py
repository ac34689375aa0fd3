"""One request's state at the desk, and the card that shows it. Only desk.py changes a case."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tapgate.desk.calls import edited_fingerprint
from tapgate.desk.drafts import choices_of, edited_input, edited_text, refuses
from tapgate.desk.events import Left, Replied, Tapped
from tapgate.desk.memory import Remembered
from tapgate.desk.people import offered_to
from tapgate.model import (
    NO_CONTEXT,
    NO_DRAFT,
    Action,
    Answer,
    Card,
    Choice,
    Context,
    Copy,
    Decision,
    Draft,
    Instant,
    Link,
    Outcome,
    Person,
    Phase,
    Prompt,
    Ran,
    Request,
    Risk,
    Role,
)

SLIM_BYTES = 4096
SLIM_LABEL = 300
BEHIND = -1  # the version of a copy that no edit of this run has been confirmed for
MOST_VERSION = 1_000_000  # of an earlier run: a row of the journal may hold any number
ADOPT_S = 30.0  # how long a caller may take to come back after a restart
UNDELIVERED_S = 15.0  # how long an agent that shows no prompt of its own waits for a card to reach anybody
SHOW_WHOLE = Choice("w", "Show all of it", Action.SHOW_WHOLE, seal="whole")
SHOW_HIDDEN = Choice("h", "Show hidden", Action.SHOW_HIDDEN, seal="hidden")
LIST_KEY = "b"


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
    retired: set[Copy] = field(default_factory=set)  # messages that count no more: replaced by another, or deleted
    replacing: dict[int, int] = field(default_factory=dict)  # chats a new message goes to, and the version it shows
    is_reposted: bool = False  # all copies were deleted once, and it was posted again
    prompts: dict[Copy, Prompt] = field(default_factory=dict)  # questions for a text
    asking: set[tuple[int, Prompt]] = field(default_factory=set)  # the chat of each that is on its way
    seen_in: set[int] = field(default_factory=set)  # chats that have the whole content
    answer: Answer | None = None
    answered: Instant | None = None
    edited_as: str = ""  # the fingerprint of the call with the text that the answer put in
    query_id: str = ""  # the tap that answered, while it is not yet acknowledged
    claimed: Answer | None = None  # what the journal says was answered before a restart; it may have been passed on
    from_journal: bool = False  # `answer` is only what the journal says
    kept: list[Tapped | Replied] = field(default_factory=list)  # came before the caller was back from a restart
    restarted: bool = False  # the card says so
    left: Left | None = None
    leave_by: float | None = None
    undelivered_by: float | None = None  # the agent is let go then, if no card has reached anybody
    outcome: Outcome | None = None
    ended_at: float = 0.0
    detail: str = ""
    ran: Ran = Ran.UNKNOWN
    refreshed: bool = False
    version: int = 0
    changed_at: int = 0  # the version since which the card names other risks than before; 0 where it never did
    context: Context = NO_CONTEXT
    risks: tuple[Risk, ...] = ()
    draft: Draft = NO_DRAFT
    draft_risks: tuple[Risk, ...] = ()  # of the text in the draft
    draft_links: tuple[Link, ...] = ()
    ranks: Mapping[int, Role] = field(default_factory=dict)  # the most that anybody may do, chat by chat
    told: tuple[int, ...] = ()  # how many go together in each chat, as its copies were told last
    number: int = 0  # the order in which requests came

    @property
    def deadline_at(self) -> float:
        return self.asked.wall + (self.deadline - self.asked.mono)

    @property
    def awaits_caller(self) -> bool:
        """Known from the journal only: nothing is decided before the caller is back with the bytes themselves."""
        return self.phase is Phase.OPEN and self.away_until is not None

    def is_whole(self, chat_id: int) -> bool:
        """Whether all of the request was shown in this chat."""
        return self.fits or chat_id in self.seen_in

    def shown_risks(self) -> tuple[Risk, ...]:
        """Of what the card would allow as it stands."""
        return self.draft_risks if self.draft.text is not None else self.risks

    def shown_background(self) -> Context:
        return self.context if self.draft.text is None else replace(self.context, links=self.draft_links)

    def offered(self, chat_id: int, *, several: int = 0, listed: tuple[Request, ...] = ()) -> tuple[Choice, ...]:
        """The buttons on the card in this chat. What was not shown whole offers no way to allow it (rule 9).

        `several` open requests could be allowed together with this one.
        """
        if self.phase is not Phase.OPEN:
            return ()
        digests = tuple(request.digest for request in listed)
        risks = self.shown_risks()
        twice = any(risk.asks_twice for risk in risks)
        choices = choices_of(self.request, self.draft, risky=bool(risks), twice=twice, listed=digests)
        reveal = (SHOW_HIDDEN,) if any(risk.reveals for risk in risks) and not self.draft.listed else ()
        if not self.is_whole(chat_id):
            choices = (SHOW_WHOLE, *reveal, *filter(refuses, choices))
        elif reveal:
            choices = (*choices, *reveal)
        elif several and self.draft == NO_DRAFT:
            choices = (*choices, Choice(LIST_KEY, f"Allow these {several}…", Action.LIST, seal="several"))
        return offered_to(self.ranks.get(chat_id, Role.OWNER), choices)

    def find_choice(self, key: str, seal: str) -> Choice | None:
        """A choice that this request's card may have had as it came."""
        for choice in (*self.request.choices, SHOW_WHOLE, SHOW_HIDDEN):
            if choice.key == key and choice.seal == seal:
                return choice
        return None

    def card(self, chat_id: int | None = None, *, several: int = 0, listed: tuple[Request, ...] = ()) -> Card:
        """The card as it stands in this chat; without one, where the most of it was shown."""
        if chat_id is None:
            chat_id = next(iter(self.seen_in), self.chats[0] if self.chats else 0)
        return Card(
            request=self.request,
            phase=self.phase,
            choices=self.offered(chat_id, several=several, listed=listed),
            asked_at=self.asked.wall,
            deadline_at=self.deadline_at,
            answer=self.answer,
            outcome=self.outcome,
            ended_at=self.ended_at,
            ran=self.ran,
            detail=self.detail,
            refreshed=self.refreshed,
            restarted=self.restarted,
            from_journal=self.from_journal,
            version=self.version,
            context=self.shown_background(),
            risks=self.shown_risks(),
            draft=self.draft,
            listed=listed,
        )

    def next_deadline(self) -> float | None:
        """When something happens to this case although nobody does anything."""
        if self.phase is Phase.SETTLED:
            return None
        times = [self.deadline, self.away_until, self.leave_by]
        if self.is_undelivered():
            times.append(self.undelivered_by)
        return min(time for time in times if time is not None)

    def is_undelivered(self) -> bool:
        """Whether the agent waits, with no prompt of its own, for a card that nobody is known to have."""
        return self.phase is Phase.OPEN and not self.copies and self.undelivered_by is not None

    def expect_delivery(self, mono: float) -> None:
        """A card is on its way from now on. Only agents that show no prompt of their own are let go without one."""
        self.undelivered_by = None if self.request.shows_own_prompt else mono + UNDELIVERED_S

    def is_open(self) -> bool:
        """Somebody at the terminal, or the agent's own course, can still settle it."""
        return self.phase in (Phase.OPEN, Phase.LEAVING)


def answer_by(person: Person, choice: Choice, asked: Instant, now: Instant) -> Answer:
    """What a person says by this button."""
    return Answer(
        person=person.name,
        user_id=person.user_id,
        choice_key=choice.key,
        label=choice.label,
        decision=choice.decision,
        at=now.wall,
        after_s=max(0.0, now.mono - asked.mono),
        saved=choice.saved,
    )


def edited_request(request: Request, draft: Draft) -> Request | None:
    """The request with the text of the draft in it; None where the draft has none."""
    return None if draft.text is None else replace(request, input=edited_input(request, draft.text))


def slimmed(request: Request) -> Request:
    """What a settled request still needs: enough for its short card. Hundreds are kept, and one may have 16 MiB."""
    if len(request.raw) <= SLIM_BYTES:
        return request
    kept = {
        key: value[:SLIM_BYTES] if isinstance(value, str) else value
        for key, value in itertools.islice(request.input.items(), 20)
        if isinstance(value, str | int | float | None)
    }
    choices = tuple(
        replace(choice, label=choice.label[:SLIM_LABEL], decision=Decision(choice.decision.verdict))
        for choice in request.choices
    )
    texts = ("cwd", "transcript_path", "agent_type", "prompt_id", "permission_mode", "blocked_path", "mcp_server")
    cut: dict[str, Any] = {name: getattr(request, name)[:SLIM_BYTES] for name in texts}
    call = request.call
    return replace(
        request,
        **cut,
        call=replace(
            call,
            session_id=call.session_id[:SLIM_BYTES],
            agent_id=call.agent_id[:SLIM_BYTES],
            tool=call.tool[:SLIM_BYTES],
        ),
        raw=b"",
        input=kept,
        choices=choices,
        form=None,
        decision_reason=request.decision_reason[:SLIM_BYTES],
    )


def slimmed_answer(request: Request, answer: Answer | None) -> Answer | None:
    """An answer may echo the whole input: of a settled one, the text that a person wrote is enough."""
    if answer is None or answer.decision.updated_input is None:
        return answer
    text = edited_text(request, answer.decision)
    updated = None if text is None else {request.editable: text}
    return replace(answer, decision=replace(answer.decision, updated_input=updated))


def recall(memory: Remembered, now: Instant) -> Case:
    """A case from the journal. Its caller is away, and expected back for a while.

    An open one begins anew: no answer, no draft, nothing seen, and no copy known to show it as it stands.
    """
    # The monotonic clock may have begun anew with the machine: what is left is reckoned on the wall clock. A returning
    # caller brings the true figure.
    asked_at = min(memory.asked_at, now.wall)
    left_s = max(0.0, min(memory.deadline_at - now.wall, memory.deadline_at - asked_at))
    case = Case(
        request=memory.request,
        asked=Instant(now.mono - (now.wall - asked_at), asked_at),
        deadline=now.mono + left_s,
        chats=memory.chats,
        phase=Phase.OPEN if memory.outcome is None else Phase.SETTLED,
        caller_here=False,
        copies=dict(memory.copies),
        prompts=dict(memory.prompts),
        outcome=memory.outcome,
        ended_at=memory.ended_at,
        detail=memory.detail,
        ran=memory.ran,
        version=min(max(0, memory.version), MOST_VERSION),  # never below that of a copy that is BEHIND
    )
    case.pending = set(memory.chats) - {copy.chat_id for copy in case.copies}
    if memory.answer is not None:
        case.edited_as = edited_fingerprint(memory.request, memory.answer)
        case.answered = Instant(now.mono - max(0.0, now.wall - memory.answer.at), memory.answer.at)
    if memory.outcome is not None:
        case.from_journal = True
        case.answer = slimmed_answer(memory.request, memory.answer)
        case.request = slimmed(memory.request)
        return case
    case.away_until = now.mono + ADOPT_S
    case.claimed = memory.answer
    case.fits = False
    case.version += 1
    case.copies = dict.fromkeys(case.copies, BEHIND)
    return case
