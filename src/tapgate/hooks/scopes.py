"""Where each agent keeps the settings that name its hooks. Reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from tapgate.errors import SettingsError

AGENTS = ("claude", "codex")
TITLES = {"claude": "Claude Code", "codex": "Codex"}


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


def settings_path(agent: str, scope: Scope, *, environ: Mapping[str, str], home: Path, cwd: Path) -> Path:
    """The file of this agent in this scope, whether it exists or not."""
    match agent, scope:
        case "claude", Scope.USER:
            return agent_dir(agent, environ=environ, home=home) / "settings.json"
        case "claude", Scope.PROJECT:
            return cwd / ".claude" / "settings.json"
        case "claude", Scope.LOCAL:
            return cwd / ".claude" / "settings.local.json"
        case "codex", Scope.USER:
            return agent_dir(agent, environ=environ, home=home) / "hooks.json"
        case "codex", Scope.PROJECT:
            return cwd / ".codex" / "hooks.json"
        case "codex", Scope.LOCAL:
            raise SettingsError("Codex has no local scope; choose --scope user or --scope project")
    raise SettingsError(f"tapgate does not know the agent {agent!r}; it knows {', '.join(AGENTS)}")


def agent_dir(agent: str, *, environ: Mapping[str, str], home: Path) -> Path:
    """The agent's own directory, which CLAUDE_CONFIG_DIR or CODEX_HOME may move."""
    variable, default = {"claude": ("CLAUDE_CONFIG_DIR", ".claude"), "codex": ("CODEX_HOME", ".codex")}[agent]
    named = environ.get(variable, "")
    return Path(named) if named else home / default


def scopes_of(agent: str) -> tuple[Scope, ...]:
    return (Scope.USER, Scope.PROJECT, Scope.LOCAL) if agent == "claude" else (Scope.USER, Scope.PROJECT)
