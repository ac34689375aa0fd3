"""The daemon as a service: finds the manager that this user has, systemd or launchd, or says why there is none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tapgate.service.commands import follow_command, run_command
from tapgate.service.launchd import LaunchdService
from tapgate.service.model import CommandResult, FileChange, Follow, RunCommand, Service, ServiceState
from tapgate.service.systemd import SystemdService, ask_manager, unit_dir_of

_BY_HAND = "run `tapgate daemon` in a terminal that stays open (tmux, screen), or from your container's own supervisor"


def service_of(
    *,
    platform: str,
    home: Path,
    environ: Mapping[str, str],
    run: RunCommand = run_command,
    follow: Follow = follow_command,
) -> Service | None:
    """The service of this user, or None where no manager can be used; `why_not` then says why."""
    found = _find(platform=platform, home=home, environ=environ, run=run, follow=follow)
    return None if isinstance(found, str) else found


def why_not(*, platform: str, home: Path, environ: Mapping[str, str], run: RunCommand = run_command) -> str:
    """Why there can be no service here and what to do instead, in a sentence; "" where there can be one."""
    found = _find(platform=platform, home=home, environ=environ, run=run, follow=follow_command)
    return found if isinstance(found, str) else ""


def _find(*, platform: str, home: Path, environ: Mapping[str, str], run: RunCommand, follow: Follow) -> Service | str:
    if platform.startswith("linux"):
        return _systemd(home=home, environ=environ, run=run, follow=follow)
    if platform == "darwin":
        return _launchd(home=home, run=run, follow=follow)
    return f"tapgate knows no service manager for {platform}; {_BY_HAND}"


def _systemd(*, home: Path, environ: Mapping[str, str], run: RunCommand, follow: Follow) -> Service | str:
    manager, trouble = ask_manager(run)
    if manager is not None:
        unit_dir = unit_dir_of(manager, home=home, environ=environ)
        return SystemdService(
            unit_dir=unit_dir, version=manager.version, home=home, environ=environ, run=run, follow=follow
        )
    if trouble == "missing":
        return f"there is no systemd here (systemctl is not installed); {_BY_HAND}"
    if not environ.get("XDG_RUNTIME_DIR"):
        return (
            "your systemd user manager cannot be reached, because XDG_RUNTIME_DIR is not set. That is so after su or "
            f"sudo: log in as this user (ssh, `machinectl shell`) and try again. In a container: {_BY_HAND}"
        )
    return f"no systemd user manager answers ({trouble}), as in most containers; {_BY_HAND}"


def _launchd(*, home: Path, run: RunCommand, follow: Follow) -> Service | str:
    uid = os.getuid()
    ran = run(("launchctl", "print", f"gui/{uid}"))
    if ran.code != 0:
        return (
            f"launchd has no graphical session for this user (gui/{uid}), as over ssh alone; log in at the screen "
            f"once, or {_BY_HAND}"
        )
    return LaunchdService(home=home, uid=uid, run=run, follow=follow)


__all__ = ["CommandResult", "FileChange", "Follow", "RunCommand", "Service", "ServiceState", "service_of", "why_not"]
