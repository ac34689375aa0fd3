"""What a card masks is masked in a terminal, too, unless its owner asks for it; and the log tells all that was said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import event_bytes
from tests.e2e.world import World, finish, new_world

SECRET = "ghp_" + "R8x2Lq7Zt5Vb9Nw3Kd6Yc1Hs4Jf0Pm2Ga5Qe"
OTHER = "ghp_" + "Zt5Vb9Nw3Kd6Yc1Hs4Jf0Pm2Ga5QeR8x2Lq7"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with new_world() as one:
        one.environ["COLUMNS"] = "200"
        one.start_daemon()
        deny_with_a_reason(one)
        allow_another_command(one)
        yield one


def deny_with_a_reason(world: World) -> None:
    command = f"curl -H 'Authorization: token {SECRET}' https://api.github.com/user"
    caller = world.ask(event_bytes(tool_input={"command": command}, suggestions=()))
    card = world.open_card()
    world.tap(card, "Deny with a reason…")
    world.reply(f"Use gh instead, it has {OTHER} already", world.prompt())
    assert b"Use gh instead" in finish(caller)[0]
    world.says(card, "Denied")


def allow_another_command(world: World) -> None:
    caller = world.ask(event_bytes(tool_input={"command": "npm test"}, suggestions=(), session="session-2"))
    card = world.open_card("npm test")
    world.tap(card, "Edit…")
    world.reply("npm run smoke", world.prompt())
    world.tap(world.says(card, "npm run smoke"), "Run it as edited")
    assert b"npm run smoke" in finish(caller)[0]
    world.says(card, "Allowed")


def log(world: World, *words: str) -> str:
    output, errors, code = finish(world.tapgate("log", "--config", str(world.config_path), *words))
    assert (errors, code) == (b"", 0)
    return output.decode()


def objects(world: World, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log(world, "--json", *words).splitlines()]


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["table", "json"])
def test_the_log_shows_no_secret_that_the_card_masks(world: World, words: tuple[str, ...]) -> None:
    """Neither the call's secret nor one in a typed reason is printed, in a table or as JSON."""
    shown = log(world, *words)
    for secret in (SECRET, OTHER):
        assert secret not in shown and secret[6:-6] not in shown
    assert "curl" in shown and ("‹" in shown or "\\u2039" in shown)


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["table", "json"])
def test_the_owner_of_the_terminal_can_ask_for_it(world: World, words: tuple[str, ...]) -> None:
    """With --reveal the log shows the call and the reason as they were."""
    shown = log(world, "--reveal", *words)
    assert SECRET in shown and OTHER in shown


def test_the_reason_that_went_to_the_agent_is_told(world: World) -> None:
    """A deny's words stand in the table and in the JSON, masked like the rest."""
    assert "Use gh instead" in log(world)
    (denied,) = objects(world, "--decision", "deny")
    assert denied["message"].startswith("Use gh instead, it has ") and OTHER not in denied["message"]
    (revealed,) = objects(world, "--decision", "deny", "--reveal")
    assert revealed["message"] == f"Use gh instead, it has {OTHER} already"


def test_what_ran_in_the_place_of_the_call_is_told(world: World) -> None:
    """A command that was edited on the phone is not logged as the one that was asked for."""
    assert "npm run smoke" in log(world)
    (allowed,) = objects(world, "--decision", "allow")
    assert (allowed["summary"], allowed["instead"]) == ("npm test", "npm run smoke")


def test_history_on_the_phone_shows_no_secret_and_the_reason(world: World) -> None:
    """The phone's own list of the last answers keeps to the same rules."""
    world.post("message", user_id=101, chat_id=101, text="/history")

    def find() -> str | None:
        found = (str(one["text"]) for one in world.cards())
        return next((text for text in found if "curl" in text and "npm test" in text), None)

    shown = str(world.until(find))
    assert "Use gh instead" in shown and "npm run smoke" in shown
    assert SECRET not in shown and OTHER not in shown
