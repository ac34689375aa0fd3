"""One daemon per user: a lock on a file, which the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tapgate.errors import LockedError


class Lock:
    """Held from construction to `release`. The file stays: removing it would let two daemons lock two files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 32).decode("ascii", "replace").strip()
            os.close(self._fd)
            who = f"pid {holder}" if holder.isdigit() else "another process"
            raise LockedError(
                f"a tapgate daemon is running already ({who} holds {path}); stop it first, e.g. with: kill {holder}"
            ) from None
        os.ftruncate(self._fd, 0)
        os.write(self._fd, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.ftruncate(self._fd, 0)
        os.close(self._fd)
