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
    world.until(lambda: hook.poll() is not None or any("just changed" in one["text"] for one in world.cards()))
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
