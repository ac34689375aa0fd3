"""Answers the callers of a daemon that cannot start. systemd holds the socket, so they would wait in its queue."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from tapgate.daemon.sockets import BACKLOG, peer_uid
from tapgate.errors import redact
from tapgate.wire import FrameKind, encode_frame

PATIENCE_S = 0.2


def turn_away(sock: socket.socket, sentence: str) -> int:
    """Tell everybody who waits that there is no opinion, and why; gives how many. Never raises."""
    count = 0
    with suppress(OSError):
        sock.setblocking(False)
        while count < BACKLOG:
            caller, _ = sock.accept()
            with caller:
                count += 1
                with suppress(OSError):
                    caller.settimeout(PATIENCE_S)
                    # What is wrong with a config is its owner's business.
                    why = redact(sentence) if peer_uid(caller) == os.getuid() else "its log says why"
                    text = f"the daemon cannot start: {' '.join(why.split())}; no opinion"
                    caller.sendall(encode_frame(FrameKind.PASS, text.encode("utf-8", "replace")))
                    caller.shutdown(socket.SHUT_WR)
    return count
