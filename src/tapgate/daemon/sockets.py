"""The listening socket: made private and put in place in one step, or taken over from systemd; and who is calling."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
from pathlib import Path

from tapgate.errors import SocketError
from tapgate.paths import check_socket_path, make_private_dir

BACKLOG = 4096  # a thousand callers may come at once; the system takes no more than its own somaxconn
_LISTEN_FDS_START = 3  # systemd's rule
_LOCAL_PEERCRED = 1  # macOS, from sys/un.h
_SOL_LOCAL = 0


def open_socket(path: Path) -> socket.socket:
    """Listen at `path`. A stale file there is replaced, a live socket never. The caller holds the daemon's lock."""
    check_socket_path(path)
    make_private_dir(path.parent)
    _refuse_live(path)
    # Bound under another name and renamed when it is private and listening: nobody meets a half-made socket.
    fresh = path.with_name(f".{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(fresh))
        fresh.chmod(0o600)
        sock.listen(BACKLOG)
        fresh.rename(path)
    except OSError as error:
        sock.close()
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise SocketError(f"cannot listen at {path}: {error}") from error
    sock.setblocking(False)
    return sock


def inherited_socket() -> socket.socket | None:
    """The socket that systemd holds for us (LISTEN_FDS), so that callers can wait while the daemon restarts."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    try:
        os.set_inheritable(_LISTEN_FDS_START, False)
        sock = socket.socket(fileno=_LISTEN_FDS_START)
    except OSError as error:
        raise SocketError(f"LISTEN_FDS announces a socket that is not there: {error.strerror}") from error
    listening = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) if sys.platform == "linux" else 1
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_STREAM or not listening:
        sock.close()
        raise SocketError("the socket handed over in LISTEN_FDS is not a listening Unix stream socket")
    sock.setblocking(False)
    return sock


def identity_of(path: Path) -> tuple[int, int]:
    """Which file this is, whatever its name will mean later."""
    found = path.lstat()
    return found.st_dev, found.st_ino


def remove_socket(path: Path, identity: tuple[int, int]) -> None:
    """Take the file away, unless another one stands in its place by now."""
    with contextlib.suppress(OSError):
        if identity_of(path) == identity:
            path.unlink()


def peer_uid(sock: socket.socket) -> int:
    """The user at the other end, as the kernel knows it."""
    if sys.platform == "darwin":
        # struct xucred: version, uid, number of groups, padding, 16 groups
        layout = "IIh2x16I"
        version, uid, *_ = struct.unpack(layout, sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, struct.calcsize(layout)))
        if version != 0:
            raise SocketError("the system describes callers in a way that tapgate does not know")
    else:
        layout = "iII"  # struct ucred: pid, uid, gid
        _, uid, _ = struct.unpack(
            layout, sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(layout))
        )
    return int(uid)


def _refuse_live(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise SocketError(f"{path} is there already and is not a socket; remove it, or set another socket_path")
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.settimeout(1)
        probe.connect(str(path))
    except (ConnectionRefusedError, FileNotFoundError):
        return  # nobody listens: renaming over it replaces it
    except OSError as error:
        raise SocketError(f"cannot tell whether {path} is in use: {error}") from error
    finally:
        probe.close()
    raise SocketError(f"another program listens at {path}; stop it, or set another socket_path")
