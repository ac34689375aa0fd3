"""Findings about agents, their hooks and the service: each provoked, and its advice read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tapgate.doctor.check import Check, Status
from tapgate.service.manager import CommandResult
from tests.doctor.ward import FAULT, OK, SKIPPED, WARNING, Ward, told

# Agents


def test_no_agent_at_all(ward: Ward) -> None:
    del ward.commands["codex"]
    found = ward.check("agents.codex")
    assert found.status is SKIPPED and "`codex` is not in PATH" in found.detail
    assert not [check for check in ward.checks() if check.name == "agents.any"], "one is enough"
    ward.commands.clear()
    assert not [check for check in ward.checks() if check.name == "agents.any"], "hooks are registered: one is used"
    ward.settings("claude").unlink()
    ward.settings("claude").parent.rmdir()
    found = ward.check("agents.any")
    assert found.status is WARNING and "neither Claude Code nor Codex" in found.detail and "install" in found.advice


@pytest.mark.parametrize("version", ["2.0.45", "2.1.197"])
def test_a_claude_that_does_not_ask_without_a_terminal(ward: Ward, version: str) -> None:
    ward.commands["claude"] = CommandResult(0, f"{version} (Claude Code)")
    found = ward.check("agents.claude")
    assert found.status is WARNING and "`claude -p`" in found.detail
    assert "--gate 'Bash|Write|Edit'" in found.advice and "upgrade" in found.advice
    ward.register("claude", gate="Bash|Write|Edit")
    assert ward.check("agents.claude").status is OK, "a gate is asked there as well"


def test_versions_of_which_less_is_known(ward: Ward) -> None:
    ward.commands["claude"] = CommandResult(0, "2.1.250 (Claude Code)")
    found = ward.check("agents.claude")
    assert found.status is OK and "nobody has tried" in found.detail
    ward.commands["claude"] = CommandResult(0, "3.0.0 (Claude Code)")
    found = ward.check("agents.claude")
    assert found.status is OK and "newer than 2.1.325" in found.detail
    ward.commands["claude"] = CommandResult(0, "2.1.325 (Claude Code)")
    assert ward.check("agents.claude").detail == "2.1.325"


def test_codex_exec_is_explained(ward: Ward) -> None:
    found = ward.check("agents.codex")
    assert found.status is OK and "--approve-for-me" in found.detail


@pytest.mark.parametrize("ran", [CommandResult(1, "2.1.325"), CommandResult(0, "no idea"), CommandResult(0, "")])
def test_an_agent_that_does_not_say_its_version(ward: Ward, ran: CommandResult) -> None:
    ward.commands["claude"] = ran
    found = ward.check("agents.claude")
    assert found.status is SKIPPED and "does not say which version" in found.detail


# Hooks


def hooks_of(ward: Ward, agent: str = "claude") -> list[Check]:
    return [check for check in ward.checks() if check.name == f"agents.{agent}_hooks"]


def only_trouble(checks: list[Check]) -> Check:
    (found,) = [check for check in checks if check.status in (FAULT, WARNING)]
    return found


def test_hooks_that_are_registered(ward: Ward) -> None:
    assert [check.status for check in hooks_of(ward)] == [OK]
    assert str(ward.settings("claude")) in hooks_of(ward)[0].detail


def test_no_hooks_at_all(ward: Ward) -> None:
    ward.settings("claude").write_text("{}")
    found = only_trouble(hooks_of(ward))
    assert found.status is FAULT and "does not ask tapgate" in found.detail
    assert "tapgate hooks install --agent claude" in found.advice


def change_hooks(ward: Ward, change: Callable[[dict[str, Any]], None]) -> None:
    """Another hand in the agent's settings."""
    settings = json.loads(ward.settings("claude").read_text())
    change(settings)
    ward.settings("claude").write_text(json.dumps(settings))


def asking(settings: dict[str, Any]) -> dict[str, Any]:
    handler: dict[str, Any] = settings["hooks"]["PermissionRequest"][0]["hooks"][0]
    return handler


def put(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda settings: asking(settings).update({key: value})


def in_command(before: str, after: str) -> Callable[[dict[str, Any]], None]:
    return lambda settings: asking(settings).update(command=asking(settings)["command"].replace(before, after))


def beside(**more: object) -> Callable[[dict[str, Any]], None]:
    return lambda settings: settings.update(more)


OTHER = {"hooks": [{"type": "command", "command": "approve-everything"}]}


@pytest.mark.parametrize(
    ("change", "status", "words", "advice"),
    [
        (in_command(sys.executable, "/gone/python3"), FAULT, "/gone/python3 is gone", "tapgate hooks install"),
        (in_command("tapgate/hook.py", "gone/tapgate/hook.py"), FAULT, "gone/tapgate/hook.py is gone", "hooks install"),
        (in_command("run/daemon.sock", "other.sock"), FAULT, "the hook asks at", "tapgate hooks install"),
        (put("timeout", 60), WARNING, "after 60 s", "tapgate hooks install"),
        (put("timeout", 6000), WARNING, "another time than timeout_s = 600", "tapgate hooks install"),
        (put("async", True), FAULT, "the answer is not heard", "tapgate hooks install"),
        (beside(disableAllHooks=True), FAULT, "disableAllHooks is on", "Take disableAllHooks out"),
        (beside(permissions={"defaultMode": "dontAsk"}), WARNING, "dontAsk", "Set it to default"),
        (beside(permissions={"defaultMode": "bypassPermissions"}), WARNING, "bypassPermissions", "--gate"),
        (
            lambda settings: settings["hooks"]["PermissionRequest"].append(OTHER),
            WARNING,
            "the first answer wins",
            "Take it",
        ),
        (lambda settings: settings["hooks"].pop("PostToolUse"), WARNING, "not told of PostToolUse", "hooks install"),
    ],
)
def test_hooks_that_will_not_do(
    ward: Ward, change: Callable[[dict[str, Any]], None], status: Status, words: str, advice: str
) -> None:
    change_hooks(ward, change)
    found = only_trouble(hooks_of(ward))
    assert found.status is status and words in found.detail and advice in found.advice


def test_codex_has_to_trust_its_hook(ward: Ward) -> None:
    ward.register("codex")
    found = only_trouble(hooks_of(ward, "codex"))
    assert found.status is FAULT and "trust" in found.detail and "/hooks" in found.advice


def test_one_agent_may_be_left_out(ward: Ward) -> None:
    (ward.home / ".codex").mkdir()
    (found,) = hooks_of(ward, "codex")
    assert found.status is SKIPPED and "does not ask tapgate" in found.detail and "--agent codex" in found.advice
    ward.settings("claude").write_text("{}")
    assert hooks_of(ward, "codex")[0].status is FAULT, "but not both"


def test_settings_that_are_not_json(ward: Ward) -> None:
    ward.settings("claude").write_text('{"hooks": ')
    found = [check for check in hooks_of(ward) if check.status is FAULT]
    assert f"{ward.settings('claude')}:1:" in found[0].detail and found[0].advice


def test_settings_moved_by_the_environment(ward: Ward) -> None:
    ward.environ["CLAUDE_CONFIG_DIR"] = str(ward.home / "elsewhere")
    ward.register("claude")
    assert str(ward.home / "elsewhere" / "settings.json") in hooks_of(ward)[0].detail


def test_without_a_config_the_hooks_cannot_be_judged(ward: Ward) -> None:
    ward.config_path.write_text("nonsense")
    assert {check.status for check in (*hooks_of(ward), *hooks_of(ward, "codex"))} == {SKIPPED}


# Service


def manager_says(ward: Ward, **properties: str) -> None:
    said = {"ActiveState": "active", "UnitFileState": "enabled", **properties}
    ward.commands["env"] = CommandResult(0, "".join(f"{name}={value}\n" for name, value in said.items()))


def unit_of(ward: Ward) -> Path:
    return ward.home / ".config" / "systemd" / "user" / "tapgate.service"


def test_a_service_that_is_well(ward: Ward) -> None:
    assert "systemd" in ward.check("service.installed").detail
    assert "Telegram heard" in ward.check("service.running").detail
    ward.commands["loginctl"] = CommandResult(0, "no\n")
    found = ward.check("service.installed")
    assert found.status is OK and "loginctl enable-linger" in found.detail


def test_no_service_manager(ward: Ward) -> None:
    del ward.commands["systemctl"]
    found = ward.check("service.installed")
    assert found.status is SKIPPED and "there is no systemd here" in found.detail and "tapgate daemon" in found.detail
    ward.platform = "plan9"
    assert "knows no service manager" in ward.check("service.installed").detail


def test_no_service_installed(ward: Ward) -> None:
    unit_of(ward).unlink()
    found = ward.check("service.installed")
    assert found.status is SKIPPED and "not installed" in found.detail and "tapgate service install" in found.advice


def test_a_service_that_starts_what_is_gone(ward: Ward) -> None:
    lines = unit_of(ward).read_text().splitlines()
    gone = [f"ExecStart={ward.home}/gone/tapgate daemon" if line.startswith("ExecStart=") else line for line in lines]
    unit_of(ward).write_text("\n".join(gone) + "\n")
    found = ward.check("service.installed")
    assert found.status is FAULT and "gone/tapgate, which is not there" in found.detail
    assert "tapgate service install" in found.advice


def test_a_service_that_does_not_start_by_itself(ward: Ward) -> None:
    manager_says(ward, UnitFileState="disabled")
    found = ward.check("service.installed")
    assert found.status is WARNING and "at login" in found.detail and "tapgate service install" in found.advice


def test_a_service_of_another_version(ward: Ward) -> None:
    unit_of(ward).write_text(unit_of(ward).read_text() + "# changed\n")
    found = ward.check("service.installed")
    assert found.status is WARNING and "not what this version writes" in found.detail and "--dry-run" in found.advice


def test_a_service_that_failed(ward: Ward) -> None:
    manager_says(ward, ActiveState="failed", Result="exit-code", ExecMainStatus="1")
    ward.stop_daemon()
    found = ward.check("service.running")
    assert found.status is FAULT and "exit code 1" in found.detail and "tapgate service logs" in found.advice
    ward.status = told()
    found = ward.check("service.running")
    assert found.status is WARNING and "started otherwise" in found.detail and "stop that one" in found.advice
