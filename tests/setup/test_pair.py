"""`tapgate pair`: beside a daemon, against strangers, in groups, and without losing anybody's tap."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys

import pytest

from tapgate.config import load_config
from tapgate.model import Role
from tapgate.setup.pairing import TRIES
from tests.builders import event_bytes
from tests.e2e.world import ADA, GROUP, LINUS, MALLORY, PATIENCE_S, finish
from tests.setup.terminal import Newcomer, Terminal

TAPGATE = (sys.executable, "-m", "tapgate")


def listed(newcomer: Newcomer) -> list[tuple[int, int, str, Role]]:
    config = load_config(newcomer.config_path)
    return [(one.user_id, one.chat_id, one.name, one.role) for one in config.persons()]


def pairs_linus(newcomer: Newcomer, terminal: Terminal) -> None:
    newcomer.presses_start(terminal.code(), user_id=LINUS)
    terminal.sees("Linus", "pressed Start", "Is that the right person?")
    terminal.answers()


# One more person


def test_one_more_person_is_an_approver_unless_said_otherwise(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    before = newcomer.config_path.read_text()
    terminal = newcomer.runs("pair")
    pairs_linus(newcomer, terminal)
    terminal.sees("Which role?")
    terminal.answers()
    terminal.sees("Linus is paired as approver", "next start")
    terminal.ends(0)
    assert listed(newcomer) == [(ADA, ADA, "Ada", Role.OWNER), (LINUS, LINUS, "Linus", Role.APPROVER)]
    assert newcomer.config_path.read_text().startswith(before)
    assert "approver" in newcomer.cards(LINUS)[-1]["text"]


def test_role_and_name_can_be_given(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("pair", "--role", "viewer", "--name", "The boss", "--yes")
    newcomer.presses_start(terminal.code(), user_id=LINUS)
    terminal.ends(0)
    assert listed(newcomer)[1] == (LINUS, LINUS, "The boss", Role.VIEWER)


def test_pairing_again_changes_nobodys_role_or_name(newcomer: Newcomer) -> None:
    newcomer.is_set_up((ADA, "Countess", "owner"))
    before = newcomer.config_path.read_text()
    terminal = newcomer.runs("pair", "--yes")
    newcomer.presses_start(terminal.code())
    terminal.ends(0)
    assert newcomer.config_path.read_text() == before


def test_whoever_is_not_the_right_person_is_not_added_and_not_told(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("pair")
    newcomer.presses_start(terminal.code(), user_id=LINUS)
    terminal.sees("Is that the right person?")
    terminal.answers("n")
    terminal.sees("They were not added", "Go on?")
    terminal.answers("s")
    terminal.ends(1)
    assert [one[0] for one in listed(newcomer)] == [ADA] and not newcomer.cards(LINUS)


def test_without_a_config_it_says_where_to_begin(newcomer: Newcomer) -> None:
    _, errors, code = finish(newcomer.tapgate("pair", "--yes"))
    assert code == 1 and b"begin with `tapgate setup`" in errors


# Strangers


def test_a_thousand_wrong_codes_pair_nobody_and_get_no_answer(newcomer: Newcomer) -> None:
    """Three end a pairing. The rest, lying there when the next begins, are no tries of that one."""
    newcomer.is_set_up()
    newcomer.post("users", id=MALLORY, first_name="Mallory")
    terminal = newcomer.runs("pair")
    terminal.code()
    for _ in range(1000):
        newcomer.presses_start(secrets.token_urlsafe(16), user_id=MALLORY)
    terminal.sees("A wrong code came (number 1 of 3)", f"{TRIES} wrong codes came", "Go on?")
    assert [one[0] for one in listed(newcomer)] == [ADA]
    terminal.answers("r")
    pairs_linus(newcomer, terminal)
    terminal.sees("Which role?")
    terminal.answers("approver")
    terminal.sees("paired as approver")
    assert terminal.ends(0).count("A wrong code came") <= TRIES
    assert [one[0] for one in listed(newcomer)] == [ADA, LINUS]
    assert not newcomer.cards(MALLORY)
    assert {call["params"]["chat_id"] for call in newcomer.calls("sendMessage")} == {str(LINUS)}


def test_the_right_code_after_three_wrong_ones_pairs_nobody(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("pair")
    code = terminal.code()
    for guess in ("one", "two", "three", code):
        newcomer.presses_start(guess, user_id=LINUS)
    terminal.sees("wrong codes came", "Go on?")
    terminal.answers("s")
    terminal.ends(1)
    assert [one[0] for one in listed(newcomer)] == [ADA]


def test_a_code_of_an_earlier_run_pairs_nobody(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("pair")
    old = terminal.code()
    terminal.interrupts()
    terminal.sees("Go on?")
    terminal.interrupts()
    terminal.sees("Nobody was added")
    terminal.ends(130)
    terminal = newcomer.runs("pair")
    assert terminal.code() != old
    newcomer.presses_start(old, user_id=LINUS)
    terminal.sees("A wrong code came (number 1 of 3)")
    terminal.interrupts()
    terminal.sees("Go on?")
    terminal.answers("s")
    terminal.ends(1)
    assert [one[0] for one in listed(newcomer)] == [ADA]


@pytest.mark.parametrize("kind", ["pair", "people", "code", "start"])
def test_nothing_on_the_socket_adds_a_person(newcomer: Newcomer, kind: str) -> None:
    """The agent runs as the same user, and can say there whatever it likes."""
    newcomer.is_set_up()
    newcomer.start_daemon()
    before = newcomer.config_path.read_bytes()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(PATIENCE_S)
        caller.connect(str(newcomer.socket_path))
        caller.sendall(f"tapgate/1 {kind} 13 user_id={MALLORY} role=owner\n".encode() + b'{"user":"666"}')
        answer = caller.recv(4096)
    assert answer.startswith(b"tapgate/1 error")
    newcomer.post("users", id=MALLORY, first_name="Mallory")
    newcomer.presses_start("anything", user_id=MALLORY)
    asked = newcomer.ask(event_bytes())
    card = newcomer.open_card()
    newcomer.tap(card, "Deny")
    finish(asked)
    assert newcomer.config_path.read_bytes() == before and not newcomer.cards(MALLORY)


# Beside a daemon


def test_a_daemon_in_a_terminal_is_stopped_only_when_that_is_allowed(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    daemon = newcomer.start_daemon()
    terminal = newcomer.runs("pair")
    terminal.sees(f"(pid {daemon.pid})", "Stop it?")
    terminal.answers("n")
    terminal.sees("nothing was changed")
    terminal.ends(1)
    assert daemon.poll() is None

    terminal = newcomer.runs("pair")
    terminal.sees("Stop it?")
    terminal.answers("y")
    pairs_linus(newcomer, terminal)
    terminal.sees("Which role?")
    terminal.answers("owner")
    terminal.sees("next start: tapgate daemon")
    terminal.ends(0)
    assert daemon.wait(PATIENCE_S) == 0
    assert len(listed(newcomer)) == 2


def test_a_service_goes_on_by_itself_with_the_new_person(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    newcomer.is_set_up()
    installed = subprocess.run(
        [*TAPGATE, "service", "install", "--yes"], env=newcomer.environ, capture_output=True, text=True
    )
    assert installed.returncode == 0, installed
    before = (newcomer.home / "manager.pid").read_text()
    terminal = newcomer.runs("pair", "--role", "owner")
    terminal.sees("the service stops for this", "Stop it for as long as this takes?")
    terminal.answers()
    pairs_linus(newcomer, terminal)
    terminal.sees("Linus is paired as owner")
    terminal.ends(0)
    assert (newcomer.home / "manager.pid").read_text() != before
    asked = newcomer.ask(event_bytes())
    newcomer.tap(newcomer.open_card(chat_id=LINUS), "Allow", user_id=LINUS, chat_id=LINUS)
    assert b'"allow"' in finish(asked)[0]


def test_a_service_goes_on_when_the_pairing_is_cancelled(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    newcomer.is_set_up()
    subprocess.run([*TAPGATE, "service", "install", "--yes"], env=newcomer.environ, check=True, capture_output=True)
    terminal = newcomer.runs("pair")
    terminal.sees("Stop it for as long as this takes?")
    terminal.answers()
    terminal.code()
    terminal.interrupts()
    terminal.sees("Go on?")
    terminal.interrupts()
    terminal.ends(130)
    assert subprocess.run([*TAPGATE, "status"], env=newcomer.environ, capture_output=True).returncode == 0


def test_no_daemon_starts_while_somebody_pairs(newcomer: Newcomer) -> None:
    """Two that poll would take each other's taps."""
    newcomer.is_set_up()
    terminal = newcomer.runs("pair")
    terminal.code()
    _, errors, code = finish(newcomer.tapgate("daemon"))
    assert code == 1 and b"already" in errors
    terminal.interrupts()
    terminal.sees("Go on?")
    terminal.answers("s")
    terminal.ends(1)
    newcomer.start_daemon()


def test_a_tap_that_waits_for_the_daemon_is_not_taken_away(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.start_daemon()
    asked = newcomer.ask(event_bytes())
    card = newcomer.open_card()
    newcomer.stop_daemon(signal.SIGKILL)
    newcomer.tap(card, "Allow")
    newcomer.post("users", id=MALLORY, first_name="Mallory")
    newcomer.presses_start("guess", user_id=MALLORY)
    terminal = newcomer.runs("pair", "--role", "approver")
    pairs_linus(newcomer, terminal)
    terminal.sees("is paired as approver")
    terminal.ends(0)
    newcomer.start_daemon()
    assert b'"allow"' in finish(asked)[0]


def test_another_program_that_polls_is_said_so(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.post("faults", method="getUpdates", kind="409", times=1)
    terminal = newcomer.runs("pair")
    terminal.sees("another program polls with this bot's token", "Go on?")
    terminal.answers("r")
    terminal.code()
    terminal.interrupts()
    terminal.sees("Go on?")
    terminal.answers("s")
    terminal.ends(1)


def test_an_outage_in_between_is_waited_out(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("pair", "--yes", columns=120)
    code = terminal.code()
    newcomer.post("faults", method="getUpdates", kind="drop", times=1)
    newcomer.post("clock", advance_s=20)  # ends the poll that is under way
    newcomer.presses_start(code, user_id=LINUS)
    terminal.sees("Linus is paired")
    terminal.ends(0)


# Groups


def test_cards_go_to_a_group_and_only_who_is_listed_there_can_tap(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.post("chats", id=GROUP, title="The team", members=[ADA, LINUS])
    terminal = newcomer.runs("pair", "--group", "--yes")
    terminal.sees("choose the group")
    code = terminal.code()
    assert f"startgroup={code}" in terminal.screen
    newcomer.post("message", user_id=ADA, chat_id=GROUP, text=f"/start@tapgate_bot {code}")
    terminal.sees('in the group "The team"')
    terminal.ends(0)
    assert listed(newcomer) == [(ADA, ADA, "Ada", Role.OWNER), (ADA, GROUP, "Ada", Role.OWNER)]

    newcomer.start_daemon()
    asked = newcomer.ask(event_bytes())
    card = newcomer.open_card(chat_id=GROUP)
    newcomer.answer(newcomer.tap(card, "Allow", user_id=LINUS, chat_id=GROUP))
    assert asked.poll() is None
    newcomer.tap(card, "Allow", user_id=ADA, chat_id=GROUP)
    assert b'"allow"' in finish(asked)[0]


def test_a_private_code_in_a_group_ends_the_pairing(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.post("chats", id=GROUP, title="The team", members=[ADA, LINUS])
    terminal = newcomer.runs("pair")
    code = terminal.code()
    newcomer.post("message", user_id=ADA, chat_id=GROUP, text=f"/start@tapgate_bot {code}")
    newcomer.presses_start(code, user_id=LINUS)
    terminal.sees("sent to a group", "Go on?")
    terminal.answers("s")
    terminal.ends(1)
    assert [one[0] for one in listed(newcomer)] == [ADA]
