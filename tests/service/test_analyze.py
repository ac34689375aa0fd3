"""What systemd itself says about the units: verified, and rated for their hardening."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tapgate.service.systemd import render_service, render_socket

ROOT = Path(__file__).parent.parent.parent
MOST_EXPOSURE = {"user": 1.7, "system": 1.4}  # what docs/hardening.md says; lower is better, "OK" is under 5

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None and not os.environ.get("TAPGATE_REQUIRE_SYSTEMD"),
    reason="systemd-analyze is not installed; install systemd to run this (TAPGATE_REQUIRE_SYSTEMD=1 demands it)",
)


def analyze(*words: str, runtime_dir: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *words],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime_dir), "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def verify(folder: Path, *scope: str) -> str:
    """Everything systemd has to say about the two units; "" is all that is accepted."""
    done = analyze(
        "verify", *scope, str(folder / "tapgate.service"), str(folder / "tapgate.socket"), runtime_dir=folder
    )
    return done.stdout + done.stderr + (f"exit code {done.returncode}" if done.returncode else "")


def write_units(folder: Path, *, version: int = 252, sandbox: bool = True, strange: str = "") -> Path:
    state_dir = folder / f"state{strange}"
    words = ("/bin/true", "daemon", "--config", str(folder / f"config{strange}.toml"))
    service = render_service(words=words, state_dir=state_dir, version=version, sandbox=sandbox)
    sock = render_socket(socket_path=folder / f"run{strange}" / "d.sock", runtime_dir=folder)
    (folder / "tapgate.service").write_text(service)
    (folder / "tapgate.socket").write_text(sock)
    return folder


@pytest.mark.parametrize("sandbox", [True, False])
def test_systemd_accepts_the_rendered_units(tmp_path: Path, sandbox: bool) -> None:
    assert verify(write_units(tmp_path, sandbox=sandbox), "--user") == ""


def test_systemd_accepts_paths_with_signs_that_mean_something_to_it(tmp_path: Path) -> None:
    assert verify(write_units(tmp_path, strange=" 100% $HOME \"q\" 'a' \\ ü"), "--user") == ""


def test_a_program_that_is_not_there_would_be_noticed(tmp_path: Path) -> None:
    folder = write_units(tmp_path)
    unit = folder / "tapgate.service"
    unit.write_text(unit.read_text().replace("ExecStart=/bin/true", "ExecStart=/bin/no such thing"))
    assert "is not executable" in verify(folder, "--user")


def test_systemd_accepts_the_templates_as_they_stand(tmp_path: Path) -> None:
    """For those who copy them by hand. Only the program is another one: there is none in that home."""
    for name in ("tapgate.service", "tapgate.socket"):
        text = (ROOT / "systemd" / name).read_text()
        (tmp_path / name).write_text(text.replace("ExecStart=%h/.local/bin/tapgate", "ExecStart=/bin/true"))
    assert verify(tmp_path, "--user") == ""


def test_systemd_accepts_the_units_of_a_daemon_with_a_user_of_its_own(tmp_path: Path) -> None:
    for name in ("tapgate.service", "tapgate.socket"):
        text = (ROOT / "systemd" / "system" / name).read_text()
        (tmp_path / name).write_text(text.replace("ExecStart=/opt/tapgate/bin/tapgate", "ExecStart=/bin/true"))
    assert verify(tmp_path) == ""


def test_a_key_that_systemd_does_not_know_would_be_noticed(tmp_path: Path) -> None:
    folder = write_units(tmp_path)
    unit = folder / "tapgate.service"
    unit.write_text(unit.read_text().replace("[Service]", "[Service]\nProtectEverything=yes"))
    assert "ProtectEverything" in verify(folder, "--user")


@pytest.mark.parametrize("kind", ["user", "system"])
def test_the_exposure_is_as_low_as_the_docs_say(tmp_path: Path, kind: str) -> None:
    if kind == "user":
        write_units(tmp_path)
    else:
        shutil.copytree(ROOT / "systemd" / "system", tmp_path, dirs_exist_ok=True)
    done = analyze("security", "--offline=yes", "--no-pager", str(tmp_path / "tapgate.service"), runtime_dir=tmp_path)
    found = re.search(r"Overall exposure level for tapgate.service: ([\d.]+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    exposure = float(found[1])
    assert exposure <= MOST_EXPOSURE[kind]
    docs = (ROOT / "docs" / "hardening.md").read_text()
    assert f"**{MOST_EXPOSURE[kind]} OK**" in docs
