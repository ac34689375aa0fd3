"""A change to somebody else's file: shown first, then written in one piece, with what was there kept beside it."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tapgate.errors import SettingsError

MOST_BYTES = 16 * 1024 * 1024  # of somebody's settings


@dataclass(frozen=True, slots=True)
class Change:
    """What a file holds and what it is to hold; None is no file. `spent` are backups that `after` makes needless."""

    path: Path
    before: bytes | None
    after: bytes | None
    spent: tuple[Path, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return self.before == self.after

    def diff(self) -> str:
        """For a person to read: unified, empty where nothing changes."""
        before, after = _lines(self.before), _lines(self.after)
        names = [os.devnull if data is None else str(self.path) for data in (self.before, self.after)]
        return "".join(_marked(difflib.unified_diff(before, after, names[0], names[1])))


def read(path: Path) -> bytes | None:
    """What the file holds; None where there is none. A project may have put a link there that leads anywhere."""
    try:
        # Without waiting: a pipe may have nobody at its other end.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{path}: this is not a file; move it out of the way")
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path}: this is larger than any settings ({MOST_BYTES >> 20} MiB); look at what it is")
    return data


def backup_path(path: Path, after: bytes) -> Path:
    """Where the bytes are kept that stood in the file before these did.

    The name holds a digest of what was written, so that an uninstall can tell that nothing has changed in between.
    """
    return path.with_name(f"{path.name}.before-tapgate-{hashlib.sha256(after).hexdigest()[:12]}")


def apply(change: Change) -> Path | None:
    """Write it, through symbolic links and with the file's mode. Gives the path of the backup, where one was made.

    Raises SettingsError, with the file untouched, where it was changed since it was read or cannot be written.
    """
    if change.is_nothing:
        return None
    target = Path(os.path.realpath(change.path))
    try:
        found = target.stat() if target.exists() else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise SettingsError(f"{change.path}: this is not a file; move it out of the way")
        if found is not None and not found.st_mode & 0o222:
            raise SettingsError(f"{change.path}: is read-only; run: chmod u+w {target}")
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _keep(change, found)
        _check(change)
        if change.after is None:
            target.unlink(missing_ok=True)
        else:
            _write(target, change.after, like=found)
        for spent in change.spent:
            spent.unlink(missing_ok=True)
    except OSError as error:
        raise SettingsError(
            f"{change.path}: cannot be written: {error.strerror}; nothing was changed. "
            "Make it writable, or put the output of `tapgate hooks print` there yourself"
        ) from error
    return backup


def _keep(change: Change, found: os.stat_result | None) -> Path | None:
    """Beside the path that people know, not where a link leads: that may be a repository of its own."""
    _check(change)
    if change.after is None or change.spent:  # the file goes back to what it was; there is nothing to lose
        return None
    backup = backup_path(change.path, change.after)
    if change.before is None:
        backup.unlink(missing_ok=True)  # of an earlier install: this time there was no file
        return None
    _write(backup, change.before, like=found)
    return backup


def _check(change: Change) -> None:
    """There is a moment between this look and the writing, and no lock that the agents would heed."""
    if read(change.path) != change.before:
        raise SettingsError(f"{change.path}: was changed by somebody else just now; run the command again")


def _write(path: Path, data: bytes, *, like: os.stat_result | None) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123  a descriptor has no path
            file.write(data)
            if like is None:
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            else:
                os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
                with contextlib.suppress(PermissionError):  # only root may give a file away
                    os.fchown(file.fileno(), like.st_uid, like.st_gid)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def plain(text: str) -> str:
    """Without characters that a terminal would obey: a project's settings come from whoever wrote that project."""
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


def _lines(data: bytes | None) -> list[str]:
    """By line feeds only: JSON knows no other ends of lines within its strings."""
    text = "" if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\t", "    ")
    lines = [plain(line) for line in text.split("\n")]
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]


def _marked(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
