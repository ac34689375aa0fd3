"""The file on disk: its modes, what becomes of a damaged one, and faults of the disk that heal."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tapgate.errors import JournalError
from tapgate.journal import Journal, TrailQuery
from tapgate.journal.database import describe_fault

from .samples import NOW, Opener, answered, asked, make_request, parse


@pytest.fixture(params=[0o000, 0o077, 0o177], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def set_aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("journal.db.damaged-*"))


def failure_of(journal: Journal) -> str:
    assert journal.failure is not None
    return journal.failure


async def ids(journal: Journal) -> list[str]:
    return [memory.request.id for memory in await journal.load(parse)]


@pytest.mark.usefixtures("umask")
async def test_files_are_for_their_owner_whatever_the_umask(open_journal: Opener) -> None:
    open_journal.path.parent.parent.chmod(0o700)
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    assert mode_of(journal.path.parent) == 0o700
    assert [mode_of(beside(journal.path, ending)) for ending in ("", "-wal", "-shm")] == [0o600] * 3


async def test_files_that_others_could_read_are_closed_to_them(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    for ending in ("", "-wal", "-shm"):
        beside(journal.path, ending).chmod(0o644)
    again = await open_journal()
    assert [mode_of(beside(again.path, ending)) for ending in ("", "-wal", "-shm")] == [0o600] * 3


async def test_second_open_changes_nothing(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked()], at=NOW, offset=3)
    await journal.close()
    with closing(sqlite3.connect(open_journal.path)) as connection:
        before = list(connection.iterdump())
    await (await open_journal()).close()
    with closing(sqlite3.connect(open_journal.path)) as connection:
        assert list(connection.iterdump()) == before
    assert open_journal.reports == []


async def test_readers_never_wait_for_the_writer(journal: Journal) -> None:
    with closing(sqlite3.connect(journal.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def _make_garbage(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to look like one " * 200)


def _make_short_garbage(path: Path) -> None:
    path.write_bytes(b"garbage")


def _make_truncated(path: Path) -> None:
    size_bytes = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size_bytes // 2)


def _make_odd_cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(100)


def _make_holes(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(4096 * 3))


def _make_foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")


def _make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "something").touch()


def _make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        _make_garbage,
        _make_short_garbage,
        _make_truncated,
        _make_odd_cut,
        _make_holes,
        _make_foreign,
        _make_directory,
        _make_fifo,
    ],
    ids=lambda spoil: spoil.__name__.removeprefix("_make_"),
)
async def test_spoiled_file_is_set_aside_and_a_new_one_begun(
    open_journal: Opener, spoil: Callable[[Path], None]
) -> None:
    journal = await open_journal()
    await journal.record([asked(str(number)) for number in range(50)], at=NOW)
    await journal.close()
    spoil(open_journal.path)
    before = open_journal.path.read_bytes() if open_journal.path.is_file() else None
    journal = await open_journal()
    [kept] = set_aside(journal.path)
    assert kept.name == "journal.db.damaged-20260101T000100Z"
    assert before is None or kept.read_bytes() == before
    [report] = open_journal.reports
    assert str(journal.path) in report
    assert kept.name in report
    assert journal.failure is None
    await journal.record([asked("fresh")], at=NOW)
    assert await ids(journal) == ["fresh"]
    assert mode_of(journal.path) == 0o600


async def test_second_damage_in_a_second_keeps_both(open_journal: Opener) -> None:
    for _ in range(3):
        journal = await open_journal()
        await journal.close()
        _make_garbage(open_journal.path)
    await open_journal()
    assert len(set_aside(open_journal.path)) == 3


async def _spoil_while_open(journal: Journal) -> None:
    """Another hand writes, so that the cache is stale, and then over the whole file."""
    with closing(sqlite3.connect(journal.path)) as connection:
        connection.execute("INSERT INTO meta VALUES ('other', 1)")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with journal.path.open("r+b") as file:
        file.write(b"\xa5" * journal.path.stat().st_size)


async def test_damage_while_running_fails_this_record_and_begins_anew(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    await _spoil_while_open(journal)
    with pytest.raises(JournalError, match=r"journal\.db was damaged .* not recorded"):
        await journal.record([asked("lost")], at=NOW)
    kept = set_aside(journal.path)
    assert kept[0].read_bytes().startswith(b"\xa5")
    assert any(path.name.endswith("-wal") for path in kept)
    assert len(open_journal.reports) == 1
    assert journal.failure is None
    await journal.record([asked("next")], at=NOW)
    with pytest.raises(JournalError, match="r1 is not in the journal"):  # its request went with the old file
        await journal.record([answered("r1")], at=NOW)
    assert await ids(journal) == ["next"]


async def test_damage_found_by_reading_is_no_exception(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    await _spoil_while_open(journal)
    assert await journal.load(parse) == []
    assert len(set_aside(journal.path)) >= 1
    await journal.record([asked("next")], at=NOW)
    assert await ids(journal) == ["next"]


@pytest.mark.parametrize("removal", ["file", "directory", "replaced"])
async def test_removed_file_is_noticed_before_anything_is_promised(open_journal: Opener, removal: str) -> None:
    journal = await open_journal()
    await journal.record([asked()], at=NOW)
    if removal == "directory":
        shutil.rmtree(journal.path.parent)
    else:
        journal.path.unlink()
    if removal == "replaced":
        _make_garbage(journal.path)
    await journal.record([asked("next")], at=NOW)
    assert "removed or replaced" in open_journal.reports[0]
    await journal.close()
    assert (await ids(await open_journal()))[-1] == "next"


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size_bytes in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size_bytes)
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return filler


async def record_until_full(journal: Journal) -> list[str]:
    """The ids that were acknowledged before the first refusal."""
    kept: list[str] = []
    with pytest.raises(JournalError, match=r"journal\.db: nothing can be recorded: the disk is full; free some space"):
        for number in range(1000):
            await journal.record([asked(make_request(str(number), input={"command": "x" * 9000}))], at=NOW)
            kept.append(str(number))
    return kept


async def test_full_disk_refuses_and_heals(open_journal: Opener, small_disk: Path) -> None:
    journal = await open_journal(path=small_disk / "state" / "journal.db")
    filler = fill(small_disk)
    kept = await record_until_full(journal)
    with pytest.raises(JournalError, match="the disk is full"):
        await journal.record([asked(make_request("refused", input={"command": "x" * 9000}))], at=NOW)
    assert "the disk is full" in failure_of(journal)
    await journal.note_poll(NOW)  # no room for it either, perhaps; it is no exception
    filler.unlink()
    await journal.record([asked("after")], at=NOW)
    assert journal.failure is None
    assert await ids(journal) == [*kept, "after"]
    await journal.close()
    assert await ids(await open_journal(path=journal.path)) == [*kept, "after"]
    assert not set_aside(journal.path)


async def test_journal_that_fills_the_disk_itself_keeps_what_it_acknowledged(
    open_journal: Opener, small_disk: Path
) -> None:
    journal = await open_journal(path=small_disk / "journal.db")
    kept = await record_until_full(journal)
    assert kept
    assert await ids(journal) == kept
    await journal.close()
    assert await ids(await open_journal(path=journal.path)) == kept


async def test_journal_opened_on_a_full_disk_heals(open_journal: Opener, small_disk: Path) -> None:
    filler = fill(small_disk)
    journal = await open_journal(path=small_disk / "journal.db")
    assert str(journal.path) in failure_of(journal)
    with pytest.raises(JournalError):
        await journal.record([asked()], at=NOW)
    assert await journal.load(parse) == []
    filler.unlink()
    await journal.record([asked()], at=NOW)
    assert journal.failure is None
    assert await ids(journal) == ["r1"]


@pytest.mark.parametrize("existing", [True, False], ids=["existing file", "no file yet"])
async def test_read_only_disk_refuses_and_heals(
    open_journal: Opener, small_disk: Path, remount: Callable[[str], None], existing: bool
) -> None:
    path = small_disk / "journal.db"
    if existing:
        journal = await open_journal(path=path)
        await journal.record([asked()], at=NOW)
        await journal.close()
    remount("ro")
    journal = await open_journal(path=path)
    assert failure_of(journal)
    for _ in range(2):
        with pytest.raises(JournalError, match=r"journal\.db: nothing can be recorded: .*read-only"):
            await journal.record([asked("r2")], at=NOW)
    with pytest.raises(JournalError):
        await journal.trail(TrailQuery())
    await journal.note_poll(NOW)
    assert (await journal.load(parse), await journal.offset(), await journal.last_poll()) == ([], None, None)
    assert await journal.purge() == 0
    assert open_journal.reports == []  # said once already, in `failure`
    remount("rw")
    await journal.record([asked("r2")], at=NOW)
    assert journal.failure is None
    assert await ids(journal) == (["r1", "r2"] if existing else ["r2"])


async def test_directory_that_cannot_exist_is_a_failure_in_words(open_journal: Opener, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    journal = await open_journal(path=tmp_path / "a file" / "journal.db")
    assert "Not a directory" in failure_of(journal)
    with pytest.raises(JournalError):
        await journal.record([asked()], at=NOW)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
def test_every_fault_names_the_file_the_cause_and_what_to_do(number: int) -> None:
    sentence = describe_fault(Path("journal.db"), OSError(number, os.strerror(number)))
    assert re.fullmatch(r"journal\.db: nothing can be recorded: .+; .+", sentence)
