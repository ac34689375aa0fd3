"""The words of the service: a file that changes, what a command gave, how the service is. No manager is known here."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file, before and after. `None`: there is no such file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def is_change(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        """Unified, and empty where nothing changes."""
        return "".join(
            difflib.unified_diff(
                (self.before or "").splitlines(keepends=True),
                (self.after or "").splitlines(keepends=True),
                "/dev/null" if self.before is None else str(self.path),
                "/dev/null" if self.after is None else str(self.path),
            )
        )


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command gave. A command that is not there gives 127, as in a shell."""

    code: int
    stdout: str = ""
    stderr: str = ""


class RunCommand(Protocol):
    """Runs a command to its end. A parameter everywhere, so that no test touches a real service manager."""

    def __call__(self, words: Sequence[str], /) -> CommandResult: ...


class Follow(Protocol):
    """Runs a command and gives its lines as they come."""

    def __call__(self, words: Sequence[str], /) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class ServiceState:
    """How the service is. `detail` is a sentence for people, and says what to do where something is wrong."""

    manager: str  # "systemd" or "launchd"
    installed: bool
    enabled: bool  # starts by itself at login
    running: bool
    since: float | None  # on the wall clock, where it runs and that is known
    detail: str
    paths: tuple[Path, ...]  # the unit files, there or not
    executable: str  # what the installed files start; "" where they are not there
    executable_exists: bool
    is_current: bool = True  # the installed files are what this version would write
    sandboxed: bool | None = None  # systemd: whether the file system sandbox is asked for; None elsewhere
    lingers: bool | None = None  # systemd: whether it goes on after the last logout; None where that is not known


class Service(Protocol):
    """The daemon as a service of this user. Raises ServiceError, with the cause and the next step."""

    manager: str

    def plan(self, config_path: Path | None = None) -> tuple[FileChange, ...]:
        """What `install` would write; unchanged files are among them. Changes nothing."""

    def install(self, config_path: Path | None = None, *, start: bool = True) -> tuple[FileChange, ...]:
        """Write the files, enable the service and, unless told otherwise, (re)start it. Gives what it changed."""

    def uninstall(self) -> tuple[Path, ...]:
        """Stop it and take away all that `install` made. Gives the files that are gone."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def state(self) -> ServiceState: ...

    def logs(self, lines: int = 50, follow: bool = False) -> Iterator[str]:
        """The last lines of its log and, with `follow`, those to come."""
