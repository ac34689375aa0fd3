"""The service files: what they promise stands in them, they agree with the daemon, and a wheel has them too."""

from __future__ import annotations

import configparser
import os
import plistlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tapgate import paths
from tapgate.cli.daemon import CONFIG_EXIT
from tapgate.config import CREDENTIAL
from tapgate.daemon.app import DRAIN_S, LEAVE_S
from tapgate.daemon.limits import files_needed
from tapgate.daemon.listener import MOST_CALLERS
from tapgate.daemon.sockets import BACKLOG

ROOT = Path(__file__).parent.parent
UNITS = ["tapgate.service", "system/tapgate.service"]


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((ROOT / "systemd" / name).read_text())
    return parser


def test_the_socket_unit_listens_where_the_hook_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    socket = unit("tapgate.socket")["Socket"]
    assert socket["ListenStream"].replace("%t", str(tmp_path)) == str(paths.default_socket_path())
    assert (socket["SocketMode"], socket["DirectoryMode"]) == ("0600", "0700")


@pytest.mark.parametrize("name", UNITS)
def test_the_service_unit_runs_the_daemon_and_leaves_it_time_to_stop(name: str) -> None:
    service = unit(name)["Service"]
    assert "/tapgate daemon" in service["ExecStart"]
    assert int(service["TimeoutStopSec"]) > LEAVE_S + DRAIN_S
    assert (service["Type"], service["NotifyAccess"], service["WatchdogSec"]) == ("notify", "main", "60")
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("on-failure", str(CONFIG_EXIT))


@pytest.mark.parametrize("name", UNITS)
def test_the_service_unit_is_hardened(name: str) -> None:
    service = unit(name)["Service"]
    for key in (
        "NoNewPrivileges",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "RestrictRealtime",
        "RestrictNamespaces",
    ):
        assert service[key] == "yes"
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"], service["LimitCORE"]) == ("strict", "", "0")
    assert service["RestrictAddressFamilies"].split() == ["AF_UNIX", "AF_INET", "AF_INET6"]
    assert service["UMask"] == "0077"


@pytest.mark.parametrize("name", UNITS)
def test_the_service_may_have_as_many_callers_as_it_takes(name: str) -> None:
    """Each is an open file, and those that come at once wait in the socket's queue."""
    assert int(unit(name)["Service"]["LimitNOFILE"]) >= files_needed(MOST_CALLERS)
    assert int(unit(name.replace(".service", ".socket"))["Socket"]["Backlog"]) == BACKLOG >= MOST_CALLERS


@pytest.mark.parametrize("name", UNITS)
def test_no_file_that_the_agent_sees_looks_missing_to_the_daemon(name: str) -> None:
    """A card that calls an existing file new would lie. What is closed is an error; what is empty is not."""
    service = unit(name)["Service"]
    assert "PrivateTmp" not in service and "TemporaryFileSystem" not in service and "RootDirectory" not in service
    assert service["ProtectHome"] in ("read-only", "yes")


def test_the_daemon_with_a_user_of_its_own_gets_config_and_token_as_credentials() -> None:
    text = (ROOT / "systemd" / "system" / "tapgate.service").read_text()
    assert f"\nLoadCredential={CREDENTIAL}:/etc/tapgate/token\n" in text
    assert "\nLoadCredential=config.toml:/etc/tapgate/config.toml\n" in text
    service = unit("system/tapgate.service")["Service"]
    assert service["ExecStart"] == "/opt/tapgate/bin/tapgate daemon --config %d/config.toml"
    assert service["User"] == "tapgate"
    assert "PrivateUsers" not in service, "it would see every caller as nobody"


def test_the_launch_agent_is_a_property_list_that_runs_the_daemon() -> None:
    found = plistlib.loads((ROOT / "launchd" / "io.tapgate.daemon.plist").read_bytes())
    assert found["Label"] == "io.tapgate.daemon"
    assert found["ProgramArguments"][1:] == ["daemon"]
    assert found["Umask"] == 0o077


def test_a_wheel_holds_the_templates_and_renders_from_them(tmp_path: Path) -> None:
    """`pip install` brings no checkout along."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    script = (
        "import sys; from pathlib import Path; import tapgate.service.files as files\n"
        "from tapgate.service.systemd import render_service\n"
        "assert Path(files.__file__).is_relative_to(sys.argv[1]), files.__file__\n"
        "print(render_service(words=('/x', 'daemon'), state_dir=Path('/s'), version=252))\n"
        "print(files.read_template('launchd/io.tapgate.daemon.plist'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "site")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\nExecStart=/x daemon\n" in done.stdout and "io.tapgate.daemon" in done.stdout
