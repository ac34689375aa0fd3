"""A HOME of its own for one agent, with tapgate's hooks in its settings. The real HOME is neither read nor written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.world import World


class Home:
    """`project` is where the agent works. Its name is on every card: it tells one test's cards from another's."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.path = world.home / name
        self.project = self.path / f"shop-{name}"
        self.outside = self.path / "outside"
        for folder in (self.project, self.outside, self.path / "tmp", self.path / ".config"):
            folder.mkdir(parents=True)
        self.environ = {
            "HOME": str(self.path),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "TMPDIR": str(self.path / "tmp"),
            "XDG_CONFIG_HOME": str(self.path / ".config"),
            "XDG_CACHE_HOME": str(self.path / ".cache"),
            "XDG_DATA_HOME": str(self.path / ".local/share"),
            "XDG_STATE_HOME": str(self.path / ".local/state"),
            "TAPGATE_CONFIG": str(world.config_path),
        }

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def install_hooks(home: Home, agent: str, gate: str = "") -> None:
    """What makes the agent ask tapgate: the real command, in a HOME that has nothing of it yet. No line by hand."""
    done = _hooks(home, "install", "--agent", agent, "--yes", *(["--gate", gate] if gate else []))
    assert done.returncode == 0, done.stdout + done.stderr


def hooks_are_well(home: Home, agent: str) -> bool:
    """What `tapgate hooks status` says of them."""
    return _hooks(home, "status", "--agent", agent).returncode == 0


def _hooks(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tapgate", "hooks", *words]
    return subprocess.run(command, cwd=home.project, env=home.environ, capture_output=True, text=True, timeout=300)
