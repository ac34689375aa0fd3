"""The nine rules of the desk, one by one: that they hold, and that the attack on them changes nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from tapgate.desk import words
from tapgate.desk.callers import LATE_S, LEAVE_S
from tapgate.desk.case import UNDELIVERED_S
from tapgate.desk.desk import Desk
from tapgate.desk.effects import (
    AnsweredEntry,
    AnswerTap,
    AskedEntry,
    AskText,
    CopyEntry,
    Edit,
    Effect,
    Post,
    Probe,
    Record,
    Reply,
    Retract,
    Say,
    SeenEntry,
    SettledEntry,
    ShowWhole,
    Sound,
    Sweep,
)
from tapgate.desk.events import (
    AgentProbed,
    Asked,
    CallerConfirmed,
    CallerGone,
    Edited,
    Event,
    Left,
    Move,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    RecordFailed,
    Replied,
    SessionEnded,
    SessionMoved,
    Stopped,
    Ticked,
    ToolEnded,
    WholePosted,
)
from tapgate.model import Copy, Outcome, Person, Phase, Prompt, Ran, Request, Risk, Verdict
from tests.builders import ADA, BOB, GROUP_ID, STRANGER_ID, SUGGESTION, at, make_request, tap_on, with_deadline

HOLD_S = 590.0
CARD = Copy(ADA.chat_id, 10)
BOBS_CARD = Copy(BOB.chat_id, 11)


def new_desk(*people: Person) -> Desk:
    return Desk(people or (ADA,), hold_s=HOLD_S)


def open_request(desk: Desk, request: Request | None = None, *, seconds: float = 0.0, fits: bool = True) -> Request:
    request = request or make_request()
    desk.handle(Asked(request, fits=fits), at(seconds))
    desk.handle(Posted(request.id, CARD, 0), at(seconds))
    return request


def replies(effects: list[Effect]) -> list[Reply]:
    return [effect for effect in effects if isinstance(effect, Reply)]


def answers(effects: list[Effect]) -> list[AnswerTap]:
    return [effect for effect in effects if isinstance(effect, AnswerTap)]


def edits(effects: list[Effect]) -> list[Edit]:
    return [effect for effect in effects if isinstance(effect, Edit)]


def entries(effects: list[Effect]) -> list[object]:
    return [effect.entry for effect in effects if isinstance(effect, Record)]


def outcome(desk: Desk, request: Request) -> Outcome | None:
    card = desk.card(request.id)
    assert card is not None
    return card.outcome


def phase(desk: Desk, request: Request) -> Phase:
    card = desk.card(request.id)
    assert card is not None
    return card.phase


# Rule 2: a request exists, and is journaled, before its card is posted


def test_a_request_is_recorded_before_its_card_is_posted() -> None:
    effects = new_desk(ADA, BOB).handle(Asked(make_request()), at(0))
    assert [type(effect) for effect in effects] == [Record, Post]
    assert isinstance(entries(effects)[0], AskedEntry)
    post = effects[1]
    assert isinstance(post, Post) and post.chats == (ADA.chat_id, BOB.chat_id)


def test_a_tap_before_the_post_is_known_counts() -> None:
    desk, request = new_desk(), make_request()
    desk.handle(Asked(request), at(0))
    effects = desk.handle(tap_on(request), at(0.1))
    assert replies(effects)[0].decision.verdict is Verdict.ALLOW
    late = desk.handle(Posted(request.id, CARD, 0), at(0.2))
    assert not replies(late)
    assert edits(late)[0].card.phase is Phase.SENDING, "the copy that arrived late is brought up to date"


def test_people_who_share_a_chat_get_one_card() -> None:
    group = [replace(ADA, chat_id=GROUP_ID), replace(BOB, chat_id=GROUP_ID)]
    effects = new_desk(*group).handle(Asked(make_request()), at(0))
    assert [effect.chats for effect in effects if isinstance(effect, Post)] == [(GROUP_ID,)]


def test_without_people_there_is_no_opinion_and_no_card() -> None:
    effects = Desk((), hold_s=HOLD_S).handle(Asked(make_request()), at(0))
    assert [type(effect) for effect in effects] == [Reply]
    assert replies(effects)[0].decision.verdict is Verdict.NONE


# Rule 3: the first answer wins


@pytest.mark.parametrize("second", ["a", "d", "s0", "r", "x"])
def test_a_second_tap_changes_nothing(second: str) -> None:
    desk = new_desk(ADA, BOB)
    request = open_request(desk)
    desk.handle(tap_on(request, "d"), at(1))
    before = desk.card(request.id)
    effects = desk.handle(tap_on(request, second, person=BOB, message_id=11, query_id="q2"), at(2))
    assert not replies(effects)
    assert not [entry for entry in entries(effects) if isinstance(entry, AnsweredEntry)]
    assert answers(effects)[0].text == "Ada was first: Deny."
    assert desk.card(request.id) == before


def test_the_same_update_twice_changes_nothing() -> None:
    desk = new_desk()
    request = open_request(desk)
    for key in ("r", "a"):
        tapped = tap_on(request, key)
        desk.handle(tapped, at(1))
        before = desk.card(request.id)
        assert desk.handle(tapped, at(1.5)) == []
        assert desk.card(request.id) == before


# Rule 4: record, reply, answer the tap, edit


def test_effects_of_a_tap_come_in_order() -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(tap_on(request), at(1))
    assert [type(effect) for effect in effects] == [Record, Reply, AnswerTap, Edit]
    record = effects[0]
    assert isinstance(record, Record) and record.required


# Rule 5: no failure becomes an allow


def test_expiry_never_allows() -> None:
    desk = new_desk()
    request = open_request(desk)
    assert desk.next_deadline() == at(HOLD_S).mono
    effects = desk.handle(Ticked(), at(HOLD_S))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert outcome(desk, request) is Outcome.EXPIRED
    assert desk.next_deadline() is None


def test_a_tap_after_the_deadline_finds_it_expired_even_without_a_tick() -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(tap_on(request), at(HOLD_S + 0.01))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert outcome(desk, request) is Outcome.EXPIRED
    assert "Nobody answered in time" in answers(effects)[0].text


def test_the_callers_own_deadline_counts_where_it_is_shorter() -> None:
    desk = new_desk()
    open_request(desk, with_deadline(make_request(), 20))
    assert desk.next_deadline() == at(20).mono


@pytest.mark.parametrize("deadline_s", [0.0, -5.0])
def test_no_time_left_means_no_opinion_at_once(deadline_s: float) -> None:
    effects = new_desk().handle(Asked(make_request(deadline_s=deadline_s)), at(0))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert not [effect for effect in effects if isinstance(effect, Post)]


def test_a_request_that_cannot_be_recorded_is_not_opened() -> None:
    desk, request = new_desk(), make_request()
    desk.handle(Asked(request), at(0))
    effects = desk.handle(RecordFailed(request.id, "the disk is full"), at(0))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    posts = [effect for effect in effects if isinstance(effect, Post)]
    assert posts[0].card.outcome is Outcome.NOT_RECORDED and not posts[0].card.choices
    late = desk.handle(tap_on(request), at(1))
    assert not replies(late)


def test_an_answer_that_cannot_be_recorded_does_not_count() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request), at(1))
    effects = desk.handle(RecordFailed(request.id, "the disk is full"), at(1))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert "could not be recorded" in answers(effects)[0].text
    assert outcome(desk, request) is Outcome.NOT_RECORDED
    card = desk.card(request.id)
    assert card is not None and card.answer is None


def test_stopping_lets_every_caller_go_without_an_opinion() -> None:
    desk = new_desk()
    first, second = make_request(1), make_request(2, tool="Read", tool_input={"file_path": "/etc/hosts"})
    open_request(desk, first)
    open_request(desk, second)
    effects = desk.handle(Stopped(), at(5))
    assert {reply.request.id for reply in replies(effects)} == {first.id, second.id}
    assert {reply.decision.verdict for reply in replies(effects)} == {Verdict.NONE}
    assert {edit.card.outcome for edit in edits(effects)} == {Outcome.STOPPED}
    assert not replies(desk.handle(tap_on(first), at(6)))
    refused = desk.handle(Asked(make_request(3, session="other")), at(7))
    assert [reply.decision.verdict for reply in replies(refused)] == [Verdict.NONE]


def test_a_card_that_reaches_no_phone_is_no_reason_to_wait() -> None:
    desk, request = new_desk(ADA, BOB), make_request()
    desk.handle(Asked(request), at(0))
    assert not replies(desk.handle(PostFailed(request.id, ADA.chat_id, "bot was blocked by the user"), at(1)))
    effects = desk.handle(PostFailed(request.id, BOB.chat_id, "chat not found"), at(1))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert outcome(desk, request) is Outcome.NOT_SHOWN


def test_one_phone_is_enough() -> None:
    desk, request = new_desk(ADA, BOB), make_request()
    desk.handle(Asked(request), at(0))
    desk.handle(Posted(request.id, CARD, 0), at(0))
    assert not replies(desk.handle(PostFailed(request.id, BOB.chat_id, "chat not found"), at(1)))
    assert phase(desk, request) is Phase.OPEN


def without_prompt(number: int = 1, **fields: Any) -> Request:
    """Of an agent that shows nothing at the terminal while its hook waits."""
    return make_request(number, agent="codex", **fields)


def test_an_agent_without_a_prompt_is_let_go_when_no_card_was_delivered_in_time() -> None:
    desk, request = new_desk(ADA, BOB), without_prompt()
    desk.handle(Asked(request), at(0))
    assert desk.next_deadline() == at(UNDELIVERED_S).mono
    assert not replies(desk.handle(Ticked(), at(UNDELIVERED_S - 0.1)))
    effects = desk.handle(Ticked(), at(UNDELIVERED_S))
    assert replies(effects)[0].decision.verdict is Verdict.NONE
    assert "Telegram did not confirm the card in time" in replies(effects)[0].why
    assert outcome(desk, request) is Outcome.UNDELIVERED
    assert edits(effects)[0].copies == (), "and the card that is on its way is taken back"
    assert desk.next_deadline() is None


def test_an_agent_with_a_prompt_of_its_own_waits_for_a_card_until_its_deadline() -> None:
    desk, request = new_desk(), make_request()
    desk.handle(Asked(request), at(0))
    assert desk.next_deadline() == at(HOLD_S).mono
    assert not replies(desk.handle(Ticked(), at(HOLD_S - 1)))
    assert replies(desk.handle(tap_on(request), at(HOLD_S - 1)))[0].decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize("chat", [ADA, BOB])
def test_one_delivered_card_is_enough_to_wait_for_an_answer(chat: Person) -> None:
    desk, request = new_desk(ADA, BOB), without_prompt()
    desk.handle(Asked(request), at(0))
    desk.handle(Posted(request.id, Copy(chat.chat_id, 10), 0), at(UNDELIVERED_S - 1))
    assert desk.next_deadline() == at(HOLD_S).mono
    assert not replies(desk.handle(Ticked(), at(UNDELIVERED_S * 3)))


def test_a_send_that_was_never_answered_does_not_count_as_delivered() -> None:
    desk, request = new_desk(), without_prompt()
    desk.handle(Asked(request), at(0))
    desk.handle(PostUnsure(request.id, ADA.chat_id), at(5))
    assert replies(desk.handle(Ticked(), at(UNDELIVERED_S)))
    assert outcome(desk, request) is Outcome.UNDELIVERED


def test_a_tap_on_a_card_that_was_never_confirmed_shows_that_it_arrived() -> None:
    desk, request = new_desk(), without_prompt(tool_input={"command": "npm test"})
    desk.handle(Asked(request), at(0))
    desk.handle(tap_on(request, "r"), at(1))  # asks for a reason, so the request stays open
    assert not replies(desk.handle(Ticked(), at(UNDELIVERED_S * 3)))


def test_a_card_that_arrives_after_the_agent_was_let_go_says_so() -> None:
    desk, request = new_desk(), without_prompt()
    desk.handle(Asked(request), at(0))
    desk.handle(Ticked(), at(UNDELIVERED_S))
    late = desk.handle(Posted(request.id, CARD, 0), at(UNDELIVERED_S + 1))
    assert edits(late)[0].card.outcome is Outcome.UNDELIVERED and edits(late)[0].card.choices == ()
    told = answers(desk.handle(tap_on(request), at(UNDELIVERED_S + 2)))[0]
    assert "did not confirm the card in time" in told.text and "changed nothing" in told.text


def test_a_card_that_waits_for_its_turn_among_others_is_not_undelivered() -> None:
    """Telegram takes a message a second in a chat: many questions at once are no outage."""
    desk = new_desk()
    requests = [without_prompt(number, session=f"session-{number}") for number in range(1, 5)]
    for request in requests:
        desk.handle(Asked(request), at(0))
    for number, request in enumerate(requests[:-1], start=1):
        seconds = number * (UNDELIVERED_S - 1)
        assert not replies(desk.handle(Posted(request.id, Copy(ADA.chat_id, number), 0), at(seconds)))
    assert phase(desk, requests[-1]) is Phase.OPEN
    assert desk.next_deadline() is not None
    assert not replies(desk.handle(Ticked(), at(seconds + UNDELIVERED_S - 1)))
    effects = desk.handle(Ticked(), at(seconds + UNDELIVERED_S))
    assert [reply.request.id for reply in replies(effects)] == [requests[-1].id], "now the others stand still too"


def test_another_chat_that_takes_messages_does_not_help_a_card_that_does_not_go_there() -> None:
    desk = new_desk(ADA, BOB)
    first, second = without_prompt(1, session="s1"), without_prompt(2, session="s2")
    desk.handle(Asked(first), at(0))
    desk.handle(Asked(second), at(0))
    desk.handle(PostFailed(second.id, BOB.chat_id, "chat not found"), at(1))
    desk.handle(Posted(first.id, BOBS_CARD, 0), at(UNDELIVERED_S - 1))
    desk.handle(Ticked(), at(UNDELIVERED_S))
    assert outcome(desk, second) is Outcome.UNDELIVERED


# Rule 6: a card never lies


@pytest.mark.parametrize(("key", "expected"), [("a", Outcome.ALLOWED), ("d", Outcome.DENIED), ("s0", Outcome.ALLOWED)])
def test_allowed_and_denied_only_after_the_caller_confirmed(key: str, expected: Outcome) -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(tap_on(request, key), at(1))
    assert edits(effects)[0].card.phase is Phase.SENDING
    assert edits(effects)[0].card.outcome is None
    effects = desk.handle(CallerConfirmed(request.id), at(1.1))
    assert edits(effects)[0].card.outcome is expected
    assert not replies(effects)


def test_without_confirmation_the_card_says_so() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request), at(1))
    desk.handle(CallerGone(request.id, Left.TERMINATED), at(1.1))
    assert outcome(desk, request) is Outcome.NOT_TAKEN


def test_a_caller_that_we_hung_up_on_may_have_taken_the_answer() -> None:
    """It may be stopped, and go on later with what it was sent: so nothing is claimed."""
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request), at(1))
    desk.handle(CallerGone(request.id, Left.DROPPED), at(1.1))
    assert outcome(desk, request) is Outcome.UNCONFIRMED


def test_a_confirmation_without_an_answer_means_nothing() -> None:
    desk = new_desk()
    request = open_request(desk)
    assert desk.handle(CallerConfirmed(request.id), at(1)) == []
    assert phase(desk, request) is Phase.OPEN


def test_a_confirmation_after_the_end_changes_nothing() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request), at(1))
    desk.handle(CallerGone(request.id, Left.LOST), at(2))
    assert desk.handle(CallerConfirmed(request.id), at(3)) == []
    assert outcome(desk, request) is Outcome.NOT_TAKEN


@pytest.mark.parametrize(
    ("left", "alive", "expected"),
    [
        (Left.TERMINATED, True, Outcome.TERMINAL_DENIED),
        (Left.TERMINATED, False, Outcome.SESSION_ENDED),
        (Left.ORPHANED, True, Outcome.AGENT_DIED),
        (Left.ORPHANED, False, Outcome.AGENT_DIED),
        (Left.LOST, True, Outcome.CALLER_LOST),
        (Left.LOST, False, Outcome.AGENT_DIED),
    ],
)
def test_a_caller_that_left_is_explained(left: Left, alive: bool, expected: Outcome) -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(CallerGone(request.id, left), at(1))
    assert [effect.pid for effect in effects if isinstance(effect, Probe)] == [4241]
    assert not replies(effects)
    late = desk.handle(tap_on(request), at(1.5))
    assert not replies(late) and "stopped waiting" in answers(late)[0].text
    effects = desk.handle(AgentProbed(request.id, alive), at(2))
    assert outcome(desk, request) is expected
    assert not replies(effects) and not edits(effects)[0].card.choices


def test_a_leaving_caller_that_nobody_explains_is_settled_all_the_same() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(CallerGone(request.id, Left.TERMINATED), at(1))
    desk.handle(Ticked(), at(1 + LEAVE_S))
    assert outcome(desk, request) is Outcome.TERMINAL_DENIED


def test_the_sessions_end_explains_a_terminated_caller() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(CallerGone(request.id, Left.TERMINATED), at(1))
    desk.handle(SessionEnded("session-1", "prompt_input_exit"), at(1.2))
    assert outcome(desk, request) is Outcome.SESSION_ENDED
    assert desk.handle(AgentProbed(request.id, True), at(2)) == []


def ended(request: Request, duration_s: float | None = 0.1, *, failed: bool = False) -> ToolEnded:
    return ToolEnded(request.call, failed=failed, duration_s=duration_s)


def test_a_tool_that_ended_was_allowed_at_the_terminal() -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(ended(request), at(5))
    assert outcome(desk, request) is Outcome.TERMINAL_ALLOWED
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE], "the caller is let go"


def test_a_tool_that_began_before_the_question_is_another_call() -> None:
    desk = new_desk()
    request = open_request(desk, seconds=100)
    assert desk.handle(ended(request, duration_s=60), at(105)) == []
    assert phase(desk, request) is Phase.OPEN


def test_identical_parallel_calls_are_settled_one_by_one() -> None:
    desk = new_desk()
    read: dict[str, Any] = {"tool": "Read", "tool_input": {"file_path": "/etc/hosts"}}
    first, second = make_request(1, **read), make_request(2, **read)
    open_request(desk, first)
    open_request(desk, second, seconds=0.1)
    desk.handle(ended(first), at(3))
    assert (outcome(desk, first), outcome(desk, second)) == (Outcome.TERMINAL_ALLOWED, None)
    desk.handle(ended(second), at(4))
    assert outcome(desk, second) is Outcome.TERMINAL_ALLOWED


def test_a_phone_allowed_call_takes_its_own_report() -> None:
    """The report of a call that the phone allowed must not settle an identical one that is still open."""
    desk = new_desk()
    read: dict[str, Any] = {"tool": "Read", "tool_input": {"file_path": "/etc/hosts"}}
    first, second = make_request(1, **read), make_request(2, **read)
    open_request(desk, first)
    open_request(desk, second)
    desk.handle(tap_on(first), at(1))
    desk.handle(CallerConfirmed(first.id), at(1.1))
    desk.handle(ended(first), at(2))
    assert phase(desk, second) is Phase.OPEN
    card = desk.card(first.id)
    assert card is not None and card.ran is Ran.OK


def test_a_call_that_ran_although_the_phone_said_deny_is_told() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request, "d"), at(5))
    desk.handle(CallerConfirmed(request.id), at(5.1))
    effects = desk.handle(ended(request, duration_s=3.0), at(7))
    assert edits(effects)[0].card.ran is Ran.AGAINST
    assert outcome(desk, request) is Outcome.DENIED


def test_a_later_identical_call_does_not_make_a_denial_a_lie() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request, "d"), at(5))
    desk.handle(CallerConfirmed(request.id), at(5.1))
    assert desk.handle(ended(request, duration_s=1.0), at(60)) == []
    assert desk.handle(ended(request, duration_s=None), at(61)) == [], "where the start is unknown, nothing is claimed"


@pytest.mark.parametrize(
    ("asked_under", "move", "moved_under", "settles"),
    [
        ("p1", Move.PROMPT, "p2", True),
        ("p1", Move.PROMPT, "p1", False),
        ("p1", Move.STOP, "p1", True),
        ("p2", Move.STOP, "p1", False),
        ("", Move.STOP, "p1", True),
        ("p1", Move.PROMPT, "", True),
    ],
)
def test_a_session_that_moved_on(asked_under: str, move: Move, moved_under: str, settles: bool) -> None:
    desk = new_desk()
    request = open_request(desk, make_request(prompt_id=asked_under) if asked_under else make_request())
    effects = desk.handle(SessionMoved("session-1", "", move, moved_under), at(LATE_S))
    assert (outcome(desk, request) is Outcome.MOVED_ON) is settles
    assert len(replies(effects)) == settles


@pytest.mark.parametrize("move", [Move.PROMPT, Move.RESTART])
def test_a_beginning_that_is_reported_late_does_not_end_the_question_that_followed_it(move: Move) -> None:
    """Such reports cost the agent no time, so nothing waits for them: its first question may come before."""
    desk = new_desk()
    request = open_request(desk)
    assert desk.handle(SessionMoved("session-1", "", move), at(LATE_S - 0.1)) == []
    assert phase(desk, request) is Phase.OPEN


def test_the_main_thread_moving_on_leaves_a_subagents_request_open() -> None:
    desk = new_desk()
    request = open_request(desk, make_request(agent_id="a407"))
    desk.handle(SessionMoved("session-1", "", Move.STOP), at(3))
    assert phase(desk, request) is Phase.OPEN
    desk.handle(SessionMoved("session-1", "a407", Move.STOP), at(4))
    assert outcome(desk, request) is Outcome.MOVED_ON


def test_another_sessions_events_do_not_matter() -> None:
    desk = new_desk()
    request = open_request(desk)
    for event in (SessionEnded("session-2", ""), SessionMoved("session-2", "", Move.STOP), SessionEnded("", "")):
        assert desk.handle(event, at(1)) == []
    assert phase(desk, request) is Phase.OPEN


def test_the_next_bash_call_supersedes_the_last() -> None:
    desk = new_desk()
    first = open_request(desk, make_request(1))
    effects = desk.handle(Asked(make_request(2, tool_input={"command": "ls"})), at(9))
    assert outcome(desk, first) is Outcome.SUPERSEDED
    assert [reply.request.id for reply in replies(effects)] == [first.id]


@pytest.mark.parametrize(
    "other",
    [
        make_request(2, session="session-2"),
        make_request(2, agent_id="a407"),
        make_request(2, tool="Read", tool_input={"file_path": "/x"}),
        make_request(2, agent="codex"),
    ],
)
def test_parallel_questions_do_not_supersede(other: Request) -> None:
    desk = new_desk()
    first = open_request(desk, make_request(1))
    desk.handle(Asked(other), at(9))
    assert phase(desk, first) is Phase.OPEN


# Rule 7: who may tap, and what


@pytest.mark.parametrize(
    ("person", "words"),
    [
        (Person(STRANGER_ID, STRANGER_ID, "Mallory"), "not on this tapgate's list"),
        (Person(STRANGER_ID, ADA.chat_id, "Mallory"), "not on this tapgate's list"),
        (Person(STRANGER_ID, GROUP_ID, "Mallory"), "not on this tapgate's list"),
        (replace(ADA, chat_id=GROUP_ID), "not answered from this chat"),
        (replace(ADA, chat_id=BOB.chat_id), "not answered from this chat"),
    ],
)
def test_a_tap_by_somebody_else_changes_nothing_and_says_why(person: Person, words: str) -> None:
    desk = new_desk(ADA, BOB)
    request = open_request(desk)
    before = desk.card(request.id)
    effects = desk.handle(tap_on(request, person=person), at(1))
    assert [type(effect) for effect in effects] == [AnswerTap]
    assert words in answers(effects)[0].text
    assert desk.card(request.id) == before


@pytest.mark.parametrize(
    ("key", "seal"), [("a", "AAAAAAAA"), ("s1", "AAAAAAAA"), ("zz", ""), ("w", "AAAAAAAA"), ("", "")]
)
def test_forged_data_changes_nothing(key: str, seal: str) -> None:
    desk = new_desk()
    request = open_request(desk)
    before = desk.card(request.id)
    effects = desk.handle(tap_on(request, key, seal=seal), at(1))
    assert [type(effect) for effect in effects] == [AnswerTap, Edit] and edits(effects)[0].idle, "it is shown again"
    assert "not on the card" in answers(effects)[0].text
    assert desk.card(request.id) == before


def test_a_button_of_another_request_does_not_fit() -> None:
    desk = new_desk()
    request = open_request(desk)
    other = make_request(2, tool_input={"command": "rm -rf /"}, suggestions=({**SUGGESTION, "destination": "session"},))
    effects = desk.handle(replace(tap_on(other, "s0"), request_id=request.id), at(1))
    assert not replies(effects) and "not on the card" in answers(effects)[0].text


def test_an_unknown_request_is_told_so() -> None:
    effects = new_desk().handle(tap_on(make_request(77)), at(1))
    assert "no request that tapgate knows" in answers(effects)[0].text


def test_a_tap_without_a_message_does_not_count() -> None:
    desk = new_desk()
    request = open_request(desk)
    tapped = tap_on(request)
    effects = desk.handle(replace(tapped, tap=replace(tapped.tap, copy=None)), at(1))
    assert not replies(effects) and phase(desk, request) is Phase.OPEN


def test_a_tap_on_a_copy_nobody_told_us_of_counts_and_the_copy_is_settled() -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(tap_on(request, message_id=99), at(1))
    assert CopyEntry(request.id, Copy(ADA.chat_id, 99), 0) in entries(effects)
    assert set(edits(effects)[0].copies) == {CARD, Copy(ADA.chat_id, 99)}


def test_a_tap_that_names_another_requests_card_leaves_that_card_alone() -> None:
    desk = new_desk()
    first = open_request(desk, make_request(1))
    second = make_request(2, session="s2")
    desk.handle(Asked(second), at(0))
    desk.handle(Posted(second.id, Copy(ADA.chat_id, 11), 0), at(0))
    effects = desk.handle(tap_on(first, "d", message_id=11), at(1))
    assert {copy for edit in edits(effects) for copy in edit.copies if not edit.idle} == {CARD}


# Reasons


def asked_for_reason(desk: Desk) -> Request:
    request = open_request(desk)
    effects = desk.handle(tap_on(request, "r"), at(1))
    asks = [effect for effect in effects if isinstance(effect, AskText)]
    assert (asks[0].chat_id, asks[0].prompt.user_id, asks[0].reply_to) == (ADA.chat_id, ADA.user_id, CARD.message_id)
    assert not replies(effects) and phase(desk, request) is Phase.OPEN
    desk.handle(PromptPosted(request.id, Copy(ADA.chat_id, 20), Prompt(ADA.user_id)), at(1.2))
    return request


def test_a_reply_to_the_prompt_is_the_reason() -> None:
    desk = new_desk()
    asked_for_reason(desk)
    effects = desk.handle(Replied(ADA.user_id, ADA.chat_id, 21, 20, "  use pnpm  "), at(2))
    decision = replies(effects)[0].decision
    assert (decision.verdict, decision.message) == (Verdict.DENY, "use pnpm")
    assert Retract(Copy(ADA.chat_id, 20)) in effects
    assert [type(effect) for effect in effects] == [Record, Reply, Retract, Edit]


@pytest.mark.parametrize(
    "reply",
    [
        Replied(ADA.user_id, ADA.chat_id, 21, 19, "use pnpm"),  # to something else
        Replied(BOB.user_id, ADA.chat_id, 21, 20, "use pnpm"),  # by another person
        Replied(STRANGER_ID, ADA.chat_id, 21, 20, "use pnpm"),
        Replied(ADA.user_id, BOB.chat_id, 21, 20, "use pnpm"),  # in another chat
    ],
)
def test_only_a_reply_to_that_prompt_by_that_user_counts(reply: Replied) -> None:
    desk = new_desk(ADA, BOB)
    request = asked_for_reason(desk)
    before = desk.card(request.id)
    assert desk.handle(reply, at(2)) == []
    assert desk.card(request.id) == before


def test_an_empty_reason_is_asked_for_again() -> None:
    desk = new_desk()
    request = asked_for_reason(desk)
    effects = desk.handle(Replied(ADA.user_id, ADA.chat_id, 21, 20, ""), at(2))
    assert [type(effect) for effect in effects] == [Say] and phase(desk, request) is Phase.OPEN


def test_a_reason_that_comes_too_late_is_told_so() -> None:
    desk = new_desk(ADA, BOB)
    request = asked_for_reason(desk)
    desk.handle(tap_on(request, person=BOB, message_id=11, query_id="q2"), at(2))
    effects = desk.handle(Replied(ADA.user_id, ADA.chat_id, 21, 20, "no"), at(3))
    assert [type(effect) for effect in effects] == [Say]
    assert "Bob was first" in next(effect.text for effect in effects if isinstance(effect, Say))


def test_a_reply_that_is_faster_than_the_prompts_own_news_counts() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request, "r"), at(1))
    assert not replies(desk.handle(Replied(ADA.user_id, ADA.chat_id, 21, 20, "no"), at(1.1)))
    effects = desk.handle(PromptPosted(request.id, Copy(ADA.chat_id, 20), Prompt(ADA.user_id)), at(1.2))
    assert replies(effects)[0].decision.message == "no"


def test_a_prompt_that_arrives_after_the_answer_is_taken_back() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request, "r"), at(1))
    desk.handle(tap_on(request, "d", query_id="q2"), at(1.1))
    effects = desk.handle(PromptPosted(request.id, Copy(ADA.chat_id, 20), Prompt(ADA.user_id)), at(1.2))
    assert effects == [Retract(Copy(ADA.chat_id, 20))]


# Rule 8: nothing on the socket can approve


def test_no_event_but_a_tap_or_a_reply_leads_to_an_allow_or_deny() -> None:
    request = make_request()
    events: list[Event] = [
        Asked(request),
        Asked(replace(request, digest="other")),
        CallerConfirmed(request.id),
        CallerGone(request.id, Left.LOST),
        AgentProbed(request.id, False),
        ToolEnded(request.call, False, 0.1),
        SessionMoved("session-1", "", Move.STOP),
        SessionEnded("session-1", ""),
        Posted(request.id, CARD, 0),
        WholePosted(request.id, ADA.chat_id),
        PollResumed(1000),
        RecordFailed(request.id, "x"),
        Ticked(),
        Stopped(),
    ]
    for sequence in itertools.permutations(events, 3):
        desk = new_desk()
        effects = desk.handle(Asked(request), at(0))
        for number, event in enumerate(sequence):
            effects += desk.handle(event, at(number))
        assert {reply.decision.verdict for reply in replies(effects)} <= {Verdict.NONE}


def test_another_question_cannot_take_over_a_request_id() -> None:
    desk = new_desk()
    request = open_request(desk)
    other = make_request(1, tool_input={"command": "rm -rf /"})
    assert desk.is_taken(other) and not desk.is_taken(request)
    before = desk.card(request.id)
    effects = desk.handle(Asked(other), at(1))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert desk.card(request.id) == before


@pytest.mark.parametrize(
    "other", [{"project": "/srv"}, {"attended": False}, {"agent": "codex"}, {"uid": 4711}], ids=str
)
@pytest.mark.parametrize("is_answered", [False, True])
def test_a_caller_that_is_judged_by_other_facts_cannot_take_over_a_request_id(
    other: dict[str, Any], is_answered: bool
) -> None:
    """The bytes are the same; what they mean for this caller is not."""
    desk = new_desk()
    request = open_request(desk)
    if is_answered:
        desk.handle(tap_on(request), at(1))
    thief = replace(request, caller=replace(request.caller, **other))
    assert desk.is_taken(thief)
    before = desk.card(request.id)
    effects = desk.handle(Asked(thief), at(2))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.NONE]
    assert desk.card(request.id) == before


@pytest.mark.parametrize(("key", "verdict"), [("a", Verdict.NONE), ("d", Verdict.DENY)])
def test_an_allow_is_not_given_to_a_caller_that_comes_back_with_other_risks(key: str, verdict: Verdict) -> None:
    """What was found out about the call since the tap stood on no card. A no holds whatever was found."""
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request, key), at(1))
    effects = desk.handle(Asked(request, risks=(Risk("outside", "Writes outside the project"),)), at(2))
    assert [reply.decision.verdict for reply in replies(effects)] == [verdict]
    if verdict is Verdict.NONE:
        assert outcome(desk, request) is Outcome.UNCONFIRMED
        card = desk.card(request.id)
        assert card is not None and "other risks" in words.ended(card)


def test_a_caller_that_comes_back_with_the_same_facts_is_given_its_answer() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request), at(1))
    effects = desk.handle(Asked(with_deadline(request, 300)), at(2))
    assert [reply.decision.verdict for reply in replies(effects)] == [Verdict.ALLOW]


# Rule 9: nothing is approved unseen


def test_what_does_not_fit_offers_no_allow_until_it_was_shown() -> None:
    desk = new_desk()
    request = open_request(desk, fits=False)
    card = desk.card(request.id)
    assert card is not None
    assert [choice.key for choice in card.choices] == ["w", "d", "r", "x"]
    for key in ("a", "s0"):
        effects = desk.handle(tap_on(request, key), at(1))
        assert not replies(effects) and "Show all of it" in answers(effects)[0].text
    effects = desk.handle(tap_on(request, "w"), at(2))
    assert [effect.copies for effect in effects if isinstance(effect, ShowWhole)] == [(CARD,)]
    assert not replies(desk.handle(tap_on(request, "a"), at(2.1))), "asked for, but not there yet"
    effects = desk.handle(WholePosted(request.id, ADA.chat_id), at(3))
    assert isinstance(entries(effects)[0], SeenEntry)
    assert edits(effects)[0].card.choices == request.choices
    assert replies(desk.handle(tap_on(request, "a"), at(4)))[0].decision.verdict is Verdict.ALLOW


def test_what_does_not_fit_can_be_denied_unseen() -> None:
    desk = new_desk()
    request = open_request(desk, fits=False)
    assert replies(desk.handle(tap_on(request, "d"), at(1)))[0].decision.verdict is Verdict.DENY


def test_a_chat_that_has_not_got_the_file_cannot_allow() -> None:
    desk = new_desk(ADA, BOB)
    request = open_request(desk, fits=False)
    desk.handle(Posted(request.id, BOBS_CARD, 0), at(0))
    desk.handle(WholePosted(request.id, ADA.chat_id), at(1))
    effects = desk.handle(tap_on(request, "a", person=BOB, message_id=11), at(2))
    assert not replies(effects) and phase(desk, request) is Phase.OPEN


def test_a_chat_whose_card_comes_late_can_have_it_shown_there_too() -> None:
    desk = new_desk(ADA, BOB)
    request = open_request(desk, fits=False)
    desk.handle(tap_on(request, "w"), at(1))
    effects = desk.handle(WholePosted(request.id, ADA.chat_id), at(2))
    assert not [entry for entry in entries(effects) if isinstance(entry, SeenEntry)], "Bob has not seen it"
    late = desk.handle(Posted(request.id, BOBS_CARD, 0), at(3))
    assert [choice.key for choice in edits(late)[0].card.choices] == ["w", "d", "r", "x"]
    effects = desk.handle(tap_on(request, "w", person=BOB, message_id=11), at(4))
    assert [effect.copies for effect in effects if isinstance(effect, ShowWhole)] == [(BOBS_CARD,)]
    effects = desk.handle(WholePosted(request.id, BOB.chat_id), at(5))
    assert [entry for entry in entries(effects) if isinstance(entry, SeenEntry)]
    assert replies(desk.handle(tap_on(request, "a", person=BOB, message_id=11), at(6)))


# Copies that nobody told us of, refreshing, and edits


def test_a_send_that_was_never_answered_is_looked_for_after_the_next_message() -> None:
    desk = new_desk()
    first = open_request(desk, make_request(1))
    desk.handle(tap_on(first, "d"), at(1))
    desk.handle(CallerConfirmed(first.id), at(1))
    second = make_request(2, tool_input={"command": "ls"})
    desk.handle(Asked(second), at(2))
    desk.handle(PostUnsure(second.id, ADA.chat_id), at(3))
    effects = desk.handle(Posted(second.id, Copy(ADA.chat_id, 14), 0), at(4))
    assert Sweep(ADA.chat_id, 10, 14, frozenset({10, 14})) in effects
    third = make_request(3, tool_input={"command": "pwd"})
    desk.handle(Asked(third), at(5))
    assert not [e for e in desk.handle(Posted(third.id, Copy(ADA.chat_id, 20), 0), at(6)) if isinstance(e, Sweep)]


def test_a_send_that_turns_out_unsure_after_the_end_is_looked_for_too() -> None:
    desk, request = new_desk(), make_request()
    desk.handle(Asked(request), at(0))
    desk.handle(SessionEnded("session-1", ""), at(1))
    assert desk.handle(PostUnsure(request.id, ADA.chat_id), at(2)) == [Sound(ADA.chat_id)]


@pytest.mark.parametrize(("away_s", "refreshed"), [(10.0, False), (139.0, False), (141.0, True), (5000.0, True)])
def test_after_a_long_absence_open_cards_are_refreshed(away_s: float, refreshed: bool) -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(PollResumed(away_s), at(200))
    assert [edit.card.refreshed for edit in edits(effects)] == ([True] if refreshed else [])
    assert replies(desk.handle(tap_on(request), at(201)))[0].decision.verdict is Verdict.ALLOW


def test_settled_edits_are_recorded_once_shown() -> None:
    desk = new_desk()
    request = open_request(desk)
    desk.handle(tap_on(request), at(1))
    effects = desk.handle(CallerConfirmed(request.id), at(1))
    version = edits(effects)[0].card.version
    assert desk.handle(Edited(request.id, CARD, version - 1), at(1)) == []
    assert len(entries(desk.handle(Edited(request.id, CARD, version), at(2)))) == 1


def test_settled_requests_are_forgotten_in_the_end_but_open_ones_never() -> None:
    desk = new_desk()
    kept = open_request(desk, make_request(9999, session="kept"))
    for number in range(1, 700):
        request = make_request(number, session=f"s{number}")
        desk.handle(Asked(request), at(0))
        desk.handle(SessionEnded(f"s{number}", ""), at(0))
    assert desk.card(kept.id) is not None
    assert desk.card(make_request(1).id) is None
    assert desk.card(make_request(699).id) is not None


def test_a_settled_request_no_longer_holds_its_megabytes() -> None:
    desk = new_desk()
    big = make_request(tool="Write", tool_input={"file_path": "/x", "content": "y" * 5_000_000})
    request = open_request(desk, big)
    effects = desk.handle(tap_on(request, "d"), at(1))
    desk.handle(CallerConfirmed(request.id), at(1))
    card = desk.card(request.id)
    assert card is not None and card.outcome is Outcome.DENIED
    assert len(card.request.raw) + sum(map(len, card.request.input.values())) < 10_000
    assert card.request.input["file_path"] == "/x"
    assert replies(effects)[0].request.raw == big.raw
    late = desk.handle(tap_on(request, "a"), at(2))
    assert "Denied by Ada" in answers(late)[0].text


def test_more_than_it_can_hold_is_not_taken_on() -> None:
    desk = new_desk()
    content = "y" * (15 * 1024 * 1024)
    for number in range(1, 5):
        big = make_request(
            number, session=f"s{number}", tool="Write", tool_input={"file_path": "/x", "content": content}
        )
        assert not replies(desk.handle(Asked(big, fits=False), at(0)))
    last = make_request(9, session="s9", tool="Write", tool_input={"file_path": "/x", "content": content})
    effects = desk.handle(Asked(last, fits=False), at(0))
    assert [type(effect) for effect in effects] == [Reply]
    assert replies(effects)[0].decision.verdict is Verdict.NONE
    assert not replies(desk.handle(Asked(make_request(10, session="s10")), at(0))), "a small one still fits"


def test_every_ending_leaves_no_button_and_is_recorded() -> None:
    desk = new_desk()
    request = open_request(desk)
    effects = desk.handle(SessionEnded("session-1", "exit"), at(3))
    settled = [entry for entry in entries(effects) if isinstance(entry, SettledEntry)]
    assert settled[0].outcome is Outcome.SESSION_ENDED
    card = desk.card(request.id)
    assert card is not None and card.choices == ()
