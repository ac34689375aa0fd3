"""What was registered, run as the agents run it, with a real daemon: a tap on the phone comes back on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.captures import FOLDER
from tests.e2e.world import World, finish, new_world

PLUGIN = Path(__file__).parent.parent.parent / "hooks" / "hooks.json"
ALLOW = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
PERMISSION = (FOLDER / "claude-code-2.1.325" / "PermissionRequest.Bash.1.json").read_bytes()
GATED = (FOLDER / "claude-code-2.1.325" / "PreToolUse.Bash.json").read_bytes()
CODEX_PERMISSION = (FOLDER / "codex-0.166.0" / "tui-PermissionRequest-Bash-0.json").read_bytes()


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as world:
        yield world


def installed(world: World, *words: str) -> Path:
    done = world.tapgate("hooks", "install", "--yes", "--config", str(world.config_path), *words)
    output, errors, code = finish(done)
    assert code == 0, (output, errors)
    return world.home / (".codex/hooks.json" if "codex" in words else ".claude/settings.json")


def run(world: World, settings: Path, event: bytes, **environ: str) -> subprocess.Popen[bytes]:
    (group,) = json.loads(settings.read_text())["hooks"][json.loads(event)["hook_event_name"]]
    process = subprocess.Popen(
        ["sh", "-c", group["hooks"][0]["command"]],
        env={**world.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    world.processes.append(process)
    assert process.stdin is not None
    process.stdin.write(event)
    process.stdin.close()
    process.stdin = None
    return process


def test_claude_codes_question_is_answered_from_the_phone(world: World) -> None:
    settings = installed(world)
    world.start_daemon()
    caller = run(world, settings, PERMISSION)
    card = world.open_card()
    world.tap(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)
    world.says(card, "Allowed by Ada")


def test_codex_question_is_answered_from_the_phone(world: World) -> None:
    settings = installed(world, "--agent", "codex")
    world.start_daemon()
    caller = run(world, settings, CODEX_PERMISSION)
    card = world.open_card()
    world.tap(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)
    world.says(card, "Allowed by Ada")


def test_the_plugins_question_is_answered_from_the_phone(world: World) -> None:
    world.start_daemon()
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    caller = run(world, PLUGIN, PERMISSION, PATH=path, TAPGATE_CONFIG=str(world.config_path))
    card = world.open_card()
    world.tap(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)
    world.says(card, "Allowed by Ada")


@pytest.mark.parametrize(("button", "word"), [("Allow", "allow"), ("Deny", "deny")])
def test_a_gated_call_is_answered_from_the_phone(button: str, word: str, world: World) -> None:
    settings = installed(world, "--gate", "Bash")
    world.start_daemon()
    caller = run(world, settings, GATED)
    world.tap(world.open_card(), button)
    output, errors, code = finish(caller)
    assert (errors, code) == (b"", 0)
    assert json.loads(output)["hookSpecificOutput"]["permissionDecision"] == word


def test_a_gated_call_that_nobody_answers_is_asked_at_the_terminal(world: World) -> None:
    world.configure(timeout_s=4)
    settings = installed(world, "--gate", "Bash")
    world.start_daemon()
    output, _, code = finish(run(world, settings, GATED))
    assert code == 0
    assert (
        json.loads(output)["hookSpecificOutput"]["permissionDecision"] == "ask"
    )  # not left to rules that may allow it


def test_with_the_daemon_down_a_gate_is_not_in_the_way(world: World) -> None:
    settings = installed(world, "--gate", "Bash")
    output, errors, code = finish(run(world, settings, GATED))
    assert (output, code) == (b"", 0)
    assert b"the daemon is not running" in errors
