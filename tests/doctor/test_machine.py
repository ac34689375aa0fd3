"""Findings about daemon, socket, journal and disk: each provoked, and its advice read."""

from __future__ import annotations

import os
import sqlite3

import pytest

from tapgate.doctor.check import Chmod, RemoveStaleSocket, Status
from tapgate.errors import TapgateError
from tests.doctor.ward import FAULT, NOW, OK, SKIPPED, STATUS, WARNING, Ward, told

# Daemon


def test_no_daemon(ward: Ward) -> None:
    ward.stop_daemon()
    found = ward.check("daemon.running")
    assert found.status is FAULT and "the agent asks at the terminal" in found.detail
    assert "tapgate service start" in found.advice and "tapgate daemon" in found.advice
    assert set(ward.asked) == {ward.socket_path}


def test_a_daemon_that_does_not_answer(ward: Ward) -> None:
    ward.status = TapgateError("the daemon does not answer; restart it")
    found = ward.check("daemon.running")
    assert found.status is FAULT and "does not answer" in found.detail and "restart it" in found.advice
    assert ward.check("daemon.socket").status is OK, "somebody holds it: it is not stale"


def test_a_daemon_of_another_version(ward: Ward) -> None:
    ward.status = told(version="0.0.9")
    found = ward.check("daemon.version")
    assert found.status is WARNING and "the daemon is 0.0.9, this command 0.1.0" in found.detail
    assert "restart it" in found.advice


def test_a_config_that_is_newer_than_the_daemon(ward: Ward) -> None:
    os.utime(ward.config_path, (NOW - 60, NOW - 60))
    found = ward.check("daemon.config")
    assert found.status is WARNING and "after the daemon started" in found.detail and "restart it" in found.advice


def test_a_daemon_that_does_not_hear_telegram(ward: Ward) -> None:
    ward.status = told(telegram="Telegram cannot be reached (ConnectError)", last_poll_at=NOW - 400)
    found = ward.check("daemon.poll")
    assert found.status is FAULT and "ConnectError" in found.detail and "400 s ago" in found.detail
    assert "goes on by itself" in found.advice


@pytest.mark.parametrize("heard_at", [None, NOW - 91])
def test_a_daemon_that_went_deaf(ward: Ward, heard_at: float | None) -> None:
    ward.status = told(last_poll_at=heard_at)
    found = ward.check("daemon.poll")
    assert found.status is FAULT and "no tap can be heard" in found.detail and "restart it" in found.advice
    ward.status = told(last_poll_at=heard_at, started_at=NOW - 5)
    assert ward.check("daemon.poll").status is SKIPPED, "it has only just started"


def test_the_last_errors_of_the_daemon(ward: Ward) -> None:
    reports = [
        {"at": NOW - 7200, "sentence": "of long ago", "times": 1},
        *({"at": NOW - 60, "sentence": f"error {number}", "times": number} for number in range(1, 5)),
    ]
    ward.status = told(reports=reports)
    found = ward.check("daemon.reports")
    assert found.status is WARNING and "4 in the last hour" in found.detail
    assert "error 4 (×4)" in found.detail and "error 1" not in found.detail and "long ago" not in found.detail
    assert "tapgate service logs" in found.advice
    ward.status = told(reports=reports[:1])
    assert ward.check("daemon.reports").status is OK
    ward.status = {key: value for key, value in STATUS.items() if key != "reports"}
    assert ward.check("daemon.reports").status is SKIPPED


def test_too_few_open_files_for_as_many_callers_as_the_daemon_takes(ward: Ward) -> None:
    found = ward.check("daemon.files")
    assert (found.status, found.detail) == (OK, "65,536 allowed, 2,128 needed at most")
    ward.status = told(file_limit=1024)
    found = ward.check("daemon.files")
    assert found.status is WARNING and "may have 1,024 open" in found.detail and "ulimit -n 2128" in found.advice
    ward.status = {key: value for key, value in STATUS.items() if key != "file_limit"}
    assert ward.check("daemon.files").status is SKIPPED


# Socket


def test_a_socket_path_that_is_too_long(ward: Ward) -> None:
    ward.socket_path = ward.home / ("d" * 100) / "daemon.sock"
    ward.configure()
    found = ward.check("daemon.socket")
    assert found.status is FAULT and "sockets allow 103" in found.detail
    assert "set a shorter socket_path" in found.advice
    assert ward.check("daemon.running").status is FAULT and ward.asked[-1:] != [ward.socket_path]


def test_a_socket_directory_that_is_open_to_others(ward: Ward) -> None:
    ward.stop_daemon()
    ward.socket_path.parent.chmod(0o755)
    found = ward.check("daemon.socket_dir")
    assert found.status is FAULT and "chmod 700" in found.advice and found.fix == Chmod(ward.socket_path.parent, 0o700)


def test_a_socket_directory_that_is_none_or_another_users(ward: Ward) -> None:
    ward.socket_path.unlink()
    ward.socket_path.parent.rmdir()
    ward.stop_daemon()
    assert ward.check("daemon.socket").status is SKIPPED, "it comes with the daemon"
    ward.socket_path.parent.write_text("")
    found = ward.check("daemon.socket_dir")
    assert found.status is FAULT and "not a directory" in found.detail and "remove it" in found.advice
    assert ward.check("daemon.socket").status is FAULT
    ward.socket_path.parent.unlink()
    ward.socket_path.parent.mkdir(mode=0o700)
    ward.uid = os.getuid() + 1
    found = ward.check("daemon.socket_dir")
    assert found.status is FAULT and "another user" in found.detail and "set another path" in found.advice


def test_something_else_in_the_sockets_place(ward: Ward) -> None:
    ward.socket_path.unlink()
    ward.socket_path.write_text("")
    found = ward.check("daemon.socket")
    assert found.status is FAULT and "is not a socket" in found.detail and "remove it" in found.advice
    assert found.fix is None, "it is somebody's file"


def test_a_socket_of_another_user(ward: Ward) -> None:
    ward.uid = os.getuid() + 1
    assert ward.check("daemon.socket").status is OK, "a daemon with a user of its own, which answers"
    ward.stop_daemon()
    if os.getuid() == 0:
        os.chown(ward.socket_path, 12345, 12345)
    found = ward.check("daemon.socket")
    assert found.status is FAULT and "no hook will ask there" in found.detail
    assert "set another socket_path" in found.advice


def test_a_socket_that_a_killed_daemon_left(ward: Ward) -> None:
    ward.stop_daemon()
    found = ward.check("daemon.socket")
    assert found.status is WARNING and "left by a daemon that was killed" in found.detail
    assert "the next daemon replaces it" in found.advice and found.fix == RemoveStaleSocket(ward.socket_path)


def test_a_socket_that_is_open_to_others(ward: Ward) -> None:
    ward.socket_path.chmod(0o666)
    found = ward.check("daemon.socket")
    assert found.status is WARNING and "0666" in found.detail and found.fix == Chmod(ward.socket_path, 0o600)
    assert "chmod 600" in found.advice


# Journal and disk


def test_no_journal_yet(ward: Ward) -> None:
    found = ward.check("journal.file")
    assert found.status is SKIPPED and "comes with the first daemon run" in found.detail


def make_journal(ward: Ward) -> None:
    with sqlite3.connect(ward.state_dir / "journal.db") as connection:
        connection.execute("PRAGMA application_id = 1952542823")
        connection.execute("CREATE TABLE padding (text)")
        connection.executemany("INSERT INTO padding VALUES (?)", [("x" * 3000,)] * 20)
    connection.close()
    (ward.state_dir / "journal.db").chmod(0o600)


def test_a_damaged_journal(ward: Ward) -> None:
    make_journal(ward)
    assert ward.check("journal.file").status is OK
    path = ward.state_dir / "journal.db"
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 3] = b"\xff" * 4096 * 2
    path.write_bytes(content)
    found = ward.check("journal.file")
    assert found.status is FAULT and "damaged" in found.detail + found.advice and "restart the daemon" in found.advice
    path.write_bytes(b"this is no database at all, but long enough to look like one" * 100)
    assert ward.check("journal.file").status is FAULT


def test_a_journal_of_another_program_or_a_newer_tapgate(ward: Ward) -> None:
    path = ward.state_dir / "journal.db"
    make_journal(ward)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    found = ward.check("journal.file")
    assert found.status is FAULT and "upgrade tapgate" in found.detail
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id = 7")
    connection.close()
    assert "another program's database" in ward.check("journal.file").detail


def test_a_journal_that_was_set_aside(ward: Ward) -> None:
    make_journal(ward)
    kept = ward.state_dir / "journal.db.damaged-20260101T000100Z"
    kept.write_text("")
    found = ward.check("journal.file")
    assert found.status is WARNING and str(kept) in found.detail and "delete that file" in found.advice


def test_a_large_journal(ward: Ward) -> None:
    make_journal(ward)
    wal = ward.state_dir / "journal.db-wal"
    with wal.open("wb") as file:  # sparse: it takes no room
        file.truncate(2 * 1024**3)
    found = ward.check("journal.file")
    assert found.status is WARNING and "2048" in found.detail and "keep_days" in found.advice


def test_a_journal_that_others_can_read(ward: Ward) -> None:
    make_journal(ward)
    path = ward.state_dir / "journal.db"
    path.chmod(0o644)
    found = ward.check("journal.permissions")
    assert found.status is WARNING and found.fix == Chmod(path, 0o600) and "chmod 600" in found.advice


def test_a_journal_directory_that_is_open_to_others(ward: Ward) -> None:
    ward.state_dir.chmod(0o755)
    found = ward.check("journal.dir")
    assert found.status is FAULT and found.fix == Chmod(ward.state_dir, 0o700) and "chmod 700" in found.advice


def test_a_journal_that_cannot_be_written(ward: Ward) -> None:
    ward.writable = False
    assert ward.check("journal.writable").status is OK, "the running daemon knows better"
    ward.status = told(journal="journal.db: nothing can be recorded: the disk is full; free some space")
    found = ward.check("journal.writable")
    assert found.status is FAULT and "the disk is full" in found.detail and "goes on by itself" in found.advice
    ward.stop_daemon()
    found = ward.check("journal.writable")
    assert found.status is FAULT and "nothing allowed" in found.detail and "state_dir" in found.advice


@pytest.mark.parametrize(("free_mib", "status"), [(0, FAULT), (19, FAULT), (21, WARNING), (499, WARNING), (501, OK)])
def test_a_disk_that_fills_up(ward: Ward, free_mib: int, status: Status) -> None:
    ward.free = free_mib * 1024 * 1024
    found = ward.check("journal.disk")
    assert found.status is status and f"{free_mib} MiB free" in found.detail
    assert ("free some space" in found.advice) == (status is not OK)


def test_a_disk_of_which_nothing_can_be_told(ward: Ward) -> None:
    ward.free = OSError(5, "Input/output error")
    found = ward.check("journal.disk")
    assert found.status is SKIPPED and "Input/output error" in found.detail
