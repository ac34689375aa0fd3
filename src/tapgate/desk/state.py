"""What all parts of the desk share: its cases, how one moves from phase to phase, and how one ends. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tapgate.desk import words
from tapgate.desk.case import Case, slimmed, slimmed_answer
from tapgate.desk.cases import Cases
from tapgate.desk.effects import Edit, Effect, Record, Reply, Retract, SettledEntry, ShownEntry
from tapgate.desk.events import Asked, Event, Replied, Ticked
from tapgate.desk.people import Roster
from tapgate.desk.restart import answers_to_kept, end_of_claimed
from tapgate.model import NO_CONTEXT, NO_DRAFT, NO_OPINION, Copy, Instant, Json, Outcome, Person, Phase, Request, Risk

HEARD_KEPT = 1000  # to know a repeated update when it comes

Assess = Callable[[Request], tuple[Risk, ...]]
Handler = Callable[["DeskState", Case, Any, Instant], list[Effect]]


class Transition(NamedTuple):
    """What is done when an event meets a case in some phase, and the phases that the case may move to by it."""

    do: Handler
    to: tuple[Phase, ...] = ()


Transitions = Mapping[tuple[Phase, type[Event]], Transition]


class IllegalMoveError(Exception):
    """A fault of the desk's own: what is done for an event moves a case where the table does not lead."""


class DeskState:
    def __init__(
        self,
        transitions: Transitions,
        people: Sequence[Person],
        *,
        hold_s: float,
        hold_of: Callable[[Request], float] | None,
        assess: Assess,
    ) -> None:
        self.cases = Cases(Roster(people))
        self.assess = assess
        self.is_stopping = False
        self.early: dict[Copy, Replied] = {}  # replies that came before their prompt was known to be posted
        self.took: dict[int, float] = {}  # when Telegram last took something for a chat
        self._transitions = transitions
        self._event: type[Event] = Ticked
        self._hold_s = hold_s
        self._hold_of = hold_of
        self._heard: dict[Json, None] = {}

    def take(self, case: Case, event: Event, now: Instant) -> list[Effect]:
        """An event meets a case. What the table does not hold is refused here: nothing happens."""
        transition = self._transitions.get((case.phase, type(event)))
        if transition is None:
            return []
        before, self._event = self._event, type(event)
        try:
            return transition.do(self, case, event, now)
        finally:
            self._event = before

    def move(self, case: Case, to: Phase) -> None:
        """The one place where the phase of a case changes."""
        transition = self._transitions.get((case.phase, self._event))
        if transition is None or to not in transition.to:
            raise IllegalMoveError(f"{self._event.__name__} does not lead from {case.phase} to {to}")
        case.phase = to

    def settle(self, case: Case, outcome: Outcome, now: Instant, *, detail: str = "") -> list[Effect]:
        """End a request: record it, let a waiting caller go without an opinion, say so on every copy."""
        unanswered = case.phase is not Phase.SENDING or outcome is Outcome.NOT_RECORDED
        if case.awaits_caller and case.claimed is not None:
            outcome, detail = end_of_claimed(case, detail, self.cases.roster, now)
        self.move(case, Phase.SETTLED)
        case.outcome = outcome
        case.ended_at = now.wall
        case.detail = detail
        case.query_id = ""
        case.away_until = case.leave_by = None
        case.draft = NO_DRAFT
        case.context = NO_CONTEXT
        case.version += 1
        entry = SettledEntry(case.request.id, outcome, now.wall, detail, case.version)
        effects: list[Effect] = [Record(case.request.id, entry)]
        effects += [Record(case.request.id, ShownEntry(case.request.id, copy, case.version)) for copy in case.retired]
        if unanswered and case.caller_here:
            effects.append(Reply(case.request, NO_OPINION, words.ended(case.card())))
        effects += answers_to_kept(case)
        case.kept.clear()
        effects += [Retract(copy) for copy in case.prompts]
        case.prompts.clear()
        # With no copy as well: a card that is still on its way out is taken back.
        effects.append(Edit(case.card(), tuple(case.copies)))
        case.answer = slimmed_answer(case.request, case.answer)
        case.request = slimmed(case.request)
        # The request is over, but a copy of its card may stand where we do not know of it.
        return [*effects, *self.cases.sound(case)]

    def hold_for(self, event: Asked) -> float:
        request = event.request
        most_s = self._hold_s if self._hold_of is None else min(self._hold_s, self._hold_of(request))
        return min(most_s, request.caller.deadline_s) - event.waited_s

    def is_repeated(self, update: Json) -> bool:
        """Telegram may deliver an update again: the second time it means nothing."""
        if update in self._heard:
            return True
        self._heard[update] = None
        if len(self._heard) > HEARD_KEPT:
            del self._heard[next(iter(self._heard))]
        return False
