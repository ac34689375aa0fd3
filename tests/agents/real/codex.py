"""Codex CLI, run with `exec` or in a terminal, in a home of its own and against a scripted API."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.agents.real import mcp_server
from tests.agents.real.home import Home
from tests.agents.real.openai_api import OpenAiApi
from tests.agents.real.phone import Phone
from tests.agents.real.pinned import CODEX, Pinned
from tests.agents.real.terminal import Terminal

PATIENCE_S = 120.0
CONFIG = """
model = "gpt-5.5"
model_provider = "lab"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 0
stream_max_retries = 0

[sandbox_workspace_write]  # the tests live under /tmp, which is open otherwise
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[projects."{project}"]
trust_level = "trusted"

[notice.model_migrations]  # as a person's "use existing model" leaves it: no question at the start
"gpt-5.5" = "gpt-6-sol"

[mcp_servers.notes]
command = {python}
args = [{server}, {note}]
"""


class Codex:
    def __init__(self, home: Home, api: OpenAiApi, *, version: Pinned = CODEX) -> None:
        self.home = home
        self.api = api
        self.phone = Phone(home.world, home.project.name)
        self.program = str(version.path)
        self.environ = {**home.environ, "LAB_KEY": "sk-fake", "CODEX_HOME": str(home.path / ".codex")}
        self.running: list[subprocess.Popen[bytes] | Terminal] = []
        words = {"python": sys.executable, "server": mcp_server.__file__, "note": str(self.note)}
        quoted = {name: json.dumps(value) for name, value in words.items()}
        home.write(".codex/config.toml", CONFIG.format(url=api.url, project=home.project, **quoted))

    @property
    def note(self) -> Path:
        """What the tests' own MCP server writes."""
        return self.home.path / "note.txt"

    def exec(self, *more: str, prompt: str = "go") -> subprocess.Popen[bytes]:
        words = [self.program, "exec", "--skip-git-repo-check", "--json", *TRUSTED, *more, prompt]
        with (self.home.path / "codex.err").open("ab") as log:
            process = subprocess.Popen(
                words,
                cwd=self.home.project,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.running.append(process)
        return process

    def interactive(self, *more: str, prompt: str = "go", trusted: bool = True) -> Terminal:
        """In a terminal, with the prompt given at the start. No shared background server: it would outlive the test."""
        socket_path = self.home.path / f"t{len(self.running)}"
        words = [self.program, "--no-daemon", *(TRUSTED if trusted else ()), *more, *([prompt] if prompt else [])]
        terminal = Terminal(socket_path, words, cwd=self.home.project, environ=self.environ)
        self.running.append(terminal)
        return terminal

    def close(self) -> None:
        for one in self.running:
            if isinstance(one, Terminal):
                one.close()
                continue
            if one.poll() is None:
                one.kill()
            one.communicate()


TRUSTED = ("--dangerously-bypass-hook-trust",)
"""In the place of the person who tells Codex to trust the hook; one test does what that person does."""
