"""One daemon per user: a lock on a file, which the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from tapgate.errors import LockedError


class Lock:
    """Held from construction to `release`. The file stays: removing it would let two daemons lock two files.

    Raises LockedError where somebody else holds it, and OSError where there can be no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise LockedError(f"{path} is a symbolic link, which could lock anything; remove it") from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 32).decode("ascii", "replace").strip()
            os.close(self._fd)
            who, how = (f"pid {holder}", f", e.g. with: kill {holder}") if holder.isdigit() else ("another process", "")
            raise LockedError(f"a tapgate daemon is running already ({who} holds {path}); stop it first{how}") from None
        except OSError:
            os.close(self._fd)
            raise
        with suppress(OSError):  # a full disk: the lock holds without the note of who holds it
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)
