"""What the journal costs: the same daemon with it and without, asked by turns."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.callers import ANSWER, EVENT, PROJECT, hook_words
from bench.figures import Comparison
from bench.server import USER_ID, Call, Server
from tapgate.wire import FrameKind, encode_frame

_PATIENCE_S = 20.0
_WARM_UP = 5
_CONFIG = """\
socket_path = "{home}/daemon.sock"
state_dir = "{home}/state"
[telegram]
token = "{token}"
base_url = "{url}"
per_chat_s = 0
[[people]]
user_id = {user_id}
name = "You"
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """One daemon: where it listens, and what the server heard from it."""

    socket_path: Path
    token: str
    server: Server

    def heard(self, wanted: Callable[[Call], bool]) -> Call:
        """The next call that is wanted; others are passed over."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            call = self.server.calls[self.token].get(timeout=max(0.01, until - time.monotonic()))
            if wanted(call):
                return call

    def tap(self, card: Call) -> float:
        rows = json.loads(card.params["reply_markup"])["inline_keyboard"]
        return self.server.tap(self.token, card.message_id, rows[0][0]["callback_data"])

    def settle(self) -> None:
        """Wait until the card says so: after that the daemon has nothing left to do."""
        self.heard(lambda call: call.method == "editMessageText" and "Allowed" in call.params["text"])


def measure_journal(folder: Path, pairs: int) -> list[Comparison]:
    with (
        Server() as server,
        _daemon(folder / "real", server, "real") as real,
        _daemon(folder / "none", server, "forgetful") as none,
    ):
        return [
            _compare("frame received to sendMessage", _post_ms, real, none, pairs),
            _compare("tap to the hook's stdout", _tap_ms, real, none, pairs),
        ]


def _compare(name: str, measure: Callable[[Peer], float], real: Peer, none: Peer, pairs: int) -> Comparison:
    ours, theirs = [], []
    for number in range(-_WARM_UP, pairs):
        if number % 2:
            with_ms, without_ms = measure(real), measure(none)
        else:
            without_ms, with_ms = measure(none), measure(real)
        if number >= 0:
            ours.append(with_ms)
            theirs.append(without_ms)
    return Comparison(name, "without the journal", "ms", ours, theirs)


def _post_ms(peer: Peer) -> float:
    """From the frame's last byte on the socket to its sendMessage at the server."""
    frame = encode_frame(
        FrameKind.ASK,
        EVENT,
        id=os.urandom(16).hex(),
        agent="claude",
        deadline_s=590,
        pid=os.getpid(),
        parent=os.getppid(),
        attended=1,
        project=PROJECT,
    )
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(_PATIENCE_S)
        sock.connect(str(peer.socket_path))
        sock.sendall(frame[:-1])
        time.sleep(0.005)  # so that accepting and reading the rest is not part of it
        began = time.monotonic()
        sock.sendall(frame[-1:])
        card = peer.heard(lambda call: call.method == "sendMessage")
        peer.tap(card)
        if ANSWER not in sock.recv(65536):
            raise RuntimeError("the daemon gave another answer than was tapped")
        sock.sendall(encode_frame(FrameKind.TAKEN))
        peer.settle()
    return (card.at - began) * 1000


def _tap_ms(peer: Peer) -> float:
    """From the tap at the server to the decision on a real hook's stdout."""
    process = subprocess.Popen(
        hook_words(peer.socket_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(EVENT)
    process.stdin.close()
    process.stdin = None
    card = peer.heard(lambda call: call.method == "sendMessage")
    time.sleep(0.01)  # so that recording the post is not part of it
    began = peer.tap(card)
    output = os.read(process.stdout.fileno(), 65536)
    took_s = time.monotonic() - began
    process.communicate()
    if output != ANSWER:
        raise RuntimeError(f"the hook gave another answer than was tapped: {output!r}")
    peer.settle()
    return took_s * 1000


@contextlib.contextmanager
def _daemon(home: Path, server: Server, how: str) -> Iterator[Peer]:
    home.mkdir(mode=0o700)
    token = f"12345678:{how}-token"
    config = home / "config.toml"
    config.write_text(_CONFIG.format(home=home, token=token, url=server.url, user_id=USER_ID), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.daemon", str(config), how],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "XDG_RUNTIME_DIR": str(home)},  # the lock by bot lies there, and both have the same bot
    )
    try:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(_PATIENCE_S) or not process.stdout.readline():
                raise RuntimeError("the daemon did not start")
        yield Peer(home / "daemon.sock", token, server)
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
