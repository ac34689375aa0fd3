"""The agents' hook settings: the exact command, and which events it is registered for. Pure."""

from __future__ import annotations

import itertools
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tapgate import hook
from tapgate.config import Config

TELL_DEADLINE_S = 5
"""Handlers that only tell run beside the agent; SessionEnd has 1.5 s, the others may as well be brief."""

LAUNCHER = "tapgate-hook"
"""The program that finds the socket by itself, for those who cannot name it: the plugin's hooks."""

GATE_EVENT = "PreToolUse"
"""Fires before every call of a tool, whether a permission is needed or not."""

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


def guarded_command(config: Config, *, agent: str, deadline_s: float, python: str | None = None) -> str:
    """The command as it is registered: without an opinion once the interpreter or the hook file is gone.

    Python exits with 2 where its file is missing, and to Codex, and at Claude Code's gate, that is a deny. `[` is built
    into the shells, so looking first costs nothing that could be measured.

    Codex asks the user to trust a command again when a letter of it changes. So there the hook is named as a module,
    which costs 4 ms more and stays the same when Python's version, and with it the file's directory, changes.
    """
    command = hook_command(config, agent=agent, deadline_s=deadline_s, python=python)
    _, interpreter, _, _, file, *options = shlex.split(command)
    looks = f"[ -x {shlex.quote(interpreter)} ]"
    if agent == "codex":
        return f"{looks} && exec {shlex.join([interpreter, '-I', '-m', hook.__name__, *options])}; exit 0"
    return f"{looks} && [ -r {shlex.quote(file)} ] && {command}; exit 0"


@dataclass(frozen=True, slots=True)
class HookProgram:
    """What a registered command says, as far as it can be read. None is what it does not say."""

    interpreter: str | None = None
    file: str | None = None
    socket: str | None = None
    agent: str | None = None
    deadline_s: float | None = None


def parse_command(command: str) -> HookProgram:
    """Read a command of any version of tapgate."""
    try:
        words = shlex.split(command.removesuffix("; exit 0"))
    except ValueError:
        return HookProgram()
    if "exec" in words:
        words = words[len(words) - words[::-1].index("exec") :]
    given = dict(itertools.pairwise(words))
    try:
        deadline_s = float(given["--deadline-s"])
    except (KeyError, ValueError):
        deadline_s = None
    return HookProgram(
        interpreter=words[0] if words and "/" in words[0] else None,
        file=next((word for word in words if word.endswith("tapgate/hook.py")), None),
        socket=given.get("--socket"),
        agent=given.get("--agent"),
        deadline_s=deadline_s,
    )


@dataclass(frozen=True, slots=True)
class Registration:
    """One entry in the agent's settings: for which event, and for which tools (none named: all)."""

    event: str
    handler: dict[str, Any]
    matcher: str = ""

    def group(self) -> dict[str, Any]:
        return {"matcher": self.matcher, "hooks": [self.handler]} if self.matcher else {"hooks": [self.handler]}


def registrations(config: Config, *, agent: str, gate: str = "") -> tuple[Registration, ...]:
    """All that makes the agent ask tapgate. Tools that `gate` matches are asked about at every call."""
    ask = {
        "type": "command",
        "command": guarded_command(config, agent=agent, deadline_s=config.deadline_s),
        "timeout": config.timeout_s,
    }
    if agent != "claude":
        return (Registration("PermissionRequest", ask),)
    tell = {
        "type": "command",
        "command": guarded_command(config, agent=agent, deadline_s=TELL_DEADLINE_S),
        "async": True,
        "timeout": TELL_DEADLINE_S * 2,
    }
    gates = (Registration(GATE_EVENT, ask, gate),) if gate else ()
    return (
        Registration("PermissionRequest", ask),
        *gates,
        *(Registration(event, tell) for event in TOLD_EVENTS),
    )


def render_settings(config: Config, *, agent: str, gate: str = "") -> dict[str, Any]:
    """The part of the agent's settings that makes it ask tapgate."""
    return {"hooks": {entry.event: [entry.group()] for entry in registrations(config, agent=agent, gate=gate)}}
