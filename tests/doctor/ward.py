"""A scene in which all is well, for tests to spoil: real files in a home, and a bot that says what it is told."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapgate.config import Config, load_config
from tapgate.doctor.check import Check, Status
from tapgate.doctor.examination import examine
from tapgate.doctor.scene import ApiAnswer, DoctorBot, DoctorContext, UnreachableError
from tapgate.errors import NotRunningError
from tapgate.hooks.settings import Scope, apply, plan_install, settings_path
from tapgate.service.manager import CommandResult, service_of

NOW = 1_800_000_000.0
VERSION = "0.1.0"
TOKEN = "7000000001:a-token-that-opens-nothing"
GIB = 1024**3
STATUS: Mapping[str, Any] = {
    "version": VERSION,
    "pid": 4242,
    "started_at": NOW - 7200,
    "last_poll_at": NOW - 4,
    "telegram": "ok",
    "journal": "ok",
    "file_limit": 65_536,
    "files_needed": 2128,
    "reports": [],
}


OK, WARNING, FAULT, SKIPPED = Status.OK, Status.WARNING, Status.FAULT, Status.SKIPPED
GONE = UnreachableError("nobody listens at api.telegram.org", "check the network")


def told(**changes: Any) -> dict[str, Any]:
    """What a daemon says that is well but for these."""
    return {**STATUS, **changes}


def answer(result: Any = True, *, date: float | None = NOW) -> ApiAnswer:
    return ApiAnswer(200, {"ok": True, "result": result}, date)


def refusal(status: int, description: str, **parameters: Any) -> ApiAnswer:
    value = {"ok": False, "error_code": status, "description": description}
    return ApiAnswer(status, {**value, "parameters": parameters} if parameters else value, NOW)


@dataclass
class ScriptedBot:
    answers: dict[str, ApiAnswer | UnreachableError]
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(self, method: str, /, *, wait_s: float = 0.0, **params: Any) -> ApiAnswer:
        self.calls.append((method, params))
        said = self.answers[method]
        if isinstance(said, UnreachableError):
            raise said
        return said


class Ward:
    """Everything is well; a test changes one thing and looks at what is found."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config_path = home / "config.toml"
        self.socket_path = home / "run" / "daemon.sock"
        self.state_dir = home / "state"
        self.bot = ScriptedBot(
            {
                "getMe": answer({"id": 7000000001, "username": "ada_gate_bot"}),
                "sendChatAction": answer(),
                "getWebhookInfo": answer({"url": ""}),
                "getUpdates": answer([]),
            }
        )
        self.status: Mapping[str, Any] | Exception = dict(STATUS)
        self.environ: dict[str, str] = {}
        self.commands: dict[str, CommandResult] = {
            "claude": CommandResult(0, "2.1.325 (Claude Code)\n"),
            "codex": CommandResult(0, "codex-cli 0.166.0\n"),
            "systemctl": CommandResult(0, "Version=257\nUnitPath=\n"),
            "env": CommandResult(
                0, "ActiveState=active\nUnitFileState=enabled\nStatusText=1 person, Telegram heard at 10:33\n"
            ),
            "loginctl": CommandResult(0, "yes\n"),
        }
        self.free: int | OSError = 100 * GIB
        self.writable = True
        self.platform = "linux"
        self.uid = os.getuid()
        self.is_named = False
        self.asked: list[Path] = []
        self.opened: list[tuple[Config, str]] = []
        self.configure()
        self.socket_path.parent.mkdir(mode=0o700)
        self.state_dir.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as sock:  # closed, its file stays: as a killed daemon leaves it
            sock.bind(str(self.socket_path))
        self.socket_path.chmod(0o600)
        self.register("claude")
        self.install_service()

    def configure(
        self,
        people: str = '[[people]]\nuser_id = 101\nname = "Ada"\n',
        *,
        token: str = f'token = "{TOKEN}"',
        top: str = "",
    ) -> None:
        self.config_path.write_text(
            f'socket_path = "{self.socket_path}"\nstate_dir = "{self.state_dir}"\n{top}\n[telegram]\n{token}\n{people}'
        )
        self.config_path.chmod(0o600)
        os.utime(self.config_path, (NOW - 86_400, NOW - 86_400))

    def settings(self, agent: str) -> Path:
        return settings_path(agent, Scope.USER, environ=self.environ, home=self.home, cwd=self.home)

    def register(self, agent: str, *, gate: str = "") -> None:
        """What `tapgate hooks install` does."""
        self.settings(agent).parent.mkdir(exist_ok=True)
        apply(plan_install(load_config(self.config_path), agent=agent, path=self.settings(agent), gate=gate))

    def install_service(self) -> None:
        """The files that `tapgate service install` writes; the manager is the scripted commands above."""
        found = service_of(platform="linux", home=self.home, environ=self.environ, run=self.run)
        assert found is not None
        for change in found.plan(self.config_path):
            assert change.after is not None
            change.path.parent.mkdir(parents=True, exist_ok=True)
            change.path.write_text(change.after)

    def run(self, words: Sequence[str], /) -> CommandResult:
        return self.commands.get(words[0], CommandResult(127, "", f"{words[0]}: command not found"))

    def stop_daemon(self) -> None:
        self.status = NotRunningError("the daemon is not running (Connection refused); start it with `tapgate daemon`")
        said = self.commands["env"].stdout.replace("ActiveState=active", "ActiveState=inactive")
        self.commands["env"] = CommandResult(0, said)

    def scene(self) -> DoctorContext:
        def free_bytes(path: Path) -> int:
            if isinstance(self.free, OSError):
                raise self.free
            return self.free

        def ask_status(path: Path) -> Mapping[str, Any]:
            self.asked.append(path)
            if isinstance(self.status, Exception):
                raise self.status
            return self.status

        def open_bot(config: Config, token: str) -> DoctorBot:
            self.opened.append((config, token))
            return self.bot

        return DoctorContext(
            version=VERSION,
            config_path=self.config_path,
            is_named=self.is_named,
            environ=self.environ,
            home=self.home,
            cwd=self.home,
            uid=self.uid,
            platform=self.platform,
            wall=lambda: NOW,
            run=self.run,
            ask_status=ask_status,
            open_bot=open_bot,
            free_bytes=free_bytes,
            may_write=lambda path: self.writable,
            runtime_dir=self.home / "runtime",
            state_dir=self.home / "default-state",
        )

    def checks(self) -> list[Check]:
        return list(examine(self.scene()))

    def check(self, name: str) -> Check:
        """The one check of this name. None of them, whatever is wrong, shows the token."""
        checks = self.checks()
        assert TOKEN not in repr(checks)
        (found,) = [check for check in checks if check.name == name]
        return found

    def troubles(self) -> dict[str, Status]:
        return {check.name: check.status for check in self.checks() if check.status in (Status.FAULT, Status.WARNING)}
