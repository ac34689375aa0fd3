"""Writing somebody else's file: whole or not at all, through links, with its mode, and never over somebody's work."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tapgate.errors import SettingsError
from tapgate.hooks.change import MOST_BYTES, Change, apply, backup_path, read
from tapgate.hooks.settings import plan_install, plan_uninstall
from tests.hooks.test_registration import CONFIG

OLD, NEW = b'{"a": 1}\n', b'{"a": 2}\n'


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_change_is_written_and_what_was_there_is_kept_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    path.chmod(0o640)
    backup = apply(Change(path, OLD, NEW))
    assert path.read_bytes() == NEW
    assert backup == backup_path(path, NEW)
    assert backup.read_bytes() == OLD
    assert mode_of(path) == mode_of(backup) == 0o640  # settings may hold keys: the backup is as private as they are
    assert sorted(tmp_path.iterdir()) == sorted([path, backup])


def test_a_new_file_follows_the_umask_and_its_directories_are_made(tmp_path: Path) -> None:
    path = tmp_path / "project" / ".claude" / "settings.json"
    mask = os.umask(0o027)
    try:
        assert apply(Change(path, None, NEW)) is None
    finally:
        os.umask(mask)
    assert path.read_bytes() == NEW
    assert mode_of(path) == 0o640


@pytest.mark.parametrize("found", [b'{"a": 3}\n', None])
def test_a_file_that_was_changed_since_it_was_read_is_left_alone(found: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    if found is not None:
        path.write_bytes(found)
    with pytest.raises(SettingsError, match="run the command again"):
        apply(Change(path, OLD, NEW))
    assert (path.read_bytes() if path.exists() else None) == found
    assert len(list(tmp_path.iterdir())) == (found is not None)


def test_a_file_that_appeared_since_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    change = plan_install(CONFIG, agent="claude", path=path)
    path.write_bytes(OLD)
    with pytest.raises(SettingsError, match="run the command again"):
        apply(change)
    assert path.read_bytes() == OLD


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    """Dotfiles often lie in a repository and are linked from home."""
    target, path = tmp_path / "dotfiles" / "claude.json", tmp_path / "home" / "settings.json"
    target.parent.mkdir()
    path.parent.mkdir()
    target.write_bytes(OLD)
    target.chmod(0o600)
    path.symlink_to("../dotfiles/claude.json")
    backup = apply(plan_install(CONFIG, agent="claude", path=path))
    assert path.is_symlink()
    assert b"tapgate" in target.read_bytes()
    assert mode_of(target) == 0o600
    assert backup is not None
    assert backup.parent == path.parent  # and no stray file in the repository
    assert list(target.parent.iterdir()) == [target]
    apply(plan_uninstall(agent="claude", path=path))
    assert path.is_symlink()
    assert target.read_bytes() == OLD


def test_a_link_that_leads_nowhere_yet_is_followed_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.symlink_to(tmp_path / "later" / "claude.json")
    apply(plan_install(CONFIG, agent="claude", path=path))
    assert (tmp_path / "later" / "claude.json").is_file()
    apply(plan_uninstall(agent="claude", path=path))
    assert path.is_symlink()
    assert not path.exists()


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.symlink_to(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        plan_install(CONFIG, agent="claude", path=path)


def test_a_read_only_file_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    path.chmod(0o444)
    change = plan_install(CONFIG, agent="claude", path=path)
    with pytest.raises(SettingsError, match=r"read-only; run: chmod u\+w"):
        apply(change)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(SettingsError, match="nothing was changed"):
            apply(plan_install(CONFIG, agent="claude", path=path))
    finally:
        tmp_path.chmod(0o755)
    assert path.read_bytes() == OLD


def test_a_directory_in_the_files_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        plan_install(CONFIG, agent="claude", path=path)


def test_a_file_in_the_directorys_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_bytes(b"")
    with pytest.raises(SettingsError, match="cannot be read"):
        plan_install(CONFIG, agent="claude", path=tmp_path / ".claude" / "settings.json")
    with pytest.raises(SettingsError, match=r"cannot be (?:written|read)"):
        apply(Change(tmp_path / ".claude" / "settings.json", None, NEW))


def test_a_disk_that_is_full_leaves_the_file_and_no_rest(tmp_path: Path) -> None:
    """/dev/full cannot stand in for a directory, so the limit of a file's size does."""
    import resource
    import signal

    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    change = Change(path, OLD, b" " * 100_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(SettingsError, match="cannot be written"):
            apply(change)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == OLD
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_nothing_to_change_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    assert Change(path, OLD, OLD).is_nothing
    assert apply(Change(path, None, None)) is None
    assert not path.exists()


def test_a_backup_of_an_earlier_life_does_not_come_back(tmp_path: Path) -> None:
    """Installed over {}, the file then deleted by hand, installed again: before this one there was no file."""
    path = tmp_path / "settings.json"
    path.write_bytes(b"{}\n")
    apply(plan_install(CONFIG, agent="claude", path=path))
    path.unlink()
    apply(plan_install(CONFIG, agent="claude", path=path))
    apply(plan_uninstall(agent="claude", path=path))
    assert not path.exists()


def test_a_forged_backup_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"model": "opus"}')
    backup = apply(plan_install(CONFIG, agent="claude", path=path))
    assert backup is not None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b'{"disableAllHooks": true}')
    backup.unlink()
    backup.symlink_to(elsewhere)
    apply(plan_uninstall(agent="claude", path=path))
    assert path.read_bytes() == b'{"model": "opus"}'


def test_the_diff_is_unified(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    assert Change(path, b"{}", b'{\n  "a": 1\n}\n').diff() == (
        f'--- {path}\n+++ {path}\n@@ -1 +1,3 @@\n-{{}}\n\\ No newline at end of file\n+{{\n+  "a": 1\n+}}\n'
    )
    assert Change(path, None, b"{}\n").diff().startswith("--- /dev/null\n+++ ")
    assert Change(path, b"{}\n", None).diff().splitlines()[1] == "+++ /dev/null"
    assert Change(path, OLD, OLD).diff() == ""


def test_a_terminal_obeys_nothing_in_a_diff(tmp_path: Path) -> None:
    """C1 controls and changes of direction may stand in JSON as they are."""
    said = Change(tmp_path / "s.json", '{"a": "\u009b2J \u202e"}\r\n'.encode(), b"{\t}\n").diff()
    assert all(one.isprintable() or one == "\n" for one in said)
    assert "\\u009b2J \\u202e" in said


def test_a_link_of_a_project_that_leads_to_a_device_or_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A repository can hold links, and /dev/zero has no end."""
    path = tmp_path / "settings.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(SettingsError, match="not a file"):
        read(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="not a file"):
        read(path)


def test_settings_larger_than_any_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(SettingsError, match="larger than any settings"):
        read(path)
