"""`tapgate service` on the command line, with a systemctl of our own in PATH: what people read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tapgate.service.commands import NOT_FOUND, follow_command, run_command

PRETEND = """#!/bin/sh
echo "$0 $*" >> "$HOME/calls"
case "$*" in
  *"show --property"*) echo Version=252; echo "UnitPath=$HOME/.config/systemd/user" ;;
  *"show tapgate.service"*)
    echo ActiveState=$(cat "$HOME/active" 2>/dev/null || echo inactive)
    echo UnitFileState=enabled ;;
  *restart*|*start*) echo active > "$HOME/active" ;;
  *stop*|*disable*) echo inactive > "$HOME/active" ;;
  *is-active*) exit 3 ;;
  *show-user*) echo no ;;
  *--lines*) echo "line of the journal" ;;
esac
"""


@pytest.fixture
def home_with_tools(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tools = home / "bin"
    tools.mkdir()
    for name in ("systemctl", "loginctl", "journalctl", "unshare"):
        (tools / name).write_text(PRETEND)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return home


def tapgate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tapgate", "service", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


linux = pytest.mark.skipif(sys.platform != "linux", reason="the manager that pretends is systemd")


@linux
def test_from_install_to_uninstall_each_command_says_what_it_did(home_with_tools: Path) -> None:
    units = home_with_tools / ".config" / "systemd" / "user"
    dry = tapgate("install", "--dry-run")
    assert dry.returncode == 0 and "+ListenStream=%t/tapgate/daemon.sock" in dry.stdout
    assert not units.exists()
    done = tapgate("install")
    assert done.returncode == 0, done.stderr
    assert f"wrote {units}/tapgate.service" in done.stdout
    assert "loginctl enable-linger" in done.stdout
    again = tapgate("install")
    assert "the files are as they should be" in again.stdout and "wrote" not in again.stdout
    status = tapgate("status")
    assert status.returncode == 0 and "service:    running" in status.stdout
    found = json.loads(tapgate("status", "--json").stdout)
    assert (found["installed"], found["running"], found["manager"]) == (True, True, "systemd")
    assert tapgate("logs", "-n", "3").stdout == "line of the journal\n"
    stopped = tapgate("stop")
    assert stopped.returncode == 0 and "stopped" in stopped.stdout
    assert tapgate("status").returncode == 1
    assert tapgate("start").returncode == 0
    gone = tapgate("uninstall")
    assert gone.stdout.count("removed ") == 2
    assert "nothing to remove" in tapgate("uninstall").stdout


@linux
def test_files_that_somebody_changed_are_shown_and_not_replaced_unasked(home_with_tools: Path) -> None:
    tapgate("install")
    unit = home_with_tools / ".config" / "systemd" / "user" / "tapgate.service"
    changed = unit.read_text() + "# mine\n"
    unit.write_text(changed)
    refused = tapgate("install")
    assert refused.returncode == 1 and "run it again with --yes" in refused.stderr
    assert "-# mine" in refused.stdout and unit.read_text() == changed
    assert tapgate("install", "--yes").returncode == 0
    assert "# mine" not in unit.read_text()


@linux
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("[telegram]\ntoken = '123456789:AAH-secret_secret_secret_secret_s'\n", "nobody is listed under [[people]]"),
        ("[[people]]\nuser_id = 1\n", "there is no bot token"),
        ("xyzzy = 1\n", "unknown key"),
    ],
)
def test_a_daemon_that_could_not_start_is_not_installed(home_with_tools: Path, config: str, words: str) -> None:
    (home_with_tools / ".config/tapgate/config.toml").write_text(config)
    refused = tapgate("install")
    assert refused.returncode == 1 and words in refused.stderr and "Traceback" not in refused.stderr
    assert not (home_with_tools / ".config" / "systemd").exists()


@linux
@pytest.mark.parametrize("words", [["install"], ["uninstall"], ["start"], ["stop"], ["status"], ["logs"]])
def test_without_a_manager_every_command_says_what_to_do_instead(
    home: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    refused = tapgate(*words)
    assert refused.returncode == 1
    assert refused.stderr.startswith("tapgate: there is no systemd here")
    assert "run `tapgate daemon` in a terminal that stays open" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_command_gives_its_code_and_its_words() -> None:
    ran = run_command([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"])
    assert (ran.code, ran.stdout, ran.stderr) == (3, "out\n", "err\n")
    assert run_command(["/nowhere/systemctl"]).code == NOT_FOUND
    assert run_command(["/"]).code == 126


def test_following_ends_what_it_started() -> None:
    script = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
    lines = follow_command([sys.executable, "-c", script])
    pid = int(next(lines))
    lines.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert "No such file" in next(follow_command(["/nowhere/journalctl"]))
