"""Shell completion, as `tapgate --install-completion` sets it up, in real interactive shells."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_S = 120.0
PROMPT = "ready> "
SHELLS = {"bash": (".bashrc", ["bash", "-i"]), "zsh": (".zshrc", ["zsh", "-i"])}


class Shell:
    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._seen = b""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def until(self, words: str) -> None:
        """Read on until this was printed, and forget what came before."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._terminal, selectors.EVENT_READ)
            while words.encode() not in self._seen:
                assert selector.select(PATIENCE_S), f"{words!r} did not come: {self._seen!r}"
                self._seen += os.read(self._terminal, 65536)
        self._seen = self._seen.partition(words.encode())[2]


@contextmanager
def interactive(words: list[str], environ: dict[str, str]) -> Iterator[Shell]:
    terminal, side = os.openpty()
    process = subprocess.Popen(words, env=environ, stdin=side, stdout=side, stderr=side, start_new_session=True)
    os.close(side)
    try:
        yield Shell(terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.mark.parametrize("name", sorted(SHELLS))
def test_tab_completes_commands_and_options(name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    rc, words = SHELLS[name]
    (tmp_path / rc).write_text(f"PS1='{PROMPT}'\n")
    environ = {
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
    # The shell that asks is the one that gets it, so it has to be asked from there; `:` keeps it from being replaced.
    subprocess.run([name, "-c", "tapgate --install-completion; :"], env=environ, check=True, capture_output=True)
    with interactive(words, environ) as shell:
        shell.until(PROMPT)
        if name == "zsh":  # typer's script is loaded by the first Tab, and answers from the second on
            shell.type("tapgate \t\x15")
        shell.type("tapgate --vers\t\r")
        shell.until("tapgate 0.")
        shell.until(PROMPT)
        shell.type("tapgate hooks pri\t--agent cod\t\r")
        shell.until('"PermissionRequest"')


def test_a_command_that_is_not_there_completes_to_nothing(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "COMP_WORDS": "tapgate zzz",
        "COMP_CWORD": "1",
        "_TAPGATE_COMPLETE": "complete_bash",
    }
    command = str(Path(sys.executable).parent / "tapgate")
    assert subprocess.run([command], env=environ, capture_output=True).stdout.strip() == b""
