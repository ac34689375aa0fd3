"""Asking a running daemon: what comes of an answer, of none, and of somebody else's socket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tapgate.client import MOST_BYTES, ask_status
from tapgate.errors import FrameError, NotRunningError, SocketError, TapgateError
from tapgate.wire import FrameKind, encode_frame

Serve = Callable[[socket.socket], None]


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tg-", dir="/tmp") as folder:  # short: socket paths are
        yield Path(folder) / "daemon.sock"


def ask(path: Path, serve: Serve, *, patience_s: float = 60.0) -> dict[str, object]:
    """Ask somebody who treats the connection like this, and hangs up then."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.recv(4096)
                    serve(connection)
                except OSError:
                    pass  # the client hung up first

        thread = threading.Thread(target=run)
        thread.start()
        try:
            return ask_status(path, patience_s=patience_s)
        finally:
            thread.join()


def says(*frames: bytes) -> Serve:
    return lambda connection: connection.sendall(b"".join(frames))


def test_the_answer_is_what_the_daemon_says_of_itself(path: Path) -> None:
    assert ask(path, says(encode_frame(FrameKind.REPLY, b'{"pid": 5}', exit=0))) == {"pid": 5}


def test_nobody_there_is_told_with_how_to_start_it(path: Path) -> None:
    with pytest.raises(NotRunningError, match="start it with `tapgate daemon`"):
        ask_status(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(str(path))
    with pytest.raises(NotRunningError, match="Connection refused"):
        ask_status(path)


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        ((), "hung up without an answer"),
        ((encode_frame(FrameKind.REPLY, b'{"pid"', exit=0),), "cut short"),
        ((encode_frame(FrameKind.REPLY, b"[]", exit=0),), "makes no sense"),
        ((encode_frame(FrameKind.ERROR, b"too many callers"),), "too many callers"),
        ((b"HTTP/1.1 400 Bad Request\r\n\r\n",), "not a tapgate frame"),
        ((b"x" * (MOST_BYTES + 1),), "does not end"),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error(path: Path, frames: tuple[bytes, ...], sentence: str) -> None:
    with pytest.raises(FrameError, match=sentence):
        ask(path, says(*frames))


def test_who_never_comes_to_an_end_is_not_waited_for(path: Path) -> None:
    """Patience is for the whole answer: one byte now and then does not prolong it."""

    def trickle(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"x")

    with pytest.raises(TapgateError, match=r"does not (answer|end)"):
        ask(path, trickle, patience_s=0.2)


LISTEN_AS = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1]); sock.listen(); os.chmod(sys.argv[1], 0o777)
print("ready", flush=True)
while True:
    connection, _ = sock.accept()
    if connection.recv(4096):
        connection.sendall(b"tapgate/1 reply 2 exit=0\\n{}")
    connection.close()
"""
ASK_AS = """
import os, sys
from pathlib import Path
from tapgate.client import ask_status
os.setgid(12345); os.setuid(12345)
try:
    print(ask_status(Path(sys.argv[1])))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be several users")
def test_another_user_s_socket_is_not_asked(path: Path) -> None:
    path.parent.chmod(0o777)
    listener = subprocess.Popen([sys.executable, "-c", LISTEN_AS, str(path)], stdout=subprocess.PIPE)
    try:
        assert listener.stdout is not None and listener.stdout.readline() == b"ready\n"
        asked = subprocess.run([sys.executable, "-c", ASK_AS, str(path)], capture_output=True, check=False, text=True)
        assert asked.stdout.startswith(SocketError.__name__) and "another user (uid 65534)" in asked.stdout, asked
        assert ask_status(path) == {}, "root may ask anybody"
    finally:
        listener.kill()
        listener.communicate()
