"""The socket: can it be made at that path, and is what lies there private, ours and alive."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tapgate.config import Config
from tapgate.doctor.check import Check, Chmod, RemoveStaleSocket, fault, ok, skipped, warning
from tapgate.doctor.daemon import Met
from tapgate.doctor.scene import DoctorContext
from tapgate.paths import MAX_SOCKET_PATH_BYTES


def check_socket(scene: DoctorContext, config: Config | None, met: Met) -> Iterator[Check]:
    if config is None:
        yield skipped("daemon.socket", "socket", "the config does not say where it is")
        return
    path = config.socket_path
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH_BYTES:
        yield fault(
            "daemon.socket",
            "socket",
            f"{path} is {length} bytes long, and sockets allow {MAX_SOCKET_PATH_BYTES}",
            advice="set a shorter socket_path in the config, then `tapgate hooks install` again",
        )
        return
    if met.status is None:  # who answers has a place to listen at, and has looked at it
        problem = check_directory("daemon.socket_dir", "socket's directory", path.parent, scene=scene)
        if problem is not None:
            yield problem
    yield check_file(path, scene=scene, met=met)


def check_directory(name: str, label: str, path: Path, *, scene: DoctorContext) -> Check | None:
    """What the daemon refuses to use; None where there is nothing to say."""
    try:
        found = path.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return fault(name, label, f"{path} is not a directory", advice="remove it, or set another path in the config")
    if found.st_uid != scene.uid:
        return fault(
            name,
            label,
            f"{path} belongs to another user (uid {found.st_uid})",
            advice="set another path in the config; if you did not expect this, ask who made it",
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        return fault(
            name,
            label,
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o}), so the daemon refuses it",
            advice=f"chmod 700 {path}, or run `tapgate doctor --fix`",
            fix=Chmod(path, 0o700),
        )
    return None


def check_file(path: Path, *, scene: DoctorContext, met: Met) -> Check:
    name, label = "daemon.socket", "socket"
    try:
        found = path.lstat()
    except FileNotFoundError:
        return skipped(name, label, f"{path} comes with the daemon")
    except OSError as error:
        return fault(
            name, label, f"{path} cannot be looked at: {error.strerror}", advice="check the directories that lead there"
        )
    if not stat.S_ISSOCK(found.st_mode):
        return fault(
            name, label, f"{path} is there and is not a socket", advice="remove it, or set another socket_path"
        )
    if met.status is not None and found.st_uid != scene.uid:
        return ok(name, label, f"{path}, of the daemon's own user (uid {found.st_uid})")
    if found.st_uid not in (scene.uid, 0):
        return fault(
            name,
            label,
            f"{path} belongs to another user (uid {found.st_uid}), so no hook will ask there",
            advice="set another socket_path in the config, then `tapgate hooks install` again",
        )
    if not met.is_running:
        return warning(
            name,
            label,
            f"{path} was left by a daemon that was killed",
            advice="the next daemon replaces it; `tapgate doctor --fix` removes it",
            fix=RemoveStaleSocket(path),
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        return warning(
            name,
            label,
            f"{path} is open to other users (mode {mode:04o}); the daemon refuses them, but need not be asked",
            advice=f"chmod 600 {path}, or run `tapgate doctor --fix`",
            fix=Chmod(path, 0o600),
        )
    return ok(name, label, f"{path}, {mode:04o}")
