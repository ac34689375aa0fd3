"""How a daemon starts where somebody was before it, or where the config puts everything into one place."""

from __future__ import annotations

import socket

from tests.builders import event_bytes
from tests.e2e.world import World, finish, new_world


def test_the_socket_may_stand_beside_the_journal() -> None:
    """Both are locked, and here both locks are one file."""
    with new_world() as world:
        world.socket_path = world.state_dir / "daemon.sock"
        world.configure()
        world.start_daemon()
        caller = world.ask(event_bytes())
        world.tap(world.open_card(), "Deny")
        assert b'"deny"' in finish(caller)[0]
        _, errors, code = finish(world.tapgate("daemon", "--config", str(world.config_path)))
        assert code == 1 and b"is running already" in errors


def refused(world: World) -> str:
    """Why a daemon does not start, in its one line."""
    output, errors, code = finish(world.tapgate("daemon", "--config", str(world.config_path)))
    assert (output, code) == (b"", 1)
    assert errors.startswith(b"tapgate: ") and errors.count(b"\n") == 1, errors
    return errors.decode()


def test_a_daemon_that_cannot_have_its_socket_says_why_and_leaves_things_as_they_are() -> None:
    with new_world() as world:
        run = world.socket_path.parent
        run.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(world.socket_path))
            other.listen()
            assert "another program listens" in refused(world)
            assert world.socket_path.is_socket()
        world.socket_path.unlink()
        lock = world.socket_path.with_suffix(".lock")
        lock.unlink()
        lock.symlink_to(run / "elsewhere")
        assert "symbolic link" in refused(world)
        lock.unlink()
        lock.mkdir()
        assert "cannot write to" in refused(world)
        lock.rmdir()
        world.start_daemon()
