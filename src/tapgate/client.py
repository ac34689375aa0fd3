"""Asking a running daemon, for the commands and the doctor. It only asks: nothing on the socket can approve."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapgate.daemon.sockets import peer_uid
from tapgate.errors import FrameError, NotRunningError, SocketError, TapgateError
from tapgate.wire import FrameKind, decode_header, encode_frame

PATIENCE_S = 5.0  # for the whole answer
MOST_BYTES = 8 * 1024 * 1024  # far more than any status has


def ask_status(path: Path, *, patience_s: float = PATIENCE_S) -> dict[str, Any]:
    """What the daemon at this socket says of itself.

    Raises NotRunningError where nobody listens, SocketError where it is another user's, FrameError where the answer
    makes no sense, and TapgateError where none comes.
    """
    kind, body = _ask(path, FrameKind.STATUS, patience_s=patience_s)
    if kind is not FrameKind.REPLY:
        raise FrameError(body.decode("utf-8", "replace"))  # its own words for why not
    try:
        found = json.loads(body)
    except ValueError:
        raise FrameError("the daemon's answer was cut short; ask again") from None
    if not isinstance(found, dict):
        raise FrameError("the daemon's answer makes no sense; restart it, it may be of another version")
    return found


def _ask(path: Path, kind: FrameKind, *, patience_s: float) -> tuple[FrameKind, bytes]:
    """One frame there and one back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            sock.settimeout(patience_s)
            sock.connect(str(path))
            _check_owner(sock, path)
            sock.sendall(encode_frame(kind))
            answer = _read_to_end(sock, patience_s=patience_s)
        except TimeoutError:
            raise TapgateError(f"the daemon at {path} does not answer; restart it") from None
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise NotRunningError(
                f"the daemon is not running ({error.strerror}); start it with `tapgate daemon`"
            ) from None
        except OSError as error:
            raise TapgateError(
                f"the daemon cannot be asked ({error.strerror or error}); `tapgate doctor` looks further"
            ) from None
    if not answer:
        raise FrameError("the daemon hung up without an answer; it may be stopping: ask again")
    line, _, body = answer.partition(b"\n")
    return decode_header(line).kind, body


def _check_owner(sock: socket.socket, path: Path) -> None:
    """Another user may own a path under /tmp. As for the hook, root may listen (systemd does); root may ask anybody."""
    owner = peer_uid(sock)
    if os.getuid() not in (owner, 0) and owner != 0:
        raise SocketError(
            f"what listens at {path} belongs to another user (uid {owner}); set another socket_path in the config, "
            "then run `tapgate hooks install` again"
        )


def _read_to_end(sock: socket.socket, *, patience_s: float, clock: Callable[[], float] = time.monotonic) -> bytes:
    end = clock() + patience_s
    answer = bytearray()
    while chunk := sock.recv(65536):
        answer += chunk
        if len(answer) > MOST_BYTES:
            raise FrameError("the daemon's answer does not end; restart it")
        left_s = end - clock()
        if left_s <= 0:
            raise TimeoutError
        sock.settimeout(left_s)
    return bytes(answer)
