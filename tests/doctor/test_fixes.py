"""What --fix does, and what it leaves alone."""

from __future__ import annotations

import socket
import stat

import pytest

from tapgate.daemon.lock import Lock
from tapgate.doctor.check import Chmod, RemoveStaleSocket
from tapgate.doctor.fixes import apply_fix
from tapgate.errors import TapgateError
from tests.doctor.ward import Ward


def test_a_mode_is_set(ward: Ward) -> None:
    ward.config_path.chmod(0o644)
    assert apply_fix(Chmod(ward.config_path, 0o600)) == f"chmod 600 {ward.config_path}"
    assert stat.S_IMODE(ward.config_path.stat().st_mode) == 0o600


def test_a_file_that_is_gone_is_told(ward: Ward) -> None:
    with pytest.raises(TapgateError, match="was left as it is: No such file"):
        apply_fix(Chmod(ward.home / "gone", 0o600))


def test_a_stale_socket_is_removed(ward: Ward) -> None:
    assert "removed the stale" in apply_fix(RemoveStaleSocket(ward.socket_path))
    assert not ward.socket_path.exists()


def test_a_socket_that_somebody_listens_at_is_left(ward: Ward) -> None:
    ward.socket_path.unlink()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(ward.socket_path))
        sock.listen()
        with pytest.raises(TapgateError, match="somebody listens there"):
            apply_fix(RemoveStaleSocket(ward.socket_path))
    assert ward.socket_path.is_socket()


def test_beside_a_daemon_that_is_starting_the_socket_is_left(ward: Ward) -> None:
    """It holds its lock before it puts its socket there."""
    lock = Lock(ward.socket_path.with_suffix(".lock"))
    try:
        with pytest.raises(TapgateError, match="is running already"):
            apply_fix(RemoveStaleSocket(ward.socket_path))
    finally:
        lock.release()
    assert ward.socket_path.is_socket()


def test_a_file_in_the_sockets_place_is_left(ward: Ward) -> None:
    ward.socket_path.unlink()
    ward.socket_path.write_text("mine")
    with pytest.raises(TapgateError, match="it is no socket"):
        apply_fix(RemoveStaleSocket(ward.socket_path))
    assert ward.socket_path.read_text() == "mine"
