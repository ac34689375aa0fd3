"""What `--fix` does: changes of modes, and a stale socket file. Nothing that could lose or open anything."""

from __future__ import annotations

import socket
import stat

from tapgate.daemon.lock import Lock
from tapgate.doctor.check import Chmod, Fix, RemoveStaleSocket
from tapgate.errors import LockedError, TapgateError


def apply_fix(fix: Fix) -> str:
    """Do it, and say so in words. Raises TapgateError with the reason it was left as it is."""
    try:
        match fix:
            case Chmod(path, mode):
                path.chmod(mode)
                return f"chmod {mode:03o} {path}"
            case RemoveStaleSocket(path):
                return _remove(fix)
    except OSError as error:
        raise TapgateError(f"{path} was left as it is: {error.strerror}") from None


def _remove(fix: RemoveStaleSocket) -> str:
    """Under the daemon's lock: one that starts meanwhile would otherwise lose its fresh socket to us."""
    path = fix.path
    try:
        lock = Lock(path.with_suffix(".lock"))
    except LockedError as error:
        raise TapgateError(f"{path} was left as it is: {error}") from None
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise TapgateError(f"{path} was left as it is: it is no socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
                return f"removed the stale {path}"
        raise TapgateError(f"{path} was left as it is: somebody listens there")
    finally:
        lock.release()
