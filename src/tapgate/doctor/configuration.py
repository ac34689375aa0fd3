"""The config: found, valid, private; and the token in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tapgate.config import TOKEN_VARIABLE, Config, parse_config, read_token
from tapgate.doctor.check import Check, Chmod, fault, ok, skipped, warning
from tapgate.doctor.scene import DoctorContext
from tapgate.errors import ConfigError

PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the config says; `config` is None where it cannot be used, and `problem` says why."""

    config: Config | None
    is_there: bool
    problem: str = ""
    advice: str = "correct the file; config.example.toml shows every key"


def load(scene: DoctorContext) -> Loaded:
    try:
        text = scene.config_path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Loaded(Config(), is_there=False)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        advice = "make it a file that you can read; where the daemon has a user of its own, run this as that user"
        return Loaded(None, is_there=True, problem=f"{scene.config_path}: cannot be read: {reason}", advice=advice)
    try:
        config = parse_config(text, source=str(scene.config_path), base=scene.config_path.absolute().parent)
    except ConfigError as error:
        return Loaded(None, is_there=True, problem=str(error))
    return Loaded(config, is_there=True)


def check_config(scene: DoctorContext, loaded: Loaded) -> Iterator[Check]:
    name, label = "config.file", "config"
    if not loaded.is_there:
        advice = "run `tapgate setup`; it asks for what it needs and writes the file"
        if scene.is_named:
            advice = "check --config and TAPGATE_CONFIG, or " + advice
        yield fault(name, label, f"there is no {scene.config_path}", advice=advice)
    elif loaded.config is None:
        yield fault(name, label, loaded.problem, advice=loaded.advice)
    else:
        yield ok(name, label, str(scene.config_path))
    if loaded.is_there:
        yield check_private("config.permissions", "permissions", scene.config_path, scene=scene)
        problem = check_place("config.directory", "config's directory", scene.config_path.parent)
        if problem is not None:
            yield problem
    if loaded.config is not None and loaded.config.telegram.token_file:
        path = Path(loaded.config.telegram.token_file)
        if path.exists():
            yield check_private("config.token_file", "token file", path, scene=scene)


def check_private(name: str, label: str, path: Path, *, scene: DoctorContext) -> Check:
    """Who can read it has the token; who can write it decides who may answer."""
    try:
        found = path.stat()
    except OSError as error:
        return skipped(name, label, f"{path} cannot be looked at: {error.strerror}")
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in (scene.uid, 0):
        return fault(
            name,
            label,
            f"{path} belongs to another user (uid {found.st_uid}), who could change it",
            advice=f"make a copy of your own: cp {path} {path}.mine && mv {path}.mine {path}",
        )
    if mode & 0o022:
        return fault(
            name,
            label,
            f"others can write {path} (mode {mode:04o}), and so decide who may answer",
            advice=f"chmod 600 {path}, or run `tapgate doctor --fix`; then look whether it is still as you wrote it",
            fix=Chmod(path, PRIVATE),
        )
    if mode & 0o044:
        return warning(
            name,
            label,
            f"others can read {path} (mode {mode:04o}), and the bot token with it",
            advice=f"chmod 600 {path}, or run `tapgate doctor --fix`",
            fix=Chmod(path, PRIVATE),
        )
    return ok(name, label, f"{mode:04o}, only you")


def check_place(name: str, label: str, path: Path) -> Check | None:
    """Who can write the directory can put another file in the config's place. None: there is nothing to say."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if not mode & stat.S_IWOTH or mode & stat.S_ISVTX:
        return None
    return fault(
        name,
        label,
        f"everybody can write {path} (mode {mode:04o}), and so put another config in place of yours",
        advice=f"chmod o-w {path}, or run `tapgate doctor --fix`; then look whether the config is still yours",
        fix=Chmod(path, mode & ~stat.S_IWOTH),
    )


@dataclass(frozen=True, slots=True)
class Token:
    """The token; or "" and the reason. `is_unseen`: there may be one, but not for us to see."""

    text: str = field(repr=False)
    source: str = ""
    problem: str = ""
    is_unseen: bool = False


def find_token(loaded: Loaded) -> Token:
    config = loaded.config
    if config is None:
        return Token("", problem="the config cannot be used", is_unseen=True)
    source = token_source(config)
    try:
        return Token(read_token(config), source)
    except ConfigError as error:
        # A service may get its token from a credential, or from a file that only its own user can read.
        in_file = bool(config.telegram.token_file) and not os.access(config.telegram.token_file, os.R_OK)
        nowhere = not (os.environ.get(TOKEN_VARIABLE) or config.telegram.token_file or config.telegram.token)
        return Token("", source, str(error), is_unseen=in_file or nowhere)


def token_source(config: Config) -> str:
    """Where the token came from, in words."""
    if os.environ.get(TOKEN_VARIABLE):
        return f"from {TOKEN_VARIABLE}"
    return "from its file" if config.telegram.token_file else "from the config"
