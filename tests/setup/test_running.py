"""The daemon as the set-up commands find it: by its locks, never by what a dead one left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tapgate.cli.dialog import Dialog
from tapgate.cli.running import DaemonControl, short_lived_daemon
from tapgate.config import Config
from tapgate.daemon.lock import Lock, holder_of
from tapgate.errors import LockedError, TapgateError
from tapgate.paths import bot_lock_path, bot_name, default_runtime_dir
from tests.e2e.world import PATIENCE_S
from tests.simulator.driver import TOKEN


@pytest.fixture
def config(tmp_path: Path) -> Config:
    for name in ("run", "state"):
        (tmp_path / name).mkdir(mode=0o700)
    return Config(socket_path=tmp_path / "run" / "daemon.sock", state_dir=tmp_path / "state")


def daemons_of(config: Config) -> DaemonControl:
    dialog = Dialog(Console(file=StringIO()), yes=True, interactive=False)
    return DaemonControl(dialog, config, config.state_dir / "config.toml", None)


@pytest.fixture
def bystander() -> subprocess.Popen[bytes]:
    """Somebody else's process, which must not come to harm."""
    return subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])


def test_nobody_runs_and_looking_leaves_nothing_behind(config: Config) -> None:
    assert daemons_of(config).pid() is None
    assert list(config.state_dir.iterdir()) == list(config.socket_path.parent.iterdir()) == []


@pytest.mark.parametrize("which", ["socket", "state"])
def test_whoever_holds_either_lock_is_the_daemon(config: Config, which: str) -> None:
    path = config.socket_path.with_suffix(".lock") if which == "socket" else config.state_dir / "daemon.lock"
    lock = Lock(path)
    assert daemons_of(config).pid() == os.getpid()
    lock.release()
    assert daemons_of(config).pid() is None


def test_the_number_that_a_killed_daemon_left_is_never_signalled(
    config: Config, bystander: subprocess.Popen[bytes]
) -> None:
    """The socket's lock is a leftover with the number of a process that is another one by now; the state's is held."""
    config.socket_path.with_suffix(".lock").write_text(f"{bystander.pid}\n")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(config.state_dir / "daemon.lock")], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline()
        with daemons_of(config).replaced():
            assert holder.wait(PATIENCE_S) == -signal.SIGTERM
            assert bystander.poll() is None
    finally:
        for process in (holder, bystander):
            process.kill()
            process.communicate()


HOLDER = """
import signal, sys
from pathlib import Path
from tapgate.daemon.lock import Lock, holder_of
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""


def test_in_the_daemons_place_both_locks_are_held(config: Config) -> None:
    with daemons_of(config).replaced():
        for path in (config.socket_path.with_suffix(".lock"), config.state_dir / "daemon.lock"):
            with pytest.raises(LockedError):
                Lock(path)
    assert daemons_of(config).pid() is None


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path: where a socket would not fit, another directory is taken."""
    with tempfile.TemporaryDirectory(prefix="tg-", dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


def test_whoever_polls_this_bot_with_another_config_is_met(config: Config, runtime: Path) -> None:
    """Pairing polls the bot, so it takes the place of a daemon that shares neither the socket nor the state."""
    (runtime / "tapgate").mkdir(mode=0o700)
    path = bot_lock_path(default_runtime_dir(), bot_name(config.telegram.base_url, TOKEN))
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline()
        with daemons_of(config).replaced(TOKEN):
            assert holder.wait(PATIENCE_S) == -signal.SIGTERM
            with pytest.raises(LockedError):
                Lock(path)
    finally:
        holder.kill()
        holder.communicate()
    assert holder_of(path) is None


def test_where_that_lock_cannot_be_pairing_goes_on(config: Config, runtime: Path) -> None:
    (runtime / "tapgate").write_text("in the way")
    with daemons_of(config).replaced(TOKEN):
        assert daemons_of(config).pid() == os.getpid()


def test_a_lock_whose_holder_is_unknown_is_nobody_to_signal(config: Config) -> None:
    lock = Lock(config.socket_path.with_suffix(".lock"))
    lock.path.write_text("")
    with pytest.raises(TapgateError, match="stop that daemon"), daemons_of(config).replaced():
        pass
    lock.release()


def test_a_short_lived_daemon_that_cannot_start_says_why(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("colour = 'red'\n")
    with (
        pytest.raises(TapgateError, match=r"the daemon does not start: .*colour: unknown key"),
        short_lived_daemon(path),
    ):
        pass
