"""Updates are kept, confirmed, dropped and fought over as at Telegram."""

from __future__ import annotations

import asyncio

from .driver import ADA, Driver

CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


async def test_a_tap_waits_150_seconds_and_no_longer(sim: Driver) -> None:
    card = await sim.card("a")
    await sim.tap(card, data="a")
    await sim.advance(149)
    assert len(await sim.updates()) == 1
    await sim.advance(2)
    assert await sim.updates() == []


async def test_a_message_waits_24_hours_and_no_longer(sim: Driver) -> None:
    await sim.say("hello")
    await sim.advance(24 * 3600 - 10)
    assert len(await sim.updates()) == 1
    await sim.advance(20)
    assert await sim.updates() == []


async def test_a_higher_offset_confirms(sim: Driver) -> None:
    for text in ("one", "two", "three"):
        await sim.say(text)
    first, second, third = await sim.updates()
    assert [second["update_id"], third["update_id"]] == [first["update_id"] + 1, first["update_id"] + 2]
    assert len(await sim.updates()) == 3, "asking again without an offset confirms nothing"
    assert await sim.updates(offset=second["update_id"]) == [second, third]
    assert await sim.updates() == [second, third]
    assert await sim.updates(offset=third["update_id"] + 1) == []
    state = await sim.read("state")
    assert (state["pending_updates"], state["offset"]) == (0, third["update_id"] + 1)


async def test_a_negative_offset_counts_from_the_end_and_forgets_the_rest(sim: Driver) -> None:
    for text in ("one", "two", "three"):
        await sim.say(text)
    assert [u["message"]["text"] for u in await sim.updates(offset=-2)] == ["two", "three"]
    assert len(await sim.updates()) == 2


async def test_an_offset_from_the_future_confirms_nothing(sim: Driver) -> None:
    await sim.say("one")
    assert len(await sim.updates(offset=2**31 - 1)) == 1


async def test_limit_is_kept_within_1_and_100(sim: Driver) -> None:
    for number in range(102):
        await sim.say(str(number))
    assert len(await sim.updates(limit=2)) == 2
    assert len(await sim.updates(limit=0)) == 1
    assert len(await sim.updates(limit=500)) == len(await sim.updates()) == 100


async def test_allowed_updates_are_remembered(sim: Driver) -> None:
    card = await sim.card("a")
    await sim.updates(allowed_updates=["callback_query"])
    await sim.say("unseen")
    await sim.tap(card, data="a")
    await sim.updates()
    await sim.say("unseen too")
    assert [list(u)[1] for u in await sim.updates()] == ["callback_query"]
    await sim.updates(allowed_updates=[])
    await sim.say("seen")
    assert [list(u)[1] for u in await sim.updates()] == ["callback_query", "message"]


async def test_blocking_is_told_when_asked_for(sim: Driver) -> None:
    await sim.control("block", user_id=ADA, blocked=True)
    [update] = await sim.updates()
    assert update["my_chat_member"]["new_chat_member"]["status"] == "kicked"


async def test_a_command_carries_its_entity(sim: Driver) -> None:
    await sim.say("/start pair-1")
    [update] = await sim.updates()
    assert update["message"]["text"] == "/start pair-1"
    assert update["message"]["entities"] == [{"type": "bot_command", "offset": 0, "length": 6}]


async def test_a_long_poll_ends_with_the_first_update(sim: Driver) -> None:
    poll = asyncio.create_task(sim.updates(timeout=50))
    await sim.until(lambda state: state["pollers"] == 1)
    await sim.say("hello")
    [update] = await poll
    assert update["message"]["text"] == "hello"


async def test_a_long_poll_ends_empty_and_is_capped_at_50_seconds(sim: Driver) -> None:
    poll = asyncio.create_task(sim.updates(timeout=3600))
    state = await sim.until(lambda state: state["pollers"] == 1)
    assert state["last_poll_t"] <= state["now"]
    await sim.advance(51)
    assert await poll == []


async def test_a_second_poller_ends_the_first(sim: Driver) -> None:
    older = asyncio.create_task(sim.call("getUpdates", timeout=50))
    await sim.until(lambda state: state["pollers"] == 1)
    newer = asyncio.create_task(sim.call("getUpdates", timeout=50))
    outcome = await older
    assert (outcome.status, outcome.description) == (409, CONFLICT)
    await sim.say("hello")
    assert len((await newer).result) == 1


async def test_a_poller_that_hangs_up_is_forgotten(sim: Driver) -> None:
    poll = asyncio.create_task(sim.updates(timeout=50))
    await sim.until(lambda state: state["pollers"] == 1)
    poll.cancel()
    await sim.until(lambda state: state["pollers"] == 0)
    [call] = (await sim.read("calls"))["calls"]
    assert (call["method"], call["status"]) == ("getUpdates", 499)


async def test_webhooks_are_not_to_be_had(sim: Driver) -> None:
    await sim.say("hello")
    info = (await sim.call("getWebhookInfo")).result
    assert (info["url"], info["pending_update_count"]) == ("", 1)
    assert (await sim.call("setWebhook", url="https://example.org")).status == 400
    assert (await sim.call("deleteWebhook")).result is True
    assert len(await sim.updates()) == 1
    assert (await sim.call("deleteWebhook", drop_pending_updates=True)).result is True
    assert await sim.updates() == []
