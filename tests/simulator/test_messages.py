"""Sending, editing, answering and deleting follow Telegram's rules, and every refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from .driver import ADA, LINUS, Driver

GROUP = -4001
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)
TOO_OLD = "Bad Request: query is too old and response timeout expired or query ID is invalid"


async def edit(sim: Driver, message_id: int, text: str, **params: Any) -> str:
    """The error's words; empty when the edit was taken."""
    outcome = await sim.call(
        "editMessageText", chat_id=ADA, message_id=message_id, text=text, parse_mode="HTML", **params
    )
    return "" if outcome.status == 200 else outcome.description


async def test_a_message_is_kept_as_sent_and_as_shown(sim: Driver) -> None:
    sent = (await sim.send("<b>hi</b> 😀", parse_mode="HTML", disable_notification=True)).result
    assert sent["text"] == "hi 😀"
    assert sent["entities"] == [{"type": "bold", "offset": 0, "length": 2}]
    assert sent["chat"] == {"id": ADA, "type": "private", "first_name": "Ada"}
    [message] = await sim.messages()
    assert (message["from"], message["html"], message["parse_mode"]) == ("bot", "<b>hi</b> 😀", "HTML")
    assert (message["silent"], message["edits"], message["deleted"]) == (True, 0, False)


async def test_an_edit_keeps_the_history(sim: Driver) -> None:
    message_id = await sim.card("a", text="one")
    await sim.advance(5)
    assert await edit(sim, message_id, "<i>two</i>") == ""
    [message] = await sim.messages()
    assert (message["text"], message["edits"], message["buttons"]) == ("two", 1, [])
    first, second = message["history"]
    assert (first["text"], second["text"]) == ("one", "two")
    assert first["buttons"] == [[{"text": "Button a", "callback_data": "a"}]]
    assert second["t"] - first["t"] >= 5


async def test_an_unchanged_edit_is_refused(sim: Driver) -> None:
    message_id = await sim.card("a", text="one")
    markup = {"inline_keyboard": [[{"text": "Button a", "callback_data": "a"}]]}
    assert await edit(sim, message_id, "one", reply_markup=markup) == NOT_MODIFIED
    assert await edit(sim, message_id, " one\n", reply_markup=markup) == NOT_MODIFIED
    assert await edit(sim, message_id, "<b>one</b>", reply_markup=markup) == ""
    assert await edit(sim, message_id, "<b>one</b>") == "", "an edit without markup takes the buttons away"
    same = await sim.call("editMessageReplyMarkup", chat_id=ADA, message_id=message_id)
    assert same.description == NOT_MODIFIED
    assert (await sim.messages())[0]["edits"] == 2


async def test_what_cannot_be_edited(sim: Driver) -> None:
    forced = (await sim.send("why?", reply_markup={"force_reply": True})).result["message_id"]
    said = await sim.say("hello")
    assert await edit(sim, forced, "new") == "Bad Request: message can't be edited"
    assert await edit(sim, said, "new") == "Bad Request: message can't be edited"
    assert await edit(sim, 999, "new") == "Bad Request: message to edit not found"
    assert await edit(sim, 0, "new") == "Bad Request: message identifier is not specified"


async def test_a_deleted_message_is_gone_for_the_bot(sim: Driver) -> None:
    message_id = await sim.card("a")
    assert (await sim.call("deleteMessage", chat_id=ADA, message_id=message_id)).result is True
    again = await sim.call("deleteMessage", chat_id=ADA, message_id=message_id)
    assert again.description == "Bad Request: message to delete not found"
    assert await edit(sim, message_id, "new") == "Bad Request: message to edit not found"
    assert (await sim.messages())[0]["deleted"] is True


async def test_an_old_message_cannot_be_deleted(sim: Driver) -> None:
    message_id = await sim.card("a")
    await sim.advance(48 * 3600 + 1)
    refused = await sim.call("deleteMessage", chat_id=ADA, message_id=message_id)
    assert refused.description == "Bad Request: message can't be deleted for everyone"


async def test_who_can_be_written_to(sim: Driver) -> None:
    await sim.control("users", id=103, first_name="Eve", started=False)
    await sim.control("chats", id=GROUP, title="Gone", members=[ADA], kicked=True)
    await sim.control("block", user_id=LINUS, blocked=True)
    refusals = {
        103: (403, "Forbidden: bot can't initiate conversation with a user"),
        LINUS: (403, "Forbidden: bot was blocked by the user"),
        GROUP: (403, "Forbidden: bot was kicked from the group chat"),
        999: (400, "Bad Request: chat not found"),
    }
    for chat_id, expected in refusals.items():
        refused = await sim.send("x", chat_id=chat_id)
        assert (refused.status, refused.description) == expected
        assert await sim.messages(chat_id) == []
    assert (await sim.call("sendMessage", text="x")).description == "Bad Request: chat_id is empty"


async def test_a_person_who_writes_has_started_the_bot(sim: Driver) -> None:
    await sim.control("users", id=103, first_name="Eve", started=False)
    await sim.say("/start", user_id=103, chat_id=103)
    assert (await sim.send("welcome", chat_id=103)).status == 200


async def test_replies(sim: Driver) -> None:
    first = (await sim.send("one")).result["message_id"]
    reply = await sim.send("two", reply_parameters={"message_id": first})
    assert reply.result["reply_to_message"]["message_id"] == first
    lost = await sim.send("three", reply_parameters={"message_id": 999})
    assert lost.description == "Bad Request: message to be replied not found"
    lenient = {"message_id": 999, "allow_sending_without_reply": True}
    assert "reply_to_message" not in (await sim.send("three", reply_parameters=lenient)).result


async def test_a_thread_is_refused_where_there_are_none(sim: Driver) -> None:
    refused = await sim.send("x", message_thread_id=7)
    assert refused.description == "Bad Request: message thread not found"


async def test_a_tap_needs_its_button(sim: Driver) -> None:
    message_id = await sim.card("a", "b")
    body = {"user_id": ADA, "chat_id": ADA, "message_id": message_id}
    for wrong in ({"data": "c"}, {"label": "Nothing"}, {}, {"message_id": 999, "data": "a"}, {"user_id": 9}):
        response = await sim.client.post("/control/tap", json={**body, **wrong})
        assert response.status_code == 404
        assert "error" in response.json()
    await sim.tap(message_id, label="ton b")
    assert [update["callback_query"]["data"] for update in await sim.updates()] == ["b"]


async def test_a_forged_tap_may_say_anything(sim: Driver) -> None:
    message_id = await sim.card("a")
    await sim.tap(message_id, data="evil", forge=True, user_id=666)
    await sim.tap(999, data="a", forge=True)
    stranger, unseen = [update["callback_query"] for update in await sim.updates()]
    assert (stranger["from"]["id"], stranger["data"]) == (666, "evil")
    assert unseen["message"] == {
        "chat": {"id": ADA, "type": "private", "first_name": "Ada"},
        "message_id": 999,
        "date": 0,
    }


async def test_a_callback_answer_reaches_the_person(sim: Driver) -> None:
    tap = await sim.tap(await sim.card("a"), data="a")
    nothing = {"answered": False, "text": None, "show_alert": False}
    assert await sim.read(f"answers/{tap}") == nothing
    answer = await sim.call("answerCallbackQuery", callback_query_id=tap, text="Allowed", show_alert=True)
    assert answer.result is True
    expected = {"answered": True, "text": "Allowed", "show_alert": True}
    assert await sim.read(f"answers/{tap}", wait_s=5) == expected
    assert (await sim.call("answerCallbackQuery", callback_query_id=tap)).result is True


async def test_a_stale_or_unknown_callback_is_refused(sim: Driver) -> None:
    tap = await sim.tap(await sim.card("a"), data="a")
    await sim.advance(599)
    assert (await sim.call("answerCallbackQuery", callback_query_id=tap)).result is True
    await sim.advance(2)
    for query_id in (tap, "12"):
        assert (await sim.call("answerCallbackQuery", callback_query_id=query_id)).description == TOO_OLD


async def test_in_a_group_the_bot_sees_commands_and_replies_only(sim: Driver) -> None:
    await sim.control("chats", id=GROUP, title="Team", members=[ADA, LINUS])
    card = await sim.card("a", chat_id=GROUP)
    await sim.say("just talking", chat_id=GROUP)
    await sim.say("/status", chat_id=GROUP)
    await sim.say("because", chat_id=GROUP, user_id=LINUS, reply_to_message_id=card)
    await sim.tap(card, chat_id=GROUP, user_id=LINUS, data="a")
    command, reply, tap = await sim.updates()
    assert command["message"]["text"] == "/status"
    assert command["message"]["chat"] == {"id": GROUP, "type": "group", "title": "Team"}
    assert reply["message"]["reply_to_message"]["message_id"] == card
    assert tap["callback_query"]["from"]["id"] == LINUS


@pytest.mark.parametrize(("emoji", "taken"), [("👍", True), ("❤", True), ("✅", False)])
async def test_reactions(sim: Driver, emoji: str, *, taken: bool) -> None:
    message_id = await sim.say("hello")
    outcome = await sim.call(
        "setMessageReaction", chat_id=ADA, message_id=message_id, reaction=[{"type": "emoji", "emoji": emoji}]
    )
    assert outcome.status == (200 if taken else 400)
    assert (await sim.messages())[0]["reaction"] == (emoji if taken else None)


async def test_pins_commands_and_chat(sim: Driver) -> None:
    message_id = await sim.card("a")
    assert (await sim.call("pinChatMessage", chat_id=ADA, message_id=message_id)).result is True
    chat = (await sim.call("getChat", chat_id=ADA)).result
    assert chat["pinned_message"]["message_id"] == message_id
    assert (await sim.call("unpinChatMessage", chat_id=ADA)).result is True
    assert "pinned_message" not in (await sim.call("getChat", chat_id=ADA)).result
    commands = [{"command": "status", "description": "What is open"}]
    assert (await sim.call("setMyCommands", commands=commands)).result is True
    assert (await sim.call("getMyCommands")).result == commands
    assert (await sim.call("sendChatAction", chat_id=ADA, action="typing")).result is True
    assert (await sim.call("sendChatAction", chat_id=ADA, action="dance")).status == 400


@pytest.mark.parametrize(
    ("commands", "refusal"),
    [
        ([("a" * 32, "x" * 256), ("a_1", "y")], None),
        ([(f"c{number}", "x") for number in range(100)], None),
        ([], None),
        ([(f"c{number}", "x") for number in range(101)], "BOT_COMMANDS_TOO_MUCH"),
        ([("", "x")], "BOT_COMMAND_INVALID"),
        ([("a" * 33, "x")], "BOT_COMMAND_INVALID"),
        ([("Bad", "x")], "BOT_COMMAND_INVALID"),
        ([("bad!", "x")], "BOT_COMMAND_INVALID"),
        ([("über", "x")], "BOT_COMMAND_INVALID"),
        ([("good", ""), ("a", "x")], "BOT_COMMAND_DESCRIPTION_INVALID"),
        ([("good", "x" * 257)], "BOT_COMMAND_DESCRIPTION_INVALID"),
    ],
)
async def test_the_commands_keep_to_telegram_s_limits(
    sim: Driver, commands: list[tuple[str, str]], refusal: str | None
) -> None:
    given = [{"command": name, "description": description} for name, description in commands]
    outcome = await sim.call("setMyCommands", commands=given)
    assert outcome.body.get("description") == (f"Bad Request: {refusal}" if refusal else None)
    assert (await sim.call("getMyCommands")).result == ([] if refusal else given)


async def test_commands_are_kept_for_each_scope(sim: Driver) -> None:
    chat = {"type": "chat", "chat_id": ADA}
    given = [{"command": "status", "description": "How it is"}]
    assert (await sim.call("setMyCommands", commands=given, scope=chat)).result is True
    assert (await sim.call("getMyCommands", scope=chat)).result == given
    assert (await sim.call("getMyCommands")).result == []
    odd: list[object] = [{"type": "chat", "chat_id": 4711}, {"type": "chat"}, {"type": "odd"}, [], "x"]
    for scope in odd:
        assert (await sim.call("setMyCommands", commands=given, scope=scope)).status == 400
