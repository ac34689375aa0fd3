"""Telegram may send updates again. Replaying any prefix of them changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.desk.desk import Desk
from tapgate.desk.effects import AnswerTap, Effect, Record, Reply, Say
from tapgate.desk.events import Asked, CallerConfirmed, Event, Posted, PromptPosted
from tapgate.model import Copy, Prompt, Request
from tapgate.telegram.callback import Button, encode_button
from tapgate.telegram.front import parse_update
from tapgate.telegram.poll import Poller
from tests.builders import ADA, BOB, STRANGER_ID, at, choice_of, make_request
from tests.desk.ledger import Ledger

REQUESTS = [make_request(number, session=f"s{number}") for number in (1, 2, 3)]
PROMPT = 50  # the number of the first question for a reason


def tap_update(number: int, request: Request, key: str, user: int, forged: bool) -> dict[str, Any]:
    data = encode_button(Button(request.id, key, choice_of(request, key).seal))
    return {
        "update_id": number,
        "callback_query": {
            "id": f"query-{number}",
            "from": {"id": user, "is_bot": False, "first_name": "P"},
            "message": {"message_id": 10, "chat": {"id": user, "type": "private"}, "date": 0},
            "data": "forged" if forged else data,
        },
    }


def reply_update(number: int, user: int, text: str) -> dict[str, Any]:
    return {
        "update_id": number,
        "message": {
            "message_id": 1000 + number,
            "from": {"id": user, "is_bot": False, "first_name": "P"},
            "chat": {"id": user, "type": "private"},
            "reply_to_message": {"message_id": PROMPT},
            "text": text,
        },
    }


USERS = st.sampled_from([ADA.user_id, ADA.user_id, BOB.user_id, STRANGER_ID])
TAPS = st.tuples(st.sampled_from(REQUESTS), st.sampled_from("adrx"), USERS, st.booleans())
REPLIES = st.tuples(USERS, st.sampled_from(["no", "because", ""]))


@st.composite
def recorded_updates(draw: st.DrawFn) -> list[dict[str, Any]]:
    updates = []
    for number in range(100, 100 + draw(st.integers(1, 12))):
        if draw(st.integers(0, 3)):
            updates.append(tap_update(number, *draw(TAPS)))
        else:
            updates.append(reply_update(number, *draw(REPLIES)))
    return updates


class Desktop:
    """A desk with three open requests, a ledger, and callers that confirm at once."""

    def __init__(self) -> None:
        self.desk = Desk((ADA, BOB), hold_s=590)
        self.ledger = Ledger()
        self.offset: int | None = None
        self.got: list[tuple[str, str]] = []
        for request in REQUESTS:
            self.happen(Asked(request))
            self.happen(Posted(request.id, Copy(ADA.chat_id, 10), 0))
        self.happen(PromptPosted(REQUESTS[0].id, Copy(ADA.chat_id, PROMPT), Prompt(ADA.user_id)))

    def happen(self, event: Event) -> list[Effect]:
        effects = self.desk.handle(event, at(1))
        for effect in effects:
            if isinstance(effect, Record):
                self.ledger.write(effect.entry)
            elif isinstance(effect, Reply):
                self.got.append((effect.request.id, effect.decision.verdict))
                self.happen(CallerConfirmed(effect.request.id))
        return effects

    def state(self) -> object:
        return [self.desk.card(request.id) for request in REQUESTS], dict(self.ledger.rows), list(self.got)

    async def deliver(self, update: dict[str, Any], offset: int | None) -> None:
        event = parse_update(update)
        assert event is not None
        self.happen(event)
        self.offset = offset


class Server:
    """Sends these updates once, whatever the offset: as if it had not heard that they were taken."""

    def __init__(self, updates: list[dict[str, Any]]) -> None:
        self.updates = updates

    async def fetch(self, *, offset: int | None, timeout_s: int) -> list[dict[str, Any]]:
        return self.updates

    async def rebuild_polls(self) -> None:
        raise AssertionError("nothing failed")


def poller(desktop: Desktop, updates: list[dict[str, Any]], reports: list[str]) -> Poller:
    async def nothing(seconds: float) -> None:
        pass

    return Poller(
        Server(updates),
        offset=desktop.offset,
        last_success=None,
        deliver=desktop.deliver,
        confirm=nothing,
        resumed=nothing,
        wall=lambda: 0.0,
        sleep=nothing,
        report=reports.append,
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(updates=recorded_updates(), data=st.data())
async def test_replaying_any_prefix_of_recorded_updates_changes_nothing(
    updates: list[dict[str, Any]], data: st.DataObject
) -> None:
    """With the offset that was recorded, as after a restart: not even an answer goes out twice."""
    desktop, reports = Desktop(), list[str]()
    await poller(desktop, updates, reports).poll_once()
    before = desktop.state()
    prefix = updates[: data.draw(st.integers(0, len(updates)))]
    await poller(desktop, prefix, reports).poll_once()
    assert desktop.state() == before
    assert reports == []


@settings(max_examples=300, deadline=None, derandomize=True)
@given(updates=recorded_updates(), data=st.data())
async def test_replaying_with_the_offset_lost_changes_no_request(
    updates: list[dict[str, Any]], data: st.DataObject
) -> None:
    """The journal was set aside: everything comes again, and still no decision is doubled or changed."""
    desktop, reports = Desktop(), list[str]()
    await poller(desktop, updates, reports).poll_once()
    before = desktop.state()
    desktop.offset = None
    await poller(desktop, updates[: data.draw(st.integers(0, len(updates)))], reports).poll_once()
    assert desktop.state() == before


@settings(max_examples=200, deadline=None, derandomize=True)
@given(updates=recorded_updates(), data=st.data())
async def test_a_crash_between_any_two_updates_changes_nothing_either(
    updates: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Some were taken, then the daemon died; the next one is sent all of them again from the recorded offset on."""
    whole, halved, reports = Desktop(), Desktop(), list[str]()
    await poller(whole, updates, reports).poll_once()
    cut = data.draw(st.integers(0, len(updates)))
    await poller(halved, updates[:cut], reports).poll_once()
    await poller(halved, updates, reports).poll_once()
    assert halved.state() == whole.state()


@pytest.mark.parametrize("key", ["a", "d", "r", "x"])
async def test_a_repeated_update_gets_no_second_effect(key: str) -> None:
    desktop = Desktop()
    event = parse_update(tap_update(100, REQUESTS[1], key, ADA.user_id, forged=False))
    assert event is not None
    assert [effect for effect in desktop.happen(event) if isinstance(effect, AnswerTap)]
    assert not [effect for effect in desktop.happen(event) if isinstance(effect, Reply | AnswerTap | Say)]
