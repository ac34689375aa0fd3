"""An edit that Telegram refused changed nothing on the phone, so nothing counts as if it had.

The real daemon, the real hook, and a Telegram that refuses what it is told to refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.builders import event_bytes
from tests.e2e.world import ADA, Message, World, finish, new_world
from tests.simulator.driver import TOKEN

QUESTIONS: dict[str, Any] = {
    "questions": [
        {"question": "Run the tests first?", "options": [{"label": "Yes"}, {"label": "No"}]},
        {"question": "Delete the production data?", "options": [{"label": "Yes"}, {"label": "No"}]},
    ]
}
EVER = -1


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as found:
        found.start_daemon()
        yield found


def ask_questions(world: World) -> Any:
    return world.ask(event_bytes(tool="AskUserQuestion", tool_input=QUESTIONS, suggestions=()))


def refuse(world: World, method: str, **more: Any) -> None:
    world.post("faults", **{"method": method, "kind": "400", "times": EVER, **more})


def let_through(world: World) -> None:
    assert world.http.delete("/control/faults").status_code == 200


def refused(world: World, method: str, *, at_least: int = 1) -> list[dict[str, Any]]:
    """The calls of this method that were refused, once there are so many."""
    calls: list[dict[str, Any]] = world.until(
        lambda: (
            found if len(found := [call for call in world.calls(method) if call["status"] == 400]) >= at_least else None
        )
    )
    return calls


def card_now(world: World, card: Message) -> Message:
    return next(one for one in world.cards() if one["message_id"] == card["message_id"])


def said(world: World, words: str) -> Message:
    found: Message = world.until(lambda: next((one for one in world.cards() if words in one["text"]), None))
    return found


def delete_on_phone(world: World, card: Message) -> None:
    """As a person does in a private chat: it is gone for the bot, too."""
    body = {"chat_id": ADA, "message_id": card["message_id"]}
    assert httpx.post(f"{world.url}/bot{TOKEN}/deleteMessage", json=body, trust_env=False).status_code == 200


# What was found


def test_a_text_typed_under_a_card_that_could_not_be_edited_does_not_answer_the_next_question(world: World) -> None:
    """The phone shows question 1 because Telegram refused the edit to question 2. Whatever is typed under it answers
    no question that nobody saw; the new message that shows question 2 can be answered."""
    hook = ask_questions(world)
    old = world.open_card("Run the tests first?")
    refuse(world, "editMessageText")
    world.answer(world.tap(old, "1. Yes"))
    refused(world, "editMessageText")
    world.reply("Yes", to=old)
    world.until(lambda: hook.poll() is not None or any("so nothing happened" in one["text"] for one in world.cards()))
    assert hook.poll() is None
    assert "production" not in card_now(world, old)["text"]
    new = world.open_card("Delete the production data?")
    assert new["message_id"] != old["message_id"]
    world.reply("Certainly not", to=new)
    output, _, _ = finish(hook)
    answers = json.loads(output)["hookSpecificOutput"]["decision"]["updatedInput"]["answers"]
    assert answers == {"Run the tests first?": "Yes", "Delete the production data?": "Certainly not"}
    world.until(lambda: not any(card["buttons"] for card in world.cards()))


def test_a_denied_request_s_card_does_not_keep_its_buttons(world: World) -> None:
    """Where the text cannot be edited, the buttons are taken off, and a silent message says how it ended."""
    hook = world.ask(event_bytes())
    card = world.open_card()
    refuse(world, "editMessageText")
    world.tap(card, "Deny")
    assert b'"deny"' in finish(hook)[0]
    told = said(world, "Denied by Ada")
    assert told["message_id"] != card["message_id"] and told["silent"]
    world.until(lambda: not any(one["buttons"] for one in world.cards()))


# Each way out in its turn


def test_a_card_whose_formatting_is_refused_is_edited_without(world: World) -> None:
    """The message stays the same one, with the same buttons, and says the same in plain text."""
    hook = ask_questions(world)
    card = world.open_card("Run the tests first?")
    refuse(world, "editMessageText", only_html=True, description="Bad Request: can't parse entities")
    world.tap(card, "1. Yes")
    card = world.says(card, "Delete the production data?")
    assert "<b>" not in card["text"] and len(world.cards()) == 1
    world.tap(card, "2. No")
    assert json.loads(finish(hook)[0])["hookSpecificOutput"]["decision"]["updatedInput"]["answers"] == {
        "Run the tests first?": "Yes",
        "Delete the production data?": "No",
    }
    world.says(card, "Answered")


def test_where_nothing_at_all_can_be_shown_only_what_stands_on_the_phone_counts(world: World) -> None:
    """Question 1 stands on the phone and cannot be replaced. No text and no option of it answers question 2; saying no
    to the whole is still heard; and the buttons go once Telegram lets them."""
    hook = ask_questions(world)
    card = world.open_card("Run the tests first?")
    for method in ("editMessageText", "editMessageReplyMarkup", "sendMessage"):
        refuse(world, method)
    world.answer(world.tap(card, "1. Yes"))
    refused(world, "sendMessage", at_least=2)
    for label in ("1. Yes", "2. No"):
        assert "not on the card as it stands now" in world.answer(world.tap(card_now(world, card), label))
    sends = len(refused(world, "sendMessage"))
    world.reply("Yes", to=card)
    refused(world, "sendMessage", at_least=sends + 1)
    assert hook.poll() is None and "Run the tests first?" in card_now(world, card)["text"]
    assert stale_cards(world) == 1
    world.tap(card_now(world, card), "Skip all")
    assert b'"deny"' in finish(hook)[0]
    let_through(world)
    skip = next(key["callback_data"] for row in card["buttons"] for key in row if key["text"] == "Skip all")
    assert "Skip" in world.answer(world.tap(card, data=skip, forge=True)), "whether it still stands there or not"
    world.until(lambda: not any(one["buttons"] for one in world.cards()))
    world.until(lambda: stale_cards(world) == 0)


def test_a_card_that_is_still_behind_at_the_end_is_put_right_by_the_next_run(world: World) -> None:
    """Nothing could be edited, told or withdrawn before the daemon stopped: the next one does it."""
    hook = world.ask(event_bytes())
    card = world.open_card()
    for method in ("editMessageText", "editMessageReplyMarkup", "sendMessage"):
        refuse(world, method)
    world.tap(card, "Deny")
    assert b'"deny"' in finish(hook)[0]
    refused(world, "sendMessage", at_least=2)
    assert card_now(world, card)["buttons"]
    world.stop_daemon()
    let_through(world)
    world.start_daemon()
    assert not world.says(card, "Denied by Ada")["buttons"]
    assert len(world.cards()) == 1


def test_a_replaced_card_that_kept_its_buttons_is_withdrawn_by_the_next_run(world: World) -> None:
    """The outcome stands in a new message; the old one is not replaced again, and loses its buttons when it can."""
    hook = world.ask(event_bytes())
    card = world.open_card()
    for method in ("editMessageText", "editMessageReplyMarkup"):
        refuse(world, method, message_id=card["message_id"])
    world.tap(card, "Deny")
    assert b'"deny"' in finish(hook)[0]
    said(world, "Denied by Ada")
    refused(world, "editMessageReplyMarkup", at_least=2)
    assert "Denied by Ada" in world.answer(world.tap(card_now(world, card), "Allow")), "and its buttons mean nothing"
    world.stop_daemon()
    before = len(refused(world, "editMessageReplyMarkup"))
    world.start_daemon()
    refused(world, "editMessageReplyMarkup", at_least=before + 1)
    world.stop_daemon()
    let_through(world)
    world.start_daemon()
    world.until(lambda: not any(one["buttons"] for one in world.cards()))
    assert len(world.cards()) == 2, "one new message, however often it was tried"


def test_a_yes_typed_under_a_card_that_could_not_be_edited_does_not_allow(world: World) -> None:
    """Ada changed the command and took it back, and the phone still shows the changed one: her yes means that one."""
    hook = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Edit…")
    world.reply("npm test --bail", to=world.prompt())
    card = world.says(card, "--bail")
    for method in ("editMessageText", "editMessageReplyMarkup", "sendMessage"):
        refuse(world, method)
    world.answer(world.tap(card, "Back"))
    refused(world, "sendMessage", at_least=2)  # the new card, with and without formatting
    world.reply("yes", to=card)
    refused(world, "sendMessage", at_least=3)  # why the yes does not count
    assert hook.poll() is None
    assert "not on the card" in world.answer(world.tap(card_now(world, card), "Run it as edited"))
    assert hook.poll() is None
    world.tap(card_now(world, card), "Deny")
    assert b'"deny"' in finish(hook)[0]


def test_a_telegram_that_refuses_everything_is_not_asked_in_a_loop(world: World) -> None:
    """Each state of a card is tried once in every way, and then left for half a minute and longer."""
    hook = world.ask(event_bytes())
    card = world.open_card()
    for method in ("editMessageText", "editMessageReplyMarkup", "sendMessage"):
        refuse(world, method)
    world.tap(card, "Deny")
    assert b'"deny"' in finish(hook)[0]
    refused(world, "sendMessage", at_least=2)
    other = world.ask(event_bytes(session="session-2"))
    finish(other)  # no card can be shown, so it has no opinion: and what was to be tried before it has been
    edits = [call for call in world.calls("editMessageText") if call["status"] == 400]
    # “Sending” and “denied”, each with and without formatting; twice as many if half a minute has passed meanwhile.
    assert len(edits) <= 8
    assert len(world.calls("editMessageReplyMarkup")) <= 4


# A message that somebody deleted


def test_a_card_that_was_deleted_is_posted_again_once_and_then_the_agent_asks_at_the_terminal(world: World) -> None:
    """A request whose only card is gone must not wait for nobody."""
    hook = world.ask(event_bytes(tool="Grep", tool_input={"pattern": "release"}))
    delete_on_phone(world, world.open_card("release"))
    second = ask_and_leave(world, 2)  # “Allow these 2…” is the edit that finds it gone
    again = world.open_card("release")
    assert hook.poll() is None
    delete_on_phone(world, again)
    finish(second)
    ask_and_leave(world, 3)
    output, errors, code = finish(hook)
    assert (output, code) == (b"", 0) and b"deleted" in errors


def ask_and_leave(world: World, number: int) -> Any:
    """Another question of the session, so that the first one's card is edited; it is given up at once."""
    other = world.ask(event_bytes(tool="Glob", tool_input={"pattern": f"*.{number}"}))
    card = world.open_card(f"*.{number}")
    world.tap(card, "Deny")
    return other


def stale_cards(world: World) -> int:
    process = world.tapgate("status", "--json", "--config", str(world.config_path))
    return int(json.loads(finish(process)[0])["stale_cards"])
