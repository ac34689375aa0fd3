"""A request is judged by the home of the user who asks; where that is not known, by none."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tapgate.daemon.context import gather_context
from tapgate.daemon.homes import Homes, listed_home
from tapgate.risk.assess import assess_request
from tapgate.telegram.display import DisplayOptions
from tests.builders import make_request

ALICE, NOBODY = 4001, 4002
ALICE_HOME = "/srv/people/alice"


class Users:
    """A list of users that counts how often it is asked."""

    def __init__(self, **homes: str) -> None:
        self.homes = {int(uid.removeprefix("u")): home for uid, home in homes.items()}
        self.asked: list[int] = []

    def __call__(self, uid: int) -> str:
        self.asked.append(uid)
        return self.homes.get(uid, "")


def test_the_own_user_has_the_home_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere/else")
    homes = Homes(listed=Users())
    assert homes.home_of(os.getuid()) == homes.known_home(os.getuid()) == "/somewhere/else"


def test_another_user_has_the_home_on_the_list_and_is_looked_up_once() -> None:
    users = Users(u4001=ALICE_HOME)
    homes = Homes(listed=users)
    assert homes.known_home(ALICE) == "", "nobody has been asked yet"
    assert [homes.home_of(ALICE) for _ in range(3)] == [ALICE_HOME] * 3
    assert homes.known_home(ALICE) == ALICE_HOME and users.asked == [ALICE]


@pytest.mark.parametrize("listed", ["", "relative", "~"])
def test_without_a_usable_home_there_is_none_until_there_is_one(listed: str) -> None:
    users = Users(u4001=listed)
    homes = Homes(listed=users)
    assert homes.home_of(ALICE) == homes.known_home(ALICE) == ""
    users.homes[ALICE] = ALICE_HOME
    assert homes.home_of(ALICE) == ALICE_HOME


@pytest.mark.parametrize("uid", [-1, 2**31 + 12345, 2**40])
def test_a_uid_that_no_list_has_is_nobody(uid: int) -> None:
    assert listed_home(uid) == ""


def test_the_system_knows_the_homes_of_its_users() -> None:
    entry = pwd.getpwall()[0]
    assert listed_home(entry.pw_uid) == pwd.getpwuid(entry.pw_uid).pw_dir


COMMANDS = [
    "rm -rf {home}",
    "rm -rf {home}/",
    "rm -rf {home}/*",
    "rm -rf ~",
    "find {home} -delete",
    "echo x >> {home}/.vimrc",
    "echo x >> ~/.vimrc",
    "cp a {home}/.config/app/settings",
    "tee {home}/.npmrc",
    "docker run -v {home}:/data alpine",
    "cat {home}/.ssh/id_rsa",
    "echo x > {home}/.bashrc",
    "echo x > {home}/notes.txt",
    "mv a {home}/.local/bin/b",
    "npm test",
    "ls -la {home}",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_daemon_with_another_home_names_the_same_risks(command: str) -> None:
    """What a card says about a command does not depend on whose daemon it is."""
    request = make_request(uid=ALICE, tool_input={"command": command.format(home=ALICE_HOME)}, cwd="/srv/shop")
    homes = Homes(own_uid=1, listed=Users(u4001=ALICE_HOME))
    named = assess_request(request, home=homes.home_of(request.caller.uid))
    assert named == assess_request(request, home=ALICE_HOME)


def test_without_a_home_what_stands_for_it_is_still_named() -> None:
    for command in ("rm -rf ~", "rm -rf $HOME", "echo x > ~/.bashrc", "cat ~/.ssh/id_rsa"):
        assert assess_request(make_request(tool_input={"command": command}), home=""), command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.txt").write_text("old\n")
    return tmp_path / "shop"


Look = Callable[..., object]


@pytest.fixture
def look(project: Path) -> Look:
    def write(**homes: str) -> object:
        request = make_request(
            tool="Write", tool_input={"file_path": f"{project}/a.txt", "content": "new\n"}, cwd=str(project)
        )
        request = replace(request, caller=replace(request.caller, project=str(project)))
        return gather_context(request, now=1.0, **homes).on_disk

    return write


def test_the_disk_is_read_by_the_home_of_the_caller(look: Look, project: Path) -> None:
    assert look(home="/srv/people/alice", own_home="/var/lib/tapgate") is not None
    assert look(home=str(project), own_home="/var/lib/tapgate") is None, "a home is nobody's project"
    assert look(home=str(project / "below"), own_home="/var/lib/tapgate") is None, "nor is what lies above it"
    assert look(home="/srv/people/alice", own_home=str(project)) is None, "nor the daemon's own"


def test_for_a_caller_without_a_home_nothing_is_read(look: Look) -> None:
    assert look(home="", own_home="/var/lib/tapgate") is None


def test_a_card_writes_the_home_of_its_caller_as_a_tilde() -> None:
    homes = Homes(listed=Users(u4001=ALICE_HOME))
    homes.home_of(ALICE)
    setting = DisplayOptions(clock=str, home="/var/lib/tapgate", home_of=homes.known_home)
    alices, nobodys = setting.of(make_request(uid=ALICE)), setting.of(make_request(uid=NOBODY))
    assert alices.place(f"{ALICE_HOME}/notes") == "~/notes"
    assert alices.place("/var/lib/tapgate/notes") == "/var/lib/tapgate/notes"
    assert nobodys.place(f"{ALICE_HOME}/notes") == f"{ALICE_HOME}/notes"
    assert nobodys.place("/var/lib/tapgate/notes") == "/var/lib/tapgate/notes"
