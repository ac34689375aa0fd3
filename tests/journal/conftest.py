"""A journal in a directory of its own, and file systems that a test may fill or make read-only."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tapgate.journal import Journal

from .samples import Opener


@pytest.fixture
async def open_journal(tmp_path: Path) -> AsyncIterator[Opener]:
    opener = Opener(tmp_path)
    yield opener
    await opener.close()


@pytest.fixture
async def journal(open_journal: Opener) -> Journal:
    return await open_journal()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    _mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def remount(small_disk: Path) -> Callable[[str], None]:
    """Makes the small disk "ro" or "rw"."""
    return lambda mode: _mount("-o", f"remount,{mode}", str(small_disk))


def _mount(*arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command on this machine")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"mounting a tmpfs is not permitted here (it takes root): {error.stderr.strip()}")
