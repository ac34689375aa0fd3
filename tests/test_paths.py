"""Where files live, and that no directory is used into which somebody else could reach."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from tapgate import paths
from tapgate.errors import SocketError
from tapgate.paths import MAX_SOCKET_PATH_BYTES, check_socket_path, default_socket_path, make_private_dir

STRANGER = 54321
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory that only its user can write to, whatever the umask is."""
    tmp_path.chmod(0o755)
    return tmp_path


# Directories


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_a_new_directory_is_private_whatever_the_umask(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_private_dir(home / "a" / "tapgate")
    finally:
        os.umask(before)
    assert mode_of(home / "a" / "tapgate") == 0o700
    assert mode_of(home / "a") & 0o022 == 0


def test_a_private_directory_of_ours_is_used_again(home: Path) -> None:
    make_private_dir(home / "tapgate")
    (home / "tapgate" / "file").touch()
    make_private_dir(home / "tapgate")
    assert (home / "tapgate" / "file").exists()


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o755, 0o770, 0o777, 0o702])
def test_a_directory_open_to_others_is_refused_with_what_to_run(home: Path, mode: int) -> None:
    (home / "tapgate").mkdir()
    (home / "tapgate").chmod(mode)
    with pytest.raises(SocketError, match=f"is open to other users; run: chmod 700 {home / 'tapgate'}"):
        make_private_dir(home / "tapgate")
    assert mode_of(home / "tapgate") == mode  # it is not ours to change: somebody may be using it


def test_a_symlink_is_refused_even_to_a_good_directory(home: Path) -> None:
    """Under /tmp somebody else may have put it there, and may turn it round later."""
    make_private_dir(home / "real")
    (home / "tapgate").symlink_to(home / "real")
    with pytest.raises(SocketError, match="is not a directory; remove it"):
        make_private_dir(home / "tapgate")


def test_a_file_in_its_place_is_refused(home: Path) -> None:
    (home / "tapgate").touch()
    with pytest.raises(SocketError, match="is not a directory; remove it, or set another path in the config"):
        make_private_dir(home / "tapgate")


def test_a_file_above_is_refused(home: Path) -> None:
    (home / "file").touch()
    with pytest.raises(SocketError, match="cannot create"):
        make_private_dir(home / "file" / "tapgate")
    with pytest.raises(SocketError, match="cannot create"):
        make_private_dir(home / "file" / "deeper" / "tapgate")


def test_a_parent_that_only_the_users_own_group_can_write_to_is_fine(home: Path) -> None:
    """Where every user has a group of their own, umask 002 makes ~/.local/state like that."""
    (home / "state").mkdir()
    (home / "state").chmod(0o775)
    make_private_dir(home / "state" / "tapgate")
    assert mode_of(home / "state" / "tapgate") == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to another group")
def test_a_parent_that_another_group_can_write_to_is_refused(home: Path) -> None:
    (home / "shared").mkdir()
    os.chown(home / "shared", -1, os.getgid() + 4242)
    (home / "shared").chmod(0o775)
    with pytest.raises(SocketError, match="other users may replace"):
        make_private_dir(home / "shared" / "tapgate")


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_parent_that_others_can_write_to_is_refused(home: Path, mode: int) -> None:
    """They could move our directory away and put theirs in its place."""
    (home / "shared").mkdir()
    (home / "shared").chmod(mode)
    with pytest.raises(SocketError, match=f"other users may replace what is in {home / 'shared'}"):
        make_private_dir(home / "shared" / "tapgate")
    assert not (home / "shared" / "tapgate").exists()


def test_a_sticky_parent_such_as_tmp_is_fine(home: Path) -> None:
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)
    make_private_dir(home / "tmp" / "tapgate")
    assert mode_of(home / "tmp" / "tapgate") == 0o700


@needs_root
def test_a_directory_of_somebody_else_is_refused(home: Path) -> None:
    (home / "tapgate").mkdir(mode=0o700)
    os.chown(home / "tapgate", STRANGER, -1)
    with pytest.raises(SocketError, match=rf"belongs to another user \(uid {STRANGER}\)"):
        make_private_dir(home / "tapgate")


@needs_root
def test_a_parent_of_somebody_else_is_refused(home: Path) -> None:
    (home / "theirs").mkdir(mode=0o755)
    os.chown(home / "theirs", STRANGER, -1)
    with pytest.raises(SocketError, match="other users may replace what is in"):
        make_private_dir(home / "theirs" / "tapgate")


@pytest.mark.skipif(os.getuid() == 0, reason="to root, nothing belongs to somebody else")
def test_a_directory_of_root_is_refused_for_anybody_else() -> None:
    with pytest.raises(SocketError, match=r"belongs to another user \(uid 0\)"):
        make_private_dir(Path("/usr"))


# The socket's path


@pytest.mark.parametrize("name", ["x" * 60, "ä" * 30])
def test_a_socket_path_may_have_103_bytes_and_no_more(name: str) -> None:
    """macOS has 104 with the closing NUL; bytes count, not characters."""
    length = len(os.fsencode(name))
    fits = Path("/" + "d" * (MAX_SOCKET_PATH_BYTES - 2 - length)) / name
    assert len(os.fsencode(fits)) == MAX_SOCKET_PATH_BYTES == 103
    check_socket_path(fits)
    longer = Path(f"{fits}y")
    with pytest.raises(SocketError, match="is 104 bytes long and sockets allow 103; set a shorter socket_path"):
        check_socket_path(longer)


def test_the_socket_lies_in_the_runtime_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path(tempfile.mkdtemp(dir="/tmp", prefix="r"))
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        path = default_socket_path()
        assert path.name == "daemon.sock"
        if os.uname().sysname == "Linux":
            assert path == runtime / "tapgate" / "daemon.sock"
        make_private_dir(path.parent)
    finally:
        shutil.rmtree(runtime)


def test_where_the_runtime_directory_is_too_deep_the_socket_lies_in_one_of_the_user_s_under_tmp(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / ("d" * 120)
    deep.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    path = default_socket_path()
    if os.uname().sysname == "Linux":
        assert path == Path(f"/tmp/tapgate-{os.getuid()}/daemon.sock")
    check_socket_path(path)


@needs_root
@pytest.mark.skipif(os.uname().sysname != "Linux", reason="elsewhere there is no such fallback")
def test_where_somebody_took_the_runtime_directory_s_place_another_is_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise any user of the machine could keep tapgate from starting, or be handed its socket."""
    home.chmod(0o1777)
    taken = home / f"runtime-{os.getuid()}"
    taken.mkdir(mode=0o700)
    os.chown(taken, STRANGER, -1)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    path = default_socket_path()
    assert taken not in path.parents


def test_the_default_places_are_the_user_s_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    assert home in paths.default_config_path().parents
    assert paths.default_config_path().name == "config.toml"
    assert home in paths.default_state_dir().parents
