"""The daemon goes away and comes back while a caller waits: one request, one card, one answer."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import event_bytes
from tests.e2e.test_approval import ALLOW, decision
from tests.e2e.world import ADA, Message, World, finish, read_line


def trail(world: World) -> list[tuple[str, str, str]]:
    """What happened to whom, as the journal has it."""
    with contextlib.closing(sqlite3.connect(f"file:{world.state_dir}/journal.db?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT what, person, outcome FROM trail ORDER BY seq").fetchall()
    return [(str(what), str(person), str(outcome)) for what, person, outcome in rows]


def journaled_card(world: World) -> Message:
    """The open card, once the journal knows where it stands."""
    card = world.open_card()
    world.until(lambda: ("posted", "", "") in trail(world))
    return card


def test_a_caller_survives_a_kill_and_is_answered_by_the_next_daemon(world: World) -> None:
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.stop_daemon(signal.SIGKILL)
    assert caller.poll() is None
    world.start_daemon()
    world.tap(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)
    world.says(card, "Allowed by Ada")
    assert len(world.cards()) == 1, "one card, no second buzz"
    assert len(world.calls("sendMessage")) == 1


def test_a_tap_while_the_daemon_is_down_reaches_the_caller_after_the_restart(world: World) -> None:
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.stop_daemon(signal.SIGKILL)
    query = world.tap(card, "Deny")
    world.post("clock", advance_s=100)
    world.start_daemon()
    assert decision(finish(caller)[0])["behavior"] == "deny"
    assert world.answer(query) == "Deny: sending…"
    world.says(card, "Denied by Ada")


def test_a_tap_that_telegram_dropped_can_be_repeated_on_the_refreshed_card(world: World) -> None:
    """Down for longer than Telegram keeps a tap: the tap is lost, and the card says what to do."""
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.until(lambda: world.get("state")["last_poll_t"] is not None)
    world.stop_daemon(signal.SIGKILL)
    world.tap(card, "Allow")
    world.post("clock", advance_s=200)
    with contextlib.closing(sqlite3.connect(world.state_dir / "journal.db")) as connection, connection:
        changed = connection.execute("UPDATE meta SET value = value - 200 WHERE key = 'last_poll'").rowcount
    assert changed == 1, "as if the daemon had been away for 200 s"
    world.start_daemon()
    refreshed = world.says(card, "tap again")
    assert caller.poll() is None
    world.tap(refreshed, "Allow")
    assert finish(caller)[0] == ALLOW


def test_after_a_short_absence_the_card_says_so_and_its_buttons_are_the_same(world: World) -> None:
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.stop_daemon(signal.SIGKILL)
    world.start_daemon()
    assert world.says(card, "tapgate was restarted")["buttons"] == card["buttons"]
    world.tap(card, "Allow")
    assert finish(caller)[0] == ALLOW
    assert len(world.calls("sendMessage")) == 1, "and nobody is woken for it"


def test_a_caller_that_died_meanwhile_leaves_no_open_card(quiet_world: World) -> None:
    world = quiet_world
    world.configure(timeout_s=5)
    world.start_daemon()
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.stop_daemon(signal.SIGKILL)
    caller.kill()
    finish(caller)
    world.start_daemon()
    assert world.says(card, "Nobody answered in time")["buttons"] == []


def test_a_card_that_a_kill_hid_from_the_journal_is_withdrawn(quiet_world: World) -> None:
    """Killed after the card reached the phone and before that was written down, and the caller never comes back."""
    world = quiet_world
    world.configure(timeout_s=5)
    world.start_daemon()
    world.post("faults", method="sendMessage", kind="stall", stall_s=60, applied=True)
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.stop_daemon(signal.SIGKILL)
    caller.kill()
    finish(caller)
    assert ("posted", "", "") not in trail(world)
    world.start_daemon()
    assert world.says(card, "This card does not count")["buttons"] == []
    world.until(lambda: len(world.cards()) == 1)


def test_a_card_that_a_kill_hid_is_replaced_when_the_caller_comes_back(world: World) -> None:
    world.post("faults", method="sendMessage", kind="stall", stall_s=60, applied=True)
    caller = world.ask(event_bytes())
    first = world.open_card()
    world.stop_daemon(signal.SIGKILL)
    world.start_daemon()
    world.says(first, "This card does not count")
    second = world.open_card()
    assert second["message_id"] != first["message_id"]
    world.tap(second, "Allow")
    assert finish(caller)[0] == ALLOW


def test_an_answer_is_recorded_before_it_is_given(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Allow")
    finish(caller)
    world.says(card, "Allowed")
    assert trail(world) == [
        ("asked", "", ""),
        ("posted", "", ""),
        ("answered", "Ada", ""),
        ("settled", "Ada", "allowed"),
    ]


def test_a_late_tap_after_a_restart_is_told_the_truth(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    data = card["buttons"][0][0]["callback_data"]
    world.tap(card, "Deny")
    finish(caller)
    world.says(card, "Denied by Ada")
    world.stop_daemon()
    world.start_daemon()
    told = world.answer(world.tap(card, data=data, forge=True))
    assert told == "Denied by Ada, as the journal says. Your answer changed nothing."


def test_repeated_updates_change_nothing(world: World) -> None:
    """The offset is lost, as after a damaged journal: Telegram sends everything again."""
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.stop_daemon(signal.SIGKILL)
    world.tap(card, "Deny")
    world.tap(card, "Allow")
    world.start_daemon()
    assert decision(finish(caller)[0])["behavior"] == "deny"
    world.says(card, "Denied by Ada")
    before = trail(world)
    world.stop_daemon()
    with contextlib.closing(sqlite3.connect(world.state_dir / "journal.db")) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key LIKE 'offset%'")
    world.start_daemon()
    world.until(lambda: world.get("state")["pollers"])
    assert trail(world) == before


# systemd socket activation

ACTIVATOR = """
import os, socket, sys
path = sys.argv[1]
sock = socket.socket(socket.AF_UNIX)
sock.bind(path); os.chmod(path, 0o600); sock.listen(64)
os.dup2(sock.fileno(), 3); os.set_inheritable(3, True)
while True:
    pid = os.fork()
    if not pid:
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        os.execv(sys.executable, [sys.executable, "-m", "tapgate", "daemon", "--config", sys.argv[2]])
    print(pid, flush=True)
    os.waitpid(pid, 0)
    if not sys.stdin.readline():
        break
"""


def test_with_socket_activation_callers_wait_while_the_daemon_restarts(quiet_world: World) -> None:
    world = quiet_world
    world.socket_path.parent.mkdir(mode=0o700)
    activator = subprocess.Popen(
        [sys.executable, "-c", ACTIVATOR, str(world.socket_path), str(world.config_path)],
        env=world.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    world.processes.append(activator)
    assert activator.stdin is not None
    first = int(read_line(activator))
    try:
        assert read_line(activator).startswith("tapgate is ready")
        os.kill(first, signal.SIGTERM)
        early = world.ask(event_bytes())  # nobody runs now; the connection waits in the socket's queue
        activator.stdin.write(b"again\n")
        activator.stdin.flush()
        second = int(read_line(activator))
        world.tap(world.open_card(), "Allow")
        assert finish(early)[0] == ALLOW
        assert world.socket_path.exists(), "it belongs to systemd, not to the daemon"
    finally:
        activator.stdin.close()
        activator.stdin = None
        with contextlib.suppress(ProcessLookupError, UnboundLocalError):
            os.kill(second, signal.SIGTERM)


# Faults of the disk


def mounted(path: Path, options: str) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a tmpfs is not permitted here: {done.stderr.decode().strip()}")


@contextlib.contextmanager
def small_state(world: World, size: str = "400k"):  # type: ignore[no-untyped-def]
    mounted(world.state_dir, f"size={size},mode=0700")
    try:
        yield
    finally:
        if world.daemon is not None and world.daemon.poll() is None:
            world.stop_daemon(signal.SIGKILL)
        subprocess.run(["umount", "-l", str(world.state_dir)], check=True)


def fill(folder: Path) -> Path:
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return ballast


def test_a_full_disk_means_no_opinion_and_a_clear_message(quiet_world: World) -> None:
    world = quiet_world
    with small_state(world):
        world.start_daemon()
        waiting = world.ask(event_bytes(session="before"))
        card = world.open_card()
        ballast = fill(world.state_dir)

        # An answer that cannot be recorded does not count.
        query = world.tap(card, "Allow")
        output, errors, code = finish(waiting)
        assert (output, code) == (b"", 0)
        assert b"could not be recorded" in errors
        assert "could not be recorded" in world.answer(query)
        assert world.says(card, "It could not be recorded")["buttons"] == []

        # A question that cannot be recorded is not asked on the phone.
        output, errors, code = finish(world.ask(event_bytes(session="during")))
        assert (output, code) == (b"", 0) and b"could not be recorded" in errors
        assert "full" in world.errors()
        assert not [card for card in world.cards() if card["buttons"]]

        # And it heals when there is space again.
        ballast.unlink()
        caller = world.ask(event_bytes(session="after"))
        world.tap(world.open_card(), "Allow")
        assert finish(caller)[0] == ALLOW


def test_a_read_only_state_directory_means_no_opinion_and_a_clear_message(quiet_world: World) -> None:
    world = quiet_world
    with small_state(world):
        world.start_daemon()
        world.stop_daemon()
        subprocess.run(["mount", "-o", "remount,ro", str(world.state_dir)], check=True)
        world.start_daemon()
        output, errors, code = finish(world.ask(event_bytes()))
        assert (output, code) == (b"", 0) and b"could not be recorded" in errors
        assert "read-only" in world.errors().lower() or "readonly" in world.errors().lower()
        assert world.until(lambda: [card for card in world.cards() if "could not be recorded" in card["text"]])
        assert not [card for card in world.cards() if card["buttons"]]


@pytest.mark.parametrize("damage", ["garbage", "truncated"])
def test_a_damaged_journal_is_set_aside_and_the_daemon_goes_on(world: World, damage: str) -> None:
    finish_one(world, "before")
    world.stop_daemon()
    journal = world.state_dir / "journal.db"
    data = journal.read_bytes()
    journal.write_bytes(os.urandom(len(data)) if damage == "garbage" else data[: len(data) // 3])
    world.start_daemon()
    assert "set aside" in world.errors() or "damaged" in world.errors()
    assert list(world.state_dir.glob("journal.db.damaged-*"))
    finish_one(world, "after")


def test_a_journal_damaged_while_a_request_waits_ends_in_no_opinion(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    garbage = world.state_dir / "garbage"
    garbage.write_bytes(os.urandom(8192))
    for name in ("journal.db-wal", "journal.db-shm"):
        (world.state_dir / name).unlink(missing_ok=True)  # SQLite would mend the file from these
    garbage.replace(world.state_dir / "journal.db")
    query = world.tap(card, "Allow")
    output, errors, code = finish(caller)
    assert (output, code) == (b"", 0)
    assert b"could not be recorded" in errors
    assert "could not be recorded" in world.answer(query)
    assert world.says(card, "It could not be recorded")["buttons"] == []
    finish_one(world, "after")


def finish_one(world: World, session: str) -> None:
    caller = world.ask(event_bytes(session=session))
    world.tap(world.open_card(), "Allow")
    assert finish(caller)[0] == ALLOW


def test_history_on_the_phone(world: World) -> None:
    finish_one(world, "one")
    world.post("message", user_id=ADA, chat_id=ADA, text="/history")
    answer = world.until(lambda: [m for m in world.cards() if "✅" in m["text"] and m["reply_to"]])[0]
    assert "npm test" in answer["text"] and "Ada" in answer["text"]
    world.post("message", user_id=102, chat_id=102, text="/history")
    finish_one(world, "two")
    assert world.cards(102) == [], "a stranger gets no answer"


def test_what_is_open_and_how_it_is_on_the_phone(world: World) -> None:
    """The menu of a listed chat offers the commands, and they tell of the running daemon."""
    caller = world.ask(event_bytes(session="one"))
    card = world.open_card()
    [call] = world.until(lambda: [one for one in world.calls("setMyCommands") if one["status"] == 200])
    names = re.findall(r'"command": "(\w+)"', call["params"]["commands"])
    assert names == ["help", "history", "pending", "status"]
    assert json.loads(call["params"]["scope"]) == {"chat_id": ADA, "type": "chat"}
    world.post("message", user_id=ADA, chat_id=ADA, text="/pending")
    world.post("message", user_id=ADA, chat_id=ADA, text="/status")
    told = world.until(lambda: [m["text"] for m in world.cards() if m["reply_to"] and "open: 1" in m["text"]])[0]
    assert "Telegram: ok" in told and "journal: ok" in told
    pending = next(m["text"] for m in world.cards() if m["reply_to"] and m["text"].startswith("1 open"))
    assert "npm test" in pending and "shop" in pending
    world.tap(card, "Allow")
    assert finish(caller)[0] == ALLOW
    world.post("message", user_id=ADA, chat_id=ADA, text="/pending")
    world.until(lambda: [m for m in world.cards() if m["text"] == "Nothing is waiting for an answer."])


# In the middle of something

FORM = {
    "questions": [
        {"question": "Which database?", "options": [{"label": "Postgres"}, {"label": "SQLite"}]},
        {"question": "Which extras?", "options": [{"label": "Cache"}, {"label": "Search"}], "multiSelect": True},
    ]
}


def test_a_form_begins_anew_after_a_kill(world: World) -> None:
    """What was answered so far is in no file: the journal could not prove it."""
    caller = world.ask(event_bytes(tool="AskUserQuestion", tool_input=FORM, suggestions=()))
    card = journaled_card(world)
    world.tap(card, "2. SQLite")
    card = world.says(card, "Question 2 of 2")
    world.stop_daemon(signal.SIGKILL)
    world.start_daemon()
    second = next(row[0] for row in card["buttons"] if "1. Cache" in row[0]["text"])["callback_data"]
    assert "nothing happened" in world.answer(world.tap(card, data=second, forge=True))
    card = world.says(card, "Question 1 of 2")
    world.tap(world.says(card, "tapgate was restarted"), "1. Postgres")
    world.tap(world.says(card, "Question 2 of 2"), "1. Cache")
    world.tap(world.says(card, "☑ 1. Cache"), "Done")
    answers = decision(finish(caller)[0])["updatedInput"]["answers"]
    assert answers == {"Which database?": "Postgres", "Which extras?": "Cache"}


def test_an_edit_is_forgotten_after_a_kill_and_can_be_made_again(world: World) -> None:
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.tap(card, "Edit")
    prompt = world.prompt()
    world.reply("npm test -- --bail", prompt)
    card = world.says(card, "not allowed yet")
    world.stop_daemon(signal.SIGKILL)
    world.start_daemon()
    run = card["buttons"][0][0]["callback_data"]
    assert "nothing happened" in world.answer(world.tap(card, data=run, forge=True))
    world.tap(world.says(card, "tapgate was restarted"), "Edit")
    world.reply("npm test -- --bail", world.prompt())
    world.tap(world.says(card, "not allowed yet"), "Run it as edited")
    assert decision(finish(caller)[0])["updatedInput"] == {"command": "npm test -- --bail"}
    world.says(card, "npm test -- --bail")


def test_a_prompt_from_before_the_kill_still_takes_its_answer(world: World) -> None:
    caller = world.ask(event_bytes())
    card = journaled_card(world)
    world.tap(card, "Edit")
    prompt = world.prompt()
    world.until(lambda: prompts(world) == [("ask_edit",)])
    world.stop_daemon(signal.SIGKILL)
    world.reply("npm test -- --bail", prompt)
    world.start_daemon()
    card = world.says(card, "+ npm test -- --bail")
    world.tap(card, "Run it as edited")
    assert decision(finish(caller)[0])["updatedInput"] == {"command": "npm test -- --bail"}


def old_button(card: Message, label: str) -> str:
    """The data of a button that the card had in the beginning."""
    first = card["history"][0]["buttons"]
    return next(str(button["callback_data"]) for row in first for button in row if button["text"] == label)


def prompts(world: World) -> list[tuple[str]]:
    with contextlib.closing(sqlite3.connect(f"file:{world.state_dir}/journal.db?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT purpose FROM copies WHERE prompt_for != 0").fetchall()
