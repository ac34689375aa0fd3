"""The agents' settings: a command that every version runs as it is, and events that cost the agent no time."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tapgate import hook
from tapgate.cli import app
from tapgate.config import Config, parse_config
from tapgate.hooks.command import TOLD_EVENTS, hook_command, render_settings

NASTY = """it's a "socket" of $HOME `id` \\ & ; * # é\t!"""

TELLING = {
    *("PostToolUse", "PostToolUseFailure", "Notification", "Stop", "SubagentStop"),
    *("UserPromptSubmit", "SessionStart", "SessionEnd"),
}


def config(**values: object) -> Config:
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
    return parse_config(text, source="test", base=Path("/base"))


def handlers(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The one handler of each event."""
    found = {}
    for event, (entry,) in settings["hooks"].items():
        assert set(entry) == {"hooks"}  # no matcher: every tool
        (found[event],) = entry["hooks"]
    return found


def words_of(command: str) -> list[str]:
    """The caller's own words, without the looks before it and the exit after it."""
    _, _, run = command.rpartition("exec ")
    return shlex.split(run.removesuffix("; exit 0"))


def test_the_command_begins_with_exec_and_names_all_that_the_caller_needs() -> None:
    command = hook_command(config(socket_path="/run/d.sock"), agent="claude", deadline_s=590.0)
    assert words_of(command) == [
        *(sys.executable, "-I", "-S", str(Path(hook.__file__).resolve())),
        *("--socket", "/run/d.sock", "--agent", "claude", "--deadline-s", "590"),
    ]


def test_the_caller_understands_its_own_command() -> None:
    words = words_of(hook_command(config(socket_path="/run/d.sock"), agent="codex", deadline_s=1.6))
    given = {"--socket": "/run/d.sock", "--agent": "codex", "--deadline-s": "1.6"}
    assert hook.options(words[4:]) == {**hook.options([]), **given}
    assert len(words[4:]) == 2 * len(given), "and none of the options that are for tests"


def test_any_path_survives_the_shell(tmp_path: Path) -> None:
    """The interpreter and the socket may lie anywhere: under a user name with a space, a quote, a dollar."""
    folder = tmp_path / NASTY
    folder.mkdir()
    script = folder / "python's"
    script.write_text('#!/bin/sh\nprintf \'%s\\0\' "$@" >"$OUT"\n')
    script.chmod(0o700)
    socket_path = folder / "daemon.sock"
    command = hook_command(
        Config(socket_path=socket_path, state_dir=tmp_path), agent="claude", deadline_s=5, python=str(script)
    )
    out = tmp_path / "out"
    done = subprocess.run(["sh", "-c", command], env={"OUT": str(out)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    words = out.read_bytes().decode().rstrip("\0").split("\0")
    assert words[:2] == ["-I", "-S"]
    assert words[words.index("--socket") + 1] == str(socket_path)


def test_the_shell_is_replaced_and_not_kept(tmp_path: Path) -> None:
    """A shell in between would be one process more, and would get the agent's SIGTERM in the caller's place."""
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho $$\n")
    script.chmod(0o700)
    command = hook_command(config(), agent="claude", deadline_s=5, python=str(script))
    with subprocess.Popen(["sh", "-c", f"{command}\necho still here"], stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate()
    assert out == f"{process.pid}\n"


def test_permission_requests_are_waited_for_and_all_else_is_told_in_passing() -> None:
    found = handlers(render_settings(config(), agent="claude"))
    assert set(found) == {"PermissionRequest", *TELLING}
    assert set(TOLD_EVENTS) == TELLING
    assert "async" not in found["PermissionRequest"]
    for event in TELLING:
        assert found[event]["async"] is True
    assert {handler["type"] for handler in found.values()} == {"command"}


@pytest.mark.parametrize(("timeout_s", "deadline"), [(600, "590"), (60, "50"), (10, "8"), (2, "1.6")])
def test_timeouts_are_in_seconds_and_the_caller_gives_up_first(timeout_s: int, deadline: str) -> None:
    found = handlers(render_settings(config(timeout_s=timeout_s), agent="claude"))
    asking = found.pop("PermissionRequest")
    assert asking["timeout"] == timeout_s
    assert words_of(asking["command"])[-2:] == ["--deadline-s", deadline]
    for handler in found.values():
        assert float(words_of(handler["command"])[-1]) < handler["timeout"] <= 60


def test_codex_gets_the_one_event_and_the_keys_it_knows() -> None:
    """It refuses anything but `description` and `hooks` at the top."""
    settings = render_settings(config(), agent="codex")
    assert set(settings) == {"hooks"}
    found = handlers(settings)
    assert set(found) == {"PermissionRequest"}
    assert set(found["PermissionRequest"]) == {"type", "command", "timeout"}
    words = words_of(found["PermissionRequest"]["command"])
    assert words[words.index("--agent") + 1] == "codex"


def test_the_same_config_gives_the_same_command() -> None:
    """Codex asks the user to trust a hook again whenever its entry changes."""
    assert render_settings(config(), agent="codex") == render_settings(config(), agent="codex")


def test_what_is_printed_is_the_settings_json_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('timeout_s = 77\nsocket_path = "d.sock"\n')
    for options, agent in ((["--agent", "codex"], "codex"), ([], "claude"), (["--agent", "claude"], "claude")):
        done = CliRunner().invoke(app, ["hooks", "print", *options, "--config", str(file)])
        assert done.exit_code == 0
        printed = json.loads(done.output)
        expected = parse_config(file.read_text(), source="x", base=tmp_path)
        assert printed == render_settings(expected, agent=agent)
        assert str(tmp_path / "d.sock") in done.output


def test_an_agent_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["hooks", "print", "--agent", "emacs"])
    assert done.exit_code != 0
    assert "exec" not in done.output
