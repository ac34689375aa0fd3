"""Users of one daemon are kept apart at the desk: a session, a call and a request's id mean nothing across uids."""

from __future__ import annotations

import pytest

from tapgate.desk.callers import LATE_S
from tapgate.desk.desk import Desk
from tapgate.desk.effects import Edit, Effect, Record, Reply
from tapgate.desk.events import (
    Asked,
    CallerConfirmed,
    CallerGone,
    Event,
    Left,
    Move,
    Posted,
    SessionEnded,
    SessionMoved,
    ToolEnded,
)
from tapgate.model import NO_UID, Copy, Outcome, Phase, Request, Verdict
from tests.builders import ADA, at, make_request, tap_on

ALICE, EVE = 4001, 4002


def asked(*requests: Request) -> Desk:
    desk = Desk([ADA], hold_s=600)
    for number, request in enumerate(requests, start=10):
        desk.handle(Asked(request), at(0))
        desk.handle(Posted(request.id, Copy(ADA.chat_id, number), 0), at(0))
    return desk


def phase(desk: Desk, request: Request) -> Phase:
    card = desk.card(request.id)
    assert card is not None
    return card.phase


def reports(request: Request, uid: int) -> list[Event]:
    """All that an agent can say which ends an open request."""
    return [
        ToolEnded(request.call, False, 0.1, uid),
        *(SessionMoved(request.call.session_id, "", move, uid=uid) for move in Move),
        SessionEnded(request.call.session_id, "exit", uid),
        CallerGone(request.id, Left.TERMINATED, uid),
        CallerConfirmed(request.id, uid),
    ]


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("uid", [EVE, NO_UID, 0])
def test_a_report_from_another_user_changes_nothing(number: int, uid: int) -> None:
    """Root's neither: root's agents have sessions of their own."""
    request = make_request(uid=ALICE)
    desk = asked(request)
    before = desk.card(request.id)
    assert desk.handle(reports(request, uid)[number], at(LATE_S + 1)) == []
    assert desk.card(request.id) == before


@pytest.mark.parametrize("number", range(6))
def test_the_same_report_from_the_same_user_ends_it_or_begins_to(number: int) -> None:
    request = make_request(uid=ALICE)
    desk = asked(request)
    desk.handle(reports(request, ALICE)[number], at(LATE_S + 1))
    assert phase(desk, request) in (Phase.SETTLED, Phase.LEAVING)


def test_an_answer_is_confirmed_by_the_user_who_asked() -> None:
    request = make_request(uid=ALICE)
    desk = asked(request)
    desk.handle(tap_on(request), at(1))
    for uid in (EVE, NO_UID, 0):
        assert desk.handle(CallerConfirmed(request.id, uid), at(2)) == []
        assert desk.handle(CallerGone(request.id, Left.LOST, uid), at(2)) == []
    desk.handle(CallerConfirmed(request.id, ALICE), at(3))
    card = desk.card(request.id)
    assert card is not None and card.outcome is Outcome.ALLOWED


def test_a_made_up_report_says_of_no_answer_that_it_was_not_followed() -> None:
    """“It ran although the phone said no” must not be said of a call that another user claims to have run."""
    request = make_request(uid=ALICE)
    desk = asked(request)
    desk.handle(tap_on(request, "d"), at(5))
    desk.handle(CallerConfirmed(request.id, ALICE), at(5.1))
    before = desk.card(request.id)
    assert desk.handle(ToolEnded(request.call, False, 4.0, EVE), at(6)) == []
    assert desk.card(request.id) == before


def test_a_question_supersedes_only_its_own_users() -> None:
    older = make_request(1, uid=ALICE, tool_input={"command": "make"}, prompt_id="one")
    desk = asked(older, make_request(2, uid=EVE, prompt_id="two"))
    assert phase(desk, older) is Phase.OPEN
    desk.handle(Asked(make_request(3, uid=ALICE, prompt_id="two")), at(1))
    card = desk.card(older.id)
    assert card is not None and card.outcome is Outcome.SUPERSEDED


@pytest.mark.parametrize("open_still", [True, False])
def test_the_id_of_another_users_request_is_taken(open_still: bool) -> None:
    """The same id and the same bytes under another uid: neither the answer nor how it ended goes there."""
    request = make_request(uid=ALICE)
    desk = asked(request)
    desk.handle(tap_on(request), at(1))
    if not open_still:
        desk.handle(CallerConfirmed(request.id, ALICE), at(1.1))
    before = desk.card(request.id)
    stolen = make_request(uid=EVE)
    assert desk.is_taken(stolen) and not desk.is_taken(request)
    effects: list[Effect] = desk.handle(Asked(stolen), at(2))
    assert [(type(one), one.decision.verdict, one.why) for one in effects if isinstance(one, Reply)] == [
        (Reply, Verdict.NONE, "this request id is in use")
    ]
    assert not any(isinstance(one, Record | Edit) for one in effects)
    assert desk.card(request.id) == before


def reads(*uids: int) -> list[Request]:
    return [
        make_request(n, uid=uid, tool="Read", tool_input={"file_path": f"/srv/{n}"}, suggestions=())
        for n, uid in enumerate(uids, start=1)
    ]


def buttons(desk: Desk, request: Request) -> list[str]:
    card = desk.card(request.id)
    assert card is not None
    return [choice.label for choice in card.choices if choice.key == "b"]


def test_one_tap_allows_requests_of_one_user_only() -> None:
    requests = reads(ALICE, EVE)
    desk = asked(*requests)
    assert [buttons(desk, request) for request in requests] == [[], []]


def test_each_user_has_a_list_of_their_own() -> None:
    requests = reads(ALICE, ALICE, EVE, EVE, EVE)
    desk = asked(*requests)
    assert [buttons(desk, request) for request in requests] == [["Allow these 2…"]] * 2 + [["Allow these 3…"]] * 3
    desk.handle(tap_on(requests[0], "b", seal="several"), at(1))
    card = desk.card(requests[0].id)
    assert card is not None and [one.id for one in card.listed] == [one.id for one in requests[:2]]
    (yes,) = (choice for choice in card.choices if choice.key == "y")
    desk.handle(tap_on(requests[0], "y", seal=yes.seal), at(2))
    assert [phase(desk, one) for one in requests] == [Phase.SENDING] * 2 + [Phase.OPEN] * 3
