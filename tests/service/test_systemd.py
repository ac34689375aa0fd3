"""The service under systemd, as far as a manager that only pretends can tell."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path

import pytest

from tapgate.config import load_config
from tapgate.errors import ServiceError
from tapgate.service.manager import Service, service_of, why_not
from tapgate.service.systemd import render_service, render_socket
from tests.service.managers import FakeSystemd, no_follow


def units(home: Path) -> Path:
    return home / ".config" / "systemd" / "user"


def tree(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*")}


@pytest.fixture
def manager(home: Path) -> FakeSystemd:
    return FakeSystemd(units(home))


@pytest.fixture
def service(home: Path, manager: FakeSystemd) -> Service:
    found = service_of(platform="linux", home=home, environ=os.environ, run=manager, follow=no_follow)
    assert found is not None
    return found


def test_planning_changes_nothing_and_shows_whole_files(home: Path, service: Service, manager: FakeSystemd) -> None:
    before = tree(home)
    plan = service.plan()
    assert [change.path.name for change in plan] == ["tapgate.socket", "tapgate.service"]
    assert all(change.before is None and change.is_change for change in plan)
    assert all(line.startswith(("+", "-", "@")) for change in plan for line in change.diff.splitlines())
    assert tree(home) == before
    assert manager.told() == []


def test_install_writes_enables_and_starts_and_again_changes_nothing(service: Service, manager: FakeSystemd) -> None:
    assert not service.state().installed
    changed = service.install()
    assert [change.path.name for change in changed] == ["tapgate.socket", "tapgate.service"]
    assert manager.told() == [
        "daemon-reload",
        "enable tapgate.socket tapgate.service",
        "restart tapgate.socket",
        "restart tapgate.service",
    ]
    state = service.state()
    assert (state.installed, state.enabled, state.running, state.is_current) == (True, True, True, True)
    assert state.since == 1794970271.0
    assert "Telegram heard" in state.detail
    manager.calls.clear()
    assert service.install() == ()
    assert not [line for line in manager.told() if line.startswith(("restart", "start", "stop"))], "callers wait there"


def test_uninstall_leaves_what_was_there_before(home: Path, service: Service, manager: FakeSystemd) -> None:
    units(home).mkdir(parents=True)
    (units(home) / "other.service").write_text("[Service]\nExecStart=/bin/true\n")
    before = tree(home)
    service.install()
    assert tree(home) != before
    gone = service.uninstall()
    assert {path.name for path in gone} == {"tapgate.service", "tapgate.socket"}
    assert tree(home) == before
    assert (manager.enabled, manager.active) == (set(), set())
    assert service.uninstall() == (), "twice is as good as once"


def test_stop_stops_the_socket_too(service: Service, manager: FakeSystemd) -> None:
    """Otherwise the next question would start the daemon that somebody stopped."""
    service.install()
    service.stop()
    assert manager.active == set()
    assert "stopped" in service.state().detail
    service.start()
    assert manager.active == {"tapgate.socket", "tapgate.service"}


def test_what_is_not_installed_cannot_be_started_or_stopped(service: Service) -> None:
    for action in (service.start, service.stop):
        with pytest.raises(ServiceError, match="not installed; run `tapgate service install`"):
            action()


def test_a_manager_that_refuses_is_quoted_in_a_sentence(service: Service, manager: FakeSystemd) -> None:
    manager.refuses = "enable"
    with pytest.raises(ServiceError) as caught:
        service.install()
    assert "`systemctl --user enable tapgate.socket tapgate.service` failed: Job for" in str(caught.value)
    assert "tapgate service logs" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_daemon_started_by_hand_is_not_robbed_of_its_socket(home: Path, service: Service) -> None:
    path = load_config().socket_path
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(ServiceError, match="a tapgate daemon that is not this service listens at"):
            service.install()
        assert not units(home).exists(), "refused before anything was written"
        service.install(start=False)
        with pytest.raises(ServiceError, match="stop it first"):
            service.start()


def test_the_unit_names_the_running_installation_and_the_config_only_where_needed(home: Path, service: Service) -> None:
    service.install()
    state = service.state()
    assert Path(state.executable).is_absolute() and state.executable_exists
    assert "--config" not in (units(home) / "tapgate.service").read_text()
    other = home / 'a config with $igns & 100% "quotes".toml'
    other.write_text((home / ".config/tapgate/config.toml").read_text())
    service.install(other)
    text = (units(home) / "tapgate.service").read_text()
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    words = shlex.split(line.partition("=")[2].replace("%%", "%").replace("$$", "$"))
    assert words[-3:] == ["daemon", "--config", str(other)]
    assert service.state().is_current, "compared with the config that is installed, not with the default one"


def test_a_relative_config_is_named_by_its_whole_path(
    home: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    Path("mine.toml").write_text((home / ".config/tapgate/config.toml").read_text())
    service.install(Path("mine.toml"))
    assert f"daemon --config {home}/mine.toml\n" in (units(home) / "tapgate.service").read_text()
    monkeypatch.setenv("TAPGATE_CONFIG", "mine.toml")
    assert service.install() == (), "the variable is not the service's, so it is written out"


def test_an_interpreter_that_is_gone_is_noticed(home: Path, service: Service) -> None:
    service.install()
    unit = units(home) / "tapgate.service"
    unit.write_text(unit.read_text().replace("ExecStart=", "ExecStart=/nowhere"))
    state = service.state()
    assert (state.executable_exists, state.is_current) == (False, False)
    assert state.executable.startswith("/nowhere")


def test_files_of_another_version_are_noticed_and_written_anew(home: Path, service: Service) -> None:
    service.install()
    unit = units(home) / "tapgate.service"
    unit.write_text(unit.read_text() + "# mine\n")
    assert not service.state().is_current
    (changed,) = service.install()
    assert changed.path == unit and "-# mine" in changed.diff
    assert service.state().is_current


@pytest.mark.parametrize(
    ("result", "status", "words"),
    [
        ("exit-code", "1", "failed (exit-code, exit code 1); `tapgate service logs` shows why"),
        ("watchdog", "0", "failed (watchdog); `tapgate service logs` shows why"),
        ("exit-code", "203", "failed: the program is not there or cannot be run"),
        ("exit-code", "226", "failed: systemd could not set up its sandbox (exit code 226)"),
    ],
)
def test_a_failed_service_says_how(
    service: Service, manager: FakeSystemd, result: str, status: str, words: str
) -> None:
    service.install()
    manager.active.clear()
    manager.result, manager.main_status = result, status
    assert words in service.state().detail


def test_logs_come_from_the_journal(service: Service) -> None:
    assert list(service.logs(7)) == ["first line", "second line"]
    (followed,) = service.logs(7, True)
    assert followed == "journalctl --user --user-unit tapgate.service --no-pager --lines 7 --follow"


def test_units_go_where_the_manager_looks_whatever_the_shell_says(
    home: Path, manager: FakeSystemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manager was started at login. A shell's XDG_CONFIG_HOME does not move its units, but the config."""
    config = home / "elsewhere" / "tapgate" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text((home / ".config/tapgate/config.toml").read_text())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "elsewhere"))
    service = service_of(platform="linux", home=home, environ=os.environ, run=manager)
    assert service is not None
    service.install()
    unit = units(home) / "tapgate.service"
    assert f"Environment=XDG_CONFIG_HOME={home}/elsewhere\n" in unit.read_text()


# The socket's place


def test_the_socket_is_where_the_hook_asks(home: Path, service: Service) -> None:
    config = home / ".config/tapgate/config.toml"
    service.install()
    assert "ListenStream=%t/tapgate/daemon.sock\n" in (units(home) / "tapgate.socket").read_text()
    config.write_text(f"socket_path = '{home}/100%/d.sock'\n" + config.read_text())
    service.install()
    assert f"ListenStream={home}/100%%/d.sock\n" in (units(home) / "tapgate.socket").read_text()


@pytest.mark.parametrize(
    ("socket_path", "runtime_dir", "place"),
    [
        ("/run/user/7/tapgate/daemon.sock", "/run/user/7", "%t/tapgate/daemon.sock"),
        ("/run/user/70/tapgate/daemon.sock", "/run/user/7", "/run/user/70/tapgate/daemon.sock"),
        ("/tmp/tapgate-7/daemon.sock", "/run/user/7", "/tmp/tapgate-7/daemon.sock"),
        ("/tmp/tapgate-7/daemon.sock", None, "/tmp/tapgate-7/daemon.sock"),
    ],
)
def test_only_what_lies_in_the_runtime_directory_is_written_relative_to_it(
    socket_path: str, runtime_dir: str | None, place: str
) -> None:
    text = render_socket(socket_path=Path(socket_path), runtime_dir=Path(runtime_dir) if runtime_dir else None)
    assert f"\nListenStream={place}\n" in text


# What is rendered


def rendered(**changes: object) -> str:
    given: dict[str, object] = {"words": ("/opt/tapgate", "daemon"), "state_dir": Path("/home/ada/s"), "version": 252}
    return render_service(**{**given, **changes})  # type: ignore[arg-type]


def test_backoff_is_asked_for_only_where_systemd_knows_it() -> None:
    assert "\n#RestartSteps=" in rendered(version=253) and "\nRestartSteps=" not in rendered(version=253)
    assert "\nRestartSteps=6\nRestartMaxDelaySec=60\n" in rendered(version=254)


def test_without_namespaces_the_settings_that_would_keep_it_from_starting_are_left_out(
    service: Service, manager: FakeSystemd, home: Path
) -> None:
    manager.namespaces = False
    service.install()
    text = (units(home) / "tapgate.service").read_text()
    assert "\n#PrivateUsers=yes\n" in text and "\nPrivateUsers=" not in text
    assert "\nCapabilityBoundingSet=" not in text
    assert "\nNoNewPrivileges=yes\n" in text and "\nSystemCallFilter=@system-service\n" in text
    assert service.state().sandboxed is False
    manager.namespaces = True
    assert [change.path.name for change in service.install()] == ["tapgate.service"]
    assert service.state().sandboxed is True


def test_a_line_break_in_a_path_writes_no_setting() -> None:
    with pytest.raises(ServiceError, match="line break"):
        rendered(state_dir=Path("/home/ada/x\nExecStart=/bin/evil"))
    with pytest.raises(ServiceError, match="line break"):
        render_socket(socket_path=Path("/run/x\nSocketMode=0666"), runtime_dir=None)


def test_only_the_state_directory_can_be_written() -> None:
    text = rendered(state_dir=Path("/home/ada/a b/s"))
    lines = [line for line in text.splitlines() if line.startswith("ReadWritePaths=")]
    assert lines == ['ReadWritePaths="-/home/ada/a b/s"']
    assert "\nProtectSystem=strict\n" in text and "\nProtectHome=read-only\n" in text


# Where there is no manager


def test_without_systemctl_it_is_said_so_and_what_to_do(home: Path, manager: FakeSystemd) -> None:
    from tapgate.service.manager import CommandResult

    sentence = why_not(platform="linux", home=home, environ=os.environ, run=lambda words: CommandResult(127))
    assert "systemctl is not installed" in sentence and "run `tapgate daemon` in a terminal" in sentence


def test_in_a_container_it_is_said_so_and_what_to_do(home: Path, manager: FakeSystemd) -> None:
    manager.reachable = False
    sentence = why_not(platform="linux", home=home, environ=os.environ, run=manager)
    assert "No medium found" in sentence and "run `tapgate daemon` in a terminal" in sentence
    assert service_of(platform="linux", home=home, environ=os.environ, run=manager) is None


def test_after_su_the_missing_variable_is_named(home: Path, manager: FakeSystemd) -> None:
    manager.reachable = False
    sentence = why_not(platform="linux", home=home, environ={}, run=manager)
    assert "XDG_RUNTIME_DIR is not set" in sentence and "log in as this user" in sentence


def test_with_a_manager_there_is_nothing_to_say(home: Path, manager: FakeSystemd) -> None:
    assert why_not(platform="linux", home=home, environ=os.environ, run=manager) == ""


def test_other_systems_are_told_what_to_do(home: Path, manager: FakeSystemd) -> None:
    assert "freebsd14" in why_not(platform="freebsd14", home=home, environ={}, run=manager)
    assert manager.calls == []
