"""Reading a file for a card tells nobody more than they may know: both that it works, and that attacks on it fail."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tapgate.daemon.context import gather_context
from tapgate.daemon.disk import MOST_BYTES, FileOnDisk, read_in_project
from tapgate.model import Request
from tests.builders import make_request


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "shop" / "src").mkdir(parents=True)
    (home / "shop" / "src" / "app.py").write_text("print(1)\n")
    (home / "private.txt").write_text("do not tell\n")
    return home


def read(home: Path, path: str | Path, project: str | Path = "") -> FileOnDisk | None:
    return read_in_project(str(path), project=str(project or home / "shop"), home=str(home))


def test_a_file_of_the_project_is_read(home: Path) -> None:
    assert read(home, home / "shop" / "src" / "app.py") == FileOnDisk("print(1)\n", 9)


def test_a_file_that_is_not_there_is_new(home: Path) -> None:
    assert read(home, home / "shop" / "src" / "new.py") == FileOnDisk(is_new=True)
    assert read(home, home / "shop" / "no" / "such" / "dir.py") == FileOnDisk(is_new=True)


def test_a_project_behind_a_link_is_the_same_project(home: Path) -> None:
    (home / "link").symlink_to(home / "shop")
    found = FileOnDisk("print(1)\n", 9)
    assert read(home, home / "link" / "src" / "app.py", home / "link") == found
    assert read(home, home / "shop" / "src" / "app.py", home / "link") == found


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".git/config", ".ssh/id_rsa", "config/.npmrc", "id_ed25519", "server.pem", "secrets.yaml"),
        *("credentials.json", "terraform.tfstate", "deploy.key", ".aws/credentials", "src/.hidden"),
    ],
)
def test_hidden_files_and_secrets_are_not_read(home: Path, name: str) -> None:
    path = home / "shop" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("secret")
    assert read(home, path) is None


def test_nothing_outside_the_project_is_read(home: Path) -> None:
    shop = home / "shop"
    assert read(home, home / "private.txt") is None
    assert read(home, f"{shop}/../private.txt") is None
    assert read(home, f"{shop}/src/../../private.txt") is None
    assert read(home, "src/app.py") is None, "relative to what?"
    assert read(home, "/etc/passwd") is None


@pytest.mark.parametrize("project", ["/", "home", "above", ""])
def test_a_home_directory_is_nobody_s_project(home: Path, project: str) -> None:
    """The agent names its project. Otherwise it could have everything read."""
    named = {"home": home, "above": home.parent}.get(project, project)
    assert read_in_project(str(home / "private.txt"), project=str(named), home=str(home)) is None


def test_no_link_is_followed(home: Path) -> None:
    shop = home / "shop"
    (shop / "a.txt").symlink_to(home / "private.txt")
    (shop / "out").symlink_to(home)
    (shop / "in.py").symlink_to(shop / "src" / "app.py")
    assert read(home, shop / "a.txt") is None
    assert read(home, shop / "out" / "private.txt") is None
    assert read(home, shop / "in.py") is None


def test_a_second_name_of_a_file_is_not_read(home: Path) -> None:
    os.link(home / "private.txt", home / "shop" / "harmless.txt")
    assert read(home, home / "shop" / "harmless.txt") is None


def test_a_pipe_and_a_directory_keep_nobody_waiting(home: Path) -> None:
    os.mkfifo(home / "shop" / "pipe.txt")
    assert read(home, home / "shop" / "pipe.txt") is None
    assert read(home, home / "shop" / "src") is None
    assert read(home, home / "shop") is None


def test_of_a_large_or_binary_file_only_the_size_is_told(home: Path) -> None:
    shop = home / "shop"
    (shop / "large.txt").write_bytes(b"x" * (MOST_BYTES + 1))
    (shop / "zero.bin").write_bytes(b"a\0b")
    (shop / "latin.txt").write_bytes(b"\xff\xfe")
    assert read(home, shop / "large.txt") == FileOnDisk(size_bytes=MOST_BYTES + 1)
    assert read(home, shop / "zero.bin") == FileOnDisk(size_bytes=3)
    assert read(home, shop / "latin.txt") == FileOnDisk(size_bytes=2)


def test_odd_paths_are_left_out(home: Path) -> None:
    for path in ("\ud800", f"{home}/shop/\ud800", f"{home}/shop/" + "x" * 5000, f"{home}/shop/src/app.py/below"):
        found = read(home, path)
        assert found is None or found.is_new
    assert read_in_project(f"{home}/shop/src/app.py", project=f"{home}/gone", home=str(home)) is None


# Looking around


def test_a_request_gets_the_file_as_it_stands(home: Path) -> None:
    path = str(home / "shop" / "src" / "app.py")
    request = make_request(
        tool="Write", tool_input={"file_path": path, "content": "print(2)\n"}, cwd=str(home / "shop")
    )
    request = _in(request, home / "shop")
    found = gather_context(request, home=str(home), now=5.0).on_disk
    assert found is not None
    assert (found.at, found.size_bytes, found.diff) == (5.0, 9, "-print(1)\n+print(2)")


def test_a_call_that_only_reads_gets_nothing_of_the_file(home: Path) -> None:
    for tool in ("Read", "Bash"):
        path = str(home / "shop" / "src" / "app.py")
        request = _in(make_request(tool=tool, tool_input={"file_path": path}), home / "shop")
        assert gather_context(request, home=str(home), now=5.0).on_disk is None


def _in(request: Request, project: Path) -> Request:
    return replace(request, caller=replace(request.caller, project=str(project)))


@pytest.mark.parametrize("project", ["/proc/self", "/sys/kernel", "/dev/shm", "/run"])
def test_what_the_system_makes_up_is_nobody_s_project(home: Path, project: str) -> None:
    assert read(home, f"{project}/status", project) is None


@pytest.mark.parametrize("name", [".config/tapgate", ".config", ".local/state/tapgate", ".claude", ".claude/worktrees"])
def test_a_hidden_directory_is_nobody_s_project(home: Path, name: str) -> None:
    (home / name).mkdir(parents=True)
    (home / name / "config.toml").write_text("token = 1")
    assert read(home, home / name / "config.toml", home / name) is None


def test_a_checkout_that_an_agent_made_for_itself_is_a_project(home: Path) -> None:
    tree = home / "shop" / ".claude" / "worktrees" / "fix"
    tree.mkdir(parents=True)
    (tree / "app.py").write_text("print(2)\n")
    assert read(home, tree / "app.py", tree) == FileOnDisk("print(2)\n", 9)
