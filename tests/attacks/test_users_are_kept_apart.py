"""Several users on one daemon: what one of them sends counts for that user's own requests and for nothing else.

Real processes under real user ids, so these run as root only. The same promises without root, with a uid that the test
chooses, are in tests/daemon/test_listener.py and tests/desk/test_users.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tapgate.risk.assess import assess
from tapgate.wire import FrameKind, encode_frame
from tests.builders import event_bytes, request_id, tool_use
from tests.e2e.world import finish, new_world, read_line
from tests.service.test_own_user import DAEMON, PYTHON, START, Own

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or sys.platform != "linux" or shutil.which("unshare") is None,
    reason="only root can start processes as somebody else",
)
ALICE, EVE, UNKNOWN = 64251, 64252, 64253  # the last one has no entry in the list of users
ALICE_HOME = "/srv/people/alice"
PASSWD = f"""root:x:0:0::/root:/bin/sh
tapgate:x:{DAEMON}:{DAEMON}::/var/lib/tapgate:/bin/sh
alice:x:{ALICE}:{ALICE}::{ALICE_HOME}:/bin/sh
eve:x:{EVE}:{EVE}::/srv/people/eve:/bin/sh
"""
SAY = """
import socket, sys
sock = socket.socket(socket.AF_UNIX); sock.connect(sys.argv[1])
sock.sendall(bytes.fromhex(sys.argv[2]))
while chunk := sock.recv(65536):
    sys.stdout.buffer.write(chunk)
"""


class Shared(Own):
    """A daemon with a user of its own that serves three others, and a list of users of its own."""

    def start(self, *, mode: int = 0o666) -> subprocess.Popen[bytes]:
        config = self.credentials / "config.toml"
        listed = f"caller_uids = [{ALICE}, {EVE}, {UNKNOWN}]"
        config.write_text("\n".join([listed, *(x for x in config.read_text().split("\n") if "caller_uids" not in x)]))
        passwd = self.folder / "passwd"
        passwd.write_text(PASSWD)
        words = (str(self.socket_path), str(config), str(self.credentials), str(DAEMON), str(DAEMON), f"{mode:o}")
        mount = f'mount --bind {passwd} /etc/passwd; exec "$@"'
        daemon = self._run("sh", "-c", mount, "sh", sys.executable, "-c", START, *words)
        line = read_line(daemon)
        assert line.startswith("tapgate is ready"), line
        return daemon

    def send(self, uid: int, event: bytes) -> subprocess.Popen[bytes]:
        """Run the real hook as this user."""
        self.world.config_path = self.config_path
        caller = self.become(uid, *self.world.hook_words(deadline_s=300))
        assert caller.stdin is not None
        caller.stdin.write(event)
        caller.stdin.close()
        caller.stdin = None
        return caller

    def tell(self, uid: int, event: bytes) -> None:
        assert finish(self.send(uid, event)) == (b"", b"", 0)

    def say(self, uid: int, frame: bytes) -> subprocess.Popen[bytes]:
        """Send these bytes to the socket as this user, and print what comes back until the daemon hangs up."""
        return self.become(uid, sys.executable, "-I", "-c", SAY, str(self.socket_path), frame.hex())

    def status(self, uid: int) -> dict[str, Any]:
        words = (*PYTHON, "status", "--json", "--config", str(self.config_path))
        output, errors, _ = finish(self.become(uid, *words))
        found: dict[str, Any] = json.loads(output or errors)
        return found


@pytest.fixture
def shared() -> Iterator[Shared]:
    folder = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with new_world() as world:
            yield Shared(world, folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "made_up",
    [
        event_bytes(event="PostToolUse", duration_ms=1),
        event_bytes(event="Stop", tool_input={}),
        event_bytes(event="UserPromptSubmit", prompt="x", prompt_id="another"),
        event_bytes(event="SessionEnd", reason="logout"),
    ],
    ids=["the tool ran", "the turn ended", "a new prompt", "the session ended"],
)
def test_a_report_ends_no_card_of_another_user(shared: Shared, made_up: bytes) -> None:
    """Whatever another user of the daemon reports about a session with the same id, the card stays open, and its
    tap is what the asking agent gets."""
    shared.start()
    caller = shared.send(ALICE, event_bytes(prompt_id="mine"))
    card = shared.world.open_card()
    shared.tell(EVE, made_up)
    shared.world.tap(card, "Allow")
    output, errors, _ = finish(caller)
    assert b'"allow"' in output, errors


def test_a_restart_does_not_forget_whose_request_it_is(shared: Shared) -> None:
    """After kill -9 and a new start, another user's report still counts for nothing, and the caller that comes back
    is answered."""
    daemon = shared.start()
    caller = shared.send(ALICE, event_bytes())
    card = shared.world.open_card()
    daemon.kill()
    daemon.wait(30)
    shared.socket_path.unlink()
    shared.start()
    shared.world.until(lambda: shared.status(ALICE)["open_requests"] == 1)
    for event in ("PostToolUse", "Stop", "SessionEnd"):
        shared.tell(EVE, event_bytes(event=event, reason="exit"))
    assert [shared.status(uid)["open_requests"] for uid in (ALICE, EVE)] == [1, 0]
    shared.world.tap(card, "Allow")
    output, errors, _ = finish(caller, wait_s=60)
    assert b'"allow"' in output, errors


def test_a_report_of_the_same_user_still_ends_the_card(shared: Shared) -> None:
    """The binding costs nothing: a call that was answered at the terminal takes its own card down as before."""
    shared.start()
    caller = shared.send(ALICE, event_bytes())
    card = shared.world.open_card()
    shared.tell(ALICE, event_bytes(event="PostToolUse"))
    shared.world.says(card, "at the terminal")
    assert finish(caller)[0] == b""


def test_a_question_supersedes_none_of_another_user(shared: Shared) -> None:
    """A question under another user's session id neither ends that user's card nor is offered together with it."""
    shared.start()
    first = shared.send(ALICE, event_bytes())
    card = shared.world.open_card("npm test")
    second = shared.send(EVE, event_bytes(tool_input={"command": "ls"}))
    other = shared.world.open_card("ls")
    shown = [message["text"] for message in shared.world.cards() if message["buttons"]]
    assert len(shown) == 2, "both can be answered"
    shared.world.tap(other, "Deny")
    shared.world.tap(card, "Allow")
    assert b'"allow"' in finish(first)[0] and b'"deny"' in finish(second)[0]


def test_status_tells_each_user_of_their_own_sessions_only(shared: Shared) -> None:
    """Session ids and the number of open requests are told to the user they belong to, to root and to the daemon's
    own user, and to nobody else."""
    shared.start()
    shared.send(ALICE, event_bytes(session="alices-secret-session"))
    shared.world.open_card()
    shared.tell(EVE, event_bytes(event="PostToolUse", session="eves-session"))
    seen = {uid: shared.status(uid) for uid in (ALICE, EVE, UNKNOWN, DAEMON)}
    ids = {uid: {one["id"] for one in found["sessions"]} for uid, found in seen.items()}
    counts = {uid: found["open_requests"] for uid, found in seen.items()}
    everything = {"alices-secret-session", "eves-session"}
    assert ids == {ALICE: {"alices-secret-session"}, EVE: {"eves-session"}, UNKNOWN: set(), DAEMON: everything}
    assert counts == {ALICE: 1, EVE: 0, UNKNOWN: 0, DAEMON: 1}


def test_a_request_id_is_of_use_to_its_own_user_only(shared: Shared) -> None:
    """Somebody who got hold of another user's request id can neither take that question over nor confirm its answer."""
    shared.start()
    frame = encode_frame(
        FrameKind.ASK, event_bytes(), id=request_id(7), agent="claude", deadline_s=300, pid=1, parent=1
    )
    shared.say(ALICE, frame)
    card = shared.world.open_card()
    assert b"belongs to another question" in finish(shared.say(EVE, frame))[0]
    shared.world.tap(card, "Allow")
    shared.world.says(card, "Allow")
    confirming = encode_frame(FrameKind.TAKEN, id=request_id(7))
    assert finish(shared.say(EVE, confirming)) == (b"", b"", 0)
    sent = shared.status(ALICE)
    assert sent["open_requests"] == 1, "its own caller has not confirmed it yet"
    assert finish(shared.say(ALICE, confirming)) == (b"", b"", 0)
    shared.world.says(card, "Allowed by Ada")


SAYINGS = [
    "rm -rf {home}",
    "rm -rf {home}/*",
    "rm -rf ~",
    "echo x >> {home}/.vimrc",
    "echo x >> ~/.vimrc",
    "cp a {home}/.config/app/settings",
    "tee {home}/.npmrc",
    "docker run -v {home}:/data alpine",
    "cat {home}/.ssh/id_rsa",
    "echo x > {home}/.bashrc",
    "echo x > {home}/notes.txt",
    "git config --global alias.x y",
    "ssh-keygen -t ed25519",
    "npm test",
    "ls -la",
]


@pytest.mark.parametrize("saying", SAYINGS)
def test_risks_are_named_by_the_home_of_the_caller(saying: str) -> None:
    """What the rules say with the caller's own home is what a card must say; this is what they say of it."""
    command = saying.format(home=ALICE_HOME)
    named = assess(tool_use("Bash", {"command": command}), cwd="/srv/shop", project="/srv/shop", home=ALICE_HOME)
    assert bool(named) is (command not in ("npm test", "ls -la"))


def test_a_daemon_with_a_user_of_its_own_names_risks_by_the_home_of_the_caller(shared: Shared) -> None:
    """Each card names exactly the risks that the caller's own home calls for, also after a restart of the daemon; and
    ordinary commands stay without one."""
    daemon = shared.start()
    for number, saying in enumerate(SAYINGS):
        command = saying.format(home=ALICE_HOME)
        fields = {"command": f"{command} # {number}"}
        expected = assess(tool_use("Bash", fields), cwd="/srv/shop", project="/srv/shop", home=ALICE_HOME)
        caller = shared.send(ALICE, event_bytes(tool_input=fields, cwd="/srv/shop", session=f"s{number}"))
        card = shared.world.open_card(f"# {number}")
        for risk in expected:
            assert risk.sentence.split(":")[0] in card["text"], (command, risk, card["text"])
        assert ("⚠" in card["text"]) is bool(expected), (command, card["text"])
        shared.world.tap(card, "Deny")
        finish(caller)
    daemon.terminate()


def test_a_caller_that_no_list_knows_has_no_home(shared: Shared) -> None:
    """A uid without an entry in the list of users gets no home at all, not the daemon's: ~ stays what it is, and
    deleting it is still named."""
    shared.start()
    for number, command in enumerate(("rm -rf ~", "echo x > /var/lib/tapgate/.x")):
        caller = shared.send(
            UNKNOWN, event_bytes(tool_input={"command": f"{command} # {number}"}, session=f"s{number}")
        )
        card = shared.world.open_card(f"# {number}")
        assert "⚠" in card["text"], card["text"]
        shared.world.tap(card, "Deny")
        finish(caller)


def test_paths_are_shortened_by_the_home_of_the_caller(shared: Shared) -> None:
    """A card writes ~ for the home of the user who asks, and for no other directory."""
    shared.start()
    for number, (path, shown) in enumerate(
        ((f"{ALICE_HOME}/x/notes", "~/x/notes"), ("/var/lib/tapgate/notes", "/var/lib/tapgate/notes"))
    ):
        event = event_bytes(tool="Read", tool_input={"file_path": path}, session=f"s{number}", cwd="/srv/shop")
        caller = shared.send(ALICE, event)
        card = shared.world.open_card(shown)
        assert path.startswith("/var") or path not in card["text"]
        shared.world.tap(card, "Deny")
        finish(caller)
