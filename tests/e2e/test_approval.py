"""The approval path with real processes: a question in at stdin, a card, a tap, the decision out at stdout."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.builders import event_bytes
from tests.e2e.world import ADA, GROUP, LINUS, MALLORY, World, finish

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
ALLOW = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'


def decision(output: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output)["hookSpecificOutput"]["decision"]
    return found


def test_allow(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card("npm test")
    assert world.answer(world.tap(card, "Allow")) == "Allow: sending…"
    assert finish(caller) == (ALLOW, b"", 0)
    assert world.says(card, "Allowed by Ada")["buttons"] == []


def test_deny(world: World) -> None:
    caller = world.ask(event_bytes())
    world.tap(world.open_card(), "Deny")
    output, _, code = finish(caller)
    assert code == 0
    assert output == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":'
        b'{"behavior":"deny","message":"Denied from the phone.","interrupt":false}}}'
    )


def test_deny_and_stop(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Deny and stop")
    assert decision(finish(caller)[0])["interrupt"] is True
    world.says(card, "the turn was stopped")


def test_a_suggestion_is_echoed_unchanged(world: World) -> None:
    suggestion = {"type": "neverSeenBefore", "ünïcode": [1, {"deep": None}], "destination": "session"}
    caller = world.ask(event_bytes(suggestions=(suggestion,)))
    card = world.open_card("Allow with “neverSeenBefore”")
    world.tap(card, "SeenBefore")
    world.tap(world.says(card, "Really?"), "SeenBefore")
    assert decision(finish(caller)[0]) == {"behavior": "allow", "updatedPermissions": [suggestion]}


def test_deny_with_a_reason(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "reason")
    prompt = world.prompt()
    assert prompt["reply_to"] == card["message_id"]
    world.reply("use pnpm, please", prompt)
    assert decision(finish(caller)[0]) == {"behavior": "deny", "message": "use pnpm, please", "interrupt": False}
    world.says(card, "use pnpm, please")
    world.until(lambda: not [message for message in world.cards() if message["force_reply"]])


def test_a_pre_tool_use_hook_asks_the_phone_as_well(world: World) -> None:
    caller = world.ask(event_bytes(event="PreToolUse"))
    world.tap(world.open_card(), "Allow")
    assert finish(caller)[0] == (
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",'
        b'"permissionDecisionReason":"Allowed from the phone."}}'
    )


def test_a_pre_tool_use_hook_without_an_opinion_asks(quiet_world: World) -> None:
    world = quiet_world
    world.configure(timeout_s=3)
    world.start_daemon()
    output, _, code = finish(world.ask(event_bytes(event="PreToolUse")))
    assert json.loads(output)["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert code == 0


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_every_captured_question_becomes_a_card(world: World, agent: str) -> None:
    folder = {"claude": "claude-code-2.1.325", "codex": "codex-0.166.0"}[agent]
    questions = ("PermissionRequest", "PreToolUse") if agent == "claude" else ("PermissionRequest",)
    files = [
        path for path in sorted((CAPTURES / folder).glob("*.json")) if any(name in path.name for name in questions)
    ]
    assert len(files) >= 6
    for path in files:
        event = path.read_bytes()
        session = json.loads(event)["session_id"]
        # A session of its own for each: a session's later Bash call would supersede the earlier one.
        caller = world.ask(event.replace(session.encode(), path.stem.encode()), agent=agent)
        card = world.open_card()
        assert "shop" in card["text"]
        labels = {"PermissionRequest.ExitPlanMode.json": "Reject", "PermissionRequest.AskUserQuestion.json": "Skip all"}
        label = labels.get(path.name, "Deny")
        assert world.answer(world.tap(card, label)) == f"{label}: sending…"
        output, errors, code = finish(caller)
        assert (errors, code) == (b"", 0)
        assert (b"skipped it" if label == "Skip all" else b"Denied from the phone.") in output
        world.says(card, "Skipped by Ada" if label == "Skip all" else "Denied by Ada")


def test_every_captured_event_is_understood(world: World) -> None:
    for path in sorted((CAPTURES / "claude-code-2.1.325").glob("*.json")):
        if not path.name.startswith(("PermissionRequest", "PreToolUse")):
            world.tell(path.read_bytes())
    assert world.cards() == []


# Who may tap


def group_world(world: World) -> None:
    world.post("chats", id=GROUP, title="Team", members=[ADA, LINUS])
    people = "".join(f"[[people]]\nuser_id = {ADA}\nchat_id = {chat}\nname = 'Ada'\n" for chat in (ADA, GROUP))
    world.configure(people=people)
    world.start_daemon()


def test_the_first_tap_wins_and_all_copies_are_edited(quiet_world: World) -> None:
    world = quiet_world
    world.configure(
        people=f"[[people]]\nuser_id = {ADA}\nname = 'Ada'\n[[people]]\nuser_id = {LINUS}\nname = 'Linus'\n"
    )
    world.start_daemon()
    caller = world.ask(event_bytes())
    adas, linus = world.open_card(), world.open_card(chat_id=LINUS)
    first = world.tap(linus, "Deny", user_id=LINUS, chat_id=LINUS)
    allow = adas["buttons"][0][0]["callback_data"]
    second = world.tap(adas, data=allow, forge=True)  # by now the card may have lost its buttons
    assert world.answer(first) == "Deny: sending…"
    assert "Your answer changed nothing" in world.answer(second) or "Linus was first" in world.answer(second)
    assert decision(finish(caller)[0])["behavior"] == "deny"
    world.says(adas, "Denied by Linus")
    world.says(linus, "Denied by Linus", chat_id=LINUS)


def test_a_stranger_and_a_group_member_who_is_not_listed_change_nothing(quiet_world: World) -> None:
    world = quiet_world
    group_world(world)
    caller = world.ask(event_bytes())
    card = world.open_card(chat_id=GROUP)
    data = card["buttons"][0][0]["callback_data"]
    by_member = world.tap(card, "Allow", user_id=LINUS, chat_id=GROUP)
    assert "not on this tapgate's list" in world.answer(by_member)
    by_stranger = world.tap(card, data=data, user_id=MALLORY, chat_id=MALLORY, forge=True)
    assert "not on this tapgate's list" in world.answer(by_stranger)
    assert caller.poll() is None
    world.tap(card, "Allow", user_id=ADA, chat_id=GROUP)
    assert finish(caller)[0] == ALLOW


def test_forged_data_changes_nothing(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    good = card["buttons"][0][0]["callback_data"]
    request, _, seal = good.split(".")
    denial = card["buttons"][0][1]["callback_data"].split(".")[2]
    for data in ("x", "a" * 64, f"{request}.a.AAAAAAAA", f"{request}.s9.{seal}", f"{request}.a.{denial}", "é" * 20):
        assert "nothing" in (text := world.answer(world.tap(card, data=data, forge=True))) or "no request" in text
    other = world.tap({"message_id": card["message_id"]}, data=good, chat_id=GROUP, user_id=ADA, forge=True)
    assert "not answered from this chat" in world.answer(other)
    assert caller.poll() is None
    world.tap(card, "Deny")
    assert decision(finish(caller)[0])["behavior"] == "deny"


def test_a_reply_by_another_person_is_not_the_reason(quiet_world: World) -> None:
    world = quiet_world
    world.post("chats", id=GROUP, title="Team", members=[ADA, LINUS])
    people = "".join(f"[[people]]\nuser_id = {user}\nchat_id = {GROUP}\nname = 'P{user}'\n" for user in (ADA, LINUS))
    world.configure(people=people)
    world.start_daemon()
    caller = world.ask(event_bytes())
    card = world.open_card(chat_id=GROUP)
    world.tap(card, "reason", user_id=ADA, chat_id=GROUP)
    prompt = world.prompt(GROUP)
    world.reply("not mine to say", prompt, user_id=LINUS, chat_id=GROUP)
    world.reply("mine", prompt, user_id=ADA, chat_id=GROUP)
    assert decision(finish(caller)[0])["message"] == "mine"


def test_a_tap_before_send_message_has_returned_counts(world: World) -> None:
    """The card is on the phone, but Telegram's answer to the send is still on its way."""
    world.post("faults", method="sendMessage", kind="stall", stall_s=3, applied=True)
    caller = world.ask(event_bytes())
    card = world.open_card()
    assert not [call for call in world.calls("sendMessage") if call["status"] == 200]
    assert world.answer(world.tap(card, "Allow")) == "Allow: sending…"
    assert finish(caller)[0] == ALLOW
    world.says(card, "Allowed by Ada")


# Inputs that are not questions


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        (b"", b"nothing came on stdin"),
        (b"   \n", b"nothing came on stdin"),
        (b"not json", b"not JSON"),
        (b"\x00\xff\xfe\x80 binary \x01", b"not JSON"),
        (b"[1, 2]", b"not an object"),
        (b'{"hello": "world"}', b"no hook_event_name"),
        (b'{"hook_event_name": "PermissionRequest"}', b"tool_name"),
        (b'{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":"ls"}', b"tool_input"),
        (b'{"a":' * 100_000, b"nested too deeply"),
        (b"x" * (20 * 1024 * 1024), b"larger than 16 MiB"),
    ],
    ids=["empty", "blank", "text", "binary", "array", "object", "no tool", "odd input", "deep", "20 MiB"],
)
def test_what_is_not_a_question_gets_no_opinion_and_a_clear_line(world: World, stdin: bytes, words: bytes) -> None:
    output, errors, code = finish(world.ask(stdin))
    assert (output, code) == (b"", 0)
    assert words in errors and errors.startswith(b"tapgate: ") and errors.count(b"\n") == 1
    assert world.cards() == []
    caller = world.ask(event_bytes())
    world.tap(world.open_card(), "Allow")
    assert finish(caller)[0] == ALLOW, "and the daemon is unharmed"


def test_an_unknown_agent_is_refused_with_a_sentence(world: World) -> None:
    output, errors, code = finish(world.ask(event_bytes(), agent="hal9000"))
    assert (output, code) == (b"", 0)
    assert b"does not know the agent 'hal9000'" in errors


def test_a_write_of_many_mebibytes_can_be_seen_and_allowed(world: World) -> None:
    content = "print('hello')\n" * 700_000  # 10 MiB
    tool_input = {"file_path": "/home/dev/shop/big.py", "content": content}
    caller = world.ask(event_bytes(tool="Write", tool_input=tool_input, suggestions=()))
    card = world.open_card("characters are not shown")
    assert card["buttons"][0][0]["text"] == "Show all of it"
    assert not [key for row in card["buttons"] for key in row if key["text"] == "Allow"]
    world.tap(card, "Show all")
    document = world.until(lambda: [m for m in world.cards() if m["document"]])[0]["document"]
    assert document["size"] >= len(content)
    assert content[-1000:] in world.http.get(document["url"]).text
    card = world.until(
        lambda: [m for m in world.cards() if any(k["text"] == "Allow" for r in m["buttons"] for k in r)]
    )[0]
    world.tap(card, "Allow")
    assert finish(caller)[0] == ALLOW


# The caller's life


def test_without_a_daemon_there_is_no_opinion_and_no_delay(quiet_world: World) -> None:
    output, errors, code = finish(quiet_world.ask(event_bytes()))
    assert (output, code) == (b"", 0)
    assert b"the daemon is not running" in errors and errors.count(b"\n") == 1


def test_a_stale_socket_file_is_no_daemon(quiet_world: World) -> None:
    quiet_world.socket_path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(quiet_world.socket_path))
    output, errors, code = finish(quiet_world.ask(event_bytes()))
    assert (output, code) == (b"", 0)
    assert b"the daemon is not running" in errors
    quiet_world.start_daemon()
    caller = quiet_world.ask(event_bytes())
    quiet_world.tap(quiet_world.open_card(), "Allow")
    assert finish(caller)[0] == ALLOW, "and the daemon replaces it"


def test_sigterm_ends_the_caller_at_once(world: World) -> None:
    caller = world.ask(event_bytes(), CLAUDE_PID=str(os.getpid()))
    card = world.open_card()
    caller.send_signal(signal.SIGTERM)
    output, _, _ = finish(caller)
    assert output == b""
    assert world.says(card, "Denied at the terminal")["buttons"] == []


def test_a_caller_whose_parent_died_is_gone(world: World) -> None:
    """The agent is killed with no chance to tell its hook."""
    script = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"
    words = ["/usr/bin/env", "python3", "-c", script, *world.hook_words()]
    parent = subprocess.Popen(
        words, env=world.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    world.processes.append(parent)
    assert parent.stdin is not None and parent.stdout is not None
    parent.stdin.write(event_bytes())
    parent.stdin.close()
    parent.stdin = None
    card = world.open_card()
    parent.kill()
    assert world.says(card, "The agent's process died")["buttons"] == []
    assert parent.stdout.read() == b"", "which ends only when the orphan is gone too"


def test_nobody_answers(quiet_world: World) -> None:
    world = quiet_world
    world.configure(timeout_s=3)
    world.start_daemon()
    caller = world.ask(event_bytes())
    card = world.open_card()
    output, errors, code = finish(caller)
    assert (output, code) == (b"", 0)
    assert b"Nobody answered in time" in errors
    settled = world.says(card, "Nobody answered in time")
    assert "asks at the terminal" in settled["text"] and settled["buttons"] == []
    assert "Your answer changed nothing" in world.answer(
        world.tap(card, data=card["buttons"][0][0]["callback_data"], forge=True)
    )


def test_a_caller_outlives_no_deadline_even_with_a_silent_daemon(quiet_world: World) -> None:
    quiet_world.socket_path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(quiet_world.socket_path))
        silent.listen()
        output, errors, code = finish(quiet_world.ask(event_bytes(), deadline_s=1.5))
    assert (output, code) == (b"", 0)
    assert b"nobody answered in time" in errors


def test_the_environment_is_not_passed_on(world: World) -> None:
    caller = world.ask(event_bytes(), CLAUDE_CODE_MESSAGING_TOKEN="s3cret-t0ken", ANTHROPIC_API_KEY="sk-ant-s3cret")
    world.tap(world.open_card(), "Allow")
    finish(caller)
    world.stop_daemon()
    for path in world.state_dir.iterdir():
        assert b"s3cret" not in path.read_bytes(), path


# Stopping


def test_after_sigterm_every_caller_has_no_opinion_and_every_card_says_so(world: World) -> None:
    callers = [world.ask(event_bytes(session=f"s{number}")) for number in range(5)]
    world.until(lambda: len([card for card in world.cards() if card["buttons"]]) == 5)
    assert world.daemon is not None
    world.daemon.send_signal(signal.SIGTERM)
    began = time.monotonic()
    for caller in callers:
        output, errors, code = finish(caller)
        assert (output, code) == (b"", 0)
        assert b"tapgate was stopped" in errors
    assert time.monotonic() - began < 2
    assert world.daemon.wait(15) == 0
    assert not world.socket_path.exists()
    for card in world.cards():
        assert "tapgate was stopped" in card["text"] and card["buttons"] == []


def test_a_second_daemon_says_which_pid_holds_the_lock(world: World) -> None:
    assert world.daemon is not None
    second = world.tapgate("daemon", "--config", str(world.config_path))
    _, errors, code = finish(second)
    assert code == 1
    assert f"pid {world.daemon.pid}".encode() in errors
    caller = world.ask(event_bytes())
    world.tap(world.open_card(), "Allow")
    assert finish(caller)[0] == ALLOW, "the first one goes on"


def test_the_card_says_why(world: World) -> None:
    transcript = world.home / "session.jsonl"
    words = {"type": "assistant", "message": {"content": [{"type": "text", "text": "The greeting must change."}]}}
    transcript.write_text(json.dumps(words) + "\n")
    caller = world.ask(event_bytes(transcript_path=str(transcript)))
    world.tap(world.open_card("The greeting must change."), "Allow")
    assert finish(caller)[0] == ALLOW
