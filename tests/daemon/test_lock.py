"""One daemon per user: who holds the lock is known, and a holder's death, however it comes, frees it."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapgate.daemon.lock import Holder, Lock, holder_of
from tapgate.errors import LockedError

HOLD = """
import sys
from pathlib import Path
from tapgate.daemon.lock import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until its stdin ends."""
    words = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process


def test_a_second_holder_is_told_the_pid_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holder(path) as first:
        with pytest.raises(LockedError, match=rf"pid {first.pid} holds .*kill {first.pid}$"):
            Lock(path)
        assert path.read_text() == f"{first.pid}\n", "and the refused one wrote nothing"


def test_a_holder_that_left_no_note_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holder(path):
        path.write_text("")
        with pytest.raises(LockedError, match=r"another process holds .*; stop it first$"):
            Lock(path)


def test_who_holds_it_can_be_asked_without_taking_it(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    assert holder_of(path) is None and not path.exists(), "looking leaves nothing behind"
    with holder(path) as first:
        assert holder_of(path) == Holder(first.pid)
    assert holder_of(path) is None
    lock = Lock(path, bot="a-bot")
    assert holder_of(path) == Holder(os.getpid(), "a-bot")
    lock.release()
    path.write_text("4242\nleft by one that was killed\n")
    assert holder_of(path) is None


def test_somebody_who_only_looks_keeps_no_daemon_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    Lock(path).release()
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        looking = threading.Timer(0.01, fcntl.flock, (file, fcntl.LOCK_UN))
        looking.start()
        Lock(path).release()
        looking.join()


def test_kill_9_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holder(path) as first:
        first.kill()
        first.wait()
        lock = Lock(path)
        assert path.read_text() == f"{os.getpid()}\n"
        lock.release()


def test_a_released_lock_can_be_taken_again_and_its_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    Lock(path).release()
    found = path.stat()
    assert path.read_text() == ""
    lock = Lock(path)
    assert path.stat().st_ino == found.st_ino
    assert stat.S_IMODE(found.st_mode) == 0o600
    lock.release()


def test_a_refused_lock_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    lock = Lock(path)
    before = os.listdir("/dev/fd")
    with pytest.raises(LockedError):
        Lock(path)
    assert os.listdir("/dev/fd") == before
    lock.release()


def test_a_symbolic_link_is_refused_and_what_it_points_to_is_untouched(tmp_path: Path) -> None:
    other = tmp_path / "diary.txt"
    other.write_text("dear diary")
    path = tmp_path / "daemon.lock"
    path.symlink_to(other)
    with pytest.raises(LockedError, match="symbolic link"):
        Lock(path)
    assert other.read_text() == "dear diary"


def test_a_child_of_the_daemon_does_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    lock = Lock(path)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()
        Lock(path).release()
