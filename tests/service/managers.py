"""Service managers for tests: they remember what they were told, and behave as far as tapgate can see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tapgate.service.manager import CommandResult

UNREACHABLE = "Failed to connect to bus: No medium found"


@dataclass
class FakeSystemd:
    """systemctl, loginctl, journalctl and unshare, in one."""

    unit_dir: Path
    version: str = "252.39-1~deb12u2"
    reachable: bool = True
    namespaces: bool = True
    linger: str = "no"
    refuses: str = ""  # a verb that fails
    status_text: str = "1 person, Telegram heard at 12:00"
    result: str = "success"
    main_status: str = "0"
    calls: list[tuple[str, ...]] = field(default_factory=list)
    enabled: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)

    def __call__(self, words: Sequence[str], /) -> CommandResult:
        self.calls.append(tuple(words))
        line = [word for word in words if word not in ("env", "LC_ALL=C", "TZ=UTC")]
        match line[0]:
            case "unshare":
                return CommandResult(0 if self.namespaces else 1, "", "unshare failed: Operation not permitted")
            case "loginctl":
                return CommandResult(0, f"{self.linger}\n")
            case "journalctl":
                return CommandResult(0, "first line\nsecond line\n")
            case "systemctl":
                return self._systemctl(line[2:]) if self.reachable else CommandResult(1, "", UNREACHABLE)
            case other:
                raise AssertionError(f"nobody asked for {other}")

    def told(self) -> list[str]:
        """The verbs that change something, with their units."""
        verbs = ("start", "stop", "restart", "enable", "disable", "daemon-reload", "reset-failed")
        return [" ".join(call[2:]) for call in self.calls if call[0] == "systemctl" and call[2] in verbs]

    def _systemctl(self, words: list[str]) -> CommandResult:
        verb, units = words[0], [word for word in words[1:] if not word.startswith("-")]
        if verb == self.refuses:
            return CommandResult(1, "", f"Job for {units[0]} failed.\nSee the journal.")
        match verb:
            case "show" if not units:
                return CommandResult(
                    0, f"Version={self.version}\nUnitPath=/etc/systemd/user {self.unit_dir} /usr/lib/systemd/user\n"
                )
            case "show":
                return CommandResult(0, self._properties(units[0]))
            case "is-active":
                return CommandResult(0 if units[0] in self.active else 3)
            case "enable":
                missing = [unit for unit in units if not (self.unit_dir / unit).exists()]
                if missing:
                    return CommandResult(1, "", f"Unit file {missing[0]} does not exist.")
                self.enabled |= set(units)
            case "disable":
                self.enabled -= set(units)
                self.active -= set(units) if "--now" in words else set()
            case "start" | "restart":
                self.active |= set(units)
            case "stop":
                self.active -= set(units)
        return CommandResult(0)

    def _properties(self, unit: str) -> str:
        there = (self.unit_dir / unit).exists()
        active = unit in self.active
        state = "active" if active else "failed" if self.result != "success" else "inactive"
        found = {
            "LoadState": "loaded" if there else "not-found",
            "ActiveState": state,
            "SubState": "running" if active else "dead",
            "UnitFileState": "enabled" if unit in self.enabled else "disabled" if there else "",
            "ActiveEnterTimestamp": "Wed 2026-11-18 02:51:11 UTC" if active else "",
            "Result": self.result,
            "NRestarts": "0",
            "ExecMainStatus": self.main_status,
            "StatusText": self.status_text if active else "",
        }
        return "".join(f"{name}={value}\n" for name, value in found.items())


@dataclass
class FakeLaunchd:
    """launchctl and tail."""

    session: bool = True
    disabled: bool = False
    last_exit: str = "(never exited)"
    calls: list[tuple[str, ...]] = field(default_factory=list)
    loaded: bool = False
    running: bool = False

    def __call__(self, words: Sequence[str], /) -> CommandResult:
        self.calls.append(tuple(words))
        if words[0] == "tail":
            return CommandResult(0, "first line\nsecond line\n")
        assert words[0] == "launchctl"
        verb, target = words[1], words[2]
        match verb:
            case "print" if target.count("/") == 1:
                return CommandResult(0 if self.session else 113)
            case "print":
                state = "running" if self.running else "not running"
                text = f"{{\n\tstate = {state}\n\tpid = 4711\n\tlast exit code = {self.last_exit}\n}}\n"
                return CommandResult(0, text) if self.loaded else CommandResult(113, "", "Could not find service")
            case "print-disabled":
                return CommandResult(0, f'\t"io.tapgate.daemon" => {"disabled" if self.disabled else "enabled"}\n')
            case "bootstrap":
                if self.loaded:
                    return CommandResult(5, "", "Bootstrap failed: 5: Input/output error")
                assert Path(words[3]).is_file()
                self.loaded = self.running = True
            case "kickstart":
                if not self.loaded:
                    return CommandResult(113, "", "Could not find service")
                self.running = True
            case "bootout":
                if not self.loaded:
                    return CommandResult(3, "", "Boot-out failed: 3: No such process")
                self.loaded = self.running = False
            case "enable":
                self.disabled = False
            case other:
                raise AssertionError(f"nobody asked for {other}")
        return CommandResult(0)

    def told(self) -> list[str]:
        return [" ".join(call[1:]) for call in self.calls if call[0] == "launchctl" and not call[1].startswith("print")]


def no_follow(words: Sequence[str], /) -> Iterator[str]:
    yield " ".join(words)
