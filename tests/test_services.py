"""The service files: what they promise stands in them, and they agree with where the daemon listens by default."""

from __future__ import annotations

import configparser
import plistlib
from pathlib import Path

import pytest

from tapgate import paths

ROOT = Path(__file__).parent.parent


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((ROOT / "systemd" / name).read_text())
    return parser


def test_the_socket_unit_listens_where_the_hook_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    socket = unit("tapgate.socket")["Socket"]
    assert socket["ListenStream"].replace("%t", str(tmp_path)) == str(paths.default_socket_path())
    assert (socket["SocketMode"], socket["DirectoryMode"]) == ("0600", "0700")


def test_the_service_unit_runs_the_daemon_and_leaves_it_time_to_stop() -> None:
    service = unit("tapgate.service")["Service"]
    assert service["ExecStart"].endswith("/tapgate daemon")
    assert int(service["TimeoutStopSec"]) > 10
    assert service["NoNewPrivileges"] == "yes"


def test_the_launch_agent_is_a_property_list_that_runs_the_daemon() -> None:
    found = plistlib.loads((ROOT / "launchd" / "io.tapgate.daemon.plist").read_bytes())
    assert found["Label"] == "io.tapgate.daemon"
    assert found["ProgramArguments"][1:] == ["daemon"]
    assert found["Umask"] == 0o077
