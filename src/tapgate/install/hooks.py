"""The agents' hook settings: the exact command, and which events it is registered for. Pure."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from tapgate import hook
from tapgate.config import Config

TELL_DEADLINE_S = 5
"""Handlers that only tell run beside the agent; SessionEnd has 1.5 s, the others may as well be brief."""

TOLD_EVENTS = (
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "Stop",
    "SubagentStop",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
)


def hook_command(config: Config, *, agent: str, deadline_s: float, python: str | None = None) -> str:
    """A shell command that works in every version: `exec` saves the shell; old versions ignore "args" silently."""
    words = [
        python or sys.executable,
        "-I",
        "-S",
        str(Path(hook.__file__).resolve()),
        "--socket",
        str(config.socket_path),
        "--agent",
        agent,
        "--deadline-s",
        f"{deadline_s:g}",
    ]
    return "exec " + " ".join(shlex.quote(word) for word in words)


def render_settings(config: Config, *, agent: str) -> dict[str, Any]:
    """The part of the agent's settings that makes it ask tapgate."""
    ask = {
        "type": "command",
        "command": hook_command(config, agent=agent, deadline_s=config.deadline_s),
        "timeout": config.timeout_s,
    }
    hooks: dict[str, Any] = {"PermissionRequest": [{"hooks": [ask]}]}
    if agent == "claude":
        tell = {
            "type": "command",
            "command": hook_command(config, agent=agent, deadline_s=TELL_DEADLINE_S),
            "async": True,
            "timeout": TELL_DEADLINE_S * 2,
        }
        for event in TOLD_EVENTS:
            hooks[event] = [{"hooks": [tell]}]
    return {"hooks": hooks}
