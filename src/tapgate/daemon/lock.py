"""One daemon per user and one poller per bot: a lock on a file, which the kernel drops when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tapgate.errors import LockedError

TRIES = 4  # somebody who only looks holds it for a moment
AGAIN_S = 0.02
MOST_NOTED = 128


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as its file says: the process (0 where it does not say), and which bot it polls."""

    pid: int
    bot: str = ""

    @property
    def name(self) -> str:
        return f"pid {self.pid}" if self.pid else "another process"


class Lock:
    """Held from construction to `release`. The file stays: removing it would let two daemons lock two files.

    Raises LockedError where somebody else holds it, and OSError where there can be no such file. `bot` is noted in the
    file for those who ask which bot the holder polls.
    """

    def __init__(self, path: Path, *, bot: str = "") -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise LockedError(f"{path} is a symbolic link, which could lock anything; remove it") from None
        try:
            self._take()
        except BlockingIOError:
            holder = _noted(self._fd)
            os.close(self._fd)
            how = f", e.g. with: kill {holder.pid}" if holder.pid else ""
            raise LockedError(
                f"a tapgate daemon is running already ({holder.name} holds {path}); stop it first{how}"
            ) from None
        except OSError:
            os.close(self._fd)
            raise
        with suppress(OSError):  # a full disk: the lock holds without the note of who holds it
            os.ftruncate(self._fd, 0)
            os.write(self._fd, "\n".join([str(os.getpid()), *([bot] if bot else []), ""]).encode())

    def _take(self) -> None:
        for left in reversed(range(TRIES)):
            try:
                return fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not left:
                    raise
                time.sleep(AGAIN_S)

    def release(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)


def holder_of(path: Path) -> Holder | None:
    """Who holds this lock; None where nobody does. Raises OSError where that cannot be told.

    Asked with a lock of our own that is gone at once, and that goes beside another of its kind. A file that a killed
    daemon left is not held, and the number in it may be somebody else's by now.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _noted(descriptor)
    finally:
        os.close(descriptor)
    return None


def _noted(descriptor: int) -> Holder:
    text = os.pread(descriptor, MOST_NOTED, 0).decode("ascii", "replace")
    pid, bot, *_ = [*text.split("\n"), "", ""]
    return Holder(int(pid) if pid.strip().isdigit() else 0, bot.strip())
