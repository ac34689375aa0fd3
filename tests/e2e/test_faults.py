"""Telegram refusing, stalling, babbling or silent: a question asked meanwhile is answered from the phone afterwards."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest

from tapgate.desk.effects import AnsweredEntry
from tapgate.desk.events import Posted, SessionEnded, Tapped
from tapgate.model import Outcome
from tapgate.simulator.faults import KINDS
from tapgate.wire import FrameKind
from tests.builders import event_bytes, make_request
from tests.e2e.office import TOKEN, Message, Office, new_office, opened
from tests.e2e.world import ADA, LINUS, World, finish
from tests.simulator.driver import running

METHODS = ("getUpdates", "sendMessage", "editMessageText", "answerCallbackQuery")
ALLOW = b'"decision":{"behavior":"allow"}'


@pytest.fixture
def url() -> Iterator[str]:
    with running() as url:
        yield url


# Every fault on every method


def fault_of(kind: str, *, times: int) -> dict[str, Any]:
    return {"kind": kind, "times": times, "retry_after": 3, "stall_s": 60.0}


def patience_s(kind: str) -> float:
    """How long an answer is waited for: briefly where there will be none."""
    return 0.3 if kind == "stall" else 10.0


async def no_faults_left(office: Office) -> bool:
    """Whether all of them were met."""
    return not (await office.driver.read("faults"))["faults"]


WORDS = {
    "401": "does not accept the bot token",
    "403": "bot was blocked",
    "404": "does not accept the bot token",
    "404html": "does not accept the bot token",
    "409": "another program polls with this bot's token",
    "500": "cannot be reached",
    "502": "cannot be reached",
    "stall": "did not answer in time",
    "drop": "cannot be reached",
    "garbage": "makes no sense",
    "empty": "makes no sense",
}


def says_once_what_is_wrong(office: Office, words: str) -> None:
    """One line while it lasts, and one that it is over."""
    assert len([report for report in office.diary.reports if words in report]) == 1, office.diary.reports
    assert office.diary.reports[-1] == "Telegram answers again"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("400", "403")])
@pytest.mark.parametrize("method", METHODS)
async def test_a_question_asked_during_a_fault_is_answered_after_it(url: str, method: str, kind: str) -> None:
    async with new_office(url, read_s=patience_s(kind)) as office:
        # A tap's answer is tried twice at most: nobody looks at the spinner any longer.
        await office.fault(method, **fault_of(kind, times=1 if method == "answerCallbackQuery" else 2))
        async with opened(office):
            await office.allow()
            await office.until(lambda: no_faults_left(office))
            if method == "getUpdates" and kind != "429":
                says_once_what_is_wrong(office, WORDS[kind])
            await office.allow(2)


@pytest.mark.parametrize("method", ["getUpdates", "editMessageText", "answerCallbackQuery"])
async def test_a_403_elsewhere_than_at_the_send_costs_nobody_an_answer(url: str, method: str) -> None:
    async with new_office(url) as office:
        await office.fault(method, **fault_of("403", times=1))
        async with opened(office):
            await office.allow()
            await office.until(lambda: no_faults_left(office))
            if method == "getUpdates":
                says_once_what_is_wrong(office, WORDS["403"])
            await office.allow(2)


async def test_a_403_at_the_send_to_the_only_chat_is_no_opinion_with_the_reason(url: str) -> None:
    async with new_office(url) as office:
        await office.fault("sendMessage", **fault_of("403", times=1))
        async with opened(office):
            request = make_request()
            sent = await office.answer(await office.ask(request))
            assert sent.kind is FrameKind.PASS
            assert b"could not be shown on any phone (Forbidden: bot was blocked by the user)" in sent.body
            assert office.diary.outcome(request.id) is Outcome.NOT_SHOWN
            await office.allow(2)


async def test_a_token_that_is_refused_for_long_is_not_tried_every_second(url: str) -> None:
    slept = []

    async def note(seconds: float) -> None:
        slept.append(seconds)
        await anyio.sleep(0.01)

    async with new_office(url, sleep=note) as office:
        await office.fault("getUpdates", **fault_of("401", times=5))
        async with opened(office):
            await office.allow()
    assert slept[:5] == [30.0] * 5


# A send that seemed lost and was not


UNSURE = ("stall", "drop", "garbage", "empty", "500", "502")


async def nothing_to_tap(office: Office) -> bool:
    return not await office.tappable()


async def two_cards(office: Office) -> list[Any]:
    async def find() -> list[Any] | None:
        cards = await office.cards()
        return cards if len(cards) >= 2 else None

    return await office.until(find)


@pytest.mark.parametrize("kind", UNSURE)
async def test_a_card_that_was_sent_twice_is_withdrawn(url: str, kind: str) -> None:
    async with new_office(url, read_s=patience_s(kind)) as office:
        await office.fault("sendMessage", **fault_of(kind, times=1), applied=True)
        async with opened(office):
            line = await office.ask(make_request())
            first, second = await two_cards(office)

            async def withdrawn() -> bool:
                return [card["message_id"] for card in await office.tappable()] == [second["message_id"]]

            await office.until(withdrawn)
            assert line.sent is None
            await office.tap(second)
            assert ALLOW in (await office.answer(line)).body
            await office.confirm(make_request())

            async def settled() -> bool:
                texts = {card["message_id"]: card["text"] for card in await office.cards()}
                return (
                    "does not count" in texts[first["message_id"]] and "Allowed by Ada" in texts[second["message_id"]]
                )

            await office.until(settled)
            assert await office.tappable() == []


@pytest.mark.parametrize("early", [True, False], ids=["before the second came", "after the second came"])
async def test_of_two_copies_of_a_card_either_can_be_tapped_and_counts_once(url: str, early: bool) -> None:
    """First the one that nobody told us of, while the send is yet to be tried again; or first the other one."""
    late = anyio.Event()

    async def hold(seconds: float) -> None:
        await late.wait()

    async with new_office(url, sleep=hold) as office:
        await office.fault("sendMessage", "drop", applied=True)
        async with opened(office):
            request = make_request()
            line = await office.ask(request)
            first = await office.open_card()
            data = first["buttons"][0][0]["callback_data"]
            taps = [await office.tap(first)] if early else []
            if early:
                assert ALLOW in (await office.answer(line)).body
            late.set()
            second = (await two_cards(office))[1]
            # By its data: the buttons may be gone by now, but a slow phone can still send what they said.
            for card in [second] if early else [second, first]:
                taps.append(await office.driver.tap(card["message_id"], data=data, forge=True))
            assert ALLOW in (await office.answer(line)).body
            answers = [(await office.driver.read(f"answers/{tap}", wait_s=5))["text"] for tap in taps]
            assert answers[0] == "Allow: sending…"
            assert "was first" in answers[1] or "changed nothing" in answers[1]
            await office.confirm(request)
            await office.until(lambda: nothing_to_tap(office))
            assert sum(isinstance(entry, AnsweredEntry) for entry in office.diary.entries()) == 1


async def test_a_card_that_came_three_times_is_withdrawn_twice(url: str) -> None:
    async with new_office(url) as office:
        await office.fault("sendMessage", "drop", times=2, applied=True)
        async with opened(office):
            line = await office.ask(make_request())

            async def one_is_left() -> bool:
                return len(await office.cards()) == 3 and len(await office.tappable()) == 1

            await office.until(one_is_left)
            await office.tap((await office.tappable())[0])
            assert ALLOW in (await office.answer(line)).body


@pytest.mark.parametrize("kind", ["500", "stall", "drop", "garbage"])
async def test_a_withdrawal_that_meets_an_outage_is_made_later(url: str, kind: str) -> None:
    async with new_office(url, read_s=patience_s(kind)) as office:
        await office.fault("sendMessage", "drop", applied=True)
        await office.fault("editMessageReplyMarkup", **fault_of(kind, times=2))
        async with opened(office):
            await office.ask(make_request())
            await two_cards(office)

            async def one_is_left() -> bool:
                return len(await office.tappable()) == 1

            await office.until(one_is_left)


async def test_a_card_that_nobody_told_us_of_does_not_outlive_its_question(url: str) -> None:
    """The session ends before the send is tried again: there is no second card, and the first one is withdrawn."""
    late = anyio.Event()

    async def hold(seconds: float) -> None:
        await late.wait()

    async with new_office(url, sleep=hold) as office:
        await office.fault("sendMessage", "drop", applied=True)
        async with opened(office):
            await office.ask(make_request())
            await office.open_card()
            await office.engine.handle(SessionEnded("session-1", "exit"))
            late.set()

            await office.until(lambda: nothing_to_tap(office))
            assert not [event for event in office.diary.items if isinstance(event, Posted)]
            await office.allow(2)


async def test_other_messages_are_left_alone_by_a_withdrawal(url: str) -> None:
    """What the person wrote, and cards that are still open, stand between the messages that are looked at."""
    async with new_office(url) as office, opened(office):
        older = make_request(1, session="session-1")
        line = await office.ask(older)
        first = await office.open_card()
        await office.driver.say("a note of mine")
        await office.fault("sendMessage", "drop", applied=True)
        await office.ask(make_request(2, session="session-2"))

        async def one_of_two_is_left() -> bool:
            return len(await office.cards()) == 3 and len(await office.tappable()) == 2

        await office.until(one_of_two_is_left)
        assert first["message_id"] in [card["message_id"] for card in await office.tappable()]
        await office.tap(first)
        assert ALLOW in (await office.answer(line)).body
        texts = [message["text"] for message in await office.driver.messages()]
        assert "a note of mine" in texts


async def test_a_copy_that_was_tapped_is_known_and_is_not_withdrawn(url: str) -> None:
    """The person is asked for a reason on the card that nobody told us of: it stays until the request ends."""
    late = anyio.Event()

    async def hold(seconds: float) -> None:
        await late.wait()

    async with new_office(url, sleep=hold) as office:
        await office.fault("sendMessage", "drop", applied=True)
        async with opened(office):
            line = await office.ask(make_request())
            first = await office.open_card()
            await office.tap(first, "Deny with a reason…")
            await office.diary.until(lambda: [item for item in office.diary.items if isinstance(item, Tapped)])
            late.set()

            async def prompted() -> list[Message] | None:
                return [card for card in await office.cards() if card["force_reply"]] or None

            prompt = (await office.until(prompted))[0]
            await office.driver.say("not today", reply_to_message_id=prompt["message_id"])
            assert b"not today" in (await office.answer(line)).body
            await office.confirm(make_request())
            await office.all_say("Denied by Ada")
            withdrawn = [call["params"]["message_id"] for call in await office.calls("editMessageReplyMarkup")]
            assert str(first["message_id"]) not in withdrawn


# Another program with the same token


async def test_another_poller_is_reported_and_when_it_stops_taps_are_heard_again(url: str) -> None:
    async with new_office(url) as office, opened(office), httpx.AsyncClient(base_url=url, timeout=30) as rival:
        line = await office.ask(make_request())
        card = await office.open_card()
        with anyio.fail_after(20):
            while not any("another program polls" in report for report in office.diary.reports):
                await rival.post(f"/bot{TOKEN}/getUpdates", json={"timeout": 0})
        await office.tap(card)
        assert ALLOW in (await office.answer(line)).body
        said = [report for report in office.diary.reports if "another program polls" in report]
        assert len(said) == 1
        await office.diary.until(lambda: "Telegram answers again" in office.diary.reports)


# Somebody blocks the bot


async def test_a_person_who_blocked_the_bot_is_named_as_the_reason_and_unblocking_mends_it(url: str) -> None:
    async with new_office(url) as office, opened(office):
        await office.driver.control("block", user_id=ADA, blocked=True)
        sent = await office.answer(await office.ask(make_request()))
        assert sent.kind is FrameKind.PASS and b"blocked by the user" in sent.body
        await office.driver.control("block", user_id=ADA, blocked=False)
        await office.allow(2)


async def test_a_card_that_could_not_be_edited_for_a_block_is_put_right_at_the_next_tap(url: str) -> None:
    async with new_office(url) as office, opened(office):
        await office.ask(make_request())
        card = await office.open_card()
        await office.driver.control("block", user_id=ADA, blocked=True)
        await office.engine.handle(SessionEnded("session-1", "exit"))
        await office.diary.until(lambda: [report for report in office.diary.reports if "could not be edited" in report])
        await office.driver.control("block", user_id=ADA, blocked=False)
        assert await office.tappable() != []
        tap = await office.tap(card)
        assert "The session ended" in (await office.driver.read(f"answers/{tap}", wait_s=10))["text"]
        await office.all_say("The session ended")


def test_a_person_who_blocked_the_bot_keeps_nobody_else_from_answering(quiet_world: World) -> None:
    world = quiet_world
    world.configure(
        people=f"[[people]]\nuser_id = {ADA}\nname = 'Ada'\n[[people]]\nuser_id = {LINUS}\nname = 'Linus'\n"
    )
    world.post("block", user_id=ADA, blocked=True)
    world.start_daemon()
    caller = world.ask(event_bytes())
    card = world.open_card(chat_id=LINUS)
    world.tap(card, "Allow", user_id=LINUS, chat_id=LINUS)
    assert ALLOW in finish(caller)[0]
    world.says(card, "Allowed by Linus", chat_id=LINUS)
    assert "blocked by the user" in world.errors()


# The real daemon


def said_by(world: World, words: str) -> list[str]:
    """The daemon's lines with these words, once there are any."""
    end = time.monotonic() + 20
    while not (lines := [line for line in world.errors().splitlines() if words in line]):
        assert time.monotonic() < end, world.errors()
        world.get("wait", since=world.get("state")["seq"], wait_s=0.1)
    return lines


@pytest.mark.parametrize(("kind", "words"), [("401", "check [telegram] token"), ("409", "another program polls")])
def test_a_daemon_that_is_refused_goes_on_says_why_and_keeps_its_token_to_itself(
    quiet_world: World, kind: str, words: str
) -> None:
    world = quiet_world
    world.post("faults", method="*", kind=kind, times=-1)
    world.start_daemon()
    caller = world.ask(event_bytes(), deadline_s=3)
    assert len(said_by(world, words)) >= 1
    output, errors, code = finish(caller)
    assert (output, code) == (b"", 0) and b"Nobody answered in time" in errors
    assert world.daemon is not None and world.daemon.poll() is None
    assert TOKEN not in world.errors() and TOKEN.partition(":")[2] not in world.errors()


def test_a_wrong_token_is_a_fault_like_any_other(quiet_world: World) -> None:
    world = quiet_world
    world.config_path.write_text(world.config_path.read_text().replace(TOKEN, "12345:not-the-token-at-all"))
    world.start_daemon()
    assert "check [telegram] token" in said_by(world, "check [telegram] token")[0]
    output, _, code = finish(world.ask(event_bytes(), deadline_s=2))
    assert (output, code) == (b"", 0)
    assert "not-the-token" not in world.errors()


def test_the_real_daemon_comes_through_a_storm(quiet_world: World) -> None:
    """One fault after the other on every method, and a request through each; nothing is lost, doubled or refused."""
    world = quiet_world
    world.start_daemon()
    for number, kind in enumerate(("drop", "garbage", "429")):
        for method in METHODS:
            world.post("faults", method=method, kind=kind, retry_after=1)
        caller = world.ask(event_bytes(session=f"s{number}", tool_input={"command": f"echo <{kind}> & 'x'"}))
        card = world.open_card(f"<{kind}>")
        world.tap(card, "Allow")
        assert ALLOW in finish(caller)[0]
        world.says(card, "Allowed by Ada")
    assert world.daemon is not None and world.daemon.poll() is None
    assert [card for card in world.cards() if card["buttons"]] == []
    refused = [call for call in world.get("calls")["calls"] if call["status"] == 400]
    assert refused == []
    assert TOKEN not in world.errors()
    strange = [line for line in world.errors().splitlines() if not re.match(r"\d{4}-\d\d-\d\d .* tapgate: ", line)]
    assert strange == [], "all it says are lines of its own"


def test_a_lost_answer_to_a_send_leaves_no_card_that_can_be_tapped(world: World) -> None:
    world.post("faults", method="sendMessage", kind="drop", applied=True)
    caller = world.ask(event_bytes())
    world.until(lambda: len(world.cards()) == 2)
    world.until(lambda: len([card for card in world.cards() if card["buttons"]]) == 1)
    world.tap(world.open_card(), "Allow")
    assert ALLOW in finish(caller)[0]
    world.until(lambda: not [card for card in world.cards() if card["buttons"]])


def test_a_telegram_that_stalls_delays_no_decision(world: World) -> None:
    """Neither the tap's answer nor the card's edit comes through; the caller has its answer all the same."""
    caller = world.ask(event_bytes())
    card = world.open_card()
    for method in ("answerCallbackQuery", "editMessageText"):
        world.post("faults", method=method, kind="stall", stall_s=60, times=-1)
    world.tap(card, "Allow")
    assert ALLOW in finish(caller, wait_s=5)[0]
    assert [call for call in world.calls("editMessageText") if call["status"] == 200] == []


VARIED: tuple[dict[str, Any], ...] = (
    {"command": "echo '<b>&amp;</b>' && cat <<EOF\n<script>\nEOF"},
    {"command": "printf '\x00\x1b[31m\u202e\u200b\ud800'"},
    {"command": "x" * 5000},
    {"command": "👩‍👩‍👧‍👦" * 700},
    {"command": ""},
    {"command": "é" * 4096, "description": "<i>" * 200},
    {"description": ["not", "a", "text"], "command": {"nor": "this"}},
)


def test_no_card_is_ever_refused_by_telegram(world: World) -> None:
    for number, tool_input in enumerate(VARIED):
        caller = world.ask(event_bytes(session=f"s<{number}>&", tool_input=tool_input, cwd="/home/<dev>/a&b"))
        card = world.open_card()
        world.tap(card, "Deny")
        assert b'"deny"' in finish(caller)[0]
        world.says(card, "Denied by Ada")
    assert [call for call in world.get("calls")["calls"] if call["status"] == 400] == []
    assert "without formatting" not in world.errors()
