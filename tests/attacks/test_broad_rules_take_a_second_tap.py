"""A rule is judged by itself: one that reaches far, or that nobody knows, is not given with a single tap."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import event_bytes
from tests.e2e.world import Message, World, finish, new_world


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with new_world() as one:
        one.start_daemon()
        yield one


def rule(content: str | None, *, tool: str = "Bash", destination: str = "localSettings") -> dict[str, Any]:
    named = {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "rules": [named], "behavior": "allow", "destination": destination}


def updates_of(output: bytes) -> list[Any]:
    decision = json.loads(output)["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "allow"
    found: list[Any] = decision.get("updatedPermissions", [])
    return found


def button(card: Message, words: str) -> str:
    labels = [str(key["text"]) for row in card["buttons"] for key in row]
    return next(label for label in labels if label.startswith(words))


BROAD: list[tuple[str, dict[str, Any], str, tuple[str, ...]]] = [
    (
        "a whole tool, everywhere",
        rule(None, destination="userSettings"),
        "Always allow `Bash` in all projects",
        ("every use of Bash", "~/.claude/settings.json"),
    ),
    (
        "any rule of any tool",
        rule(None, tool="*", destination="session"),
        "Always allow `*` in this session",
        ("every use of every tool", "ends with this session"),
    ),
    (
        "any program as root",
        rule("sudo *", destination="userSettings"),
        "Always allow `sudo *` in all projects",
        ("sudo", "~/.claude/settings.json"),
    ),
    (
        "the whole disk",
        {"type": "addDirectories", "directories": ["/"], "destination": "session"},
        "Allow / for this session",
        ("the whole disk", "ends with this session"),
    ),
    (
        "a deny rule less",
        {**rule("rm *"), "type": "removeRules", "behavior": "deny"},
        "Allow, and drop the deny rule `rm *`",
        ("no longer denied", ".claude/settings.local.json"),
    ),
    (
        "a kind of tomorrow",
        {"type": "grantMoon", "phase": "full", "destination": "session"},
        "(phase: full, destination: session) Allow with “grantMoon”",
        ("tapgate does not know", '"phase":"full"'),
    ),
    (
        "a mode of tomorrow",
        {"type": "setMode", "mode": "dreaming", "destination": "session"},
        "Switch to mode dreaming in this session",
        ("tapgate does not know", "dreaming"),
    ),
]


@pytest.fixture(autouse=True)
def _cards_are_settled_before_the_next_test(world: World) -> Iterator[None]:
    """The daemon is shared, and a test takes the newest card that can be tapped."""
    yield
    world.until(lambda: not any(card["buttons"] for card in world.cards()))


@pytest.mark.parametrize(("entry", "label", "spelled"), [case[1:] for case in BROAD], ids=[case[0] for case in BROAD])
def test_one_tap_on_a_broad_rule_sends_nothing(
    world: World, entry: dict[str, Any], label: str, spelled: tuple[str, ...]
) -> None:
    """The first tap only asks again, and says in full what would be allowed and where it is kept. Back returns to the
    card as it came; the second tap sends exactly the entry that the agent suggested."""
    caller = world.ask(event_bytes(suggestions=(entry,), session=label))
    card = world.open_card()
    first = button(card, label[:20])
    world.answer(world.tap(card, first))
    asked = world.says(card, "Really?")
    assert caller.poll() is None, "nothing was sent"
    for words in (label, *spelled):
        assert words in asked["text"]
    world.answer(world.tap(asked, "Back"))
    back = world.until(lambda: next((one for one in world.cards() if one["message_id"] == card["message_id"]), None))
    world.until(lambda: "Really?" not in _text(world, card))
    assert caller.poll() is None
    world.answer(world.tap(back, first))
    asked = world.says(card, "Really?")
    world.tap(asked, button(asked, "Yes: "))
    output, _, code = finish(caller)
    assert (updates_of(output), code) == ([entry], 0)
    world.says(card, "Allowed")


def _text(world: World, card: Message) -> str:
    return next(str(one["text"]) for one in world.cards() if one["message_id"] == card["message_id"])


@pytest.mark.parametrize("content", ["npm test", "npm run test:*", "npm test *"])
def test_a_narrow_rule_takes_one_tap(world: World, content: str) -> None:
    """Ordinary use is not made worse: the rules that the agent suggests every day are given with one tap."""
    entry = rule(content)
    caller = world.ask(event_bytes(suggestions=(entry,), session=content))
    card = world.open_card()
    world.tap(card, button(card, f"Always allow `{content}` in this p"))
    output, _, code = finish(caller)
    assert (updates_of(output), code) == ([entry], 0)


def test_a_typed_yes_gives_no_rule(world: World) -> None:
    """While the card asks for the second tap, a yes from a watch neither gives the rule nor allows the call."""
    caller = world.ask(event_bytes(suggestions=(rule(None, destination="userSettings"),), session="watch"))
    card = world.open_card()
    world.answer(world.tap(card, button(card, "Always allow `Bash` in all")))
    asked = world.says(card, "Really?")
    world.reply("yes", asked)
    world.until(lambda: any("A yes is not enough here" in one["text"] for one in world.cards()))
    assert caller.poll() is None
    world.tap(asked, "Deny")
    assert b'"deny"' in finish(caller)[0]


@pytest.mark.parametrize("mode", [["bypassPermissions"], {"mode": "plan"}, None, 3, True])
def test_a_mode_of_any_shape_still_gets_a_card(world: World, mode: Any) -> None:
    """A suggestion of a shape that nobody expects breaks nothing: the card comes, and its button takes two taps."""
    entry = {"type": "setMode", "mode": mode, "destination": "session"}
    caller = world.ask(event_bytes(suggestions=(entry,), session=f"mode {mode}"))
    card = world.open_card()
    world.answer(world.tap(card, button(card, "Switch to ")))
    world.says(card, "Really?")
    assert caller.poll() is None
    world.tap(card, "Deny")
    assert b'"deny"' in finish(caller)[0]
