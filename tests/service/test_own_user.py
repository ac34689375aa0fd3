"""A daemon with a user of its own, as docs/hardening.md sets it up: it serves the developer, and keeps its secrets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import event_bytes
from tests.e2e.world import ADA, PATIENCE_S, World, finish, new_world, read_line
from tests.service.user_manager import shown_to_all
from tests.simulator.driver import TOKEN

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or sys.platform != "linux" or shutil.which("unshare") is None,
    reason="only root can start a daemon as somebody else",
)
DAEMON, DEVELOPER, STRANGER = 64243, 64244, 64245
PYTHON = [sys.executable, "-m", "tapgate"]

# What systemd does with the units in systemd/system/: root listens, and the daemon gets the socket and its credentials.
START = """
import os, socket, sys
path, config, credentials, uid, owner, mode = sys.argv[1:]
sock = socket.socket(socket.AF_UNIX)
sock.bind(path); os.chown(path, int(owner), -1); os.chmod(path, int(mode, 8)); sock.listen(64)
os.dup2(sock.fileno(), 3); os.set_inheritable(3, True)
os.setgroups([]); os.setgid(int(uid)); os.setuid(int(uid))
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), CREDENTIALS_DIRECTORY=credentials)
os.execv(sys.executable, [sys.executable, "-m", "tapgate", "daemon", "--config", config])
"""


class Own:
    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.socket_path = folder / "run" / "daemon.sock"
        self.state_dir = folder / "state"
        self.credentials = folder / "credentials"
        for path, owner, mode in ((folder / "run", 0, 0o755), (self.state_dir, DAEMON, 0o700)):
            path.mkdir()
            path.chmod(mode)
            os.chown(path, owner, owner)
        self.credentials.mkdir(mode=0o700)
        (self.credentials / "telegram-token").write_text(f"{TOKEN}\n")
        (self.credentials / "config.toml").write_text(
            f"state_dir = '{self.state_dir}'\ncaller_uids = [{DEVELOPER}]\n"
            f"[telegram]\nbase_url = '{world.url}'\nper_chat_s = 0\n[[people]]\nuser_id = {ADA}\nname = 'Ada'\n"
        )
        for path in (*self.credentials.iterdir(), self.credentials):
            os.chown(path, DAEMON, DAEMON)
            path.chmod(0o500 if path.is_dir() else 0o400)
        self.config_path = folder / "developer.toml"
        self.config_path.write_text(f"socket_path = '{self.socket_path}'\n")
        self.config_path.chmod(0o644)

    def start(self, *, mode: int = 0o600) -> subprocess.Popen[bytes]:
        words = (str(self.socket_path), str(self.credentials / "config.toml"), str(self.credentials))
        daemon = self._run(sys.executable, "-c", START, *words, str(DAEMON), str(DEVELOPER), f"{mode:o}")
        line = read_line(daemon)
        assert line.startswith("tapgate is ready"), line
        assert line.endswith(f"listening at {self.socket_path}\n"), "where it does, and not what its config would say"
        return daemon

    def become(self, uid: int, *words: str) -> subprocess.Popen[bytes]:
        return self._run("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *words)

    def ask(self, uid: int) -> subprocess.Popen[bytes]:
        self.world.config_path = self.config_path
        caller = self.become(uid, *self.world.hook_words(deadline_s=60))
        assert caller.stdin is not None
        caller.stdin.write(event_bytes())
        caller.stdin.close()
        caller.stdin = None
        return caller

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            shown_to_all(*words, HOME=str(self.folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.world.processes.append(process)
        return process


@pytest.fixture
def own() -> Iterator[Own]:
    folder = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with new_world() as world:
            yield Own(world, folder)
    finally:
        shutil.rmtree(folder)


def test_the_developer_asks_and_is_answered(own: Own) -> None:
    daemon = own.start()
    caller = own.ask(DEVELOPER)
    own.world.tap(own.world.open_card(), "Deny")
    output, errors, code = finish(caller)
    assert b'"deny"' in output, errors
    status, errors, code = finish(own.become(DEVELOPER, *PYTHON, "status", "--config", str(own.config_path)))
    assert code == 0 and b"telegram: ok" in status, errors
    daemon.terminate()
    assert daemon.wait(PATIENCE_S) == 0


def test_the_developers_processes_read_neither_the_token_nor_the_journal(own: Own) -> None:
    own.start()
    for path in (own.credentials / "telegram-token", own.credentials / "config.toml", own.state_dir / "journal.db"):
        assert path.exists()
        output, errors, code = finish(own.become(DEVELOPER, "cat", str(path)))
        assert (output, code) == (b"", 1) and b"Permission denied" in errors
        output, errors, code = finish(own.become(DEVELOPER, "rm", "-f", str(path)))
        assert path.exists()
    output, errors, code = finish(own.become(DEVELOPER, "rm", "-f", str(own.socket_path)))
    assert own.socket_path.exists(), "nor can they put another socket in its place"


def test_somebody_who_is_not_listed_is_refused_even_where_the_socket_lets_them_in(own: Own) -> None:
    own.start(mode=0o666)
    output, errors, code = finish(own.ask(STRANGER))
    assert (output, code) == (b"", 0)
    assert b"belongs to another user" in errors
    assert own.world.cards() == []
