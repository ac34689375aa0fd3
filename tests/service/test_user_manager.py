"""`tapgate service` with a real systemd: it starts, is sandboxed, comes back, and goes without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import event_bytes
from tests.e2e.world import World, finish, new_world
from tests.service.user_manager import UID, UserManager, user_manager


@pytest.fixture
def manager() -> Iterator[UserManager]:
    with user_manager() as found:
        yield found


@pytest.fixture
def world(manager: UserManager) -> Iterator[World]:
    """The simulator, and the config in the manager's home. The daemon is systemd's business."""
    with new_world() as found:
        found.state_dir = manager.home / ".local" / "state" / "tapgate"
        config = manager.home / ".config" / "tapgate" / "config.toml"
        config.parent.mkdir(parents=True)
        found.config_path = config
        found.socket_path = Path(f"/run/user/{UID}/tapgate/daemon.sock")
        found.configure()
        for path in (config, config.parent, config.parent.parent):
            os.chown(path, UID, UID)
        yield found


def ask(manager: UserManager, world: World) -> subprocess.Popen[bytes]:
    """The real hook, as the user whose service it is."""
    caller = subprocess.Popen(
        manager.words(*world.hook_words()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    world.processes.append(caller)
    assert caller.stdin is not None
    caller.stdin.write(event_bytes())
    caller.stdin.close()
    caller.stdin = None
    return caller


def tree(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in (home / ".config").rglob("*")}


def install(manager: UserManager) -> dict[str, str]:
    done = manager.tapgate("service", "install")
    assert done.returncode == 0, done.stdout + done.stderr
    return manager.show()


def test_it_is_installed_answers_and_goes_without_a_trace(manager: UserManager, world: World) -> None:
    units = manager.home / ".config" / "systemd" / "user"
    units.mkdir(parents=True)
    for path in (units, units.parent):
        os.chown(path, UID, UID)
    before = tree(manager.home)
    found = install(manager)
    assert (found["ActiveState"], found["UnitFileState"], found["Type"]) == ("active", "enabled", "notify")
    assert "1 person, Telegram" in found["StatusText"]
    assert manager.tapgate("status").returncode == 0
    caller = ask(manager, world)
    world.tap(world.open_card(), "Deny")
    assert b'"deny"' in finish(caller)[0]
    assert (world.state_dir / "journal.db").exists()
    status = manager.tapgate("service", "status")
    assert (status.returncode, "running" in status.stdout, "starts by itself" in status.stdout) == (0, True, True)

    stopped = manager.tapgate("service", "stop")
    assert stopped.returncode == 0 and "stopped" in stopped.stdout
    assert manager.tapgate("service", "status").returncode == 1
    output, errors, code = finish(ask(manager, world))
    assert (output, code) == (b"", 0) and b"the daemon is not running" in errors, "a stopped service is not woken"
    assert manager.tapgate("service", "start").returncode == 0
    manager.until(ActiveState="active")

    gone = manager.tapgate("service", "uninstall")
    assert gone.returncode == 0 and gone.stdout.count("removed ") == 2
    assert tree(manager.home) == before
    assert manager.show()["LoadState"] == "not-found"


def test_the_sandbox_is_in_force(manager: UserManager, world: World) -> None:
    pid = install(manager)["MainPID"]
    status = Path(f"/proc/{pid}/status").read_text()
    assert "\nNoNewPrivs:\t1\n" in status and "\nSeccomp:\t2\n" in status
    assert "\nCapBnd:\t0000000000000000\n" in status and "\nCapEff:\t0000000000000000\n" in status
    mounts = {line.split()[4]: line.split()[5] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()}
    assert mounts["/"].startswith("ro,")
    assert mounts[str(world.state_dir)].startswith("rw,")
    assert f"Max core file size        {0:<21}{0:<21}" in Path(f"/proc/{pid}/limits").read_text()
    environ = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"WATCHDOG_USEC=60000000" in environ


def test_killed_it_comes_back_and_the_waiting_caller_gets_its_answer(manager: UserManager, world: World) -> None:
    pid = int(install(manager)["MainPID"])
    caller = ask(manager, world)
    card = world.open_card()
    os.kill(pid, signal.SIGKILL)
    world.tap(card, "Deny")
    assert b'"deny"' in finish(caller)[0]
    assert manager.until(ActiveState="active", NRestarts="1")["MainPID"] != str(pid)


def test_a_wedged_daemon_is_killed_by_its_watchdog_and_comes_back(manager: UserManager, world: World) -> None:
    drop_in = manager.home / ".config" / "systemd" / "user" / "tapgate.service.d"
    drop_in.mkdir(parents=True)
    (drop_in / "fast.conf").write_text("[Service]\nWatchdogSec=1\nTimeoutAbortSec=1\n")
    for path in (drop_in, drop_in.parent, drop_in.parent.parent):
        os.chown(path, UID, UID)
    pid = int(install(manager)["MainPID"])
    os.kill(pid, signal.SIGSTOP)
    found = manager.until(ActiveState="active", NRestarts="1")
    assert found["MainPID"] != str(pid)
    gone = manager.tapgate("service", "uninstall")
    assert f"left {drop_in}: these are your own settings" in gone.stdout


def test_a_wrong_config_is_said_and_not_tried_again(manager: UserManager, world: World) -> None:
    install(manager)
    world.config_path.write_text("xyzzy = 1\n")
    started = manager.run("systemctl", "--user", "restart", "tapgate.service")
    assert started.returncode != 0
    found = manager.until(ActiveState="failed", ExecMainStatus="78")
    assert found["NRestarts"] == "0"
    status = manager.tapgate("service", "status")
    assert status.returncode == 1 and "failed (exit-code, exit code 78)" in status.stdout


def test_the_token_comes_from_a_credential(manager: UserManager, world: World) -> None:
    text = world.config_path.read_text()
    token = text.split("token = '")[1].split("'")[0]
    drop_in = manager.home / ".config" / "systemd" / "user" / "tapgate.service.d"
    drop_in.mkdir(parents=True)
    (drop_in / "token.conf").write_text("[Service]\nLoadCredential=telegram-token:%h/.config/tapgate/token\n")
    (world.config_path.parent / "token").write_text(f"{token}\n")
    for path in (drop_in, drop_in.parent, drop_in.parent.parent, world.config_path.parent / "token"):
        os.chown(path, UID, UID)
    install(manager)
    world.config_path.write_text(text.replace(f"token = '{token}'\n", ""))
    restarted = manager.run("systemctl", "--user", "restart", "tapgate.service")
    assert restarted.returncode == 0, manager.show()["StatusText"]
    world.until(lambda: world.get("state")["pollers"])


def test_a_moved_socket_and_a_strange_config_path_are_taken_over_while_it_runs(
    manager: UserManager, world: World
) -> None:
    """What stands in quotes in the unit is what systemd hands over; and nobody listens at the old place any more."""
    pid = install(manager)["MainPID"]
    strange = world.config_path.with_name("a config, 100% $HOME \"q\" 'a' \\ ü.toml")
    moved = manager.home / "run 50%" / "d.sock"
    moved.parent.mkdir()
    moved.parent.chmod(0o700)
    text = world.config_path.read_text()
    strange.write_text(text.replace(str(world.socket_path), str(moved)))
    for path in (strange, moved.parent):
        os.chown(path, UID, UID)
    done = manager.tapgate("service", "install", "--yes", "--config", str(strange))
    assert done.returncode == 0, done.stderr
    found = manager.until(ActiveState="active")
    assert found["MainPID"] != pid
    assert Path(f"/proc/{found['MainPID']}/cmdline").read_bytes().split(b"\0")[-2].decode() == str(strange)
    status = manager.tapgate("status", "--config", str(strange))
    assert status.returncode == 0, status.stderr
    old = manager.tapgate("status")
    assert old.returncode == 1 and "the daemon is not running" in old.stderr
