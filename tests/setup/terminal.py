"""A newcomer at a real terminal: a home of their own, nothing installed, and a phone at the simulator."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.e2e.world import ADA, PATIENCE_S, World
from tests.setup import manager
from tests.simulator.driver import TOKEN, running

ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])")
GAP = r"(?:\s|\x1b\[[0-9;]*m)+"
LINK = re.compile(r"https://t\.me/tapgate_bot\?start(?:group)?=([A-Za-z0-9_-]+)")
CTRL_C = "\x03"
GONE = "exit 1\n"


class Terminal:
    """One command in a terminal. What it shows is kept whole, so that a test can look for what must not be there."""

    def __init__(self, words: tuple[str, ...], environ: dict[str, str], *, cwd: Path, rows: int, columns: int) -> None:
        self._log = StringIO()
        encoding = "latin-1" if "8859" in environ.get("PYTHONIOENCODING", "") else "utf-8"
        with warnings.catch_warnings():
            # Python 3.12 warns of forks beside threads (the simulator's); the child does nothing but exec.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process = pexpect.spawn(
                sys.executable,
                ["-m", "tapgate", *words],
                env={**environ, "TERM": environ.get("TERM", "xterm-256color")},
                cwd=str(cwd),
                dimensions=(rows, columns),
                encoding=encoding,
                timeout=PATIENCE_S,
            )
        self.process.logfile_read = self._log
        self.process.delaybeforesend = None

    def sees(self, *words: str) -> None:
        """These sentences one after the other, wherever the terminal's edge breaks them, with what was said between."""
        for sentence in words:
            self.process.expect(GAP.join(re.escape(word) for word in sentence.split()))

    def answers(self, text: str = "") -> None:
        self.process.send(text + "\r")

    def interrupts(self) -> None:
        self.process.send(CTRL_C)

    def ends(self, code: int = 0) -> str:
        """Wait for the end; gives all that was shown, without colours."""
        self.process.expect(pexpect.EOF)
        self.process.close()
        assert self.process.exitstatus == code, (self.process.exitstatus, self.process.signalstatus, self.screen)
        return self.screen

    @property
    def raw(self) -> str:
        return self._log.getvalue()

    @property
    def screen(self) -> str:
        return ANSI.sub("", self.raw).replace("\r\n", "\n")

    def code(self) -> str:
        """The code of the link that is shown next."""
        self.process.expect(LINK)
        found = self.process.match
        assert isinstance(found, re.Match)
        return str(found[1])


class Newcomer(World):
    """The world with nothing set up: no config, no hooks, no service."""

    def __init__(self, url: str, home: Path) -> None:
        super().__init__(url, home)
        self.config_path = home / ".config" / "tapgate" / "config.toml"
        self.socket_path = home / "run" / "tapgate" / "daemon.sock"
        self.state_dir = home / ".local" / "state" / "tapgate"
        self.settings_path = home / ".claude" / "settings.json"
        self.bin = home / "bin"
        self.bin.mkdir()
        (home / "run").mkdir(mode=0o700)
        (home / ".claude").mkdir()
        self.environ |= {
            "PATH": f"{self.bin}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(home / "run"),  # no bus of a real service manager is there
        }
        for name in ("systemctl", "launchctl", "loginctl"):
            self.command(name, GONE)
        self.terminals: list[Terminal] = []

    def configure(self, *_: Any, **__: Any) -> None:
        """Nothing is there; the wizard is to make it."""

    def command(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)

    def has_manager(self) -> None:
        """A service manager that starts the daemon for real."""
        if sys.platform != "linux":
            pytest.skip("the stand-in is for systemd, which is Linux's")
        self.command("systemctl", f'exec {sys.executable} {Path(manager.__file__).resolve()} "$@"\n')

    def runs(self, *words: str, rows: int = 24, columns: int = 80, **environ: str) -> Terminal:
        terminal = Terminal(words, {**self.environ, **environ}, cwd=self.home, rows=rows, columns=columns)
        self.terminals.append(terminal)
        return terminal

    def sets_up(self, *words: str, rows: int = 24, columns: int = 80, **environ: str) -> Terminal:
        return self.runs("setup", "--base-url", self.url, *words, rows=rows, columns=columns, **environ)

    def is_set_up(self, *people: tuple[int, str, str]) -> None:
        """A config as the wizard leaves it."""
        listed = people or ((ADA, "Ada", "owner"),)
        entries = "".join(
            f"\n[[people]]\nuser_id = {one}\nname = '{name}'\nrole = '{role}'\n" for one, name, role in listed
        )
        self.config_path.parent.mkdir(parents=True, exist_ok=True)
        self.config_path.touch(mode=0o600)
        self.config_path.write_text(
            f"# mine\n[telegram]\ntoken = '{TOKEN}'\nbase_url = '{self.url}'\nper_chat_s = 0\n{entries}"
        )

    def hook_words(
        self, *, agent: str = "claude", deadline_s: float | None = None, registered: bool = False
    ) -> list[str]:
        """As for the daemon's own environment, which decides where its socket is."""
        words = super().hook_words(agent=agent, deadline_s=deadline_s, registered=registered)
        words[words.index("--socket") + 1] = str(self.socket_path)
        return words

    def presses_start(self, code: str, *, user_id: int = ADA) -> None:
        self.post("message", user_id=user_id, chat_id=user_id, text=f"/start {code}")

    def token_file(self) -> Path:
        path = self.home / "token"
        path.touch(mode=0o600)
        path.write_text(TOKEN + "\n")
        return path

    def close(self) -> None:
        for terminal in self.terminals:
            if terminal.process.isalive():
                terminal.process.kill(signal.SIGKILL)
            terminal.process.close()
        pid = self.home / "manager.pid"
        if pid.exists():
            with suppress(ProcessLookupError):
                os.kill(int(pid.read_text()), signal.SIGKILL)


@contextmanager
def new_newcomer() -> Iterator[Newcomer]:
    home = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))  # short: socket paths must stay under 104 bytes
    with running() as url:
        newcomer = Newcomer(url, home)
        newcomer.post("limits", enabled=False)
        try:
            yield newcomer
            shown = [terminal.raw for terminal in newcomer.terminals]
            assert not [text for text in shown if TOKEN in text], "the token stood on the screen"
        finally:
            newcomer.close()
            for process in reversed(newcomer.processes):
                if process.poll() is None:
                    process.kill()
                process.communicate()
            newcomer.http.close()
            shutil.rmtree(home, ignore_errors=True)
