"""The frames between caller and daemon: one header line, then as many bytes as it announces. Pure; docs/protocol.md.

    tapgate/1 <kind> <size> [key=value ...]\\n<size bytes>

Values are percent-encoded. The caller writes and reads the same frames by hand in `hook.py`, which may import nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote_from_bytes, unquote_to_bytes

from tapgate.errors import FrameError

VERSION = 1
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_HEADER_BYTES = 16 * 1024  # a path of 4096 bytes, percent-encoded, and room to spare


class FrameKind(StrEnum):
    ASK = "ask"  # caller: here is what the agent sent
    TAKEN = "taken"  # caller: the answer is on my stdout
    GONE = "gone"  # caller: I am leaving, and this is why
    STATUS = "status"  # `tapgate status`: how are you
    HELD = "held"  # daemon: I am here and have your question; said again while the caller waits
    REPLY = "reply"  # daemon: write this to stdout and exit with `exit`
    PASS = "pass"  # noqa: S105  daemon: no opinion; the body is the reason, for stderr
    ERROR = "error"  # daemon: that was no frame I can take; the body says why


@dataclass(frozen=True, slots=True)
class Header:
    kind: FrameKind
    size_bytes: int
    fields: Mapping[str, str] = field(default_factory=dict)


def encode_frame(kind: FrameKind, body: bytes = b"", /, **fields: object) -> bytes:
    """Surrogate escapes in values survive, so that any path the file system allows gets through."""
    words = [f"tapgate/{VERSION}", kind.value, str(len(body))]
    words += [
        f"{name}={quote_from_bytes(str(value).encode('utf-8', 'surrogateescape'), safe='/:.,_-=@+')}"
        for name, value in fields.items()
    ]
    return " ".join(words).encode("ascii") + b"\n" + body


def decode_header(line: bytes) -> Header:
    """Read a header line (without its newline). Raises FrameError with a sentence for the other side."""
    words = line.split(b" ")
    protocol, _, version = words[0].partition(b"/")
    if protocol != b"tapgate":
        raise FrameError("this is not a tapgate frame")
    if version != str(VERSION).encode():
        raise FrameError(
            f"this daemon speaks version {VERSION} of the protocol, the caller another; "
            "run `tapgate hooks print` and register the hook again"
        )
    if len(words) < 3:
        raise FrameError("the frame's header is too short")
    try:
        kind = FrameKind(words[1].decode("ascii"))
    except ValueError:
        raise FrameError("the frame is of an unknown kind") from None
    if not words[2].isdigit() or len(words[2]) > 12:
        raise FrameError("the frame's size is not a number")
    size_bytes = int(words[2])
    if size_bytes > MAX_BODY_BYTES:
        raise FrameError(f"the frame is {size_bytes} bytes; {MAX_BODY_BYTES} are the most")
    fields: dict[str, str] = {}
    for word in words[3:]:
        name, equals, value = word.partition(b"=")
        if not name or not equals or not name.isascii():
            raise FrameError("the frame's header has a word that is not key=value")
        fields[name.decode("ascii")] = unquote_to_bytes(value).decode("utf-8", "surrogateescape")
    return Header(kind, size_bytes, fields)
