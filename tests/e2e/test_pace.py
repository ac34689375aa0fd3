"""Telegram's limits with the default pace: many questions at once anger nobody, and no answer waits for a send."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest

from tapgate.config import Telegram
from tapgate.model import Request
from tapgate.telegram.outbox import BURST
from tests.builders import event_bytes, make_request
from tests.daemon.fakes import FakeLine
from tests.e2e.office import Message, Office, new_office, opened
from tests.e2e.world import World, finish
from tests.simulator.driver import running

MANY = 12
PACE_S = Telegram().per_chat_s
ALLOW = b'"decision":{"behavior":"allow"}'


@pytest.fixture
def url() -> Iterator[str]:
    with running() as url:
        yield url


class Time:
    """A clock that the front and the simulator share. It runs on by itself, and leaps where somebody would sleep."""

    def __init__(self) -> None:
        self.office: Office | None = None
        self.leapt_s = 0.0

    def mono(self) -> float:
        return time.monotonic() + self.leapt_s

    async def sleep(self, seconds: float) -> None:
        assert self.office is not None
        self.leapt_s += seconds
        await self.office.driver.advance(seconds)


@asynccontextmanager
async def limited(url: str, clock: Time, *, per_chat_s: float) -> AsyncIterator[Office]:
    """An office at a simulator that counts."""
    async with new_office(url, per_chat_s=per_chat_s, sleep=clock.sleep, mono=clock.mono) as office:
        clock.office = office
        await office.driver.control("limits", enabled=True)
        async with opened(office):
            yield office


async def ask_many(office: Office) -> dict[str, tuple[Request, FakeLine]]:
    """By the command that stands on the card."""
    asked = {}
    for number in range(1, MANY + 1):
        command = f"make part-{number:02}"
        request = make_request(number, session=f"session-{number}", tool_input={"command": command})
        asked[command] = (request, await office.ask(request))
    return asked


async def answer_all(office: Office) -> list[Message]:
    """Ask, wait for all cards, allow each; the cards, once each says so."""
    asked = await ask_many(office)

    async def all_shown() -> list[Message] | None:
        cards = await office.tappable()
        return cards if len(cards) == MANY else None

    for card in await office.until(all_shown):
        await office.tap(card)
    for request, line in asked.values():
        assert ALLOW in (await office.answer(line)).body
        await office.confirm(request)
    return await office.all_say("Allowed by Ada")


async def refused(office: Office) -> list[Message]:
    return [call for call in await office.calls() if call["status"] == 429]


def test_the_default_is_a_message_a_second() -> None:
    assert PACE_S == 1.0


async def test_many_questions_at_once_cause_no_429_until_every_card_is_settled(url: str) -> None:
    clock = Time()
    async with limited(url, clock, per_chat_s=PACE_S) as office:
        assert len(await answer_all(office)) == MANY
        assert await refused(office) == []
        assert len(await office.calls("sendMessage")) == MANY
        assert clock.leapt_s > MANY - BURST, "it was the pace that kept the limit"


async def test_without_the_pace_there_are_429s_and_all_are_answered_all_the_same(url: str) -> None:
    """The limits are real, then; and what they turn away is sent again when Telegram says so."""
    clock = Time()
    async with limited(url, clock, per_chat_s=0.0) as office:
        assert len(await answer_all(office)) == MANY
        assert await refused(office) != []
        assert any("Telegram asks to wait" in report for report in office.diary.reports)


class Gate:
    """A sleep that ends when it is told to, so that a test can look at what waits for its chat's turn."""

    def __init__(self) -> None:
        self.open = anyio.Event()
        self.sleepers = 0

    async def sleep(self, seconds: float) -> None:
        if seconds < PACE_S / 2:  # the pace over all chats
            await anyio.sleep(seconds)
            return
        self.sleepers += 1
        await self.open.wait()

    async def holds(self) -> None:
        """Return once somebody sleeps."""
        with anyio.fail_after(10):
            while not self.sleepers:
                await anyio.lowlevel.checkpoint()


async def test_a_tap_is_answered_while_sends_wait_for_their_turn(url: str) -> None:
    gate = Gate()
    async with new_office(url, per_chat_s=PACE_S, sleep=gate.sleep) as office, opened(office):
        asked = await ask_many(office)
        await gate.holds()
        card = await office.open_card()
        shown = len(await office.calls("sendMessage"))
        assert shown == BURST < MANY, "the others wait"
        tap = await office.tap(card)
        assert (await office.driver.read(f"answers/{tap}", wait_s=10))["text"] == "Allow: sending…"
        command = next(command for command in asked if command in card["text"])
        assert ALLOW in (await office.answer(asked[command][1])).body
        gate.open.set()

        async def all_shown() -> bool:
            return len(await office.calls("sendMessage")) == MANY

        await office.until(all_shown)
        calls = await office.calls()
        answered = next(call["n"] for call in calls if call["method"] == "answerCallbackQuery")
        sends = [call["n"] for call in calls if call["method"] == "sendMessage"]
        assert [n < answered for n in sends] == [True] * shown + [False] * (MANY - shown)


async def test_a_newer_edit_takes_the_place_of_an_older_one_that_waits(url: str) -> None:
    """Tapped and confirmed while the chat's pace holds everything back: "sending…" is never sent."""
    gate = Gate()
    async with new_office(url, per_chat_s=PACE_S, sleep=gate.sleep) as office, opened(office):
        asked = await ask_many(office)
        await gate.holds()
        cards = await office.tappable()
        assert len(cards) == BURST
        for card in cards:
            await office.tap(card)
            request, line = next(asked[command] for command in asked if command in card["text"])
            assert ALLOW in (await office.answer(line)).body
            await office.confirm(request)
        assert await office.calls("editMessageText") == []
        gate.open.set()

        async def settled() -> bool:
            texts = [card["text"] for card in await office.cards()]
            return sum("Allowed by Ada" in text for text in texts) == BURST

        await office.until(settled)
        known = {str(card["message_id"]) for card in cards}
        # Cards that came later are told their place in the row; that is not what this is about.
        edits = [call for call in await office.calls("editMessageText") if call["params"]["message_id"] in known]
        assert sorted(edit["params"]["message_id"] for edit in edits) == sorted(known)
        assert all("sending" not in edit["params"]["text"] for edit in edits)


async def test_an_edit_that_does_not_wait_is_sent(url: str) -> None:
    """With room in the chat "sending…" is on the phone until the caller confirms."""
    async with new_office(url, per_chat_s=PACE_S) as office, opened(office):
        request = make_request()
        line = await office.ask(request)
        await office.tap(await office.open_card())
        await office.answer(line)

        async def says_sending() -> bool:
            return "sending…" in (await office.cards())[0]["text"]

        await office.until(says_sending)
        await office.confirm(request)
        await office.all_say("Allowed by Ada")


def test_many_real_callers_at_once_are_all_answered_without_a_429(quiet_world: World) -> None:
    world = quiet_world
    world.post("limits", enabled=True)
    world.configure(per_chat_s=PACE_S)
    world.start_daemon()
    callers = {
        command: world.ask(event_bytes(session=command, tool_input={"command": command}))
        for command in (f"make part-{number:02}" for number in range(MANY))
    }
    waiting = set(callers)
    while waiting:

        def shown() -> list[tuple[str, Message]]:
            cards = [card for card in world.cards() if card["buttons"]]
            return [(command, card) for card in cards for command in waiting if command in card["text"]]

        for command, card in world.until(shown):
            world.tap(card, "Allow")
            assert ALLOW in finish(callers[command])[0]
            waiting.remove(command)
    calls = world.get("calls")["calls"]
    assert [call for call in calls if call["status"] == 429] == []
    assert len([call for call in calls if call["method"] == "sendMessage"]) == MANY
