"""launchd: the agent's property list rendered from the template (pure), then written and put to work."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tapgate import paths
from tapgate.config import load_config
from tapgate.errors import ConfigError, ServiceError
from tapgate.service.files import daemon_words, named_config, read_template, read_text, write_changes
from tapgate.service.model import CommandResult, FileChange, Follow, RunCommand, ServiceState

LABEL = "io.tapgate.daemon"
_NOT_LOADED = (3, 113)  # what bootout says of an agent that it does not know: ESRCH, and launchd's own number


def render_agent(*, words: Sequence[str], log_path: Path) -> str:
    found: dict[str, Any] = plistlib.loads(read_template(f"launchd/{LABEL}.plist").encode())
    found["ProgramArguments"] = list(words)
    found["StandardOutPath"] = found["StandardErrorPath"] = str(log_path)
    return plistlib.dumps(found, sort_keys=False).decode()


class LaunchdService:
    manager = "launchd"

    def __init__(self, *, home: Path, uid: int, run: RunCommand, follow: Follow) -> None:
        self._path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        self._log_path = home / "Library" / "Logs" / "tapgate.log"
        self._domain = f"gui/{uid}"
        self._run = run
        self._follow = follow

    def plan(self, config_path: Path | None = None) -> tuple[FileChange, ...]:
        load_config(config_path)
        named = named_config(config_path, default=paths.default_config_path())
        after = render_agent(words=daemon_words(named), log_path=self._log_path)
        return (FileChange(self._path, read_text(self._path), after),)

    def install(self, config_path: Path | None = None, *, start: bool = True) -> tuple[FileChange, ...]:
        plan = self.plan(config_path)
        was_loaded = self._is_loaded()
        changed = write_changes(plan)
        self._do("enable", f"{self._domain}/{LABEL}")
        if start:
            if changed and was_loaded:
                self._bootout()
            if changed or not was_loaded:
                self._do("bootstrap", self._domain, str(self._path))
            self._do("kickstart", f"{self._domain}/{LABEL}")
        return changed

    def uninstall(self) -> tuple[Path, ...]:
        self._bootout()
        text = read_text(self._path)
        if text is None:
            return ()
        write_changes([FileChange(self._path, text, None)])
        return (self._path,)

    def start(self) -> None:
        if read_text(self._path) is None:
            raise ServiceError("the service is not installed; run `tapgate service install`")
        if not self._is_loaded():
            self._do("bootstrap", self._domain, str(self._path))
        self._do("kickstart", f"{self._domain}/{LABEL}")

    def stop(self) -> None:
        """Until the next login or `start`: taken out of launchd, it is not kept alive by it either."""
        if read_text(self._path) is None:
            raise ServiceError("the service is not installed; run `tapgate service install`")
        self._bootout()

    def state(self) -> ServiceState:
        ran = self._run(("launchctl", "print", f"{self._domain}/{LABEL}"))
        installed = self._path.is_file()
        running = ran.code == 0 and _field(ran.stdout, "state") == "running"
        words = self._installed_words()
        return ServiceState(
            manager=self.manager,
            installed=installed,
            enabled=installed and not self._is_disabled(),
            running=running,
            since=None,  # launchd does not tell
            detail=_detail(ran, installed=installed, running=running),
            paths=(self._path,),
            executable=words[0] if words else "",
            executable_exists=bool(words) and Path(words[0]).is_file(),
            is_current=self._is_current(words),
        )

    def logs(self, lines: int = 50, follow: bool = False) -> Iterator[str]:
        if not self._log_path.exists():
            return
        if follow:
            yield from self._follow(("tail", "-n", str(lines), "-F", str(self._log_path)))
            return
        ran = self._run(("tail", "-n", str(lines), str(self._log_path)))
        if ran.code != 0:
            raise ServiceError(f"{self._log_path} cannot be read: {_words(ran)}")
        yield from ran.stdout.splitlines()

    def _installed_words(self) -> list[str]:
        text = read_text(self._path)
        try:
            found = plistlib.loads(text.encode()) if text is not None else {}
            return [str(word) for word in found.get("ProgramArguments", [])]
        except (ValueError, AttributeError):  # somebody else's file, or half of one
            return []

    def _is_current(self, words: Sequence[str]) -> bool:
        given = Path(words[list(words).index("--config") + 1]) if "--config" in words[:-1] else None
        try:
            return not any(change.is_change for change in self.plan(given))
        except (ConfigError, ServiceError):
            return True  # it cannot be told, and that the config is wrong is said elsewhere

    def _is_loaded(self) -> bool:
        return self._run(("launchctl", "print", f"{self._domain}/{LABEL}")).code == 0

    def _is_disabled(self) -> bool:
        ran = self._run(("launchctl", "print-disabled", self._domain))
        return re.search(rf'"{re.escape(LABEL)}" => (true|disabled)', ran.stdout) is not None

    def _bootout(self) -> None:
        ran = self._run(("launchctl", "bootout", f"{self._domain}/{LABEL}"))
        if ran.code not in (0, *_NOT_LOADED):
            raise ServiceError(f"launchd does not let it go: {_words(ran)}")

    def _do(self, *words: str) -> None:
        ran = self._run(("launchctl", *words))
        if ran.code != 0:
            raise ServiceError(
                f"`launchctl {' '.join(words)}` failed: {_words(ran)}; "
                "`tapgate service logs` shows what the daemon said"
            )


def _field(text: str, name: str) -> str:
    found = re.search(rf"^\s*{name} = (.*)$", text, flags=re.MULTILINE)
    return found[1].strip() if found else ""


def _words(ran: CommandResult) -> str:
    return " ".join((ran.stderr or ran.stdout).split()) or f"exit code {ran.code}"


def _detail(ran: CommandResult, *, installed: bool, running: bool) -> str:
    if not installed:
        return "not installed; `tapgate service install` does it"
    if running:
        return f"running as pid {_field(ran.stdout, 'pid') or 'unknown'}"
    if ran.code != 0:
        return "stopped; `tapgate service start` starts it"
    last = _field(ran.stdout, "last exit code")
    if last and not last.startswith(("0", "(never")):
        return f"not running, it ended with exit code {last}; `tapgate service logs` shows why"
    return "not running; `tapgate service start` starts it"
