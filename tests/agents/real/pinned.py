"""The pinned versions of the agents, where `make agents` puts them, and the marks for tests that need them.

Run as a program it installs them: `python -m tests.agents.real.pinned`. It needs nothing beyond Python and npm.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("TAPGATE_AGENTS") or Path(__file__).parents[3] / ".agents").absolute()
REQUIRED = os.environ.get("TAPGATE_REQUIRE_AGENTS") == "1"

_SYSTEM = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
_MACHINE = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


@dataclass(frozen=True, slots=True)
class Pinned:
    """One version of one agent."""

    title: str
    package: str
    version: str
    program: str  # a pattern within node_modules: packages name the machine in their own ways

    @property
    def folder(self) -> Path:
        return CACHE / f"{self.package.rpartition('/')[2]}-{self.version}"

    def find(self) -> Path | None:
        """The program, if it is installed whole."""
        if not (self.folder / "installed").exists():
            return None
        return next(iter(sorted((self.folder / "node_modules").glob(self.program))), None)

    @property
    def path(self) -> Path:
        found = self.find()
        assert found is not None, f"{self.title} {self.version} is not installed; run `make agents`"
        return found


_CLAUDE = f"@anthropic-ai/claude-code-{_SYSTEM}-{_MACHINE}/claude"
CLAUDE = Pinned("Claude Code", "@anthropic-ai/claude-code", "2.1.325", _CLAUDE)
OLD_CLAUDE = Pinned("Claude Code", "@anthropic-ai/claude-code", "2.1.197", _CLAUDE)
CODEX = Pinned("Codex CLI", "@openai/codex", "0.166.0", f"@openai/codex-{_SYSTEM}-{_MACHINE}/vendor/*/bin/codex")
ALL = (CLAUDE, OLD_CLAUDE, CODEX)


def reason_to_skip(agent: Pinned) -> str:
    """Empty where the tests of this agent can run, or where they must."""
    if REQUIRED:
        return ""
    if agent.find() is None:
        return f"{agent.title} {agent.version} is not installed: run `make agents`"
    if shutil.which("tmux") is None:
        return "tmux is not installed, and the agents' terminals need it"
    return ""


def install(agent: Pinned) -> str:
    """Install it unless it is there. Gives what to tell about it; raises CalledProcessError."""
    if agent.find() is not None:
        return "is there"
    started = time.monotonic()
    shutil.rmtree(agent.folder, ignore_errors=True)  # what an interrupted run left
    agent.folder.mkdir(parents=True)
    words = ["npm", "install", "--prefix", str(agent.folder), "--no-audit", "--no-fund", "--no-save"]
    # No scripts: the programs come ready in packages of their own, and nothing here needs a package's code to run.
    words += ["--ignore-scripts", "--loglevel=error", f"{agent.package}@{agent.version}"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    (agent.folder / "installed").touch()
    if agent.find() is None:
        (agent.folder / "installed").unlink()
        raise FileNotFoundError(f"{agent.package} has no program for {_SYSTEM}-{_MACHINE}")
    return f"installed in {time.monotonic() - started:.0f} s"


def main() -> int:
    if shutil.which("npm") is None and any(agent.find() is None for agent in ALL):
        print("npm is not there, so the agents cannot be installed. Install Node.js (which brings npm), and try again.")
        return 1
    print(f"The agents that the tests run, in {CACHE} (TAPGATE_AGENTS names another place):")
    for number, agent in enumerate(ALL, start=1):
        print(f"  {number}/{len(ALL)} {agent.title} {agent.version} … ", end="", flush=True)
        try:
            print(install(agent))
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"failed: {error}")
            print("npm's own words stand above. Check the connection to the npm registry, and run `make agents` again.")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
