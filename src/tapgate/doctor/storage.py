"""What is kept: the journal's directory, the journal itself, and the disk under it."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tapgate.config import Config
from tapgate.doctor.check import Check, Chmod, fault, ok, skipped, warning
from tapgate.doctor.endpoint import check_directory
from tapgate.doctor.scene import DoctorContext
from tapgate.journal.checkup import examine_journal

MIB = 1024 * 1024
LARGE_BYTES = 1024 * MIB
SCARCE_BYTES = 500 * MIB
NONE_LEFT_BYTES = 20 * MIB  # a card's input is 16 MiB at most


def check_storage(scene: DoctorContext, config: Config | None, daemon: Mapping[str, Any] | None) -> Iterator[Check]:
    if config is None:
        yield skipped("journal.file", "journal", "the config does not say where it is")
        return
    problem = check_directory("journal.dir", "journal's directory", config.state_dir, scene=scene)
    if problem is not None:
        yield problem
    path = config.state_dir / "journal.db"
    yield check_journal(path)
    if path.exists():
        yield check_mode(path)
    yield check_writable(scene, path, daemon)
    yield check_disk(scene, config.state_dir)


def check_journal(path: Path) -> Check:
    name, label = "journal.file", "journal"
    health = examine_journal(path)
    if health is None:
        return skipped(name, label, f"{path} comes with the first daemon run")
    if health.fault:
        return fault(
            name,
            label,
            health.fault,
            advice="restart the daemon: it sets a damaged file aside and begins a fresh one",
        )
    size = f"{health.size_bytes / MIB:.1f} MiB"
    if health.set_aside:
        return warning(
            name,
            label,
            f"sound, {size}; an earlier one was damaged and set aside: {health.set_aside[-1]}",
            advice="check the disk; delete that file once you no longer want what is in it",
        )
    if health.size_bytes > LARGE_BYTES:
        return warning(
            name,
            label,
            f"sound, but {size} large",
            advice="keep less: [journal] keep_days, or keep_inputs = false",
        )
    return ok(name, label, f"sound, {size}")


def check_mode(path: Path) -> Check:
    name, label = "journal.permissions", "permissions"
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return warning(
            name,
            label,
            f"{path} is open to other users (mode {mode:04o}): it holds what your agents wanted to run",
            advice=f"chmod 600 {path}, or run `tapgate doctor --fix`",
            fix=Chmod(path, 0o600),
        )
    return ok(name, label, f"{mode:04o}, only you")


def check_writable(scene: DoctorContext, path: Path, daemon: Mapping[str, Any] | None) -> Check:
    """A running daemon knows from trying."""
    name, label = "journal.writable", "writable"
    if daemon is not None:
        if daemon["journal"] == "ok":
            return ok(name, label, "the daemon writes to it")
        return fault(
            name,
            label,
            f"nothing can be allowed, because it could not be recorded: {daemon['journal']}",
            advice="free space or make it writable, as it says; the daemon then goes on by itself",
        )
    there = _nearest(path)
    if not scene.may_write(there):
        return fault(
            name,
            label,
            f"{there} cannot be written, so nothing could be recorded and nothing allowed",
            advice="make it yours and writable, or set another state_dir in the config",
        )
    return ok(name, label, str(path.parent))


def check_disk(scene: DoctorContext, state_dir: Path) -> Check:
    name, label = "journal.disk", "disk"
    there = _nearest(state_dir)
    try:
        free = scene.free_bytes(there)
    except OSError as error:
        return skipped(name, label, f"the space at {there} cannot be told: {error.strerror}")
    words = f"{free / MIB:,.0f} MiB free at {there}"
    if free < NONE_LEFT_BYTES:
        return fault(
            name,
            label,
            f"only {words}: what cannot be recorded cannot be allowed",
            advice="free some space on that disk",
        )
    if free < SCARCE_BYTES:
        return warning(name, label, f"only {words}", advice="free some space before it runs out")
    return ok(name, label, words)


def _nearest(path: Path) -> Path:
    """The file or directory itself, or the first one above it that exists."""
    return next((place for place in (path, *path.parents) if place.exists()), Path("/"))
