"""The caller, as the printed hook command runs it: how long the agent waits for it, and what it holds in memory."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Comparison
from tapgate.cli.samples import samples
from tapgate.config import Config
from tapgate.hooks.command import hook_command
from tapgate.wire import FrameKind, decode_header, encode_frame

PROJECT = "/home/dev/shop"
# Without a transcript: one that does not hold the call yet is waited for, and that is not what is measured.
EVENT = json.dumps({**samples(PROJECT)[0].event(PROJECT), "transcript_path": ""}).encode()
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
START_GOAL = 1.5
MEMORY_GOAL = 1.2
_SETTLE_S = 10.0


def hook_words(socket_path: Path) -> list[str]:
    """The words of the command that `tapgate hooks print` prints, without the shell's `exec`."""
    config = Config(socket_path=socket_path)
    return shlex.split(hook_command(config, agent="claude", deadline_s=config.deadline_s))[1:]


class Answerer:
    """A socket that answers every caller at once, or keeps it waiting; it does nothing that a daemon would do."""

    def __init__(self, path: Path, *, answer: bool) -> None:
        self._answer = answer
        self.asked: queue.SimpleQueue[int] = queue.SimpleQueue()  # the pid of each caller whose question is here
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.bind(str(path))
        self._sock.listen(16)
        self._waiting: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Answerer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing does not wake accept() everywhere; a last connection without a frame does.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as last:
            last.connect(self._sock.getsockname())
        self._thread.join()
        self._sock.close()
        for caller in self._waiting:
            caller.close()

    def _serve(self) -> None:
        while True:
            caller, _ = self._sock.accept()
            received = b""
            while b"\n" not in received:
                chunk = caller.recv(65536)
                if not chunk:
                    caller.close()
                    return
                received += chunk
            line, _, body = received.partition(b"\n")
            header = decode_header(line)
            while len(body) < header.size_bytes:
                body += caller.recv(65536)
            if self._answer:
                caller.sendall(encode_frame(FrameKind.REPLY, ANSWER, exit=0))
                while caller.recv(4096):
                    pass  # the confirmation, then the end
                caller.close()
            else:
                caller.sendall(encode_frame(FrameKind.HELD))  # for 10 s: it is measured within one
                self._waiting.append(caller)
            self.asked.put(int(header.fields["pid"]))


def measure_start(folder: Path, pairs: int) -> Comparison:
    path = folder / "answer.sock"
    with Answerer(path, answer=True):
        return _compare_runs("hook, answered at once", hook_words(path), expected=ANSWER, pairs=pairs, goal=START_GOAL)


def measure_absent(folder: Path, pairs: int) -> Comparison:
    return _compare_runs("hook, no daemon", hook_words(folder / "absent.sock"), expected=b"", pairs=pairs, goal=None)


def measure_memory(folder: Path, pairs: int) -> list[Comparison]:
    """A waiting hook beside a bare sleeping interpreter: resident, and proportional where the system tells it."""
    path = folder / "wait.sock"
    python = hook_words(path)[0]
    sleeper = [python, "-I", "-S", "-c", "import posix, time; posix.write(1, b'.'); time.sleep(600)"]
    figures: dict[str, tuple[list[float], list[float]]] = {}
    with Answerer(path, answer=False) as answerer:
        for _ in range(pairs):
            with _waiting(hook_words(path)) as hook, _waiting(sleeper) as bare:
                assert answerer.asked.get(timeout=_SETTLE_S) == hook.pid
                assert bare.stdout is not None and bare.stdout.read(1) == b"."
                ours, theirs = _memory_mib(hook.pid), _memory_mib(bare.pid)
            for kind in ours.keys() & theirs.keys():
                figures.setdefault(kind, ([], []))
                figures[kind][0].append(ours[kind])
                figures[kind][1].append(theirs[kind])
    return [
        Comparison(
            f"waiting hook, memory ({kind})",
            "sleeping python3 -I -S",
            "MiB",
            *figures[kind],
            goal=MEMORY_GOAL if kind == "RSS" else None,
        )
        for kind in sorted(figures, reverse=True)
    ]


def _compare_runs(name: str, words: Sequence[str], *, expected: bytes, pairs: int, goal: float | None) -> Comparison:
    bare = [words[0], "-I", "-S", "-c", "pass"]
    ours, theirs = [], []
    for number in range(-2, pairs):  # two rounds to warm the page cache
        # Who goes first changes too: what the first one leaves in the caches helps both alike.
        if number % 2:
            hook_ms, bare_ms = _run_ms(words, expected), _run_ms(bare, b"")
        else:
            bare_ms, hook_ms = _run_ms(bare, b""), _run_ms(words, expected)
        if number >= 0:
            ours.append(hook_ms)
            theirs.append(bare_ms)
    return Comparison(name, "python3 -I -S -c pass", "ms", ours, theirs, goal=goal)


def _run_ms(words: Sequence[str], expected: bytes) -> float:
    """From the start of the process to its end, with the event waiting on its stdin and its stdout read."""
    stdin, feed = os.pipe()
    os.write(feed, EVENT)
    os.close(feed)
    result, stdout = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    began = time.perf_counter()
    pid = os.posix_spawn(words[0], list(words), os.environ, file_actions=actions)
    for fd in (stdin, stdout, null):
        os.close(fd)
    output = b""
    while chunk := os.read(result, 65536):
        output += chunk
    _, status = os.waitpid(pid, 0)
    took_s = time.perf_counter() - began
    os.close(result)
    if output != expected or status != 0:
        raise RuntimeError(f"the process that is measured did not do its work: {output!r}, status {status}")
    return took_s * 1000


@contextlib.contextmanager
def _waiting(words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdin is not None
        process.stdin.write(EVENT)
        process.stdin.close()
        process.stdin = None
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def _memory_mib(pid: int) -> dict[str, float]:
    """RSS, and PSS where the system tells it, once the process has gone to sleep."""
    if sys.platform != "linux":
        time.sleep(0.2)  # nothing tells when it sleeps
        printed = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, text=True)
        return {"RSS": int(printed.stdout) / 1024}
    until = time.monotonic() + _SETTLE_S
    while _field(pid, "status", "State:") != "S" and time.monotonic() < until:
        time.sleep(0.005)
    found = {"RSS": int(_field(pid, "status", "VmRSS:")) / 1024}
    with contextlib.suppress(OSError):
        found["PSS"] = int(_field(pid, "smaps_rollup", "Pss:")) / 1024
    return found


def _field(pid: int, file: str, name: str) -> str:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(name):
            return line.split()[1]
    raise OSError(f"/proc has no {name} in {file}")
