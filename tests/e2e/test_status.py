"""`tapgate status` and `tapgate log` beside a running daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

from tests.builders import event_bytes
from tests.e2e.test_approval import ALLOW
from tests.e2e.test_restart import fill, small_state
from tests.e2e.world import ADA, LINUS, PATIENCE_S, World, finish


def status(world: World) -> tuple[dict[str, Any], int]:
    output, errors, code = finish(world.tapgate("status", "--json", "--config", str(world.config_path)))
    assert errors == b""
    return json.loads(output), code


def test_a_healthy_daemon(world: World) -> None:
    assert world.daemon is not None
    caller = world.ask(event_bytes())
    card = world.open_card()
    found, code = status(world)
    assert (found["pid"], found["open_requests"], found["people"]) == (world.daemon.pid, 1, 1)
    assert (found["telegram"], found["journal"], code) == ("ok", "ok", 0)
    world.tap(card, "Allow")
    assert finish(caller)[0] == ALLOW
    output, _, code = finish(world.tapgate("status", "--config", str(world.config_path)))
    assert f"runs as pid {world.daemon.pid}".encode() in output and code == 0


def test_people_sessions_and_reports_are_told(quiet_world: World) -> None:
    world = quiet_world
    world.configure(f"[[people]]\nuser_id = {ADA}\nname = 'Ada'\n[[people]]\nuser_id = {LINUS}\nrole = 'viewer'\n")
    world.post("faults", method="getUpdates", kind="500")
    world.start_daemon()
    world.ask(event_bytes(session="s-1"))
    world.open_card()
    world.tell(event_bytes(event="PostToolUse", session="s-2"))
    found, _ = status(world)
    assert found["running"] is True and found["uptime_s"] >= 0
    assert found["persons"] == [{"name": "Ada", "role": "owner"}, {"name": str(LINUS), "role": "viewer"}]
    assert [(one["id"], one["project"], one["open_requests"]) for one in found["sessions"]] == [
        ("s-2", "/home/dev/shop", 0),
        ("s-1", "/home/dev/shop", 1),
    ]
    [pending] = found["pending"]
    assert pending.pop("age_s") >= 0
    assert pending == {"project": "/home/dev/shop", "agent": "claude", "tool": "Bash", "uid": os.getuid()}
    assert any("Telegram" in report["sentence"] for report in found["reports"])
    assert "npm test" not in json.dumps(found), "nothing of the questions themselves"
    world.tell(event_bytes(event="SessionEnd", session="s-2", reason="logout"))
    assert [one["id"] for one in status(world)[0]["sessions"]] == ["s-1"]


def test_without_a_daemon_machines_are_told_so(quiet_world: World) -> None:
    found, code = status(quiet_world)
    assert (found["running"], code) == (False, 1) and "start it with" in found["error"]


def test_watching_in_a_terminal_ends_cleanly_on_ctrl_c(world: World) -> None:
    terminal, side = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tapgate", "status", "--watch", "--config", str(world.config_path)],
        env={**world.environ, "TERM": "xterm"},
        stdin=side,
        stdout=side,
        stderr=side,
    )
    os.close(side)
    seen = b""
    while b"Ctrl-C ends" not in seen:
        seen += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)  # what the terminal makes of Ctrl-C
    with suppress(OSError):  # it is gone with its last process
        while more := os.read(terminal, 4096):
            seen += more
    os.close(terminal)
    assert process.wait(PATIENCE_S) == 0
    assert b"Traceback" not in seen and b"Aborted" not in seen and b"runs as pid" in seen
    assert seen.rstrip().endswith(b"\x1b[?25h"), "the cursor is back"


def test_without_a_daemon_it_says_what_to_run(quiet_world: World) -> None:
    output, errors, code = finish(quiet_world.tapgate("status", "--config", str(quiet_world.config_path)))
    assert (output, code) == (b"", 1)
    assert b"start it with `tapgate daemon`" in errors


def test_a_journal_that_cannot_be_written_shows(quiet_world: World) -> None:
    world = quiet_world
    with small_state(world):
        world.start_daemon()
        fill(world.state_dir)
        finish(world.ask(event_bytes()))
        found, code = status(world)
        assert "full" in found["journal"] and code == 1


def test_a_refused_token_shows(quiet_world: World) -> None:
    world = quiet_world
    world.post("faults", method="getUpdates", kind="401", times=-1)
    world.start_daemon()
    world.until(lambda: "token" in world.errors())
    found, code = status(world)
    assert "does not accept the bot token" in found["telegram"] and code == 1
    output, _, code = finish(world.tapgate("status", "--config", str(world.config_path)))
    assert b"last heard never" in output


def test_the_log_beside_a_running_daemon(world: World) -> None:
    caller = world.ask(event_bytes())
    card = world.open_card()
    world.tap(card, "Always allow")
    finish(caller)
    world.says(card, "Allowed by Ada")
    world.environ["TAPGATE_CONFIG"] = str(world.config_path)
    output, errors, code = finish(world.tapgate("log"))
    assert (errors, code) == (b"", 0)
    assert b"npm test" in output and b"allow" in output and b"Ada" in output
    output, _, _ = finish(world.tapgate("log", "--json", "--decision", "allow"))
    (line,) = output.splitlines()
    found = json.loads(line)
    assert found["person"] == "Ada" and found["tool"] == "Bash"
    output, _, _ = finish(world.tapgate("log", "--json", "--decision", "deny"))
    assert output == b""
