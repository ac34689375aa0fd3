"""What is looked up around a request, and that nothing there can hold it up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tapgate.daemon.background import MOST_BYTES, look_around
from tapgate.model import Background
from tests.builders import make_request


def changing(path: Path, tool: str = "Write") -> Background:
    return look_around(make_request(tool=tool, tool_input={"file_path": str(path), "content": "new"}))


def test_the_file_that_would_change_is_read(tmp_path: Path) -> None:
    path = tmp_path / "app.py"
    assert changing(path) == Background(is_new=True)
    path.write_text("old")
    assert changing(path) == Background(before="old")
    assert changing(path, "Read") == Background(), "where nothing changes, nothing is read"


@pytest.mark.parametrize("content", [b"\xff\xfe binary", b"x" * (MOST_BYTES + 1)])
def test_what_cannot_be_shown_is_left_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "app.py"
    path.write_bytes(content)
    assert changing(path) == Background()


def test_odd_paths_do_not_wait_and_do_not_fail(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), Path("relative.py")):
        assert changing(path) == Background()
    odd = make_request(tool="Write", tool_input={"file_path": "/a\0b", "content": ""})
    assert look_around(odd) == Background()
