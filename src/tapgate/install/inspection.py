"""What keeps an agent from asking tapgate: what is so, and what to do about it. Reads, never writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tapgate.config import Config
from tapgate.errors import SettingsError
from tapgate.install.change import read
from tapgate.install.registration import Place, ours, parse_settings
from tapgate.install.scopes import TITLES, scopes_of, settings_path


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    sentence: str
    advice: str = ""


def inspect(config: Config, *, agent: str, environ: Mapping[str, str], home: Path, cwd: Path) -> tuple[Finding, ...]:
    """Everything about this agent's settings that bears on whether tapgate is asked."""
    findings: list[Finding] = []
    registered: list[tuple[Path, Place]] = []
    for scope in scopes_of(agent):
        path = settings_path(agent, scope, environ=environ, home=home, cwd=cwd)
        try:
            data = read(path)
            settings = {} if data is None else parse_settings(data, source=path)
        except SettingsError as error:
            findings.append(Finding(Level.FAULT, str(error), "The agent cannot read it either."))
            continue
        registered += [(path, place) for place in ours(settings)]
    if not registered:
        findings.append(
            Finding(
                Level.FAULT,
                f"{TITLES[agent]} does not ask tapgate: no settings name its hook.",
                f"Run: tapgate hooks install --agent {agent}",
            )
        )
    for path in dict.fromkeys(path for path, _ in registered):
        findings.append(Finding(Level.OK, f"{TITLES[agent]} asks tapgate: registered in {path}."))
    return tuple(findings)
