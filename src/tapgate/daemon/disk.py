"""Reads the file that a call would change, where that tells nobody more than they may know. Failures leave it out.

What is read goes to the phone, so: only regular files below the project, reached without a symbolic link; nothing
hidden, nothing whose name says that it holds secrets; small; text. Blocking: run it in a worker thread.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from tapgate.risk.paths import holds_secrets, is_secret

MOST_BYTES = 256 * 1024
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe must not keep us waiting


@dataclass(frozen=True, slots=True)
class FileOnDisk:
    """`text` is None where the file is too large or no text; `is_new`: nothing stands there."""

    text: str | None = None
    size_bytes: int = 0
    is_new: bool = False


def read_in_project(path: str, *, project: str, home: str, own_home: str = "") -> FileOnDisk | None:
    """The file as it stands, or None where it is not to be looked at or cannot be.

    `home` is that of the user who asks, and nothing is read where it is not known. `own_home` is the daemon's, where
    its own files may be: no project either.
    """
    if not home:
        return None
    try:
        parts = _inside(path, project, (home, own_home or home))
        return _read(Path(project).resolve(strict=True), parts) if parts else None
    except (OSError, ValueError, RuntimeError):
        return None


def _inside(path: str, project: str, homes: tuple[str, ...]) -> tuple[str, ...]:
    """The names on the way from the project down to the file; none where there is no such way."""
    if not (Path(path).is_absolute() and Path(project).is_absolute()) or ".." in Path(path).parts:
        return ()
    root = Path(project).resolve(strict=True)
    # The agent names its project. A home directory, or what lies above it, is nobody's project.
    above = [parent for home in homes for parent in (Path(home).resolve() / "_").parents]
    if root in (Path("/"), *above) or _is_private(root):
        return ()
    for base in (Path(project), root):
        if Path(path).is_relative_to(base):
            parts = Path(path).relative_to(base).parts
            break
    else:
        return ()
    whole = str(root.joinpath(*parts))
    if any(part.startswith(".") for part in parts) or is_secret(whole) or holds_secrets(str(Path(whole).parent)):
        return ()
    return parts


def _is_private(root: Path) -> bool:
    """Whether nothing below is anybody's project: what the system makes up, our own files, hidden directories.

    A checkout that an agent made for itself lies in a hidden directory, too.
    """
    parts = root.parts
    if parts[1] in ("proc", "sys", "dev", "run"):
        return True
    hidden = [number for number, part in enumerate(parts) if part.startswith(".")]
    return any(parts[number + 1 : number + 2] != ("worktrees",) or len(parts) < number + 3 for number in hidden)


def _read(root: Path, parts: tuple[str, ...]) -> FileOnDisk | None:
    """Step by step from the project's directory, so that nothing on the way can be exchanged for a link."""
    fd = os.open(root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        file = os.open(parts[-1], _FLAGS, dir_fd=fd)
    except FileNotFoundError:
        return FileOnDisk(is_new=True)
    finally:
        os.close(fd)
    try:
        return _text_of(file)
    finally:
        os.close(file)


def _text_of(file: int) -> FileOnDisk | None:
    facts = os.fstat(file)
    # A second name of the file may stand anywhere, also where it would not be looked at.
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
        return None
    if facts.st_size > MOST_BYTES:
        return FileOnDisk(size_bytes=facts.st_size)
    data = os.pread(file, MOST_BYTES + 1, 0)
    if len(data) > MOST_BYTES or b"\0" in data:
        return FileOnDisk(size_bytes=len(data))
    try:
        return FileOnDisk(text=data.decode("utf-8"), size_bytes=len(data))
    except UnicodeDecodeError:
        return FileOnDisk(size_bytes=len(data))
