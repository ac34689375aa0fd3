"""The service's files: the templates they are rendered from, and writing and removing them whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tapgate.config import CONFIG_VARIABLE, load_config
from tapgate.errors import ServiceError
from tapgate.service.model import FileChange

_HERE = Path(__file__).parent


def read_template(name: str) -> str:
    """The text of `systemd/…` or `launchd/…`: in a wheel they lie beside this file, in a checkout at its top."""
    for base in (_HERE / "templates", _HERE.parents[2]):
        with suppress(OSError):
            return (base / name).read_text(encoding="utf-8")
    raise ServiceError(f"the template {name} is missing from this installation; install tapgate again")


def daemon_words(config_path: Path | None, *, python: str = sys.executable) -> tuple[str, ...]:
    """The command of the installation that is running, by its absolute path.

    The script beside the interpreter, and not what PATH finds: that is the one whose packages are these.
    """
    script = Path(python).parent / "tapgate"
    words = (str(script),) if script.is_file() else (python, "-m", "tapgate")
    return (*words, "daemon", *(("--config", str(config_path)) if config_path is not None else ()))


def named_config(given: Path | None, *, default: Path) -> Path | None:
    """The config's absolute path where the service would not find it by itself."""
    named = given or (Path(os.environ[CONFIG_VARIABLE]) if os.environ.get(CONFIG_VARIABLE) else None)
    if named is None:
        return None
    path = named.expanduser().absolute()
    load_config(path)
    return None if path == default else path


def read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ServiceError(f"{path} cannot be read: {error}") from None


def write_changes(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Each file is written whole or not at all. Gives those that were changed."""
    done = []
    for change in changes:
        if not change.is_change:
            continue
        try:
            if change.after is None:
                change.path.unlink()
            else:
                change.path.parent.mkdir(parents=True, exist_ok=True)
                fresh = change.path.with_name(f".{change.path.name}.{os.getpid()}")
                fresh.write_text(change.after, encoding="utf-8")
                fresh.chmod(0o644)
                fresh.rename(change.path)
        except OSError as error:
            raise ServiceError(f"{change.path} cannot be written: {error.strerror}") from None
        done.append(change)
    return tuple(done)


def remove_empty(directory: Path, *, below: Path) -> None:
    """Take away the directories that are empty now, up to `below`, which stays."""
    while directory != below and below in directory.parents:
        try:
            directory.rmdir()
        except OSError:
            return
        directory = directory.parent
