"""The caller: carries the agent's question to the daemon and the answer back. Run as a file: `python -I -S hook.py …`.

It moves bytes and knows neither JSON nor Telegram. It must import nothing that is not built in: Python's own start is
most of what the agent waits for. Whatever goes wrong, it exits with 0 and an empty stdout, which every agent takes as
"no opinion". The frames are described in wire.py and docs/protocol.md.

It waits for a person only while the daemon shows that it lives: the daemon says `held` at once, and again every few
seconds. A daemon that is stopped, hangs or does not come back is left.
"""

# `posix` and `_signal` are what `os` and `signal` wrap; both are loaded already, the wrappers cost milliseconds.
import _signal  # type: ignore[import-not-found]
import _socket
import posix
import select
import sys
import time

HELLO = b"tapgate/1"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_HEADER_BYTES = 16 * 1024
TICK_S = 1.0  # how often a waiting caller looks whether its parent lives
CONFIRM_S = 0.25  # how long an answered caller tries to tell a daemon that is just restarting
PIPE_BYTES = 4096  # what a pipe takes without blocking once it is ready at all
PIECE_BYTES = 8192  # what a fresh socket takes in one piece, on macOS too


class LostError(Exception):
    """The connection broke. Connecting again may help."""


def leave(sentence: str) -> None:
    """Go without an opinion, telling why in one line on stderr."""
    try:
        posix.write(2, b"tapgate: " + " ".join(sentence.split()).encode("utf-8", "replace") + b"\n")
    except OSError:
        pass
    posix._exit(0)


class Hook:
    """`silence_s` is how long a daemon may be silent before its first sign of life, `beat_s` how long after one, and
    `restart_s` how long it may take to come back after the connection broke."""

    def __init__(
        self,
        path: str,
        agent: str,
        deadline_s: float,
        silence_s: float = 2.0,
        beat_s: float = 10.0,
        restart_s: float = 30.0,
    ) -> None:
        self.path = path
        self.agent = agent
        self.silence_s = silence_s
        self.beat_s = beat_s
        self.restart_s = restart_s
        self.deadline = time.monotonic() + deadline_s
        self.patience = self.deadline  # when, without a sign of life before, the daemon is given up
        self.lost = False  # the connection broke, and nothing was heard since
        self.prompt = False  # the agent shows its own prompt meanwhile: waiting for a restart costs nobody
        self.parent = posix.getppid()
        self.id = posix.urandom(16).hex()
        self.sock: _socket.socket | None = None
        self.asked = False  # a whole question is on the wire, so another frame may follow it
        self.rest = b""

    def go(self, why: bytes, code: int) -> None:
        """Leave at once; the daemon gets a last word if the connection can take it without waiting."""
        if self.sock is not None and self.asked:
            try:
                self.sock.settimeout(0)
                self.sock.send(HELLO + b" gone 0 why=" + why + b"\n")
            except OSError:
                pass
        posix._exit(code)

    def wait(self, fd: int, events: int, until: float) -> bool:
        """Wait for `fd` (-1: for nothing), for the parent's death, or for the time; False when the time is over.

        It looks once more when the time is over: this process itself may have been stopped meanwhile.
        """
        poll = select.poll()
        if fd != 1:
            poll.register(1, 0)  # reports only that nobody reads our stdout any more
        if fd >= 0:
            poll.register(fd, events)
        while True:
            left = max(0.0, until - time.monotonic())
            ready = poll.poll(min(left, TICK_S) * 1000)
            if posix.getppid() != self.parent:
                self.go(b"orphaned", 0)
            for got, what in ready:
                if got == fd:
                    return True
                if what & (select.POLLERR | select.POLLHUP):
                    self.go(b"orphaned", 0)
                if what & select.POLLNVAL:  # closed from the start, or, on macOS, a device: there is nothing to watch
                    poll.unregister(got)
            if not left:
                return False

    def read_stdin(self) -> bytes:
        if posix.isatty(0):
            leave("this is the hook that a coding agent runs; it expects the agent's JSON on stdin")
        try:
            posix.fstat(1)
        except OSError:  # the connection would get its number, and the answer with it
            leave("stdout is closed, so no answer could be given")
        chunks = []
        size = 0
        while self.wait(0, select.POLLIN, self.deadline):
            chunk = posix.read(0, 1 << 18)
            if not chunk:
                break
            size += len(chunk)
            if size <= MAX_BODY_BYTES:
                chunks.append(chunk)
            else:
                chunks.clear()  # read on to the end all the same: the agent must not see a broken pipe
        else:
            leave("stdin did not end in time")
        if not size:
            leave("nothing came on stdin; no opinion")
        if size > MAX_BODY_BYTES:
            leave("the request is larger than 16 MiB, which no card could show; no opinion")
        return b"".join(chunks)

    def connect(self) -> None:
        self.asked = False
        self.rest = b""
        if self.sock is not None:
            self.sock.close()
        self.sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.sock.settimeout(self.silence_s)  # or the full queue of a stopped daemon would hold us here
        self.sock.connect(self.path)
        self.sock.settimeout(0)  # from here on `wait` does the waiting
        # The daemon checks who asks; as much is due here: a path under /tmp may have been taken by somebody else.
        if hasattr(_socket, "SO_PEERCRED"):
            peer = self.sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        else:
            peer = self.sock.getsockopt(0, 1, 76)  # macOS: LOCAL_PEERCRED; the uid stands in the same place
        # Root may: it is systemd that listens for a daemon with a user of its own, and root could do anything anyway.
        if int.from_bytes(peer[4:8], sys.byteorder) not in (posix.getuid(), 0):
            leave("what listens at " + self.path + " belongs to another user; no opinion")

    def ask(self, body: bytes) -> None:
        environ = posix.environ
        project = environ.get(b"CLAUDE_PROJECT_DIR", b"")
        parent = environ.get(b"CLAUDE_PID", b"")
        words = (
            HELLO,
            b"ask",
            b"%d" % len(body),
            b"id=" + self.id.encode(),
            b"agent=" + quote(self.agent.encode()),
            b"deadline_s=%.1f" % max(0.0, self.deadline - time.monotonic() - 1.0),
            b"pid=%d" % posix.getpid(),
            b"parent=" + (parent if parent.isdigit() else b"%d" % self.parent),
            b"attended=%d" % (environ.get(b"CLAUDE_CODE_SESSION_ATTENDED") == b"1"),
            b"project=" + quote(project),
            b"beat=1",  # `held` frames are understood; an older caller would take one for its answer
        )
        frame = b" ".join(words) + b"\n" + body
        assert self.sock is not None
        self.asked = len(frame) <= PIECE_BYTES  # a signal cannot find half of it sent
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[self.sock.send(rest) :]
                self.patience = max(self.patience, time.monotonic() + self.silence_s)  # a daemon that reads is there
            except BlockingIOError:
                self.await_daemon(select.POLLIN | select.POLLOUT)
                if not self.take_in():
                    return
            except ConnectionError:
                return  # it hung up on us; what it said before that is read next
        self.asked = True

    def await_daemon(self, event: int) -> None:
        """Wait until the connection can be read or written. Leaves when the deadline or the patience is over."""
        assert self.sock is not None
        if not self.wait(self.sock.fileno(), event, min(self.deadline, self.patience)):
            if time.monotonic() >= self.deadline:
                leave("nobody answered in time; no opinion")
            self.give_up()

    def give_up(self) -> None:
        if self.lost:
            leave("the daemon went away and did not come back in time; no opinion")
        leave("the daemon at " + self.path + " does not answer; restart it, `tapgate doctor` looks further; no opinion")

    def lose(self) -> None:
        """The connection broke. How long that may last is counted from the first time, until something is heard."""
        if not self.lost:
            self.lost = True
            self.patience = self.deadline if self.prompt else time.monotonic() + self.restart_s

    def answer(self) -> "tuple[bytes, dict[bytes, bytes], bytes]":
        """The frame that ends the conversation. Those before it only say that the daemon lives."""
        while True:
            kind, fields, body = self.receive()
            if kind != b"held":
                return kind, fields, body
            self.prompt = self.prompt or fields.get(b"prompt") == b"1"

    def receive(self) -> "tuple[bytes, dict[bytes, bytes], bytes]":
        """The daemon's next frame: kind, fields, body. Raises LostError where the connection ends before."""
        while b"\n" not in self.rest:
            self.more()
            if len(self.rest) > MAX_HEADER_BYTES and b"\n" not in self.rest:
                leave("the daemon's answer makes no sense; no opinion")
        header, _, self.rest = self.rest.partition(b"\n")
        words = header.split(b" ")
        if words[0] != HELLO or len(words) < 3 or not words[2].isdigit():
            leave("the daemon speaks another version; restart it, and register the hook again")
        size = int(words[2])
        if size > MAX_BODY_BYTES:
            leave("the daemon's answer is too large; no opinion")
        while len(self.rest) < size:
            self.more()
        body, self.rest = self.rest[:size], self.rest[size:]
        return words[1], dict(word.split(b"=", 1) for word in words[3:] if b"=" in word), body

    def more(self) -> None:
        self.await_daemon(select.POLLIN)
        if not self.take_in():
            raise LostError

    def take_in(self) -> bool:
        """Read what the daemon said so far: any of it is a sign of life. False: the connection has ended."""
        assert self.sock is not None
        try:
            chunk = self.sock.recv(1 << 16)
        except BlockingIOError:
            return True
        if chunk:
            self.lost = False
            self.patience = time.monotonic() + self.beat_s
            self.rest += chunk
        return bool(chunk)

    def write_stdout(self, data: bytes) -> None:
        """An agent that does not read is waited for until the deadline, and as long as it lives."""
        until = max(self.deadline, time.monotonic() + TICK_S)
        rest = memoryview(data)
        while rest:
            if not self.wait(1, select.POLLOUT, until):
                leave("nobody read the answer in time")
            try:
                rest = rest[posix.write(1, rest[:PIPE_BYTES]) :]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                self.go(b"orphaned", 0)

    def confirm(self) -> None:
        """Tell the daemon that the answer is on stdout. It is told again where it died in between."""
        frame = HELLO + b" taken 0 id=" + self.id.encode() + b"\n"
        until = time.monotonic() + CONFIRM_S
        while True:
            try:
                assert self.sock is not None
                self.sock.settimeout(CONFIRM_S)
                self.sock.sendall(frame)
                return
            except OSError:
                if time.monotonic() > until:
                    return
                time.sleep(0.02)
                try:
                    self.connect()
                except OSError:
                    pass


def quote(value: bytes) -> bytes:
    return b"".join(b"%c" % c if 32 < c < 127 and c != 37 else b"%%%02X" % c for c in value)


def options(argv: "list[str]") -> "dict[str, str]":
    known = {
        "--socket": "",
        "--agent": "claude",
        "--deadline-s": "590",
        # For tests on a machine that is busy; a registered command has none of them.
        "--silence-s": "2",
        "--beat-s": "10",
        "--restart-s": "30",
    }
    words = iter(argv)
    for word in words:
        if word not in known:
            leave("unknown option " + word + "; run `tapgate hooks print` for the right command")
        known[word] = next(words, "")
    return known


def main(argv: "list[str]") -> None:
    given = options(argv)
    try:
        spans = [float(given[name]) for name in ("--deadline-s", "--silence-s", "--beat-s", "--restart-s")]
    except ValueError:
        spans = [0.0]
    if not given["--socket"] or not all(span > 0 for span in spans):
        leave("--socket and a positive --deadline-s are needed; run `tapgate hooks print`")
    caller = Hook(given["--socket"], given["--agent"], *spans)
    _signal.signal(_signal.SIGTERM, lambda *_: caller.go(b"terminated", 143))
    _signal.signal(_signal.SIGINT, lambda *_: caller.go(b"terminated", 130))
    body = caller.read_stdin()
    caller.patience = time.monotonic() + caller.silence_s
    met = False
    backoff_s = 0.05
    while True:
        try:
            caller.connect()
            met = True  # it was there: now a broken connection is a daemon that restarts
            caller.ask(body)
            kind, fields, answer = caller.answer()
            break
        except (OSError, LostError) as error:
            if met:
                caller.lose()
            elif not isinstance(error, BlockingIOError):  # that one is a daemon with a full queue
                leave(
                    "the daemon is not running at "
                    + caller.path
                    + " ("
                    + str(error)
                    + "); start it with `tapgate daemon`"
                )
            if time.monotonic() + backoff_s >= min(caller.deadline, caller.patience):
                caller.give_up()
            caller.wait(-1, 0, time.monotonic() + backoff_s)
            backoff_s = min(backoff_s * 2, 1.0)
    if kind != b"reply":
        leave(answer.decode("utf-8", "replace") or "the daemon has no opinion")
    caller.write_stdout(answer)
    caller.confirm()
    code = fields.get(b"exit", b"0")
    posix._exit(int(code) if code.isdigit() else 0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:  # no failure may look like an answer
        leave("unexpected: " + repr(error))
