"""`tapgate doctor` as a person runs it: the real command, the real daemon, at the simulator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.builders import event_bytes
from tests.e2e.world import ADA, LINUS, World, finish
from tests.simulator.driver import TOKEN


def examine(world: World, *words: str) -> tuple[dict[str, dict[str, Any]], int]:
    world.environ.update(XDG_RUNTIME_DIR="", XDG_CONFIG_HOME="")
    output, errors, code = finish(world.tapgate("doctor", "--json", "--config", str(world.config_path), *words))
    assert errors == b"" and TOKEN.encode() not in output
    found = json.loads(output)
    assert found["ok"] == (code == 0)
    return {check["name"]: check for check in found["checks"]}, code


def register(world: World) -> None:
    words = ("hooks", "print", "--config", str(world.config_path))
    output, errors, code = finish(world.tapgate(*words))
    assert (errors, code) == (b"", 0)
    (world.home / ".claude").mkdir()
    (world.home / ".claude" / "settings.json").write_bytes(output)


def test_a_healthy_world_has_no_fault(world: World) -> None:
    register(world)
    world.until(lambda: world.calls("getUpdates"))
    world.tell(event_bytes(event="PostToolUse"))
    checks, code = examine(world)
    assert {name for name, check in checks.items() if check["status"] == "fault"} == set() and code == 0
    for name in ("config.file", "telegram.reachable", "telegram.token", "telegram.clock", "telegram.poller"):
        assert checks[name]["status"] == "ok", checks[name]
    for name in (f"people.{ADA}", "daemon.running", "daemon.version", "journal.file", "journal.writable"):
        assert checks[name]["status"] == "ok", checks[name]
    assert not world.calls("sendMessage"), "nobody's phone buzzes"


def test_for_people_it_is_a_line_each_and_a_sum(quiet_world: World) -> None:
    world = quiet_world
    world.configure(people="")
    world.environ["COLUMNS"] = "80"
    output, errors, code = finish(world.tapgate("doctor", "--config", str(world.config_path)))
    assert (errors, code) == (b"", 1)
    lines = output.decode().splitlines()
    assert lines[0] == "Config" and lines[1].startswith("  ✓ config ")
    assert any(line.startswith("  ✗ people             nobody is listed") for line in lines)
    assert "fault" in lines[-1] and "start with" in lines[-1]
    assert b"\x1b" not in output, "no colours where it is no terminal"


def test_a_terminal_that_cannot_show_a_name_is_no_reason_to_fail(world: World) -> None:
    world.configure(people=f"[[people]]\nuser_id = {ADA}\nname = 'Åsa'\n")
    world.environ["PYTHONIOENCODING"] = "ascii"
    world.tell(event_bytes(event="PostToolUse"))
    for words in (("doctor",), ("status",)):
        output, errors, _ = finish(world.tapgate(*words, "--config", str(world.config_path)))
        assert errors == b"" and b"(owner)" in output


def test_everything_at_once_is_found_and_nothing_stops_the_rest(quiet_world: World) -> None:
    world = quiet_world
    world.configure(people=f"[[people]]\nuser_id = {ADA}\n[[people]]\nuser_id = {LINUS}\n[[people]]\nuser_id = 999\n")
    world.config_path.chmod(0o644)
    world.post("block", user_id=LINUS, blocked=True)
    world.post("clock", advance_s=600)
    world.post("faults", method="getUpdates", kind="409")
    checks, code = examine(world)
    assert code == 1
    assert checks["config.permissions"]["status"] == "warning" and checks["config.permissions"]["fixable"]
    assert "10 min behind" in checks["telegram.clock"]["detail"]
    assert "409" in checks["telegram.poller"]["detail"]
    assert checks[f"people.{ADA}"]["status"] == "ok"
    assert "press Restart" in checks[f"people.{LINUS}"]["advice"]
    assert "chat not found" in checks["people.999"]["detail"]
    assert checks["daemon.running"]["status"] == "fault"


def test_a_token_that_is_wrong(quiet_world: World) -> None:
    quiet_world.environ["TAPGATE_TELEGRAM_TOKEN"] = "1234567:another-token"
    checks, code = examine(quiet_world)
    assert "401 Unauthorized" in checks["telegram.token"]["detail"] and code == 1
    assert "from TAPGATE_TELEGRAM_TOKEN" in checks["telegram.token"]["detail"]


def test_a_tap_that_waits_is_still_there_after_the_doctor(quiet_world: World) -> None:
    """Looking for other pollers reads the updates and confirms none."""
    world = quiet_world
    world.start_daemon()
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.stop_daemon(signal.SIGKILL)
    world.tap(card, "Deny")
    pending = world.get("state")["pending_updates"]
    checks, _ = examine(world)
    assert checks["telegram.poller"]["status"] == "ok"
    assert checks["daemon.socket"]["fixable"], "the killed daemon left its socket"
    assert world.get("state")["pending_updates"] == pending == 1
    world.start_daemon()
    assert b'"deny"' in finish(caller)[0]


def test_another_program_that_polls_is_met(quiet_world: World) -> None:
    """It is ended by our poll, comes back, and ends ours: that is how Telegram shows that there are two."""
    world = quiet_world
    script = (
        "import httpx, sys\n"
        "while True:\n"
        "    httpx.post(sys.argv[1], json={'timeout': 20}, timeout=60, trust_env=False)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", script, f"{world.url}/bot{TOKEN}/getUpdates"])
    try:
        world.until(lambda: world.get("state")["pollers"])
        checks, code = examine(world)
    finally:
        other.kill()
        other.wait()
    assert checks["telegram.poller"]["status"] == "fault" and code == 1
    assert "stop the other one" in checks["telegram.poller"]["advice"]


def test_beside_a_running_daemon_the_doctor_does_not_poll(world: World) -> None:
    world.until(lambda: world.get("state")["pollers"])
    before = len(world.calls("getUpdates"))
    checks, _ = examine(world)
    assert checks["telegram.poller"]["status"] == "ok"
    assert len(world.calls("getUpdates")) == before and "409" not in world.errors()


def test_fix_mends_modes_and_a_stale_socket_and_says_so(quiet_world: World) -> None:
    world = quiet_world
    world.start_daemon()
    world.stop_daemon(signal.SIGKILL)
    for path in (world.config_path, world.state_dir / "journal.db"):
        path.chmod(0o644)
    world.state_dir.chmod(0o755)
    output, _, code = finish(world.tapgate("doctor", "--fix", "--config", str(world.config_path)))
    lines = output.decode().splitlines()
    assert {line.split(": ")[0] for line in lines[:4]} == {"fixed"} and code == 1, "the daemon is still not running"
    assert not world.socket_path.exists()
    modes = [
        os.stat(path).st_mode & 0o777 for path in (world.config_path, world.state_dir, world.state_dir / "journal.db")
    ]
    assert modes == [0o600, 0o700, 0o600]
    world.start_daemon()
    checks, _ = examine(world, "--fix")
    assert not [check for check in checks.values() if check["fixable"]]


def test_the_last_errors_of_a_running_daemon(quiet_world: World) -> None:
    world = quiet_world
    world.post("faults", method="getUpdates", kind="401", times=-1)
    world.start_daemon()
    world.until(lambda: "token" in world.errors())
    checks, code = examine(world)
    assert "does not accept the bot token" in checks["daemon.poll"]["detail"] and code == 1
    assert "does not accept the bot token" in checks["daemon.reports"]["detail"]


@pytest.mark.parametrize("kind", ["stall", "drop"])
def test_telegram_out_of_order_does_not_stop_the_doctor(quiet_world: World, kind: str) -> None:
    world = quiet_world
    world.post("faults", method="*", kind=kind, times=-1, stall_s=60)
    checks, code = examine(world)
    assert "cannot be reached" in checks["telegram.reachable"]["detail"] and code == 1
    assert checks["journal.disk"]["status"] in ("ok", "warning")
    httpx.delete(f"{world.url}/control/faults", trust_env=False)
