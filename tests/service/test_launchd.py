"""The service under launchd, as far as plistlib and a launchctl that only pretends can tell."""

from __future__ import annotations

import os
import plistlib
from pathlib import Path

import pytest

from tapgate.daemon.limits import files_needed
from tapgate.daemon.listener import MOST_CALLERS
from tapgate.errors import ServiceError
from tapgate.service.launchd import LABEL, render_agent
from tapgate.service.manager import Service, service_of, why_not
from tests.service.managers import FakeLaunchd, no_follow


@pytest.fixture
def manager() -> FakeLaunchd:
    return FakeLaunchd()


@pytest.fixture
def service(home: Path, manager: FakeLaunchd) -> Service:
    found = service_of(platform="darwin", home=home, environ=os.environ, run=manager, follow=no_follow)
    assert found is not None
    return found


def agent(home: Path) -> Path:
    return home / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def test_the_rendered_agent_is_a_property_list_that_launchd_knows() -> None:
    """Each key with the type that launchd.plist(5) gives it: launchd passes over what it cannot read."""
    strange = "/Users/ada/a <b> & \"c\" 'd' ü/config.toml"
    found = plistlib.loads(render_agent(words=("/opt/tapgate", "--config", strange), log_path=Path("/l.log")).encode())
    assert found["ProgramArguments"] == ["/opt/tapgate", "--config", strange]
    assert found["StandardOutPath"] == found["StandardErrorPath"] == "/l.log"
    types = {
        **{"Label": str, "ProgramArguments": list, "RunAtLoad": bool, "KeepAlive": dict, "ThrottleInterval": int},
        **{
            "ExitTimeOut": int,
            "Umask": int,
            "HardResourceLimits": dict,
            "SoftResourceLimits": dict,
            "ProcessType": str,
        },
        **{"StandardOutPath": str, "StandardErrorPath": str},
    }
    assert {name: type(value) for name, value in found.items()} == types
    assert found["KeepAlive"] == {"SuccessfulExit": False}, "started again when it fails, not when it was stopped"
    assert (found["Umask"], found["HardResourceLimits"]) == (0o077, {"Core": 0})
    assert found["SoftResourceLimits"]["NumberOfFiles"] >= files_needed(MOST_CALLERS)
    assert found["ExitTimeOut"] > 10


def test_it_is_installed_started_and_taken_away(home: Path, service: Service, manager: FakeLaunchd) -> None:
    agent(home).parent.mkdir(parents=True)
    before = set(home.rglob("*"))
    assert not service.state().installed
    (change,) = service.install()
    assert change.path == agent(home) and change.before is None
    state = service.state()
    assert (state.installed, state.enabled, state.running) == (True, True, True)
    assert state.executable_exists and state.is_current
    assert "pid 4711" in state.detail
    manager.calls.clear()
    assert service.install() == ()
    assert not [line for line in manager.told() if line.startswith(("bootout", "bootstrap"))], "callers wait there"
    assert service.uninstall() == (agent(home),)
    assert not manager.loaded and set(home.rglob("*")) == before
    assert service.uninstall() == ()


def test_a_changed_agent_is_loaded_anew(home: Path, service: Service, manager: FakeLaunchd) -> None:
    service.install()
    agent(home).write_text(agent(home).read_text().replace("<integer>20</integer>", "<integer>21</integer>"))
    assert not service.state().is_current
    manager.calls.clear()
    service.install()
    domain = f"gui/{os.getuid()}"
    assert manager.told() == [
        f"enable {domain}/{LABEL}",
        f"bootout {domain}/{LABEL}",
        f"bootstrap {domain} {agent(home)}",
        f"kickstart {domain}/{LABEL}",
    ]


def test_stopped_it_is_not_kept_alive(service: Service, manager: FakeLaunchd) -> None:
    service.install()
    service.stop()
    assert not manager.loaded and "stopped" in service.state().detail
    service.start()
    assert manager.running


def test_what_is_not_installed_cannot_be_started_or_stopped(service: Service) -> None:
    for action in (service.start, service.stop):
        with pytest.raises(ServiceError, match="not installed; run `tapgate service install`"):
            action()


def test_a_service_that_ended_badly_says_so(service: Service, manager: FakeLaunchd) -> None:
    service.install()
    manager.running, manager.last_exit = False, "78"
    assert "exit code 78; `tapgate service logs` shows why" in service.state().detail


def test_one_that_was_disabled_does_not_start_at_login(service: Service, manager: FakeLaunchd) -> None:
    service.install()
    manager.disabled = True
    assert not service.state().enabled


def test_a_file_that_is_no_property_list_is_no_reason_to_fail(home: Path, service: Service) -> None:
    service.install()
    agent(home).write_text("half a fi")
    state = service.state()
    assert (state.installed, state.executable, state.executable_exists, state.is_current) == (True, "", False, False)


def test_logs_come_from_the_file_that_the_agent_names(home: Path, service: Service) -> None:
    assert list(service.logs(7)) == [], "nothing was said yet"
    service.install()
    log = Path(plistlib.loads(agent(home).read_bytes())["StandardErrorPath"])
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("x\n")
    assert list(service.logs(7)) == ["first line", "second line"]
    assert list(service.logs(7, True)) == [f"tail -n 7 -F {log}"]


def test_without_a_session_it_is_said_so_and_what_to_do(home: Path, manager: FakeLaunchd) -> None:
    manager.session = False
    sentence = why_not(platform="darwin", home=home, environ={}, run=manager)
    assert "no graphical session" in sentence and "run `tapgate daemon` in a terminal" in sentence
    assert service_of(platform="darwin", home=home, environ={}, run=manager) is None
