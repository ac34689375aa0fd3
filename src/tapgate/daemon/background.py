"""What helps to decide and stands outside the request: the agent's last words, and the file that would change."""

from __future__ import annotations

import os
import stat

from tapgate.daemon.transcript import read_last_words
from tapgate.model import Background, Request

MOST_BYTES = 256 * 1024
_CHANGING = frozenset({"Edit", "MultiEdit", "Write"})


def look_around(request: Request) -> Background:
    """Blocking: run it in a worker thread. Whatever cannot be read is left out."""
    why = read_last_words(request.transcript_path, request.call.agent_id)
    path = request.input.get("file_path")
    if request.call.tool not in _CHANGING or not isinstance(path, str) or not path.startswith("/"):
        return Background(why=why)
    try:
        return Background(why=why, before=_read_text(path))
    except FileNotFoundError:
        return Background(why=why, is_new=True)
    except (OSError, ValueError):
        return Background(why=why)


def _read_text(path: str) -> str | None:
    # O_NONBLOCK: the path comes from the agent, and opening a pipe must not wait for somebody to write to it.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            return None
        return os.read(fd, MOST_BYTES).decode("utf-8")
    finally:
        os.close(fd)
