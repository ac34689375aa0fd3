"""How cards are to be shown on this machine: the owner's clock, names and wishes for privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tapgate.model import Detail

Clock = Callable[[float], str]
"""Turns a wall time into words for a person, in their time zone."""


@dataclass(frozen=True, slots=True)
class Setting:
    clock: Clock
    machine: str = ""
    home: str = ""  # shown as ~
    mask: bool = True
    detail: Detail = Detail.FULL

    @property
    def is_brief(self) -> bool:
        return self.detail is Detail.SUMMARY

    def place(self, path: str, project: str = "") -> str:
        """A path for a narrow screen: from the project's directory, or with ~ for the home directory."""
        if len(project) > 1 and path.startswith(f"{project}/") and "/.." not in path:
            return path[len(project) + 1 :]
        home = self.home.rstrip("/")
        return "~" + path[len(home) :] if home and (path == home or path.startswith(f"{home}/")) else path
