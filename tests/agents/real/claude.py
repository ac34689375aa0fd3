"""Claude Code, run headless or in a terminal, in a home of its own and against a scripted API."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.agents.real import mcp_server
from tests.agents.real.anthropic_api import AnthropicApi
from tests.agents.real.home import Home
from tests.agents.real.phone import Phone
from tests.agents.real.pinned import CLAUDE, Pinned
from tests.agents.real.terminal import Terminal

PATIENCE_S = 120.0
KEY = "sk-ant-api03-fake-0000"
READY = ("mode on", "? for shortcuts")  # one of them stands below the input, by mode and version


class Headless:
    """`claude -p`, started and not yet waited for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def finish(self, wait_s: float = PATIENCE_S) -> dict[str, Any]:
        """The result object that it prints at its end."""
        output, errors = self.process.communicate(timeout=wait_s)
        try:
            found = json.loads(output)
        except ValueError:
            raise AssertionError(f"exit {self.process.returncode}: {output!r} {errors!r}") from None
        assert isinstance(found, dict)
        return found


class Claude:
    def __init__(self, home: Home, api: AnthropicApi, *, version: Pinned = CLAUDE) -> None:
        self.home = home
        self.api = api
        self.phone = Phone(home.world, home.project.name)
        self.program = str(version.path)
        self.environ = {
            **home.environ,
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_TMPDIR": str(home.path / "tmp"),
        }
        self.running: list[Headless | Terminal] = []
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "projects": {str(home.project): {"hasTrustDialogAccepted": True}},
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        }
        home.write(".claude.json", json.dumps(state))

    def words(self, *more: str, mode: str = "default") -> list[str]:
        return [self.program, "--permission-mode", mode, *more]

    def headless(self, *more: str, prompt: str = "go", mode: str = "default") -> Headless:
        errors = self.home.path / "claude.err"
        with errors.open("ab") as log:
            process = subprocess.Popen(
                self.words("-p", prompt, "--output-format", "json", *more, mode=mode),
                cwd=self.home.project,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        running = Headless(process)
        self.running.append(running)
        return running

    def interactive(self, *more: str, prompt: str = "go", mode: str = "default") -> Terminal:
        """In a terminal, with the prompt typed and sent."""
        socket_path = self.home.path / f"t{len(self.running)}"
        terminal = Terminal(socket_path, self.words(*more, mode=mode), cwd=self.home.project, environ=self.environ)
        self.running.append(terminal)
        if prompt:
            self.send(terminal, prompt)
        return terminal

    def send(self, terminal: Terminal, prompt: str) -> None:
        terminal.until(lambda screen: any(words in screen for words in READY))
        terminal.type(prompt)
        terminal.shows(f"❯ {prompt}")
        terminal.press("Enter")

    def mcp(self) -> list[str]:
        """The options for the tests' own MCP server. What it writes is at `note`."""
        server = {"command": sys.executable, "args": [mcp_server.__file__, str(self.note)]}
        path = self.home.write("mcp.json", json.dumps({"mcpServers": {"notes": server}}))
        return ["--mcp-config", str(path)]

    @property
    def note(self) -> Path:
        return self.home.path / "note.txt"

    def close(self) -> None:
        for one in self.running:
            if isinstance(one, Terminal):
                one.close()
                continue
            if one.process.poll() is None:
                one.process.kill()
            one.process.communicate()

    # What it wrote

    def local_settings(self) -> dict[str, Any]:
        """The project's settings.local.json, empty where there is none."""
        path = self.home.project / ".claude" / "settings.local.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        assert isinstance(found, dict)
        return found


def paths(folder: Path) -> Sequence[str]:
    """Every file below, for a test that says that none was written."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
