"""The socket's file: private, never in the place of a living one, and taken away by nobody but its owner."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapgate.daemon.sockets import identity_of, inherited_socket, open_socket, peer_uid, remove_socket
from tapgate.errors import SocketError
from tapgate.paths import MAX_SOCKET_PATH_BYTES


@pytest.fixture
def home() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))  # short: socket paths must stay under 104 bytes
    yield path
    shutil.rmtree(path)


@pytest.fixture
def run(home: Path) -> Path:
    path = home / "run"
    path.mkdir(mode=0o700)
    return path


def is_heard(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(str(path))
        except OSError:
            return False
        return True


# The file


def test_the_socket_and_its_directory_are_private_whatever_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        with open_socket(home / "run" / "daemon.sock"):
            assert stat.S_IMODE((home / "run" / "daemon.sock").stat().st_mode) == 0o600
            assert stat.S_IMODE((home / "run").stat().st_mode) == 0o700
            assert [path.name for path in (home / "run").iterdir()] == ["daemon.sock"], "and nothing else is left there"
    finally:
        os.umask(before)


def test_a_stale_file_is_replaced(run: Path) -> None:
    path = run / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    stale = identity_of(path)
    assert not is_heard(path)
    with open_socket(path):
        assert is_heard(path)
        assert identity_of(path) != stale


def test_what_an_earlier_process_of_this_number_left_half_made_is_no_obstacle(run: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(run / f".{os.getpid()}"))
    with open_socket(run / "daemon.sock"):
        assert is_heard(run / "daemon.sock")


def test_a_living_socket_is_never_replaced(run: Path) -> None:
    path = run / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        before = identity_of(path)
        with pytest.raises(SocketError, match="another program listens at"):
            open_socket(path)
        assert identity_of(path) == before
        assert is_heard(path)
        assert [found.name for found in run.iterdir()] == ["daemon.sock"]


def test_a_living_socket_that_is_too_busy_to_answer_is_never_replaced(run: Path) -> None:
    """Its queue is full, so that connecting fails although somebody listens."""
    path = run / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen(0)
        callers = []
        try:
            for _ in range(8):
                caller = socket.socket(socket.AF_UNIX)
                caller.setblocking(False)
                callers.append(caller)
                caller.connect(str(path))
        except BlockingIOError:
            pass
        before = identity_of(path)
        with pytest.raises(SocketError, match=r"cannot tell whether .* is in use|another program"):
            open_socket(path)
        assert identity_of(path) == before
        for caller in callers:
            caller.close()


@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_what_is_no_socket_is_refused_and_left_as_it_is(run: Path, what: str) -> None:
    path = run / "daemon.sock"
    if what == "file":
        path.write_text("precious")
    elif what == "directory":
        path.mkdir()
    else:
        path.symlink_to(run / "elsewhere")
    with pytest.raises(SocketError, match="is not a socket; remove it"):
        open_socket(path)
    assert what != "file" or path.read_text() == "precious"
    assert [found.name for found in run.iterdir()] == ["daemon.sock"]


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777])
def test_a_directory_that_is_open_to_others_is_refused_with_the_remedy(run: Path, mode: int) -> None:
    run.chmod(mode)
    with pytest.raises(SocketError, match=f"open to other users; run: chmod 700 {run}"):
        open_socket(run / "daemon.sock")
    assert list(run.iterdir()) == []


def test_a_directory_in_which_others_may_rename_things_is_refused(home: Path, run: Path) -> None:
    home.chmod(0o777)
    with pytest.raises(SocketError, match="other users may replace what is in"):
        open_socket(run / "daemon.sock")
    home.chmod(0o1777)
    open_socket(run / "daemon.sock").close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(run: Path) -> None:
    os.chown(run, 65534, 65534)
    with pytest.raises(SocketError, match="belongs to another user"):
        open_socket(run / "daemon.sock")


def test_a_link_in_the_place_of_the_directory_is_refused(home: Path, run: Path) -> None:
    (home / "link").symlink_to(run)
    with pytest.raises(SocketError, match="is not a directory"):
        open_socket(home / "link" / "daemon.sock")


def test_a_path_that_is_too_long_is_refused_with_the_remedy_and_one_byte_less_is_not(home: Path) -> None:
    room = MAX_SOCKET_PATH_BYTES - len(os.fsencode(home / "run" / "daemon.sock"))
    long = home / ("run" + "x" * (room + 1)) / "daemon.sock"
    with pytest.raises(SocketError, match="set a shorter socket_path"):
        open_socket(long)
    assert not long.parent.exists()
    with open_socket(home / ("run" + "x" * room) / "daemon.sock") as fits:
        assert fits.fileno() >= 0


def test_only_the_own_file_is_removed(run: Path) -> None:
    path = run / "daemon.sock"
    with open_socket(path):
        own = identity_of(path)
        path.rename(run / "kept")  # so that its number is not given to the next file
        with open_socket(path):
            remove_socket(path, own)
            assert is_heard(path), "the one that stands there now is another's"
        remove_socket(run / "kept", own)
        assert not (run / "kept").exists()
        remove_socket(run / "kept", own)


def test_the_caller_is_known_by_the_kernel() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()


# Handed over by systemd

HAND_OVER = """
import os, socket, sys
kind, path, pid, count = sys.argv[1:5]
family = socket.AF_INET if kind == "inet" else socket.AF_UNIX
sock = socket.socket(family, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM)
sock.bind(("127.0.0.1", 0) if kind == "inet" else path)
if kind in ("listening", "inet"):
    sock.listen()
if kind != "none":
    os.dup2(sock.fileno(), 3)
    os.set_inheritable(3, True)
environ = {**os.environ, "LISTEN_PID": pid or str(os.getpid()), "LISTEN_FDS": count, "LISTEN_FDNAMES": "tapgate"}
os.execve(sys.executable, [sys.executable, "-c", sys.argv[5]], environ)
"""
TAKE_OVER = """
import os
from tapgate.daemon.sockets import inherited_socket
from tapgate.errors import SocketError
try:
    sock = inherited_socket()
except SocketError as error:
    raise SystemExit(f"refused: {error}")
left = [name for name in os.environ if name.startswith("LISTEN_")]
if sock is None:
    raise SystemExit("none")
print("ready", left, os.get_inheritable(3), sock.getblocking(), flush=True)
sock.setblocking(True)
caller, _ = sock.accept()
caller.sendall(b"hello")
"""


def hand_over(path: Path, kind: str = "listening", *, pid: str = "", count: str = "1") -> subprocess.Popen[str]:
    """A process that gets its socket as systemd would give it: as descriptor 3, and named in the environment."""
    return subprocess.Popen(
        [sys.executable, "-c", HAND_OVER, kind, str(path), pid, count, TAKE_OVER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_socket_from_systemd_is_taken_over_and_callers_that_wait_there_are_heard(run: Path) -> None:
    path = run / "daemon.sock"
    with hand_over(path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready [] False False\n", "its children know nothing of it"
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(10)
            caller.connect(str(path))
            assert caller.recv(100) == b"hello"
        assert process.wait(10) == 0, process.communicate()


@pytest.mark.parametrize("kind", ["bound", "datagram", "inet"])
def test_another_kind_of_socket_from_systemd_is_refused(run: Path, kind: str) -> None:
    _, errors = (process := hand_over(run / "s", kind)).communicate(timeout=120)
    assert errors == "refused: the socket handed over in LISTEN_FDS is not a listening Unix stream socket\n"
    assert process.returncode == 1


def test_a_socket_that_is_announced_and_not_there_is_refused(run: Path) -> None:
    _, errors = hand_over(run / "s", "none").communicate(timeout=120)
    assert errors.startswith("refused: LISTEN_FDS announces a socket that is not there")


@pytest.mark.parametrize(("pid", "count"), [("1", "1"), ("", "0"), ("", "2")], ids=["another's", "none", "two"])
def test_what_was_handed_to_another_process_is_not_taken(run: Path, pid: str, count: str) -> None:
    _, errors = hand_over(run / "s", pid=pid, count=count).communicate(timeout=120)
    assert errors == "none\n"


def test_without_systemd_there_is_nothing_to_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LISTEN_PID", "LISTEN_FDS"):
        monkeypatch.delenv(name, raising=False)
    assert inherited_socket() is None
