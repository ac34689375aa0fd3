"""The caller as a real process, against hand-written daemons that answer well, badly, late or not at all."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tapgate import hook
from tapgate.wire import MAX_BODY_BYTES, FrameKind, Header, decode_header, encode_frame

HOOK = Path(hook.__file__)
PATIENCE_S = 120.0
QUESTION = b'{"hook_event_name":"PermissionRequest"}'
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
AGREED = {"id", "agent", "deadline_s", "pid", "parent", "attended", "project", "beat"}
PATIENT = ("--silence-s", "60", "--beat-s", "60")  # the daemons here say nothing but their answer, on a busy machine
HELD = encode_frame(FrameKind.HELD)


@dataclass(frozen=True, slots=True)
class Frame:
    header: Header
    body: bytes

    @property
    def kind(self) -> FrameKind:
        return self.header.kind

    @property
    def fields(self) -> dict[str, str]:
        return dict(self.header.fields)


class Peer:
    """The daemon's end of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(PATIENCE_S)
        self._rest = b""

    def read(self) -> Frame:
        while b"\n" not in self._rest:
            self._rest += self._receive()
        line, _, self._rest = self._rest.partition(b"\n")
        header = decode_header(line)
        while len(self._rest) < header.size_bytes:
            self._rest += self._receive()
        body, self._rest = self._rest[: header.size_bytes], self._rest[header.size_bytes :]
        return Frame(header, body)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reply(self, body: bytes = ANSWER, *, code: int = 0) -> None:
        self.send(encode_frame(FrameKind.REPLY, body, exit=code))

    def rest(self) -> bytes:
        """Everything that still comes, until the caller hangs up."""
        got, self._rest = self._rest, b""
        try:
            while chunk := self.sock.recv(1 << 20):
                got += chunk
        except ConnectionResetError:
            pass
        return got

    def is_silent_for(self, seconds: float) -> bool:
        self.sock.settimeout(seconds)
        try:
            return not self._rest and not self.sock.recv(1)
        except TimeoutError:
            return True
        finally:
            self.sock.settimeout(PATIENCE_S)

    def close(self) -> None:
        self.sock.close()

    def _receive(self) -> bytes:
        chunk = self.sock.recv(1 << 20)
        assert chunk, "the caller hung up"
        return chunk


class Scene:
    """A socket to call at, and the callers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "daemon.sock"
        self.listener: socket.socket | None = None
        self.peers: list[Peer] = []
        self.callers: list[subprocess.Popen[bytes]] = []
        self.writers: list[threading.Thread] = []

    def listen(self, backlog: int = 16) -> None:
        self.path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(backlog)
        self.listener.settimeout(PATIENCE_S)

    def stop_listening(self) -> None:
        assert self.listener is not None
        self.listener.close()

    def accept(self) -> Peer:
        assert self.listener is not None
        peer = Peer(self.listener.accept()[0])
        self.peers.append(peer)
        return peer

    def command(
        self, *more: str, file: Path = HOOK, deadline_s: float | str = 60, options: tuple[str, ...] = PATIENT
    ) -> list[str]:
        """As the agent's settings have it, and these options."""
        python = [sys.executable, "-I", "-S", *more, str(file)]
        return [*python, "--socket", str(self.path), "--agent", "claude", "--deadline-s", str(deadline_s), *options]

    def ask_as_registered(
        self, question: bytes = QUESTION, *options: str, deadline_s: float = 590
    ) -> subprocess.Popen[bytes]:
        return self.ask(question, command=self.command(deadline_s=deadline_s, options=options))

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """A process with its stdin still open, and no environment at all."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": {}}
        caller = subprocess.Popen(command, **{**pipes, **options})
        self.callers.append(caller)
        return caller

    def ask(
        self,
        question: bytes = QUESTION,
        *,
        command: list[str] | None = None,
        deadline_s: float | str = 60,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """The hook with this question on its stdin."""
        caller = self.start(command or self.command(deadline_s=deadline_s), **options)
        stdin, caller.stdin = caller.stdin, None
        assert stdin is not None

        def feed() -> None:
            with suppress(BrokenPipeError), stdin:
                stdin.write(question)

        if len(question) < 4096:
            feed()
        else:  # more than a pipe holds: somebody else has to write while the test goes on
            self.writers.append(threading.Thread(target=feed))
            self.writers[-1].start()
        return caller

    def close(self) -> None:
        for caller in self.callers:
            if caller.poll() is None:
                caller.kill()
            caller.communicate()
        for writer in self.writers:
            writer.join(PATIENCE_S)
        for peer in self.peers:
            peer.close()
        if self.listener is not None:
            self.listener.close()
        shutil.rmtree(self.home, ignore_errors=True)


def finish(caller: subprocess.Popen[bytes]) -> tuple[bytes, bytes, int]:
    output, errors = caller.communicate(timeout=PATIENCE_S)
    return output, errors, caller.returncode


def gives_no_opinion(caller: subprocess.Popen[bytes]) -> str:
    """Exit 0, nothing on stdout, and one line on stderr, which is given."""
    output, errors, code = finish(caller)
    assert (output, code) == (b"", 0)
    assert errors.startswith(b"tapgate: ") and errors.endswith(b"\n") and errors.count(b"\n") == 1, errors
    return errors.decode()


@pytest.fixture
def quiet() -> Iterator[Scene]:
    """Nobody listens yet."""
    scene = Scene(Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp")))  # short: socket paths stay under 104 bytes
    yield scene
    scene.close()


@pytest.fixture
def scene(quiet: Scene) -> Scene:
    quiet.listen()
    return quiet


# What it tells


def test_the_question_carries_the_agreed_fields_and_the_raw_bytes(scene: Scene) -> None:
    caller = scene.ask(b"\x00\xff any bytes \n at all")
    frame = scene.accept().read()
    assert frame.kind is FrameKind.ASK
    assert frame.body == b"\x00\xff any bytes \n at all"
    assert set(frame.fields) == AGREED
    assert len(frame.fields["id"]) == 32 and int(frame.fields["id"], 16)
    assert frame.fields["agent"] == "claude"
    assert frame.fields["pid"] == str(caller.pid)
    assert frame.fields["parent"] == str(os.getpid())
    assert frame.fields["attended"] == "0"
    assert frame.fields["project"] == ""
    assert 50 < float(frame.fields["deadline_s"]) <= 59, "a second less than its own, to leave room for the answer"


def test_of_the_environment_only_three_variables_are_passed_on(scene: Scene) -> None:
    environ = {
        "CLAUDE_PROJECT_DIR": "/home/dev/shop",
        "CLAUDE_PID": "4711",
        "CLAUDE_CODE_SESSION_ATTENDED": "1",
        "CLAUDE_CODE_MESSAGING_TOKEN": "s3cret",
        "ANTHROPIC_API_KEY": "s3cret",
        "HOME": "/home/s3cret",
        "USER": "s3cret",
    }
    scene.ask(env=environ)
    peer = scene.accept()
    received = peer.sock.recv(1 << 16)
    header = decode_header(received.partition(b"\n")[0])
    assert set(header.fields) == AGREED
    assert header.fields["project"] == "/home/dev/shop"
    assert header.fields["parent"] == "4711"
    assert header.fields["attended"] == "1"
    assert b"s3cret" not in received


@pytest.mark.parametrize(("value", "attended"), [("1", "1"), ("0", "0"), ("yes", "0"), ("1 ", "0"), ("", "0")])
def test_a_session_is_attended_only_where_the_agent_says_so(scene: Scene, value: str, attended: str) -> None:
    scene.ask(env={"CLAUDE_CODE_SESSION_ATTENDED": value})
    assert scene.accept().read().fields["attended"] == attended


@pytest.mark.parametrize("value", ["", "init", "-1", "12 34", "1\nid=0"])
def test_a_parent_that_is_no_number_is_replaced_by_the_real_one(scene: Scene, value: str) -> None:
    scene.ask(env={"CLAUDE_PID": value})
    assert scene.accept().read().fields["parent"] == str(os.getpid())


@pytest.mark.parametrize("path", [b"/a b", b"/100%", b"/line\nid=0", b"/\xff\xfe", "/ünï/日本".encode(), b"/a=b&c"])
def test_any_path_gets_through_and_none_forges_a_field(scene: Scene, path: bytes) -> None:
    scene.ask(env={b"CLAUDE_PROJECT_DIR": path})
    frame = scene.accept().read()
    assert set(frame.fields) == AGREED
    assert os.fsencode(frame.fields["project"]) == path
    assert frame.body == QUESTION


def test_each_caller_has_an_id_of_its_own(scene: Scene) -> None:
    ids = set()
    for _ in range(5):
        scene.ask()
        ids.add(scene.accept().read().fields["id"])
    assert len(ids) == 5


def test_sixteen_mebibytes_get_through_whole_and_one_byte_more_does_not(scene: Scene) -> None:
    question = os.urandom(1 << 20) * 16
    assert len(question) == MAX_BODY_BYTES
    caller = scene.ask(question)
    peer = scene.accept()
    assert peer.read().body == question
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)
    assert "larger than 16 MiB" in gives_no_opinion(scene.ask(question + b"x"))


# What it gives back


@pytest.mark.parametrize("body", [ANSWER, b"\x00\xff\r\n\n", b"x" * 300_000, b""], ids=["json", "any", "large", "none"])
@pytest.mark.parametrize("code", [0, 2, 7])
def test_the_bytes_and_the_exit_code_are_the_daemons(scene: Scene, body: bytes, code: int) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    peer.reply(body, code=code)
    assert finish(caller) == (body, b"", code)


def test_a_reply_in_pieces_is_put_together(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    for byte in encode_frame(FrameKind.REPLY, ANSWER, exit=0):
        peer.send(bytes([byte]))
    assert finish(caller) == (ANSWER, b"", 0)


def readable_now(fd: int) -> int:
    """How many bytes a reader would get at once."""
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)


def begins_to_answer(caller: subprocess.Popen[bytes]) -> None:
    """Return once a part of the answer is there."""
    assert caller.stdout is not None
    end = time.monotonic() + PATIENCE_S
    while not readable_now(caller.stdout.fileno()):
        assert time.monotonic() < end


def test_it_confirms_once_the_bytes_can_be_read(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    asked = peer.read()
    peer.reply()
    taken = peer.read()
    assert caller.stdout is not None
    assert readable_now(caller.stdout.fileno()) == len(ANSWER)
    assert taken.kind is FrameKind.TAKEN and taken.fields == {"id": asked.fields["id"]} and taken.body == b""
    assert peer.rest() == b"", "and says nothing more"
    assert finish(caller) == (ANSWER, b"", 0)


def test_it_does_not_confirm_what_the_agent_has_not_room_for_yet(scene: Scene) -> None:
    body = b"x" * 1_000_000
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    peer.reply(body)
    assert peer.is_silent_for(0.3)
    assert caller.stdout is not None
    got = b""
    while len(got) < len(body):
        got += os.read(caller.stdout.fileno(), 1 << 16)
    assert got == body
    assert peer.read().kind is FrameKind.TAKEN


def test_a_pipe_that_does_not_block_gets_all_of_it_too(scene: Scene) -> None:
    """Node makes its pipes so, and the mode is shared with whoever holds the other end."""
    body = b"0123456789" * 100_000
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    caller = scene.ask(stdout=writer)
    os.close(writer)
    peer = scene.accept()
    peer.read()
    peer.reply(body)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == body
    assert caller.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("kind", [FrameKind.PASS, FrameKind.ERROR])
@pytest.mark.parametrize("reason", ["nobody answered in time; no opinion", "two\nlines\tof it", ""])
def test_no_opinion_is_not_confirmed_and_its_reason_is_told_in_one_line(
    scene: Scene, kind: FrameKind, reason: str
) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    peer.send(encode_frame(kind, reason.encode()))
    expected = " ".join(reason.split()) or "the daemon has no opinion"
    assert gives_no_opinion(caller) == f"tapgate: {expected}\n"
    assert peer.rest() == b""


REFUSED = {
    "http": b"HTTP/1.1 200 OK\r\n\r\n",
    "an older version": b"tapgate/0 reply 2 exit=0\n{}",
    "a newer version": b"tapgate/2 reply 2 exit=0\n{}",
    "no size": b"tapgate/1 reply\n{}",
    "a negative size": b"tapgate/1 reply -2 exit=0\n{}",
    "a size in words": b"tapgate/1 reply two exit=0\n{}",
    "a size beyond numbers": b"tapgate/1 reply " + b"9" * 5000 + b" exit=0\n{}",
    "a byte more than 16 MiB": b"tapgate/1 reply %d exit=0\n{}" % (MAX_BODY_BYTES + 1),
    "an endless header": b"tapgate/1 reply 2 x=" + b"a" * 20_000,
    "an unknown kind": b"tapgate/1 approve 2 exit=0\n{}",
    "a question": b"tapgate/1 ask 2 exit=0\n{}",
    "nonsense behind a sign of life": HELD + b"HTTP/1.1 200 OK\r\n\r\n",
    "a kind that only begins like a sign of life": b"tapgate/1 held2 2 exit=0\n{}",
    "empty line": b"\n",
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_an_answer_that_makes_no_sense_is_no_opinion(scene: Scene, data: bytes) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    peer.send(data)
    gives_no_opinion(caller)
    assert peer.rest() == b"", "and is not confirmed"


def test_half_an_answer_is_never_shown(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    asked = peer.read()
    peer.send(encode_frame(FrameKind.REPLY, ANSWER, exit=0)[:-1])
    peer.close()
    peer = scene.accept()
    assert peer.read().fields["id"] == asked.fields["id"]
    peer.send(encode_frame(FrameKind.PASS, b"enough"))
    assert gives_no_opinion(caller) == "tapgate: enough\n"


# A daemon that is away, or goes


def test_without_a_daemon_it_leaves_at_once(quiet: Scene) -> None:
    assert "the daemon is not running" in gives_no_opinion(quiet.ask())


def test_a_socket_that_nobody_listens_at_is_no_daemon(scene: Scene) -> None:
    scene.stop_listening()
    assert "the daemon is not running" in gives_no_opinion(scene.ask())


def test_a_broken_connection_is_made_again_with_the_same_id_and_less_time(scene: Scene) -> None:
    caller = scene.ask(deadline_s=30)
    asked, closed_at, pauses = [], 0.0, []
    for _ in range(5):
        peer = scene.accept()
        if closed_at:
            pauses.append(time.monotonic() - closed_at)
        asked.append(peer.read())
        peer.close()
        closed_at = time.monotonic()
    peer = scene.accept()
    asked.append(peer.read())
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)
    assert len({(frame.fields["id"], frame.fields["pid"], frame.body) for frame in asked}) == 1
    left = [float(frame.fields["deadline_s"]) for frame in asked]
    assert left == sorted(left, reverse=True) and left[-1] < left[0]
    for pause, backoff_s in zip(pauses, (0.05, 0.1, 0.2, 0.4), strict=True):
        assert pause > backoff_s * 0.9, "each time a little more patiently"


def test_a_restarting_daemon_is_waited_for(scene: Scene) -> None:
    caller = scene.ask()
    scene.accept().close()
    scene.stop_listening()
    scene.path.unlink()
    scene.listen()
    peer = scene.accept()
    peer.read()
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_a_daemon_that_does_not_come_back_is_waited_for_until_the_deadline(scene: Scene) -> None:
    begun = time.monotonic()
    caller = scene.ask(deadline_s=1.5)
    scene.accept().close()
    scene.stop_listening()
    assert "did not come back in time" in gives_no_opinion(caller)
    assert time.monotonic() - begun < 3


def test_a_silent_daemon_is_waited_for_until_the_deadline(scene: Scene) -> None:
    begun = time.monotonic()
    caller = scene.ask(deadline_s=0.5)
    peer = scene.accept()
    assert peer.read().fields["deadline_s"] == "0.0"
    assert "nobody answered in time" in gives_no_opinion(caller)
    assert time.monotonic() - begun >= 0.5


def test_a_daemon_whose_queue_is_full_is_no_daemon_that_is_down(quiet: Scene) -> None:
    quiet.listen(backlog=0)
    others = []
    try:
        while True:
            other = socket.socket(socket.AF_UNIX)
            other.setblocking(False)
            others.append(other)
            other.connect(str(quiet.path))
    except BlockingIOError:
        pass
    caller = quiet.ask()
    with pytest.raises(subprocess.TimeoutExpired):
        caller.wait(0.5)
    for other in others[:-1]:
        quiet.accept().close()
        other.close()
    others[-1].close()
    peer = quiet.accept()
    peer.read()
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_a_refusal_before_the_question_was_read_is_told(scene: Scene) -> None:
    """As by a daemon with too many callers: it hangs up while the caller still sends."""
    caller = scene.ask(b"x" * 8_000_000)
    peer = scene.accept()
    peer.send(encode_frame(FrameKind.ERROR, b"more than 500 callers are waiting"))
    peer.close()
    assert gives_no_opinion(caller) == "tapgate: more than 500 callers are waiting\n"


def test_an_answer_that_the_daemon_died_after_is_confirmed_to_the_next(scene: Scene) -> None:
    """It dies while the agent reads."""
    body = b"x" * 1_000_000
    caller = scene.ask()
    peer = scene.accept()
    asked = peer.read()
    peer.reply(body)
    begins_to_answer(caller)
    peer.close()
    assert finish(caller) == (body, b"", 0)
    taken = scene.accept().read()
    assert taken.kind is FrameKind.TAKEN and taken.fields["id"] == asked.fields["id"]


def test_an_answer_that_nobody_is_left_to_hear_of_is_given_all_the_same(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    scene.stop_listening()
    peer.reply()
    peer.close()
    assert finish(caller) == (ANSWER, b"", 0)


# Signs of life. "It leaves" means long before its deadline, which is ten minutes away


LEAVES_S = 60.0


def leaves(caller: subprocess.Popen[bytes]) -> str:
    caller.wait(LEAVES_S)
    return gives_no_opinion(caller)


def test_a_daemon_that_says_nothing_is_left(scene: Scene) -> None:
    caller = scene.ask_as_registered()
    scene.accept().read()
    assert "does not answer" in leaves(caller)


def test_a_daemon_that_does_not_even_accept_is_left(scene: Scene) -> None:
    assert "does not answer" in leaves(scene.ask_as_registered())


def test_a_daemon_that_does_not_read_the_question_is_left(scene: Scene) -> None:
    caller = scene.ask_as_registered(b"x" * 4_000_000)
    scene.accept()
    assert "does not answer" in leaves(caller)


def test_a_daemon_that_stops_in_the_middle_of_its_answer_is_left(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--beat-s", "1")
    peer = scene.accept()
    peer.read()
    peer.send(encode_frame(FrameKind.REPLY, ANSWER, exit=0)[:-1])
    assert "does not answer" in leaves(caller)


def test_a_daemon_that_said_held_once_is_left_when_no_other_sign_follows(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--beat-s", "1")
    peer = scene.accept()
    peer.read()
    peer.send(HELD)
    assert "does not answer" in leaves(caller)
    assert peer.rest() == b"", "and it says nothing more"


def test_a_daemon_that_goes_on_saying_held_is_waited_for(scene: Scene) -> None:
    """Far beyond what a single sign is good for."""
    caller = scene.ask_as_registered(QUESTION, "--beat-s", "5")
    peer = scene.accept()
    peer.read()
    end = time.monotonic() + 8
    while time.monotonic() < end:
        peer.send(HELD)
        time.sleep(0.1)
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_a_caller_that_was_stopped_itself_does_not_leave_a_daemon_that_lives(scene: Scene) -> None:
    """As with Ctrl-Z in the agent's terminal: what the daemon said meanwhile is there to be read."""
    caller = scene.ask_as_registered(QUESTION, "--beat-s", "2")
    peer = scene.accept()
    peer.read()
    peer.send(HELD)
    caller.send_signal(signal.SIGSTOP)
    end = time.monotonic() + 4
    while time.monotonic() < end:
        peer.send(HELD)
        time.sleep(0.1)
    peer.reply()
    caller.send_signal(signal.SIGCONT)
    assert finish(caller) == (ANSWER, b"", 0)


def test_a_daemon_that_reads_slowly_is_waited_for(scene: Scene) -> None:
    """That the question makes headway is a sign of life, too; how long it takes as a whole does not matter."""
    question = b"x" * 4_000_000
    caller = scene.ask_as_registered(question, "--silence-s", "5")
    peer = scene.accept()
    got = b""
    end = time.monotonic() + 8
    while time.monotonic() < end:
        got += peer.sock.recv(40_000)
        time.sleep(0.1)
    assert caller.poll() is None and len(got) < len(question)
    while not got.endswith(question):
        got += peer.sock.recv(1 << 20)
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_a_sign_of_life_counts_while_the_question_is_still_being_sent(scene: Scene) -> None:
    question = b"x" * 4_000_000
    caller = scene.ask_as_registered(question, "--silence-s", "2", "--beat-s", "60")
    peer = scene.accept()
    peer.send(HELD)
    with pytest.raises(subprocess.TimeoutExpired):
        caller.wait(5)  # nothing is read meanwhile, but it was told that it is held
    assert peer.read().body == question
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_the_deadline_counts_however_often_the_daemon_says_held(scene: Scene) -> None:
    caller = scene.ask(deadline_s=2)
    peer = scene.accept()
    peer.read()
    with suppress(BrokenPipeError, ConnectionResetError):
        end = time.monotonic() + PATIENCE_S
        while caller.poll() is None and time.monotonic() < end:
            peer.send(HELD)
            time.sleep(0.05)
    assert "nobody answered in time" in gives_no_opinion(caller)


def test_a_daemon_that_died_and_does_not_come_back_is_left(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--restart-s", "1")
    peer = scene.accept()
    peer.read()
    peer.send(HELD)
    scene.stop_listening()
    peer.close()
    assert "did not come back in time" in leaves(caller)


def test_a_daemon_that_hangs_up_again_and_again_is_left(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--restart-s", "2")
    end = time.monotonic() + LEAVES_S
    assert scene.listener is not None
    scene.listener.settimeout(1)
    while caller.poll() is None and time.monotonic() < end:
        with suppress(TimeoutError):
            scene.accept().close()
    assert "did not come back in time" in leaves(caller)


def test_a_daemon_that_came_back_and_hangs_is_left(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--restart-s", "2")
    peer = scene.accept()
    peer.read()
    peer.send(HELD)
    peer.close()
    scene.accept().read()
    assert "did not come back in time" in leaves(caller)


def test_a_daemon_that_comes_back_is_listened_to_as_before(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--restart-s", "60", "--beat-s", "1")
    for dies in (True, False):
        peer = scene.accept()
        peer.read()
        peer.send(HELD)
        if dies:
            peer.close()
    assert "does not answer" in leaves(caller), "the new one hangs, and the time for a restart is over"


def test_beside_an_open_prompt_a_daemon_that_died_is_waited_for(scene: Scene) -> None:
    """The agent shows its own prompt meanwhile, so that waiting costs nobody anything."""
    caller = scene.ask_as_registered(QUESTION, "--restart-s", "1")
    peer = scene.accept()
    peer.read()
    peer.send(HELD + encode_frame(FrameKind.HELD, prompt=1))
    scene.stop_listening()
    peer.close()
    with pytest.raises(subprocess.TimeoutExpired):
        caller.wait(4)
    scene.listen()
    peer = scene.accept()
    peer.read()
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_beside_an_open_prompt_a_daemon_that_hangs_is_left_all_the_same(scene: Scene) -> None:
    caller = scene.ask_as_registered(QUESTION, "--beat-s", "1")
    peer = scene.accept()
    peer.read()
    peer.send(encode_frame(FrameKind.HELD, prompt=1))
    assert "does not answer" in leaves(caller)


# Leaving


def ends_at_once(caller: subprocess.Popen[bytes], how: signal.Signals, code: int) -> bytes:
    """What it left on stdout."""
    begun = time.monotonic()
    caller.send_signal(how)
    assert caller.wait(PATIENCE_S) == code
    assert time.monotonic() - begun < 1
    return caller.communicate()[0]


def is_started(caller: subprocess.Popen[bytes]) -> None:
    """Whether it heeds signals by now: they come right after its imports, and then it reads."""
    assert caller.stdin is not None
    caller.stdin.write(QUESTION)
    caller.stdin.flush()
    end = time.monotonic() + PATIENCE_S
    while readable_now(caller.stdin.fileno()):
        assert time.monotonic() < end


SIGNALS = [(signal.SIGTERM, 143), (signal.SIGINT, 130)]


@pytest.mark.parametrize(("how", "code"), SIGNALS)
def test_a_signal_ends_it_while_it_reads_the_question(quiet: Scene, how: signal.Signals, code: int) -> None:
    caller = quiet.start(quiet.command())
    is_started(caller)
    assert ends_at_once(caller, how, code) == b""


@pytest.mark.parametrize(("how", "code"), SIGNALS)
def test_a_signal_ends_it_while_it_waits_and_it_says_so(scene: Scene, how: signal.Signals, code: int) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    assert ends_at_once(caller, how, code) == b""
    gone = peer.read()
    assert gone.kind is FrameKind.GONE and gone.fields == {"why": "terminated"}
    assert peer.rest() == b""


def test_a_signal_ends_it_while_the_daemon_is_away(scene: Scene) -> None:
    caller = scene.ask()
    scene.accept().close()
    scene.stop_listening()
    scene.path.unlink()
    assert ends_at_once(caller, signal.SIGTERM, 143) == b""


def test_a_signal_ends_it_in_the_middle_of_its_question_and_it_says_nothing_there(scene: Scene) -> None:
    """A last word in the middle of a body would be taken for a part of it."""
    question = b"x" * 4_000_000
    caller = scene.ask(question)
    peer = scene.accept()
    first = peer.sock.recv(1)
    assert ends_at_once(caller, signal.SIGTERM, 143) == b""
    header, _, body = (first + peer.rest()).partition(b"\n")
    assert decode_header(header).size_bytes == len(question)
    assert set(body) == {ord("x")} and len(body) < len(question)


def test_a_signal_ends_it_while_nobody_reads_its_answer_and_it_does_not_confirm(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    peer.reply(b"x" * 1_000_000)
    begins_to_answer(caller)
    assert len(ends_at_once(caller, signal.SIGTERM, 143)) < 1_000_000
    gone = peer.read()
    assert gone.kind is FrameKind.GONE and gone.fields == {"why": "terminated"}
    assert peer.rest() == b""


def test_an_answer_that_nobody_reads_is_given_up_at_the_deadline(scene: Scene) -> None:
    caller = scene.ask(deadline_s=0.5)
    peer = scene.accept()
    peer.read()
    peer.reply(b"x" * 1_000_000)
    assert peer.rest() == b"", "and was never confirmed"
    assert caller.wait(PATIENCE_S) == 0
    assert b"nobody read the answer in time" in caller.communicate()[1]


def test_it_goes_when_nobody_reads_its_stdout_any_more(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    assert caller.stdout is not None
    caller.stdout.close()
    assert peer.read().fields == {"why": "orphaned"}
    assert caller.wait(PATIENCE_S) == 0


def test_it_goes_when_nobody_reads_its_stdout_any_more_and_the_daemon_is_away(scene: Scene) -> None:
    caller = scene.ask()
    scene.accept().close()
    scene.stop_listening()
    scene.path.unlink()
    assert caller.stdout is not None
    caller.stdout.close()
    assert caller.wait(PATIENCE_S) == 0


def test_it_goes_when_its_reader_leaves_in_the_middle_of_the_answer(scene: Scene) -> None:
    caller = scene.ask()
    peer = scene.accept()
    peer.read()
    peer.reply(b"x" * 1_000_000)
    begins_to_answer(caller)
    assert caller.stdout is not None
    caller.stdout.close()
    assert peer.read().fields == {"why": "orphaned"}
    assert caller.wait(PATIENCE_S) == 0


def test_a_half_closed_socket_for_stdout_is_still_read(scene: Scene) -> None:
    """The agent's pipes are socket pairs; that it will never write into our stdout says nothing."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        caller = scene.ask(stdout=theirs)
        theirs.close()
        ours.shutdown(socket.SHUT_WR)
        peer = scene.accept()
        peer.read()
        peer.reply()
        assert ours.recv(1000) == ANSWER
        assert peer.read().kind is FrameKind.TAKEN
        assert caller.wait(PATIENCE_S) == 0


PARENT = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


def orphan(scene: Scene) -> tuple[subprocess.Popen[bytes], Peer]:
    """A hook whose parent is a process of its own, which can be killed."""
    parent = scene.ask(command=[sys.executable, "-c", PARENT, *scene.command()])
    peer = scene.accept()
    peer.read()
    return parent, peer


def test_it_goes_when_its_parent_dies(scene: Scene) -> None:
    parent, peer = orphan(scene)
    parent.kill()
    assert peer.read().fields == {"why": "orphaned"}
    assert finish(parent)[0] == b"", "whose stdout ends only with the orphan"


def test_it_goes_when_its_parent_dies_in_the_middle_of_the_answer(scene: Scene) -> None:
    parent, peer = orphan(scene)
    peer.reply(b"x" * 1_000_000)
    begins_to_answer(parent)
    parent.kill()
    assert peer.read().fields == {"why": "orphaned"}
    assert len(finish(parent)[0]) < 1_000_000


# Odd surroundings


def test_a_stdin_that_never_ends_is_given_up_at_the_deadline(quiet: Scene) -> None:
    caller = quiet.start(quiet.command(deadline_s=0.5))
    assert caller.stdin is not None and caller.stderr is not None
    caller.stdin.write(QUESTION)
    caller.stdin.flush()
    assert caller.wait(PATIENCE_S) == 0
    assert caller.stderr.read() == b"tapgate: stdin did not end in time\n"
    assert caller.stdout is not None and caller.stdout.read() == b""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--sockt", "x"], "unknown option --sockt"),
        (["--socket", "x", "extra"], "unknown option extra"),
        (["--deadline-s", "5"], "--socket and a positive --deadline-s are needed"),
        (["--socket"], "--socket and a positive --deadline-s are needed"),
        (["--socket", "x", "--deadline-s"], "--socket and a positive --deadline-s are needed"),
        (["--socket", "x", "--deadline-s", "nan"], "--socket and a positive --deadline-s are needed"),
        (["--socket", "x", "--deadline-s", "-1"], "--socket and a positive --deadline-s are needed"),
        (["--socket", "x", "--deadline-s", "soon"], "--socket and a positive --deadline-s are needed"),
        (["--socket", "x", "--beat-s", "0"], "--socket and a positive --deadline-s are needed"),
    ],
)
def test_a_wrong_command_says_what_is_wrong_and_where_the_right_one_is(
    quiet: Scene, words: list[str], reason: str
) -> None:
    line = gives_no_opinion(quiet.start([sys.executable, "-I", "-S", str(HOOK), *words]))
    assert reason in line and "tapgate hooks print" in line


def test_nothing_on_stdin_is_no_question(quiet: Scene) -> None:
    assert "nothing came on stdin" in gives_no_opinion(quiet.ask(b""))


def test_a_person_who_runs_it_is_told_what_it_is(quiet: Scene) -> None:
    terminal, end = pty.openpty()
    caller = quiet.start(quiet.command(), stdin=end)
    os.close(end)
    assert "the hook that a coding agent runs" in gives_no_opinion(caller)
    os.close(terminal)


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_stdin_or_stdout_that_was_closed_from_the_start_is_no_opinion(scene: Scene, closed: str) -> None:
    """Without a stdout the connection would become descriptor 1, and get the answer."""
    gives_no_opinion(scene.ask(command=["/bin/sh", "-c", f"exec {shlex.join(scene.command())} {closed}"]))


def test_a_stderr_that_was_closed_from_the_start_is_no_obstacle(scene: Scene) -> None:
    caller = scene.ask(command=["/bin/sh", "-c", f"exec {shlex.join(scene.command())} 2>&-"])
    peer = scene.accept()
    peer.read()
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_it_needs_neither_a_home_nor_a_directory_that_exists(scene: Scene, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {shlex.join(scene.command())}"
    caller = scene.ask(command=["/bin/sh", "-c", script])
    peer = scene.accept()
    peer.read()
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def test_it_is_one_file_and_needs_no_package(scene: Scene, tmp_path: Path) -> None:
    alone = Path(shutil.copy(HOOK, tmp_path / "alone.py"))
    caller = scene.ask(command=scene.command(file=alone))
    peer = scene.accept()
    peer.read()
    peer.reply()
    assert finish(caller) == (ANSWER, b"", 0)


def imported(errors: bytes) -> set[str]:
    """The modules in what `-X importtime` says."""
    lines = [line for line in errors.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


def test_it_imports_nothing_that_costs_time(scene: Scene) -> None:
    bare = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", "pass"], capture_output=True, check=True, env={}
    )
    caller = scene.ask(command=scene.command("-X", "importtime"), env={"CLAUDE_PROJECT_DIR": "/x y"})
    scene.accept().close()  # the way through a restart imports nothing more either
    peer = scene.accept()
    peer.read()
    peer.reply()
    output, errors, code = finish(caller)
    assert (output, code) == (ANSWER, 0)
    assert imported(errors) - imported(bare.stderr) <= {"_socket", "select", "_signal", "posix", "time"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can listen as somebody else")
def test_an_answer_from_another_users_socket_is_no_answer() -> None:
    """A path under /tmp may have been taken by somebody else before the daemon came."""
    home = tempfile.mkdtemp(prefix="tg-", dir="/tmp")
    os.chmod(home, 0o777)
    path = f"{home}/s"
    answer = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
    child = os.fork()
    if not child:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            os.chmod(path, 0o666)
            listener.listen()
            caller, _ = listener.accept()
            with suppress(OSError):
                caller.sendall(b"tapgate/1 reply %d exit=0\n" % len(answer) + answer)
                caller.recv(1)
        os._exit(0)
    try:
        while not os.path.exists(path):
            time.sleep(0.01)
        done = subprocess.run(
            [sys.executable, "-I", "-S", hook.__file__, "--socket", path, "--deadline-s", "5"],
            input=b"{}",
            capture_output=True,
            check=False,
        )
        assert (done.stdout, done.returncode) == (b"", 0)
        assert b"belongs to another user" in done.stderr
    finally:
        os.waitpid(child, 0)
        shutil.rmtree(home)
