"""The registered command in a real shell: whatever is missing, there is no opinion, and never a deny or an allow."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tapgate import hook
from tapgate.config import Config
from tapgate.hooks.command import guarded_command, parse_command

SHELLS = [shell for name in ("sh", "bash", "dash", "zsh", "fish", "busybox") if (shell := shutil.which(name))]
EVENT = b'{"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {}}'


def config(folder: Path) -> Config:
    return Config(socket_path=folder / "d.sock", state_dir=folder)


def run(shell: str, command: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    words = [shell, "sh", "-c"] if Path(shell).name == "busybox" else [shell, "-c"]
    return subprocess.run(
        [*words, command], input=EVENT, capture_output=True, env={"PATH": os.environ["PATH"], **environ}, timeout=300
    )


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("shell", SHELLS)
def test_daemon_down_is_no_opinion(shell: str, agent: str, tmp_path: Path) -> None:
    done = run(shell, guarded_command(config(tmp_path), agent=agent, deadline_s=5))
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"the daemon is not running" in done.stderr  # the caller itself was reached


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("shell", SHELLS)
def test_an_interpreter_that_is_gone_is_no_opinion(shell: str, agent: str, tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to(tmp_path / "gone")  # as in a virtual environment whose Python was removed
    for python in (tmp_path / "nowhere" / "python", link):
        done = run(shell, guarded_command(config(tmp_path), agent=agent, deadline_s=5, python=str(python)))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("shell", SHELLS)
def test_an_interpreter_that_cannot_be_run_is_at_worst_a_failed_hook(shell: str, agent: str, tmp_path: Path) -> None:
    """A directory passes the look. What the shell makes of it is neither 2, which would deny, nor an answer."""
    done = run(shell, guarded_command(config(tmp_path), agent=agent, deadline_s=5, python=str(tmp_path)))
    assert done.returncode in (0, 126)
    assert done.stdout == b""


def without_hook_file(command: str, folder: Path) -> str:
    return command.replace(str(Path(hook.__file__).resolve()), str(folder / "tapgate" / "hook.py"))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_hook_file_that_is_gone_is_no_opinion(shell: str, tmp_path: Path) -> None:
    """Python exits with 2 for it, which is a deny to Codex, and blocks the call at Claude Code's gate."""
    command = without_hook_file(guarded_command(config(tmp_path), agent="claude", deadline_s=5), tmp_path)
    assert str(tmp_path / "tapgate") in command
    done = run(shell, command)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    unguarded = command[command.index("exec ") : command.rindex("; exit 0")]
    assert run(shell, unguarded).returncode == 2


@pytest.mark.parametrize("shell", SHELLS)
def test_to_codex_a_package_that_is_gone_is_a_failed_hook_and_not_a_deny(shell: str, tmp_path: Path) -> None:
    """It then asks by itself (seen in 0.166.0: exit 1 shows its own prompt). Exit 2 would be a deny."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    done = run(shell, guarded_command(config(tmp_path), agent="codex", deadline_s=5, python=str(python)))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"No module named" in done.stderr


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_nothing_in_the_working_directory_or_the_environment_gets_in_between(agent: str, tmp_path: Path) -> None:
    """The agent writes files there: none of them may answer in the caller's place."""
    for name in ("_socket", "select", "time", "runpy", "sitecustomize", "usercustomize", "tapgate"):
        (tmp_path / f"{name}.py").write_text("print('{}')")
    command = guarded_command(config(tmp_path), agent=agent, deadline_s=5)
    done = subprocess.run(
        ["sh", "-c", command],
        input=EVENT,
        capture_output=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": str(tmp_path / "time.py")},
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"the daemon is not running" in done.stderr


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_shell_is_replaced_by_the_caller(agent: str, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho $$\n")
    script.chmod(0o700)
    command = guarded_command(config(tmp_path), agent=agent, deadline_s=5, python=str(script))
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate()
    assert out == f"{process.pid}\n"


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_command_is_read_as_it_was_written(agent: str, tmp_path: Path) -> None:
    folder = tmp_path / """it's "a" $dir exec here"""
    python = str(folder / "python")
    caller = parse_command(guarded_command(config(folder), agent=agent, deadline_s=1.5, python=python))
    assert (caller.interpreter, caller.agent, caller.deadline_s) == (python, agent, 1.5)
    assert caller.socket == str(folder / "d.sock")
    assert caller.file == (str(Path(hook.__file__).resolve()) if agent == "claude" else None)


@pytest.mark.parametrize(
    "command", ["", "exec", "it's", "exec tapgate-hook --deadline-s soon", "x" * 10_000, "; exit 0"]
)
def test_a_command_of_somebody_else_is_read_without_a_fault(command: str) -> None:
    caller = parse_command(command)
    assert caller.deadline_s is None
    assert caller.interpreter is None


def test_the_command_has_no_word_that_a_shell_could_take_for_its_own(tmp_path: Path) -> None:
    command = guarded_command(config(tmp_path / "a;b&c|d>e"), agent="codex", deadline_s=5)
    assert shlex.split(command.removesuffix("; exit 0"))[-1] == "5"
    assert run("sh", command).returncode == 0
