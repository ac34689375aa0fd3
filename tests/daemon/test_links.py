"""Paths are followed as the kernel would follow them, without opening anything and without waiting for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tapgate.daemon.links import MOST_HANGING, MOST_LINKS, DiskLinks, Walker
from tapgate.risk.assess import examine
from tapgate.risk.links import LinkEnd, Way
from tests.builders import tool_use


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A home with keys, and a project with links, under a path that has no link in it."""
    home = tmp_path.resolve() / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / "shop" / "src").mkdir(parents=True)
    (home / "shop" / "src" / "app.py").write_text("print(1)\n")
    (home / "shop" / "docs").symlink_to("../.ssh")
    return home


def follow(path: Path | str, *, last: bool = True) -> Way:
    return Walker().follow(str(path), last=last)


def test_what_has_no_link_is_what_it_says(disk: Path) -> None:
    assert follow(disk / "shop" / "src").path == str(disk / "shop" / "src")
    assert follow(disk / "shop" / "src").is_directory
    assert not follow(disk / "shop" / "src" / "app.py").is_directory
    assert follow(f"{disk}//shop/./src/").path == str(disk / "shop" / "src")
    assert follow(disk / "shop" / "no" / "such" / "file").path == str(disk / "shop" / "no" / "such" / "file")
    assert follow("/") == Way("/", is_directory=True)


def test_links_are_followed_relative_absolute_and_one_after_another(disk: Path) -> None:
    shop = disk / "shop"
    (shop / "a").symlink_to("b")
    (shop / "b").symlink_to(shop / "src" / ".." / "docs")
    assert follow(shop / "docs" / "authorized_keys").path == str(disk / ".ssh" / "authorized_keys")
    assert follow(shop / "a" / "authorized_keys").path == str(disk / ".ssh" / "authorized_keys")
    assert follow(shop / "a").is_directory


def test_two_dots_behind_a_link_lead_to_where_the_link_leads(disk: Path) -> None:
    """The words of docs/../x are the project's x; the file that is opened is the home's."""
    assert follow(disk / "shop" / "docs" / ".." / "x").path == str(disk / "x")
    assert follow(f"{disk}/shop/new/../docs/x").path == str(disk / ".ssh" / "x"), "new may be made before"


def test_the_last_link_is_left_where_it_is_handled_itself(disk: Path) -> None:
    assert follow(disk / "shop" / "docs", last=False).path == str(disk / "shop" / "docs")
    assert follow(f"{disk}/shop/docs/", last=False).path == str(disk / ".ssh")
    assert follow(disk / "shop" / "docs" / "x", last=False).path == str(disk / ".ssh" / "x")


def test_dangling_link_leads_to_what_a_write_would_make(disk: Path) -> None:
    (disk / "shop" / "rc").symlink_to("../.bashrc")
    (disk / "shop" / "deep").symlink_to("../no/such/directory")
    assert follow(disk / "shop" / "rc") == Way(str(disk / ".bashrc"))
    assert follow(disk / "shop" / "deep" / "x").path == str(disk / "no" / "such" / "directory" / "x")


def test_loop_is_told_from_a_long_way(disk: Path) -> None:
    shop = disk / "shop"
    (shop / "self").symlink_to("self")
    (shop / "one").symlink_to("two")
    (shop / "two").symlink_to("one/x")
    assert follow(shop / "self" / "x").end is LinkEnd.LOOP
    assert follow(shop / "one").end is LinkEnd.LOOP
    for number in range(MOST_LINKS + 1):
        (shop / f"l{number}").symlink_to(f"l{number + 1}")
    assert follow(shop / "l1").end is LinkEnd.REACHED
    assert follow(shop / "l0").end is LinkEnd.UNKNOWN, "the kernel follows no more than 40"
    with pytest.raises(OSError, match="symbolic links"):
        (shop / "l0").stat()


@pytest.mark.parametrize("path", ["/\ud800/x", "/a\0b", "/" + "n" * 300, "/" + "d/" * 3000])
def test_no_path_raises(path: str) -> None:
    assert isinstance(follow(path), Way)


def test_links_of_proc_are_left_alone() -> None:
    """They lead elsewhere for the process that opens them than for this one."""
    assert follow("/proc/self/cwd/x").path == "/proc/self/cwd/x"
    assert follow("/proc/self/fd/1").path == "/proc/self/fd/1"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_directory_that_its_own_user_has_closed_is_unknown(disk: Path) -> None:
    """The agent may close a directory, and open it again in the command that goes through a link in it."""
    closed = disk / "shop" / "closed"
    closed.mkdir(mode=0)
    assert follow(closed / "x").end is LinkEnd.UNKNOWN
    closed.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0 or not Path("/root").is_dir(), reason="root may look everywhere")
def test_directory_of_another_user_is_barred() -> None:
    assert follow("/root/x/y").end is LinkEnd.BARRED


def test_file_with_a_second_name_is_told(disk: Path) -> None:
    (disk / "shop" / "twin").hardlink_to(disk / "shop" / "src" / "app.py")
    assert follow(disk / "shop" / "twin").is_shared
    (disk / "shop" / "alone").write_text("")
    assert not follow(disk / "shop" / "alone").is_shared
    assert not follow(disk / "shop" / "src").is_shared


def test_names_that_fit_a_pattern_are_links_and_directories(disk: Path) -> None:
    walker = Walker()
    (disk / "shop" / "file").write_text("")
    (disk / "shop" / ".hidden").symlink_to("src")
    assert sorted(walker.matching(str(disk / "shop"), "*") or ()) == ["docs", "src"]
    assert walker.matching(str(disk / "shop"), "d?c*") == ["docs"]
    assert walker.matching(str(disk / "shop"), ".h*") == [".hidden"]
    assert walker.matching(str(disk / "no"), "*") == ()
    assert walker.matching(str(disk / "shop"), "*" * 65) is None


def test_nothing_is_asked_where_it_would_be_mounted_for_that(disk: Path) -> None:
    """Looking below an automounter's directory makes it mount what the path names."""
    (disk / "net" / "here").mkdir(parents=True)
    (disk / "net" / "evil").mkdir()
    walker = Walker(autofs=((f"{disk}/net/here", False), (f"{disk}/net", True)))
    assert walker.follow(f"{disk}/net/evil/x").end is LinkEnd.UNKNOWN
    assert walker.matching(f"{disk}/net/evil", "*") is None
    assert walker.follow(f"{disk}/net/here/x").end is LinkEnd.REACHED, "what is mounted already"
    assert walker.follow(f"{disk}/shop/src").end is LinkEnd.REACHED


# A disk that does not answer


class HangingWalker(Walker):
    """Answers once it is let go."""

    def __init__(self, until: threading.Event) -> None:
        super().__init__(autofs=())
        self.until = until
        self.asked = 0

    def follow(self, path: str, *, last: bool = True) -> Way:
        self.asked += 1
        self.until.wait()
        return super().follow(path, last=last)

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        self.until.wait()
        return ()


def test_links_are_followed_in_a_thread_of_their_own(disk: Path) -> None:
    with DiskLinks() as links:
        assert links.follow(f"{disk}/shop/docs/x").path == str(disk / ".ssh" / "x")
        assert links.follow(f"{disk}/shop/docs", last=False).path == str(disk / "shop" / "docs")
        assert links.matching(f"{disk}/shop", "do*") == ["docs"]


def test_disk_that_hangs_gives_unknown_and_is_asked_once() -> None:
    until = threading.Event()
    walker = HangingWalker(until)
    try:
        with DiskLinks(walker, answer_s=0.01) as links:
            assert links.follow("/nfs/a") == Way("/nfs/a", LinkEnd.UNKNOWN)
            assert links.follow("/nfs/b") == Way("/nfs/b", LinkEnd.UNKNOWN)
            assert links.matching("/nfs", "*") is None
        assert walker.asked <= 1
    finally:
        until.set()


def test_hanging_threads_are_few_and_are_forgotten_when_they_come_back(disk: Path) -> None:
    until = threading.Event()
    try:
        for _ in range(MOST_HANGING + 3):
            with DiskLinks(HangingWalker(until), answer_s=0.01) as links:
                links.follow("/nfs/a")
        assert sum(thread.name == "links" for thread in threading.enumerate()) <= MOST_HANGING
        with DiskLinks() as links:
            assert links.follow(str(disk)).end is LinkEnd.UNKNOWN, "no more threads are risked"
    finally:
        until.set()
    for thread in threading.enumerate():
        if thread.name == "links":
            thread.join(60)
    with DiskLinks() as links:
        assert links.follow(str(disk)).end is LinkEnd.REACHED


def test_write_on_a_disk_that_hangs_does_not_look_harmless() -> None:
    until = threading.Event()
    try:
        with DiskLinks(HangingWalker(until), answer_s=0.01) as links:
            use = tool_use("Write", {"file_path": "/nfs/shop/a.py", "content": "x"})
            found = examine(use, cwd="/nfs/shop", project="/nfs/shop", home="/home/dev", links=links)
        assert [risk.name for risk in found.risks] == ["unchecked-path"]
    finally:
        until.set()
