"""systemd's user manager: the two units rendered from the templates (pure), then written and put to work."""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tapgate import paths
from tapgate.config import Config, load_config
from tapgate.errors import ConfigError, ServiceError
from tapgate.service.commands import NOT_FOUND
from tapgate.service.files import daemon_words, named_config, read_template, read_text, remove_empty
from tapgate.service.files import write_changes as write
from tapgate.service.model import CommandResult, FileChange, Follow, RunCommand, ServiceState

SERVICE = "tapgate.service"
SOCKET = "tapgate.socket"
BACKOFF_VERSION = 254  # knows RestartSteps and RestartMaxDelaySec
PATIENCE_S = 1.0
_SANDBOX_CODES = ("217", "218", "226")  # systemd's own, for a child that it could not set up as asked
MARK = "# Written by `tapgate service install`, which writes it anew. Your own settings: systemctl --user edit tapgate"
_SHOWN = (
    *("LoadState", "ActiveState", "SubState", "UnitFileState", "ActiveEnterTimestamp"),
    *("Result", "NRestarts", "ExecMainStatus", "StatusText", "MainPID"),
)
_NAMESPACED = (
    *("PrivateUsers", "PrivateDevices", "ProtectClock", "ProtectKernelLogs", "ProtectKernelModules"),
    "CapabilityBoundingSet",
)
"""With these a service does not even start where users may make no namespaces (seen with systemd 252). Without
PrivateUsers the other Protect… settings are passed over there, so they may stay."""
_CARRIED = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state"}
"""What decides where files lie. The manager was started at login and may not have heard of what a shell sets."""


@dataclass(frozen=True, slots=True)
class Manager:
    version: int
    unit_path: tuple[str, ...]


def ask_manager(run: RunCommand) -> tuple[Manager | None, str]:
    """The user manager, or why there is none: "missing" without systemctl, otherwise in systemd's own words."""
    ran = run(("systemctl", "--user", "show", "--property=Version,UnitPath"))
    if ran.code == NOT_FOUND:
        return None, "missing"
    found = _properties(ran.stdout)
    number = re.match(r"\d+", found.get("Version", ""))
    if ran.code != 0 or number is None:
        return None, _words(ran)
    return Manager(int(number.group()), tuple(found.get("UnitPath", "").split())), ""


def unit_dir_of(manager: Manager, *, home: Path, environ: Mapping[str, str]) -> Path:
    """Where the manager looks for this user's units, whatever the shell has set since it was started."""
    named = environ.get("XDG_CONFIG_HOME", "")
    for base in (Path(named) if named else home / ".config", home / ".config"):
        if str(base / "systemd" / "user") in manager.unit_path:
            return base / "systemd" / "user"
    return home / ".config" / "systemd" / "user"


# Rendering


def render_service(
    *,
    words: Sequence[str],
    state_dir: Path,
    version: int,
    environment: Mapping[str, str] | None = None,
    sandbox: bool = True,
) -> str:
    """The service unit. Every value is quoted as systemd wants it: a path may hold spaces, quotes, % and $."""
    settings = {"SQLITE_TMPDIR": str(state_dir), **(environment or {})}
    text = _replaced(
        read_template(f"systemd/{SERVICE}"),
        {
            "ExecStartPre": [f"-+/bin/mkdir -p -m 0700 {_word(str(state_dir), is_command=True)}"],
            "ExecStart": [" ".join(_word(word, is_command=True) for word in words)],
            "ReadWritePaths": [f"-{state_dir}" if _is_plain(str(state_dir)) else _word(f"-{state_dir}")],
            "Environment": [_word(f"{name}={value}") for name, value in settings.items()],
        },
    )
    if version >= BACKOFF_VERSION:
        text = re.sub(r"^#(?=Restart\w+=)", "", text, flags=re.MULTILINE)
    if not sandbox:
        text = re.sub(rf"^(?=(?:{'|'.join(_NAMESPACED)})=)", "#", text, flags=re.MULTILINE)
    return _headed(text)


def render_socket(*, socket_path: Path, runtime_dir: Path | None) -> str:
    """The socket unit. A path in the user's runtime directory is written as %t, which outlives a change of it."""
    if "\n" in str(socket_path):
        raise ServiceError("a socket_path with a line break cannot stand in a systemd unit; use another one")
    if runtime_dir is not None and runtime_dir in socket_path.parents:
        place = "%t/" + str(socket_path.relative_to(runtime_dir)).replace("%", "%%")
    else:
        place = str(socket_path).replace("%", "%%")
    return _headed(_replaced(read_template(f"systemd/{SOCKET}"), {"ListenStream": [place]}))


def _headed(text: str) -> str:
    """With our mark in the place of the template's opening words, which are for those who copy it by hand."""
    return f"{MARK}\n{text[text.index('[Unit]') :]}"


def _replaced(text: str, values: Mapping[str, Sequence[str]]) -> str:
    for key, lines in values.items():
        fresh = "\n".join(f"{key}={line}" for line in lines)
        text, count = re.subn(rf"^{key}=.*$", lambda _, fresh=fresh: fresh, text, flags=re.MULTILINE)  # type: ignore[misc]
        if count != 1:
            raise ServiceError(f"the template has {count} lines with {key}; install tapgate again")
    return text


def _is_plain(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", text) is not None


def _word(text: str, *, is_command: bool = False) -> str:
    """One word of a unit file. % begins a specifier everywhere, $ a variable in commands."""
    if "\n" in text or "\0" in text:
        raise ServiceError("a path with a line break cannot stand in a systemd unit; use another one")
    text = text.replace("%", "%%")
    if is_command:
        text = text.replace("$", "$$")
    if _is_plain(text.replace("%", "").replace("$", "")):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# At work


class SystemdService:
    manager = "systemd"

    def __init__(
        self,
        *,
        unit_dir: Path,
        version: int,
        home: Path,
        environ: Mapping[str, str],
        run: RunCommand,
        follow: Follow,
    ) -> None:
        self._unit_dir = unit_dir
        self._version = version
        self._home = home
        self._environ = environ
        self._run = run
        self._follow = follow

    def plan(self, config_path: Path | None = None) -> tuple[FileChange, ...]:
        config = load_config(config_path)
        named = named_config(config_path, default=paths.default_config_path())
        runtime_dir = self._environ.get("XDG_RUNTIME_DIR")
        service = render_service(
            words=daemon_words(named),
            state_dir=config.state_dir,
            version=self._version,
            environment=self._carried(),
            sandbox=self._can_sandbox(),
        )
        sock = render_socket(socket_path=config.socket_path, runtime_dir=Path(runtime_dir) if runtime_dir else None)
        return tuple(
            FileChange(self._unit_dir / name, read_text(self._unit_dir / name), after)
            for name, after in ((SOCKET, sock), (SERVICE, service))
        )

    def install(self, config_path: Path | None = None, *, start: bool = True) -> tuple[FileChange, ...]:
        plan = self.plan(config_path)
        was_running = self.state().running
        if start and not was_running:
            self._refuse_other(load_config(config_path))
        changed = write(plan)
        self._do("daemon-reload")
        self._do("enable", SOCKET, SERVICE)
        if start and (changed or not was_running):
            # The socket first, and anew: a path that changed is listened at only then. Waiting callers come back.
            self._do("restart", SOCKET)
            self._do("restart", SERVICE)
        return changed

    def uninstall(self) -> tuple[Path, ...]:
        files = [self._unit_dir / name for name in (SERVICE, SOCKET)]
        there = [path for path in files if path.exists()]
        if there:
            names = [path.name for path in there]
            self._do("disable", "--now", *names)
            write(FileChange(path, read_text(path), None) for path in there)
            self._run(("systemctl", "--user", "reset-failed", *names))  # says no where nothing had failed
        self._do("daemon-reload")
        for wants in ("default.target.wants", "sockets.target.wants"):
            remove_empty(self._unit_dir / wants, below=self._unit_dir)
        return tuple(there)

    def start(self) -> None:
        self._need_installed()
        if not self.state().running:
            self._refuse_other(self._installed_config())
        self._do("start", SOCKET, SERVICE)

    def stop(self) -> None:
        """The socket too: with it alone, the next question would start the daemon again."""
        self._need_installed()
        self._do("stop", SOCKET, SERVICE)

    def state(self) -> ServiceState:
        files = tuple(self._unit_dir / name for name in (SERVICE, SOCKET))
        installed = all(path.is_file() for path in files)
        # In English and UTC, whatever the reader's settings: it is read by a program.
        ran = self._run(
            ("env", "LC_ALL=C", "TZ=UTC", "systemctl", "--user", "show", SERVICE, f"--property={','.join(_SHOWN)}")
        )
        found = _properties(ran.stdout) if ran.code == 0 else {}
        words = self._installed_words()
        running = found.get("ActiveState") == "active"
        unit = read_text(self._unit_dir / SERVICE) or ""
        return ServiceState(
            manager=self.manager,
            installed=installed,
            enabled=found.get("UnitFileState") == "enabled",
            running=running,
            since=_instant(found.get("ActiveEnterTimestamp", "")) if running else None,
            detail=_detail(found, installed=installed) if ran.code == 0 else f"systemd says: {_words(ran)}",
            paths=files,
            executable=words[0] if words else "",
            executable_exists=bool(words) and Path(words[0]).is_file(),
            is_current=self._is_current(),
            lingers=self._lingers(),
            sandboxed="\nPrivateUsers=yes\n" in unit,
        )

    def logs(self, lines: int = 50, follow: bool = False) -> Iterator[str]:
        words = ("journalctl", "--user", "--user-unit", SERVICE, "--no-pager", "--lines", str(lines))
        if follow:
            yield from self._follow((*words, "--follow"))
            return
        ran = self._run(words)
        if ran.code != 0:
            raise ServiceError(f"the journal cannot be read: {_words(ran)}")
        yield from ran.stdout.splitlines()

    def _can_sandbox(self) -> bool:
        """Whether this user may make namespaces. Some systems forbid it: Ubuntu's AppArmor, a sysctl, a container."""
        return self._run(("unshare", "--user", "--map-root-user", "--mount", "true")).code == 0

    def _carried(self) -> dict[str, str]:
        given = {name: self._environ.get(name, "") for name in _CARRIED}
        return {name: value for name, value in given.items() if value and Path(value) != self._home / _CARRIED[name]}

    def _installed_words(self) -> list[str]:
        """What the installed unit starts, with %h and %% put in."""
        text = read_text(self._unit_dir / SERVICE) or ""
        found = re.search(r"^ExecStart=(.*)$", text, flags=re.MULTILINE)
        if found is None:
            return []
        line = re.sub(r"%(.)", lambda match: {"%": "%", "h": str(self._home)}.get(match[1], match[0]), found[1])
        try:
            return shlex.split(line.replace("$$", "$"))
        except ValueError:
            return []

    def _installed_config_path(self) -> Path | None:
        words = self._installed_words()
        return Path(words[words.index("--config") + 1]) if "--config" in words[:-1] else None

    def _installed_config(self) -> Config:
        return load_config(self._installed_config_path())

    def _is_current(self) -> bool:
        try:
            return not any(change.is_change for change in self.plan(self._installed_config_path()))
        except (ConfigError, ServiceError):
            return True  # it cannot be told, and that the config is wrong is said elsewhere

    def _lingers(self) -> bool | None:
        ran = self._run(("loginctl", "show-user", "--property=Linger", "--value", self._environ.get("USER", "self")))
        return {"yes": True, "no": False}.get(ran.stdout.strip()) if ran.code == 0 else None

    def _need_installed(self) -> None:
        if read_text(self._unit_dir / SERVICE) is None:
            raise ServiceError("the service is not installed; run `tapgate service install`")

    def _refuse_other(self, config: Config) -> None:
        """systemd would take the socket's place from a daemon that was started by hand, and ours then not start."""
        if self._run(("systemctl", "--user", "is-active", "--quiet", SOCKET)).code == 0:
            return  # it is systemd that listens there
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(PATIENCE_S)
            try:
                probe.connect(str(config.socket_path))
            except OSError:
                return
        raise ServiceError(
            f"a tapgate daemon that is not this service listens at {config.socket_path}; stop it first "
            "(Ctrl-C where it runs; `tapgate status` names its pid)"
        )

    def _do(self, *words: str) -> None:
        ran = self._run(("systemctl", "--user", *words))
        if ran.code != 0:
            raise ServiceError(
                f"`systemctl --user {' '.join(words)}` failed: {_words(ran)}; "
                "`tapgate service logs` shows what the daemon said"
            )


def _properties(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, mark, value in pairs if mark}


def _words(ran: CommandResult) -> str:
    """A command's complaint in one line."""
    return " ".join((ran.stderr or ran.stdout).split()) or f"exit code {ran.code}"


def _instant(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%a %Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _detail(found: Mapping[str, str], *, installed: bool) -> str:
    if not installed:
        return "not installed; `tapgate service install` does it"
    state = found.get("ActiveState", "")
    restarts = found.get("NRestarts", "0")
    again = f", restarted {restarts} times" if restarts not in ("", "0") else ""
    if state == "active":
        said = found.get("StatusText", "")
        return f"running{again}" + (f": {said}" if said else "")
    if state == "activating":
        return f"starting{again}; `tapgate service logs` shows how far it comes"
    if state == "failed" or found.get("Result", "success") != "success":
        why = found.get("Result", "unknown")
        status = found.get("ExecMainStatus", "0")
        if status in _SANDBOX_CODES:
            return f"failed: systemd could not set up its sandbox (exit code {status}); see docs/hardening.md"
        if status == "203":
            return "failed: the program is not there or cannot be run; `tapgate service install` writes the path anew"
        code = f", exit code {status}" if why == "exit-code" else ""
        return f"failed ({why}{code}{again}); `tapgate service logs` shows why"
    return "stopped; `tapgate service start` starts it"


__all__ = ["Manager", "SystemdService", "ask_manager", "render_service", "render_socket", "unit_dir_of"]
