"""Where files live, from platformdirs; and the checks that make a directory fit for a socket or for secrets."""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from pathlib import Path

import platformdirs

from tapgate.errors import SocketError

APP = "tapgate"
MAX_SOCKET_PATH_BYTES = 103  # macOS has 104 bytes for the path with its closing NUL


def default_config_path() -> Path:
    return platformdirs.user_config_path(APP, appauthor=False) / "config.toml"


def default_state_dir() -> Path:
    return platformdirs.user_state_path(APP, appauthor=False)


def default_socket_path() -> Path:
    """In the user's runtime directory; where that is too deep for a socket, or taken, in a directory under /tmp."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is unset; make_private_dir checks the rest
        try:
            path = platformdirs.user_runtime_path(APP, appauthor=False) / "daemon.sock"
        except OSError:  # somebody else has put a directory of that name under /tmp
            path = None
    if path is not None and len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    # Not TMPDIR: the hook and the daemon may see different ones.
    return Path("/tmp") / f"{APP}-{os.getuid()}" / "daemon.sock"  # noqa: S108  make_private_dir checks it


def bot_name(base_url: str, token: str) -> str:
    """What tells one bot from another, without saying which it is: the number before the colon, and whose server."""
    number = token.partition(":")[0]
    return hashlib.sha256(f"{base_url.rstrip('/')}\n{number}".encode()).hexdigest()[:16]


def bot_lock_path(runtime_dir: Path, bot: str) -> Path:
    """The lock of whoever polls this bot. It lies in the user's runtime directory: no config moves it."""
    return runtime_dir / f"bot-{bot}.lock"


def default_runtime_dir() -> Path:
    return default_socket_path().parent


def check_socket_path(path: Path) -> None:
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH_BYTES:
        raise SocketError(
            f"the socket path {path} is {length} bytes long and sockets allow {MAX_SOCKET_PATH_BYTES}; "
            "set a shorter socket_path in the config"
        )


def make_private_dir(path: Path) -> None:
    """Create `path` with mode 0700, or refuse it where somebody else could reach into it.

    A directory under /tmp may have been put there by another user before us, so what exists is checked, not trusted.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SocketError(f"cannot create {path.parent}: {error.strerror}") from error
    if _is_shared(path.parent):
        raise SocketError(f"other users may replace what is in {path.parent}; set another path in the config")
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise SocketError(f"cannot create {path}: {error.strerror}") from error
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise SocketError(f"{path} is not a directory; remove it, or set another path in the config")
    if found.st_uid != os.getuid():
        raise SocketError(f"{path} belongs to another user (uid {found.st_uid}); set another path in the config")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise SocketError(f"{path} is open to other users; run: chmod 700 {path}")


def _is_shared(path: Path) -> bool:
    """Whether somebody else could put another directory in the place of one in here."""
    found = path.stat()
    if found.st_uid not in (0, os.getuid()):
        return True
    if found.st_mode & stat.S_ISVTX:
        return False  # as in /tmp: everybody may add, and only the owner may rename
    # Where every user has a group of their own, umask 002 leaves the group's bit on; that group is nobody else.
    own_group = found.st_uid == os.getuid() and found.st_gid == os.getgid()
    return bool(found.st_mode & (stat.S_IWOTH if own_group else stat.S_IWOTH | stat.S_IWGRP))
