"""Only one program polls a bot. A command that looks at things from another config never becomes the second one."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import event_bytes
from tests.e2e.world import World, finish, new_world
from tests.simulator.driver import ADA, TOKEN


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as one:
        one.start_daemon()
        one.until(lambda: one.get("state")["pollers"])
        yield one


def other_config(world: World, *, state_dir: Path) -> Path:
    """The same bot, with a socket where no daemon listens."""
    path = world.home / "other.toml"
    path.write_text(
        f"socket_path = '{world.home}/elsewhere/daemon.sock'\nstate_dir = '{state_dir}'\n"
        f"[telegram]\ntoken = '{TOKEN}'\nbase_url = '{world.url}'\nper_chat_s = 0.0\n"
        f"[[people]]\nuser_id = {ADA}\nname = 'Ada'\n"
    )
    path.chmod(0o600)
    return path


def examine(world: World, config: Path) -> dict[str, dict[str, Any]]:
    output, errors, _ = finish(world.tapgate("doctor", "--json", "--config", str(config)), 120)
    assert errors == b""
    return {check["name"]: check for check in json.loads(output)["checks"]}


def polls_of_others(world: World) -> list[dict[str, Any]]:
    """The daemon's own polls name the kinds of updates that it wants; nobody else's do."""
    return [call for call in world.calls("getUpdates") if "allowed_updates" not in call["params"]]


@pytest.mark.parametrize("same_state", [True, False], ids=["same state directory", "other state directory"])
def test_doctor_does_not_poll_beside_a_daemon_that_it_does_not_find(world: World, same_state: bool) -> None:
    """The daemon listens at another socket than this config says, or keeps its state elsewhere, too. The doctor sees
    by its locks that somebody polls this bot, says so, and leaves the bot alone: the daemon meets no conflict."""
    config = other_config(world, state_dir=world.state_dir if same_state else world.home / "other-state")
    checks = examine(world, config)
    assert polls_of_others(world) == []
    found = checks["telegram.poller"]
    assert found["status"] == "skipped" and f"pid {world.daemon.pid}" in found["detail"] if world.daemon else False
    assert "tapgate status" in found["advice"]
    running = checks["daemon.running"]
    assert running["status"] == "fault" and "not at this config's socket" in running["detail"]
    caller = world.ask(event_bytes())
    world.tap(world.open_card(), "Deny")
    assert b'"deny"' in finish(caller)[0]
    assert "another program polls" not in world.errors()


def test_from_another_home_the_daemon_is_found_as_well(world: World) -> None:
    """Neither HOME nor the config leads to the daemon; the lock that goes by the bot does."""
    config = other_config(world, state_dir=world.home / "other-state")
    (world.home / "other-home").mkdir()
    world.environ["HOME"] = str(world.home / "other-home")
    assert examine(world, config)["telegram.poller"]["status"] == "skipped"
    assert polls_of_others(world) == []


def test_where_nobody_polls_the_doctor_still_looks_for_others(world: World) -> None:
    """The locks of a daemon that was killed are nobody's: the check is made as before."""
    world.stop_daemon(signal.SIGKILL)
    config = other_config(world, state_dir=world.state_dir)
    assert examine(world, config)["telegram.poller"]["status"] == "ok"
    assert len(polls_of_others(world)) == 1


def test_a_second_daemon_with_the_same_bot_says_so_and_ends(world: World) -> None:
    """Two daemons would take each other's taps, whatever their sockets and directories are."""
    config = other_config(world, state_dir=world.home / "other-state")
    before = len(world.calls("getUpdates"))
    output, errors, code = finish(world.tapgate("daemon", "--config", str(config)))
    assert (output, code) == (b"", 1)
    assert b"is running already" in errors and f"pid {world.daemon.pid}".encode() in errors if world.daemon else False
    assert len(world.calls("getUpdates")) - before <= 1, "the first one's own poll at most"
    assert "another program polls" not in world.errors()
