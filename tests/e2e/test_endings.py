"""For each way a request can end: what the card on the phone says in the end, and that it has no buttons left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.builders import event_bytes
from tests.e2e.test_approval import ALLOW, decision
from tests.e2e.world import Message, World, finish

ME = str(os.getpid())  # an agent that stays alive


def told(event: str, **fields: Any) -> bytes:
    """An event that the agent only tells."""
    value = {"session_id": "session-1", "cwd": "/home/dev/shop", "hook_event_name": event, **fields}
    return json.dumps(value).encode()


def ended(event: str = "PostToolUse", *, duration_ms: int = 40, **fields: Any) -> bytes:
    call = {"tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_use_id": "toolu_1"}
    return told(event, duration_ms=duration_ms, **{**call, **fields})


def closed(world: World, card: Message, words: str) -> str:
    """The card's final text. Nothing can be pressed any more, and a late tap is told so."""
    final = world.says(card, words)
    assert final["buttons"] == []
    late = world.tap(card, data=card["buttons"][0][0]["callback_data"], forge=True)
    assert "Your answer changed nothing" in world.answer(late)
    return str(final["text"])


def released(caller: subprocess.Popen[bytes]) -> bytes:
    """The caller ended without an opinion; what it said about it."""
    output, errors, code = finish(caller)
    assert (output, code) == (b"", 0)
    return errors


def test_phone_allow(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Always allow")
    finish(caller)
    text = closed(world, card, "Allowed by Ada")
    assert "rule `npm test *` saved to this project's local settings" in text
    assert "npm test" in text and "shop" in text and "after" in text


def test_phone_deny(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Deny")
    finish(caller)
    closed(world, card, "Denied by Ada")


def test_terminal_yes(world: World) -> None:
    """The hook hears nothing of a Yes at the terminal; the tool's end tells."""
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tell(ended())
    closed(world, card, "Allowed at the terminal")
    assert b"Allowed at the terminal" in released(caller)


def test_terminal_yes_to_a_call_that_failed(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tell(ended("PostToolUseFailure", error="Exit code 1"))
    closed(world, card, "Allowed at the terminal")
    released(caller)


def test_terminal_no(world: World) -> None:
    caller = world.ask(event_bytes(), CLAUDE_PID=ME)
    card = world.open_card()
    caller.send_signal(signal.SIGTERM)
    closed(world, card, "Denied at the terminal")
    assert finish(caller)[0] == b""


def test_the_agent_quits(world: World) -> None:
    """SIGTERM as for a No, but the session's end is told right after."""
    caller = world.ask(event_bytes(), CLAUDE_PID=ME)
    card = world.open_card()
    caller.send_signal(signal.SIGTERM)
    world.tell(told("SessionEnd", reason="prompt_input_exit"))
    closed(world, card, "The session ended")
    finish(caller)


def test_the_agent_quits_without_a_word(world: World) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    caller = world.ask(event_bytes(), CLAUDE_PID=str(dead.pid))
    card = world.open_card()
    caller.send_signal(signal.SIGTERM)
    closed(world, card, "The session ended")
    finish(caller)


def test_the_hook_is_killed(world: World) -> None:
    """As Codex does on Esc: no signal that could be caught."""
    caller = world.ask(event_bytes(), CLAUDE_PID=ME)
    card = world.open_card()
    caller.kill()
    closed(world, card, "The agent stopped waiting")
    finish(caller)


def test_session_end(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tell(told("SessionEnd", reason="clear"))
    closed(world, card, "The session ended (clear)")
    released(caller)


def test_a_new_prompt(world: World) -> None:
    caller = world.ask(event_bytes(prompt_id="p1"))
    card = world.open_card()
    world.tell(told("UserPromptSubmit", prompt="never mind", prompt_id="p2"))
    closed(world, card, "The session moved on (a new prompt was typed)")
    released(caller)


def test_the_turn_ended(world: World) -> None:
    caller = world.ask(event_bytes(prompt_id="p1"))
    card = world.open_card()
    world.tell(told("Stop", stop_hook_active=False, prompt_id="p1"))
    closed(world, card, "The session moved on (the turn ended)")
    released(caller)


def test_expiry(quiet_world: World) -> None:
    world = quiet_world
    world.configure(timeout_s=3)
    world.start_daemon()
    caller = world.ask(event_bytes())
    card = world.open_card()
    assert b"Nobody answered in time" in released(caller)
    assert "the agent asks at the terminal" in closed(world, card, "Nobody answered in time")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP], ids=["stopped", "its terminal closed"])
def test_daemon_stop(world: World, how: signal.Signals) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.stop_daemon(how)
    assert b"tapgate was stopped" in released(caller)
    world.start_daemon()
    assert "the agent asks at the terminal" in closed(world, card, "tapgate was stopped")


def test_superseded(world: World) -> None:
    first = world.ask(event_bytes())
    card = world.open_card()
    second = world.ask(event_bytes(tool_input={"command": "npm run build"}))
    world.open_card("npm run build")
    closed(world, card, "The agent went on to another question")
    released(first)
    world.tap(world.open_card("npm run build"), "Allow")
    assert finish(second)[0] == ALLOW


def test_a_tap_for_a_caller_that_has_just_gone(world: World) -> None:
    """Whichever comes first, the card tells what came of it: never allowed without the caller's word."""
    caller = world.ask(event_bytes(), CLAUDE_PID=ME)
    card = world.open_card()
    caller.send_signal(signal.SIGSTOP)
    world.tap(card, "Allow")
    world.says(card, "sending…")
    caller.kill()
    final = world.says(card, "Ada said allow, but the agent was no longer waiting")
    assert final["buttons"] == []
    assert all("Allowed by" not in version["text"] for version in final["history"])
    finish(caller)


def test_a_denial_that_crossed_a_yes_at_the_terminal_is_told_in_plain_words(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Deny")
    assert decision(finish(caller)[0])["behavior"] == "deny"
    world.says(card, "Denied by Ada")
    world.tell(ended(duration_ms=600))
    final = world.says(card, "but the terminal was first, and it ran as allowed there")
    assert final["buttons"] == []


def test_a_denial_stays_a_denial_when_the_call_is_made_again_later(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Deny")
    finish(caller)
    world.says(card, "Denied by Ada")
    again = world.ask(event_bytes())
    second = world.open_card()
    world.tap(second, "Allow")
    finish(again)
    world.says(second, "Allowed by Ada")
    world.tell(ended())
    world.tell(told("Stop", stop_hook_active=False))
    final = next(message for message in world.cards() if message["message_id"] == card["message_id"])
    assert "Denied by Ada" in final["text"] and "it ran" not in final["text"]


def test_parallel_identical_calls_are_told_apart(world: World) -> None:
    """Two reads of one file at once: one answered at the terminal, the other still open."""
    fields: dict[str, Any] = {"tool": "Read", "tool_input": {"file_path": "/etc/hosts"}, "suggestions": ()}
    first = world.ask(event_bytes(**fields))
    first_card = world.open_card()
    second = world.ask(event_bytes(**fields))
    world.until(lambda: len([card for card in world.cards() if card["buttons"]]) == 2)
    world.tell(ended(tool_name="Read", tool_input={"file_path": "/etc/hosts"}))
    closed(world, first_card, "Allowed at the terminal")
    released(first)
    assert second.poll() is None
    world.tap(world.open_card(), "Allow")
    assert finish(second)[0] == ALLOW


def test_another_agents_events_touch_nothing(world: World) -> None:
    caller = world.ask(event_bytes(agent_id="a407", agent_type="general-purpose"))
    card = world.open_card("subagent general-purpose")
    world.tell(ended())
    world.tell(ended(agent_id="a999"))
    world.tell(told("Stop", stop_hook_active=False))
    world.tell(told("SessionEnd", reason="other", session_id="another"))
    assert caller.poll() is None
    world.tap(card, "Allow")
    assert finish(caller)[0] == ALLOW
