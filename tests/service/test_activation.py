"""Socket activation with systemd's own tool, and what callers hear when the daemon behind it cannot start."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.builders import event_bytes
from tests.e2e.world import PATIENCE_S, World, finish, new_world

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-socket-activate") is None and not os.environ.get("TAPGATE_REQUIRE_SYSTEMD"),
    reason="systemd-socket-activate is not installed; install systemd (TAPGATE_REQUIRE_SYSTEMD=1 demands it)",
)


@contextlib.contextmanager
def activated(world: World) -> Iterator[subprocess.Popen[bytes]]:
    """It listens, and becomes the daemon when the first caller comes."""
    world.socket_path.parent.mkdir(mode=0o700, exist_ok=True)
    activator = subprocess.Popen(
        [
            *("systemd-socket-activate", "--listen", str(world.socket_path)),
            *(f"--setenv={name}" for name in ("HOME", "PATH", "PYTHONUNBUFFERED", "LANG")),
            *(sys.executable, "-m", "tapgate", "daemon", "--config", str(world.config_path)),
        ],
        env=world.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    world.processes.append(activator)
    assert activator.stderr is not None
    assert b"Listening on" in activator.stderr.readline()
    yield activator


def test_the_first_question_starts_the_daemon_and_is_answered() -> None:
    with new_world() as world, activated(world) as daemon:
        caller = world.ask(event_bytes())
        world.tap(world.open_card(), "Deny")
        assert b'"deny"' in finish(caller)[0]
        world.daemon = daemon
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(PATIENCE_S) == 0
        assert world.socket_path.exists(), "it belongs to systemd, not to the daemon"


def test_the_daemon_makes_nothing_where_the_socket_is() -> None:
    """The directory may be somebody else's, and is read-only in the service's sandbox."""
    with new_world() as world, activated(world):
        world.socket_path.parent.chmod(0o755)
        caller = world.ask(event_bytes())
        world.tap(world.open_card(), "Deny")
        assert b'"deny"' in finish(caller)[0]
        assert [path.name for path in world.socket_path.parent.iterdir()] == [world.socket_path.name]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            "[telegram]\ntoken = '123456789:AAH-secret_secret_secret_secret_s'\nxyzzy = 5\n",
            b"telegram.xyzzy: unknown key",
        ),
        ("[telegram]\ntoken = '123456789:AAH-secret_secret_secret_secret_s'\n", b"nobody is listed under [[people]]"),
        ("", b"there is no bot token"),
    ],
    ids=["unknown key", "no people", "no token"],
)
def test_callers_of_a_daemon_with_a_wrong_config_are_told_at_once(config: str, words: bytes) -> None:
    """systemd holds the socket: without a word they would wait in its queue until their deadline."""
    with new_world() as world:
        hook = world.hook_words(deadline_s=3600)
        world.config_path.write_text(config)
        with activated(world) as daemon:
            caller = subprocess.run(
                hook, input=event_bytes(), env=world.environ, capture_output=True, timeout=PATIENCE_S, check=False
            )
            assert (caller.stdout, caller.returncode) == (b"", 0)
            assert words in caller.stderr and b"no opinion" in caller.stderr and b"secret" not in caller.stderr
            assert daemon.wait(PATIENCE_S) == 78, "the unit does not start it again for that"


def test_callers_are_told_when_another_daemon_has_the_journal() -> None:
    with new_world() as world:
        world.start_daemon()
        held = world.socket_path
        world.socket_path = world.home / "two" / "d.sock"
        world.configure()
        with activated(world) as daemon:
            output, errors, code = finish(world.ask(event_bytes(), deadline_s=3600))
            assert (output, code) == (b"", 0)
            assert b"is running already" in errors and b"no opinion" in errors
            assert daemon.wait(PATIENCE_S) == 1
        world.socket_path = held


def test_many_callers_with_large_questions_are_all_turned_away() -> None:
    from tapgate.daemon.refusal import turn_away

    with new_world() as world:
        world.socket_path.parent.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(world.socket_path))
            sock.listen(64)
            callers = [world.ask(event_bytes(command="x" * 3_000_000), deadline_s=3600) for _ in range(5)]
            turned = 0
            sock.settimeout(PATIENCE_S)
            while turned < len(callers):
                with contextlib.suppress(BlockingIOError):
                    turned += turn_away(sock, "123456789:AAH-secret_secret_secret_secret_s is no config")
            for caller in callers:
                output, errors, code = finish(caller)
                assert (output, code) == (b"", 0)
                assert b"the daemon cannot start: <token> is no config; no opinion" in errors
