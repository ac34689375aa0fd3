"""The desk: the state machine of requests. Pure: events and the time go in, effects come out; no I/O, no random.

Its rules:

1. Every change of a request's state happens here, in what the table below names. It holds the phases of a case and what
   may happen in each; what it does not hold changes nothing.
2. A request exists, and is journaled, before its card is posted: the fastest tap counts.
3. The first answer wins. A later one is told so and changes nothing.
4. Order: record, reply to the caller, answer the tap, edit the cards. A slow Telegram never delays a decision.
5. No failure becomes an allow. Expiry, lost network, bad data, full disk, shutdown: no opinion.
6. A card never lies. It says "allowed" once the caller confirmed that it took the bytes.
7. A tap carries its user; the desk checks it, and checks that the choice was on that request's card.
8. Nothing on the socket can approve. Only Tapped and Replied, which only a front sends, carry an answer.
9. Content that does not fit is never approved unseen.
10. Work per event does not grow with the number of other requests, open or settled: cases are found by index.py, and
    an event edits no card but its own case's and those that one tap could allow together with it.
11. The journal proves no tap: any process of this user can write it. An open request of an earlier run begins anew when
    its caller is back with the bytes; what was tapped counts again because Telegram delivers it again (restart.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tapgate.desk import answers, callers, deliveries
from tapgate.desk.case import edited_request, recall
from tapgate.desk.cases import Cases
from tapgate.desk.effects import Edit, Effect
from tapgate.desk.events import (
    AgentProbed,
    Asked,
    CallerConfirmed,
    CallerGone,
    CopyGone,
    Edited,
    EditRefused,
    Event,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    RecordFailed,
    Replied,
    SessionEnded,
    SessionMoved,
    Sounded,
    Stopped,
    Tapped,
    Ticked,
    ToolEnded,
    WholePosted,
    Withdrawn,
)
from tapgate.desk.memory import Remembered
from tapgate.desk.restart import forget_shared_messages, retract_answer_prompts
from tapgate.desk.state import Assess, DeskState, Handler, Transition, Transitions
from tapgate.model import Card, Draft, Findings, Instant, Person, Phase, Request, Risk

OPEN, SENDING, LEAVING, SETTLED = Phase.OPEN, Phase.SENDING, Phase.LEAVING, Phase.SETTLED
IN_ALL = (OPEN, SENDING, LEAVING, SETTLED)

_ROWS: tuple[tuple[tuple[Phase, ...], type[Event], Handler, tuple[Phase, ...]], ...] = (
    # in this phase, on this event, this is done, and the case may move there
    #
    # the phone: of two answers the first one counts
    ((OPEN,), Tapped, answers.tap_open, (SENDING, SETTLED)),
    ((SENDING, LEAVING), Tapped, answers.tap_closed, ()),
    ((SETTLED,), Tapped, answers.tap_settled, ()),
    ((OPEN,), Replied, answers.write_open, (SENDING,)),
    ((SENDING, LEAVING, SETTLED), Replied, answers.write_closed, ()),
    ((OPEN,), PromptPosted, answers.prompt_open, ()),
    ((SENDING, LEAVING, SETTLED), PromptPosted, answers.prompt_closed, ()),
    # the caller: comes back, takes the answer, leaves
    ((OPEN,), Asked, callers.come_back, (SETTLED,)),
    ((LEAVING,), Asked, callers.come_back, (OPEN, SETTLED)),
    ((SENDING,), Asked, callers.send_again, (SETTLED,)),
    ((SETTLED,), Asked, callers.say_it_is_over, ()),
    ((OPEN,), CallerConfirmed, callers.confirm_claimed, (SETTLED,)),
    ((SENDING,), CallerConfirmed, callers.confirm, (SETTLED,)),
    ((OPEN,), CallerGone, callers.leave, (LEAVING,)),
    ((SENDING,), CallerGone, callers.leave_answered, (SETTLED,)),
    ((LEAVING,), AgentProbed, callers.explain_leaving, (SETTLED,)),
    # what the agent did meanwhile
    ((OPEN, LEAVING), ToolEnded, callers.end_at_terminal, (SETTLED,)),
    ((SENDING, SETTLED), ToolEnded, callers.mark_ran, ()),
    ((OPEN, LEAVING), SessionMoved, callers.move_on, (SETTLED,)),
    ((OPEN, LEAVING), SessionEnded, callers.end_with_session, (SETTLED,)),
    # time, the disk, and the daemon itself
    ((OPEN,), Ticked, callers.run_out, (SETTLED,)),
    ((SENDING,), Ticked, callers.run_out_answered, (SETTLED,)),
    ((LEAVING,), Ticked, callers.settle_left, (SETTLED,)),
    ((OPEN, SENDING, LEAVING), RecordFailed, callers.fail_to_record, (SETTLED,)),
    ((OPEN,), Stopped, callers.stop, (SETTLED,)),
    ((LEAVING,), Stopped, callers.settle_left, (SETTLED,)),
    # what became of the messages
    (IN_ALL, Posted, deliveries.stand, ()),
    ((SETTLED,), PostUnsure, deliveries.look_for_it, ()),
    ((OPEN,), PostFailed, deliveries.fail_to_show, (SETTLED,)),
    ((SENDING, LEAVING, SETTLED), PostFailed, deliveries.fail, ()),
    (IN_ALL, Edited, deliveries.show, ()),
    (IN_ALL, EditRefused, deliveries.refuse, ()),
    ((OPEN,), Withdrawn, deliveries.post_again, (SETTLED,)),
    ((SENDING, LEAVING, SETTLED), Withdrawn, deliveries.lose, ()),
    ((OPEN,), CopyGone, deliveries.post_again, (SETTLED,)),
    ((SENDING, LEAVING, SETTLED), CopyGone, deliveries.lose, ()),
    ((OPEN,), WholePosted, deliveries.show_whole, ()),
    ((OPEN,), PollResumed, deliveries.refresh, ()),
)

TRANSITIONS: Transitions = {(phase, event): Transition(do, to) for phases, event, do, to in _ROWS for phase in phases}

_HEAR: Mapping[type[Event], Callable[[DeskState, Any, Instant], list[Effect]]] = {
    # which cases an event is about, where it does not say so by a request's id, or where not everybody may say it
    Asked: callers.hear_question,
    CallerConfirmed: callers.hear_caller,
    CallerGone: callers.hear_caller,
    ToolEnded: callers.hear_tool,
    SessionMoved: callers.hear_move,
    SessionEnded: callers.hear_end,
    Stopped: callers.hear_stop,
    Ticked: callers.hear_time,
    Tapped: answers.hear_tap,
    Replied: answers.hear_text,
    PromptPosted: answers.hear_prompt,
    Posted: deliveries.hear_delivery,
    Edited: deliveries.hear_delivery,
    PostUnsure: deliveries.hear_unsure,
    Sounded: deliveries.hear_sounding,
    PollResumed: deliveries.hear_poll,
}


def _hear_by_id(desk: DeskState, event: Any, now: Instant) -> list[Effect]:
    case = desk.cases.get(event.request_id)
    return desk.take(case, event, now) if case is not None else []


def _nothing_risky(request: Request) -> tuple[Risk, ...]:
    return ()


class Desk:
    """`hold_of` says how long a request may be held at most; `assess` names what is risky about one (it is pure)
    where nobody has examined it before."""

    def __init__(
        self,
        people: Sequence[Person],
        *,
        hold_s: float,
        hold_of: Callable[[Request], float] | None = None,
        assess: Assess = _nothing_risky,
    ) -> None:
        self.state = DeskState(TRANSITIONS, people, hold_s=hold_s, hold_of=hold_of, assess=assess)

    # Reading

    @property
    def cases(self) -> Cases:
        return self.state.cases

    def card(self, request_id: str) -> Card | None:
        case = self.cases.by_id.get(request_id)
        return self.cases.card(case) if case else None

    def open_cards(self) -> list[Card]:
        return [self.cases.card(case) for case in self.cases.in_phases(OPEN, LEAVING, SENDING)]

    def edited_by(self, event: Event) -> Request | None:
        """The request with the text that this event puts into it, to be examined before the event is handled."""
        posted = event if isinstance(event, PromptPosted) else None
        replied = event if posted is None else self.state.early.get(posted.copy)
        edited = answers.edited_by(self.state, replied, posted) if isinstance(replied, Replied) else None
        return None if edited is None else edited_request(edited[0].request, Draft(text=edited[1]))

    def stale_copies(self) -> int:
        """How many messages on phones Telegram has refused to bring up to date."""
        return len(self.cases.retries)

    def is_taken(self, request: Request) -> bool:
        """Whether this id belongs to another question already, or to another user's."""
        case = self.cases.by_id.get(request.id)
        return case is not None and callers.is_taken(case, request)

    def awaits_caller(self, request_id: str) -> bool:
        """Whether what is tapped there is kept until the caller is back from a restart."""
        case = self.cases.by_id.get(request_id)
        return case is not None and case.awaits_caller

    def next_deadline(self) -> float | None:
        times = (self.cases.up_to_date().next_due(), self.cases.retries.next_due())
        return min((time for time in times if time is not None), default=None)

    # The one door

    def handle(self, event: Event, now: Instant) -> list[Effect]:
        """Take in what happened; what is due by `now` is settled first, so that a late answer finds it so."""
        effects = callers.hear_time(self.state, Ticked(), now)
        if not isinstance(event, Ticked):
            effects += _HEAR.get(type(event), _hear_by_id)(self.state, event, now)
        return effects + self.cases.retry_due(now.mono) + self.cases.hand_in()

    def restore(self, remembered: Iterable[Remembered], now: Instant) -> list[Effect]:
        """Take up what an earlier run left: open requests wait for their callers, unfinished edits are made."""
        effects: list[Effect] = []
        memories = [memory for memory in remembered if memory.request.id not in self.cases.by_id]
        recalled = [recall(memory, now) for memory in memories]
        forget_shared_messages(recalled)
        for memory, case in zip(memories, recalled, strict=True):
            self.cases.add(case)
            case.ranks = self.cases.roster.ranks
            # Nothing more is posted to people who were taken off the list, or whom only the journal names.
            case.chats = tuple(chat_id for chat_id in case.chats if chat_id in self.cases.roster.chats)
            for copy in (*case.copies, *case.prompts):
                self.cases.soundings.note(copy)
            for chat_id in case.pending:
                self.cases.soundings.suspect(chat_id)
            case.pending &= set(case.chats)
            if case.phase is not SETTLED:
                seen = memory.findings or Findings(self.state.assess(case.request))
                case.risks, case.context = seen.risks, replace(case.context, links=seen.links)
                effects += retract_answer_prompts(case)
            else:
                behind = tuple(copy for copy, shown in case.copies.items() if shown < case.version)
                if behind:
                    effects.append(Edit(self.cases.card(case), behind))
                effects += [sound for sound in self.cases.sound(case) if sound not in effects]
            self.cases.hand_in()
        return effects
