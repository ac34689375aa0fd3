"""`tapgate people`: listed, removed, given another role; and a daemon that still has the old list is not forgotten."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tapgate.cli.listing import find_person
from tapgate.config import load_config
from tapgate.errors import TapgateError
from tapgate.model import Person, Role
from tests.e2e.world import ADA, LINUS, finish
from tests.setup.terminal import Newcomer

BOTH = ((ADA, "Ada", "owner"), (LINUS, "Linus", "approver"))


def roles(newcomer: Newcomer) -> dict[str, str]:
    return {person.name: person.role.value for person in load_config(newcomer.config_path).persons()}


def run(newcomer: Newcomer, *words: str) -> tuple[str, str, int]:
    output, errors, code = finish(newcomer.tapgate("people", *words, stdin=subprocess.DEVNULL))
    return output.decode(), errors.decode(), code


def test_they_are_listed(newcomer: Newcomer) -> None:
    newcomer.is_set_up(*BOTH)
    for words in ((), ("list",)):
        output, errors, code = run(newcomer, *words)
        assert (errors, code) == ("", 0)
        assert [line.split()[:3] for line in output.splitlines()[1:]] == [
            ["Ada", str(ADA), "owner"],
            ["Linus", str(LINUS), "approver"],
        ]


def test_they_are_listed_for_machines(newcomer: Newcomer) -> None:
    newcomer.is_set_up(*BOTH)
    output, _, _ = run(newcomer, "--json")
    assert [json.loads(line) for line in output.splitlines()] == [
        {"user_id": ADA, "chat_id": ADA, "name": "Ada", "role": "owner"},
        {"user_id": LINUS, "chat_id": LINUS, "name": "Linus", "role": "approver"},
    ]


def test_an_empty_list_says_how_to_begin(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.config_path.write_text("")
    output, _, code = run(newcomer)
    assert "tapgate pair" in output and code == 0


@pytest.mark.parametrize("who", ["Linus", "linus", str(LINUS)])
def test_somebody_is_removed_by_name_or_id(newcomer: Newcomer, who: str) -> None:
    newcomer.is_set_up(*BOTH)
    output, errors, code = run(newcomer, "remove", who, "--yes")
    assert (errors, code) == ("", 0) and "Linus is off the list" in output
    assert roles(newcomer) == {"Ada": "owner"}
    assert newcomer.config_path.read_text().startswith("# mine\n")


def test_a_removal_is_asked_about(newcomer: Newcomer) -> None:
    newcomer.is_set_up(*BOTH)
    terminal = newcomer.runs("people", "remove", "Linus")
    terminal.sees("Linus", "Remove this entry?")
    terminal.answers("n")
    terminal.ends(1)
    assert len(roles(newcomer)) == 2


def test_removing_the_last_one_is_warned_about(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("people", "remove", "Ada")
    terminal.sees("nobody is left", "Remove this entry?")
    terminal.answers("y")
    terminal.ends(0)
    assert roles(newcomer) == {}


def test_a_stranger_to_the_list_is_named_and_nothing_changes(newcomer: Newcomer) -> None:
    newcomer.is_set_up(*BOTH)
    before = newcomer.config_path.read_bytes()
    _, errors, code = run(newcomer, "remove", "Mallory", "--yes")
    assert code == 1 and "Mallory is not on the list; it has: Ada, Linus" in errors
    assert newcomer.config_path.read_bytes() == before


def test_a_role_is_changed(newcomer: Newcomer) -> None:
    newcomer.is_set_up(*BOTH)
    output, _, code = run(newcomer, "role", "Linus", "owner", "--yes")
    assert code == 0 and "Linus is owner now" in output
    assert roles(newcomer) == {"Ada": "owner", "Linus": "owner"}
    output, _, code = run(newcomer, "role", "Linus", "owner")
    assert code == 0 and "already" in output


def test_a_role_that_leaves_nobody_to_answer_is_asked_about_again(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.runs("people", "role", "Ada", "viewer")
    terminal.sees("nobody is left who can answer", "Do it all the same?")
    terminal.answers()
    terminal.ends(1)
    assert roles(newcomer) == {"Ada": "owner"}


def test_a_role_that_does_not_exist_is_refused(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    _, errors, code = run(newcomer, "role", "Ada", "king", "--yes")
    assert code == 2 and "owner" in errors and "viewer" in errors


# The daemon


def test_a_daemon_in_a_terminal_is_named_because_the_old_list_counts_there(newcomer: Newcomer) -> None:
    newcomer.is_set_up(*BOTH)
    daemon = newcomer.start_daemon()
    output, _, code = run(newcomer, "remove", "Linus", "--yes")
    said = " ".join(output.split())
    assert code == 0 and f"(pid {daemon.pid})" in said and "the old list counts" in said
    assert daemon.poll() is None


def test_a_service_is_restarted_so_that_a_removal_counts_at_once(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    newcomer.is_set_up(*BOTH)
    words = [sys.executable, "-m", "tapgate", "service", "install", "--yes"]
    subprocess.run(words, env=newcomer.environ, check=True, capture_output=True)
    before = (newcomer.home / "manager.pid").read_text()
    terminal = newcomer.runs("people", "remove", "Linus")
    terminal.sees("Remove this entry?")
    terminal.answers()
    terminal.sees("has the old list", "Restart it now?")
    terminal.answers()
    terminal.sees("was restarted")
    terminal.ends(0)
    assert (newcomer.home / "manager.pid").read_text() != before
    status = subprocess.run(
        [sys.executable, "-m", "tapgate", "status", "--json"], env=newcomer.environ, capture_output=True, check=True
    )
    assert json.loads(status.stdout)["people"] in (1, ["Ada"])


# Finding


def person(user_id: int, name: str, chat_id: int | None = None) -> Person:
    return Person(user_id, user_id if chat_id is None else chat_id, name, Role.OWNER)


def test_all_entries_of_one_person_are_meant_unless_a_chat_is_named() -> None:
    listed = (person(1, "Ada"), person(1, "Ada", -700), person(2, "Linus"))
    assert find_person(listed, "Ada") == listed[:2]
    assert find_person(listed, "Ada", -700) == (listed[1],)
    assert find_person(listed, "1") == listed[:2]


def test_a_name_of_two_people_is_refused_and_the_ids_are_named() -> None:
    with pytest.raises(TapgateError, match=r"several people are called Ada.*1, 2"):
        find_person((person(1, "Ada"), person(2, "Ada")), "Ada")


def test_the_exact_name_wins_over_one_that_differs_in_case() -> None:
    listed = (person(1, "ada"), person(2, "Ada"))
    assert find_person(listed, "Ada") == (listed[1],)
