"""How cards are to be shown on this machine: the owner's clock, names and wishes for privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapgate.model import Detail, Request

FormatTime = Callable[[float], str]
"""Turns a wall time into words for a person, in their time zone."""


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    clock: FormatTime
    machine: str = ""
    home: str = ""  # shown as ~
    home_of: Callable[[int], str] | None = None  # the same for each user, where several may ask
    mask: bool = True
    detail: Detail = Detail.FULL

    @property
    def is_brief(self) -> bool:
        return self.detail is Detail.SUMMARY

    def of(self, request: Request) -> DisplayOptions:
        """The same with ~ for the home of the user who asks."""
        return self if self.home_of is None else replace(self, home=self.home_of(request.caller.uid))

    def place(self, path: str, project: str = "") -> str:
        """A path for a narrow screen: from the project's directory, or with ~ for the home directory."""
        if len(project) > 1 and path.startswith(f"{project}/") and "/.." not in path:
            return path[len(project) + 1 :]
        home = self.home.rstrip("/")
        return "~" + path[len(home) :] if home and (path == home or path.startswith(f"{home}/")) else path
