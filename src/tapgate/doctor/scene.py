"""Everything outside that the checks look at, as parameters: network, commands, clock, home and environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tapgate.config import Config
from tapgate.errors import TapgateError
from tapgate.service.manager import RunCommand


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What came back from the Bot API. `value` is None where it was no JSON object."""

    status: int
    value: Mapping[str, Any] | None
    date: float | None  # of the server's clock

    @property
    def result(self) -> Any:
        return self.value.get("result") if self.value is not None and self.value.get("ok") is True else None

    @property
    def description(self) -> str:
        said = self.value.get("description") if self.value is not None else None
        return str(said) if said else f"an answer {self.status} that is not the Bot API's"


class UnreachableError(TapgateError):
    """No answer at all. `str(error)` says what happened, without the token; `advice` what to do."""

    def __init__(self, sentence: str, advice: str) -> None:
        super().__init__(sentence)
        self.advice = advice


class DoctorBot(Protocol):
    def call(self, method: str, /, *, wait_s: float = 0.0, **params: Any) -> ApiAnswer:
        """One Bot API call; `wait_s` is how long the server may hold it. Raises UnreachableError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorContext:
    version: str
    config_path: Path
    is_named: bool  # by --config or the environment, so it should exist
    environ: Mapping[str, str]
    home: Path
    cwd: Path
    uid: int
    platform: str
    wall: Callable[[], float]
    run: RunCommand  # briefly; a command that is not there gives 127, as in a shell
    ask_status: Callable[[Path], Mapping[str, Any]]
    open_bot: Callable[[Config, str], DoctorBot]
    free_bytes: Callable[[Path], int]
    may_write: Callable[[Path], bool]
    runtime_dir: Path  # where the locks lie that go by the bot
    state_dir: Path  # of a daemon with the default config
    listen_s: int = 3  # how long another poller gets to show itself
