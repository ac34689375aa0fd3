"""The plugin for Claude Code: the same events, through a program on the PATH; no opinion where that is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tapgate import __version__
from tapgate.config import Config, load_config
from tapgate.hooks import launcher
from tapgate.hooks.command import LAUNCHER, registrations
from tapgate.hooks.launcher import caller_words
from tapgate.hooks.registration import is_ours
from tests.agents.real.pinned import CLAUDE, reason_to_skip

ROOT = Path(__file__).parent.parent.parent
EVENT = b'{"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {}}'


def plugin_handlers() -> dict[str, dict[str, Any]]:
    found = {}
    for event, (group,) in json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"].items():
        assert set(group) == {"hooks"}
        (found[event],) = group["hooks"]
    return found


# The files


def test_the_plugin_registers_what_an_install_does() -> None:
    """With the default config: the same events, the same times, the same that are only told."""
    config = Config(socket_path=Path("/s"), state_dir=Path("/d"))
    wanted = {entry.event: entry.handler for entry in registrations(config, agent="claude")}
    found = plugin_handlers()
    assert list(found) == list(wanted)
    for event, handler in found.items():
        assert {**handler, "command": ""} == {**wanted[event], "command": ""}
        deadline = handler["command"].rpartition(" ")[2]
        assert f"--deadline-s {deadline};" in wanted[event]["command"]
        assert is_ours(handler)


def test_the_manifests_name_the_plugin_and_its_version() -> None:
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert (plugin["name"], plugin["version"]) == ("tapgate", __version__)
    (entry,) = marketplace["plugins"]
    assert (entry["name"], entry["source"]) == ("tapgate", "./")
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts[LAUNCHER] == f"{launcher.__name__}:main"


@pytest.mark.skipif(bool(reason_to_skip(CLAUDE)), reason=reason_to_skip(CLAUDE))
def test_claude_code_itself_accepts_the_plugin(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(CLAUDE.path), "plugin", "validate", "--strict", str(ROOT)],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# The command, in a real shell


def run(command: str, folder: Path, path: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    environ = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), **environ}
    return subprocess.run(
        ["sh", "-c", command], input=EVENT, capture_output=True, cwd=folder, env={"PATH": path, **environ}, timeout=300
    )


def test_where_tapgate_is_missing_there_is_no_opinion(tmp_path: Path) -> None:
    for handler in plugin_handlers().values():
        done = run(handler["command"], tmp_path, "/usr/bin:/bin")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture
def scripts() -> str:
    folder = Path(sysconfig.get_path("scripts"))
    assert (folder / LAUNCHER).exists(), "install the package to test its programs: make test does"
    return f"{folder}:/usr/bin:/bin"


def test_where_the_daemon_is_down_there_is_no_opinion(tmp_path: Path, scripts: str) -> None:
    for event in ("PermissionRequest", "Stop"):
        done = run(plugin_handlers()[event]["command"], tmp_path, scripts)
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"the daemon is not running at" in done.stderr


def test_a_broken_config_is_no_opinion_and_its_text_stays_private(tmp_path: Path, scripts: str) -> None:
    config = tmp_path / "config.toml"
    for text in ("token = '123456789:AAAsecret", "timeout_s = 'soon'\n", "socket_path = 3\n", "\x00"):
        config.write_text(text)
        done = run(plugin_handlers()["PermissionRequest"]["command"], tmp_path, scripts, TAPGATE_CONFIG=str(config))
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"no opinion" in done.stderr
        assert b"secret" not in done.stderr


def test_nothing_in_the_working_directory_or_the_environment_gets_in_between(tmp_path: Path, scripts: str) -> None:
    for name in ("re", "types", "tomllib", "sitecustomize", "usercustomize", "tapgate", "platformdirs"):
        (tmp_path / f"{name}.py").write_text("print('{}')")
    command = plugin_handlers()["PermissionRequest"]["command"]
    done = run(command, tmp_path, scripts, PYTHONPATH=str(tmp_path), PYTHONHOME="")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"the daemon is not running" in done.stderr


# The program


@pytest.mark.parametrize(
    "text",
    [
        "",
        "socket_path = 'd.sock'\n",
        "socket_path = '/run/x y/d.sock'\ntimeout_s = 77\n",
        "socket_path = '~/d.sock'\ntimeout_s = 5\n[telegram]\ntoken = 'x'\n",
        "timeout_s = 86400\n",
    ],
)
def test_the_program_reads_the_config_as_the_daemon_does(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "config.toml"
    file.write_text(text)
    config = load_config(file)
    words = caller_words(["--agent", "claude", "--deadline-s", "590"], environ={"TAPGATE_CONFIG": str(file)})
    given = dict(zip(words[4::2], words[5::2], strict=True))
    assert words[:3] == [sys.executable, "-I", "-S"]
    assert Path(words[3]).name == "hook.py"
    assert Path(words[3]).is_file()
    assert given["--socket"] == str(config.socket_path)
    assert float(given["--deadline-s"]) == min(590.0, config.deadline_s)  # the plugin's own timeout is 600
    assert given["--agent"] == "claude"


def test_a_named_config_that_is_missing_is_no_default(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        caller_words([], environ={"TAPGATE_CONFIG": str(tmp_path / "gone.toml")})
