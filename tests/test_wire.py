"""The frames: what one side writes, the other reads; everything else is refused with a sentence."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate import hook
from tapgate.errors import FrameError
from tapgate.wire import MAX_BODY_BYTES, MAX_HEADER_BYTES, VERSION, FrameKind, Header, decode_header, encode_frame

paths = st.binary(max_size=40).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True).filter(lambda name: name not in ("kind", "body"))


def test_a_frame_is_one_line_and_its_bytes() -> None:
    frame = encode_frame(FrameKind.REPLY, b"{}\n", exit=0)
    assert frame == b"tapgate/1 reply 3 exit=0\n{}\n"
    assert decode_header(b"tapgate/1 reply 3 exit=0") == Header(FrameKind.REPLY, 3, {"exit": "0"})


@given(st.sampled_from(FrameKind), st.binary(max_size=60), st.dictionaries(names, paths, max_size=4))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_every_frame_comes_back_as_it_went(kind: FrameKind, body: bytes, fields: dict[str, str]) -> None:
    """Any path that the file system allows gets through, whatever its bytes."""
    line, newline, rest = encode_frame(kind, body, **fields).partition(b"\n")
    assert newline
    assert rest == body
    assert line.isascii()
    assert decode_header(line) == Header(kind, len(body), fields)


@pytest.mark.parametrize("value", [b"/tmp/\xff\xfe", b"/tmp/a b", b"/tmp/a\nb", b"/tmp/100%", b"/tmp/\xc3\xa9", b"="])
def test_any_path_s_bytes_survive(value: bytes) -> None:
    line = encode_frame(FrameKind.ASK, project=value.decode("utf-8", "surrogateescape")).rstrip(b"\n")
    assert decode_header(line).fields["project"].encode("utf-8", "surrogateescape") == value


def test_the_longest_path_fits_into_a_header() -> None:
    line = encode_frame(FrameKind.ASK, id="0" * 32, project="\udcff" * 4096)
    assert len(line) < MAX_HEADER_BYTES


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"", "this is not a tapgate frame"),
        (b"\0\0\0\0", "this is not a tapgate frame"),
        (b"GET / HTTP/1.1", "this is not a tapgate frame"),
        (b" tapgate/1 ask 0", "this is not a tapgate frame"),
        (b"tapgate", "this daemon speaks version 1 of the protocol"),
        (b"tapgate/", "this daemon speaks version 1 of the protocol"),
        (b"tapgate/2 ask 0", "this daemon speaks version 1 of the protocol"),
        (b"tapgate/1.0 ask 0", "this daemon speaks version 1 of the protocol"),
        (b"tapgate/11 ask 0", "this daemon speaks version 1 of the protocol"),
        (b"tapgate/1", "the frame's header is too short"),
        (b"tapgate/1 ask", "the frame's header is too short"),
        (b"tapgate/1 approve 0", "the frame is of an unknown kind"),
        (b"tapgate/1 ASK 0", "the frame is of an unknown kind"),
        (b"tapgate/1  0", "the frame is of an unknown kind"),
        (b"tapgate/1 \xff 0", "the frame is of an unknown kind"),
        (b"tapgate/1 ask ", "the frame's size is not a number"),
        (b"tapgate/1 ask -1", "the frame's size is not a number"),
        (b"tapgate/1 ask +1", "the frame's size is not a number"),
        (b"tapgate/1 ask 1.5", "the frame's size is not a number"),
        (b"tapgate/1 ask 0x10", "the frame's size is not a number"),
        (b"tapgate/1 ask 1_0", "the frame's size is not a number"),
        (b"tapgate/1 ask \xd9\xa1", "the frame's size is not a number"),
        (b"tapgate/1 ask 0\r", "the frame's size is not a number"),
        (b"tapgate/1 ask " + b"9" * 13, "the frame's size is not a number"),
        (b"tapgate/1 ask " + b"9" * 5000, "the frame's size is not a number"),
        (b"tapgate/1 ask 16777217", "the frame is 16777217 bytes; 16777216 are the most"),
        (b"tapgate/1 ask 0 id", "the frame's header has a word that is not key=value"),
        (b"tapgate/1 ask 0 =x", "the frame's header has a word that is not key=value"),
        (b"tapgate/1 ask 0 ", "the frame's header has a word that is not key=value"),
        (b"tapgate/1 ask 0  a=b", "the frame's header has a word that is not key=value"),
        (b"tapgate/1 ask 0 \xc3\xa9=b", "the frame's header has a word that is not key=value"),
    ],
)
def test_a_malformed_header_is_refused_with_a_sentence(line: bytes, sentence: str) -> None:
    with pytest.raises(FrameError, match=re.escape(sentence)):
        decode_header(line)


def test_another_version_is_told_what_to_do() -> None:
    with pytest.raises(FrameError, match="run `tapgate hooks print` and register the hook again"):
        decode_header(f"tapgate/{VERSION + 1} ask 0".encode())


def test_exactly_16_mib_may_be_announced() -> None:
    assert decode_header(b"tapgate/1 ask %d" % MAX_BODY_BYTES).size_bytes == MAX_BODY_BYTES == 16 * 1024 * 1024


@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda tail: b"tapgate/1 ask 5 " + tail))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_any_line_is_a_header_or_refused(line: bytes) -> None:
    try:
        header = decode_header(line)
    except FrameError:
        return
    assert 0 <= header.size_bytes <= MAX_BODY_BYTES


# The caller writes and reads the same frames by hand


def test_the_caller_speaks_the_same_version_with_the_same_limits() -> None:
    assert f"tapgate/{VERSION}".encode() == hook.HELLO
    assert hook.MAX_BODY_BYTES == MAX_BODY_BYTES
    assert hook.MAX_HEADER_BYTES == MAX_HEADER_BYTES


@given(st.binary(max_size=60))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_what_the_caller_quotes_is_read_back(value: bytes) -> None:
    line = b"tapgate/1 ask 0 project=" + hook.quote(value)
    assert decode_header(line).fields["project"].encode("utf-8", "surrogateescape") == value


class Wire:
    """In the place of the caller's socket: keeps what was sent."""

    def __init__(self, *received: bytes) -> None:
        self.sent = b""
        self.received = list(received)

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def send(self, data: bytes) -> int:
        self.sent += data
        return len(data)

    def settimeout(self, seconds: float) -> None:
        pass


def caller(wire: Wire, agent: str = "claude") -> hook.Hook:
    found = hook.Hook("/nowhere", agent, 590.0)
    found.sock = wire  # type: ignore[assignment]
    return found


def frame_of(sent: bytes) -> tuple[Header, bytes]:
    line, _, body = sent.partition(b"\n")
    return decode_header(line), body


@pytest.mark.parametrize("agent", ["claude", "codex", "a b=c%\n"])
def test_the_caller_s_question_is_a_frame(agent: str) -> None:
    wire = Wire()
    asking = caller(wire, agent)
    asking.ask(b'{"x": "\xff\n"}')
    header, body = frame_of(wire.sent)
    assert (header.kind, header.size_bytes, body) == (FrameKind.ASK, 11, b'{"x": "\xff\n"}')
    assert header.fields["id"] == asking.id
    assert re.fullmatch(r"[0-9a-f]{32}", asking.id)
    assert header.fields["agent"] == agent
    assert 580 < float(header.fields["deadline_s"]) < 590
    assert header.fields["attended"] in ("0", "1")
    assert header.fields["beat"] == "1"
    assert set(header.fields) == {"id", "agent", "deadline_s", "pid", "parent", "attended", "project", "beat"}


def test_the_caller_s_other_words_are_frames() -> None:
    wire = Wire()
    asking = caller(wire)
    asking.confirm()
    assert frame_of(wire.sent) == (Header(FrameKind.TAKEN, 0, {"id": asking.id}), b"")
    for why in (b"terminated", b"orphaned"):
        line = hook.HELLO + b" gone 0 why=" + why
        assert decode_header(line) == Header(FrameKind.GONE, 0, {"why": why.decode()})


@given(st.binary(max_size=40), st.sampled_from([FrameKind.REPLY, FrameKind.PASS, FrameKind.ERROR]), st.integers(0, 255))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_the_caller_reads_what_the_daemon_writes(body: bytes, kind: FrameKind, code: int) -> None:
    asking = caller(Wire())
    asking.rest = encode_frame(kind, body, exit=code) + b"more"
    assert asking.receive() == (kind.value.encode(), {b"exit": str(code).encode()}, body)
    assert asking.rest == b"more"


@pytest.mark.parametrize(("fields", "prompt"), [({}, False), ({"prompt": 1}, True), ({"prompt": 0}, False)])
def test_the_caller_reads_past_frames_that_only_say_that_it_is_held(fields: dict[str, int], prompt: bool) -> None:
    asking = caller(Wire())
    held = encode_frame(FrameKind.HELD, **fields)
    asking.rest = (
        encode_frame(FrameKind.HELD) + held * 3 + encode_frame(FrameKind.HELD) + encode_frame(FrameKind.PASS, b"why")
    )
    assert asking.answer() == (b"pass", {}, b"why")
    assert asking.prompt is prompt, "once told, it stays told"
