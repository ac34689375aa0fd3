"""What keeps an agent from asking tapgate: what is so, and what to do about it. Reads, never writes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from tapgate.config import Config
from tapgate.errors import SettingsError
from tapgate.hooks import codex_trust
from tapgate.hooks.change import plain, read
from tapgate.hooks.command import GATE_EVENT, LAUNCHER, TOLD_EVENTS, HookProgram, parse_command
from tapgate.hooks.registration import EntryPlace, handlers, is_ours, ours, parse_settings
from tapgate.hooks.scopes import TITLES, Scope, agent_dir, scopes_of, settings_path

ASKING = "PermissionRequest"
MANAGED_DIRS = (Path("/etc/claude-code"), Path("/Library/Application Support/ClaudeCode"))
"""Where an administrator's settings lie on Linux and on macOS. Those that a server sends cannot be seen from here."""
DEFAULT_TIMEOUT_S = 600
"""What both agents wait for a hook whose entry names no time."""
PLUGIN = "tapgate@"
TRUST_IT = "Start codex, look at the hook when it asks for a review (or type /hooks), and trust it."


class Severity(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    level: Severity
    sentence: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    settings: dict[str, Any] = field(repr=False)


def inspect(
    config: Config,
    *,
    agent: str,
    environ: Mapping[str, str],
    home: Path,
    cwd: Path,
    managed_dirs: tuple[Path, ...] = MANAGED_DIRS,
) -> tuple[Finding, ...]:
    """Everything about this agent's settings that bears on whether tapgate is asked, the registration first."""
    again = f"Run: tapgate hooks install --agent {agent}"
    faults: list[Finding] = []
    files: list[_File] = []
    for scope in scopes_of(agent):
        path = settings_path(agent, scope, environ=environ, home=home, cwd=cwd)
        if not any(path == file.path for file in files):  # run in the home directory, two scopes are one file
            files += _read(path, faults)
    places = [(file.path, place) for file in files for place in ours(file.settings)]
    plugins = _plugins(files) if agent == "claude" else []
    findings = [*faults]
    if places or plugins:
        findings += _where(places, plugins, agent=agent, environ=environ)
        for path, place in places:
            findings += _place(config, path, place, agent=agent, again=again)
        if places:
            findings += _whole([place for _, place in places], agent=agent, again=again)
    elif agent_dir(agent, environ=environ, home=home).is_dir():
        findings.append(
            Finding(Severity.FAULT, f"{TITLES[agent]} does not ask tapgate: no settings name its hook.", again)
        )
    else:
        findings.append(Finding(Severity.WARNING, f"{TITLES[agent]} does not seem to be used here, or not yet.", again))
    if agent == "claude":
        managed = [file for path in _managed(managed_dirs) for file in _read(path, findings)]
        findings += _claude(files, managed)
    elif places:
        findings += _codex(places, environ=environ, home=home, cwd=cwd)
    return tuple(dict.fromkeys(replace(finding, sentence=plain(finding.sentence)) for finding in findings))


def _read(path: Path, faults: list[Finding]) -> list[_File]:
    try:
        data = read(path)
        settings = {} if data is None else parse_settings(data, source=path)
    except SettingsError as error:
        faults.append(Finding(Severity.FAULT, str(error), "The agent cannot read it either, and ignores what it says."))
        return []
    return [_File(path, settings)] if isinstance(settings, dict) else []


# The registration


def _where(
    places: list[tuple[Path, EntryPlace]], plugins: list[Path], *, agent: str, environ: Mapping[str, str]
) -> Iterator[Finding]:
    asking = [(path, place) for path, place in places if place.event == ASKING]
    for path in dict.fromkeys(path for path, _ in asking):
        yield Finding(Severity.OK, f"{TITLES[agent]} asks tapgate: registered in {path}.")
    for path, place in places:
        if place.event == GATE_EVENT:
            yield Finding(Severity.OK, f"Every call of {place.matcher or 'any tool'} is asked about, as {path} says.")
    for path in plugins:
        if shutil.which(LAUNCHER, path=environ.get("PATH")) is None:
            yield Finding(
                Severity.FAULT,
                f"The plugin is enabled in {path}, and {LAUNCHER} is not on the PATH, so it has no opinion.",
                "Install tapgate (uv tool install tapgate), or put its directory on the PATH.",
            )
        else:
            yield Finding(Severity.OK, f"{TITLES[agent]} asks tapgate: the plugin is enabled in {path}.")
    if len({place.command for _, place in asking}) + len(plugins[:1]) > 1:
        yield Finding(
            Severity.WARNING,
            "tapgate is registered more than once, so that each question comes as several cards: "
            + ", ".join(str(path) for path in dict.fromkeys([*(path for path, _ in asking), *plugins])),
            "Keep one: run tapgate hooks uninstall with the --scope of the other, or disable the plugin.",
        )


def _place(config: Config, path: Path, place: EntryPlace, *, agent: str, again: str) -> Iterator[Finding]:
    """What is wrong with one entry of ours."""
    caller = parse_command(place.command)
    yield from _caller(config, path, caller, agent=agent, again=again)
    if place.event not in (ASKING, GATE_EVENT):
        return
    if place.handler.get("async"):
        yield Finding(Severity.FAULT, f"{path}: {place.event} is asynchronous, so the answer is not heard.", again)
    if place.event == ASKING and place.matcher not in ("", "*"):
        yield Finding(
            Severity.WARNING,
            f"{path}: tapgate is asked about {place.matcher} only.",
            "Take the matcher out to be asked about every tool.",
        )
    timeout_s = place.handler.get("timeout", DEFAULT_TIMEOUT_S)
    if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool):
        yield Finding(Severity.FAULT, f"{path}: the timeout of {place.event} is not a number.", again)
    elif timeout_s < config.timeout_s:
        yield Finding(
            Severity.WARNING,
            f"{path}: {TITLES[agent]} ends the hook of {place.event} after {timeout_s:g} s; "
            f"tapgate's timeout_s is {config.timeout_s}.",
            again,
        )
    elif timeout_s != config.timeout_s or caller.deadline_s not in (None, config.deadline_s):
        yield Finding(
            Severity.WARNING,
            f"{path}: {place.event} was registered for another time than timeout_s = {config.timeout_s} in the config.",
            again,
        )


def _caller(config: Config, path: Path, caller: HookProgram, *, agent: str, again: str) -> Iterator[Finding]:
    """Whether the command leads anywhere."""
    if caller.interpreter is not None and not os.access(caller.interpreter, os.X_OK):
        yield Finding(
            Severity.FAULT, f"{path}: the interpreter {caller.interpreter} is gone, so there is no opinion.", again
        )
    if caller.file is not None and not os.access(caller.file, os.R_OK):
        yield Finding(Severity.FAULT, f"{path}: the hook file {caller.file} is gone, so there is no opinion.", again)
    if caller.agent not in (None, agent):
        yield Finding(Severity.FAULT, f"{path}: the hook speaks the dialect of {caller.agent}.", again)
    if caller.socket not in (None, str(config.socket_path)):
        yield Finding(
            Severity.FAULT,
            f"{path}: the hook asks at {caller.socket}, and the daemon listens at {config.socket_path}.",
            again,
        )


def _whole(places: list[EntryPlace], *, agent: str, again: str) -> Iterator[Finding]:
    events = {place.event for place in places}
    if ASKING not in events:
        yield Finding(Severity.FAULT, f"{TITLES[agent]} does not ask tapgate: {ASKING} is not registered.", again)
    missing = [event for event in TOLD_EVENTS if event not in events] if agent == "claude" else []
    if missing:
        yield Finding(
            Severity.WARNING,
            f"tapgate is not told of {', '.join(missing)}: a card may stay open after an answer at the terminal.",
            again,
        )


# What Claude Code's settings say besides


def _plugins(files: list[_File]) -> list[Path]:
    found = []
    for file in files:
        enabled = file.settings.get("enabledPlugins")
        if isinstance(enabled, dict) and any(name.startswith(PLUGIN) and on for name, on in enabled.items()):
            found.append(file.path)
    return found


def _managed(dirs: tuple[Path, ...]) -> Iterator[Path]:
    for folder in dirs:
        yield folder / "managed-settings.json"
        if (folder / "managed-settings.d").is_dir():
            yield from sorted((folder / "managed-settings.d").glob("*.json"))


def _claude(files: list[_File], managed: list[_File]) -> Iterator[Finding]:
    """`files` go from the widest scope to the narrowest, whose word counts; an administrator's counts more."""
    strongest = [*reversed(managed), *reversed(files)]
    for file in managed:
        if file.settings.get("allowManagedHooksOnly") is True:
            yield Finding(
                Severity.FAULT,
                f"{file.path}: allowManagedHooksOnly is on, so Claude Code runs no hook but your administrator's.",
                "Ask your administrator to register tapgate's hook there (tapgate hooks print).",
            )
    for file in strongest:
        if "disableAllHooks" in file.settings:
            if file.settings["disableAllHooks"] is True:
                yield Finding(
                    Severity.FAULT,
                    f"{file.path}: disableAllHooks is on, so Claude Code asks nobody.",
                    "Take disableAllHooks out of it.",
                )
            break
    yield from _mode(strongest)
    for file in (*files, *managed):
        for place in handlers(file.settings):
            if place.event == ASKING and not is_ours(place.handler):
                yield Finding(
                    Severity.WARNING,
                    f"{file.path}: another hook answers permission requests as well ({_name(place)}); "
                    "the first answer wins.",
                    "Take it out if it decides by itself; leave it if it only notifies.",
                )


def _mode(strongest: list[_File]) -> Iterator[Finding]:
    for file in strongest:
        permissions = file.settings.get("permissions")
        mode = permissions.get("defaultMode") if isinstance(permissions, dict) else None
        if mode is None:
            continue
        if mode == "dontAsk":
            yield Finding(
                Severity.WARNING,
                f"{file.path}: permissions.defaultMode is dontAsk: what no rule allows is denied, and nobody is asked.",
                "Set it to default to be asked.",
            )
        if mode == "bypassPermissions":
            yield Finding(
                Severity.WARNING,
                f"{file.path}: permissions.defaultMode is bypassPermissions: everything runs, and nobody is asked.",
                "Set it to default to be asked, or use tapgate hooks install --gate 'Bash|Write|Edit'.",
            )
        return


def _name(place: EntryPlace) -> str:
    command = " ".join(
        str(place.handler.get("command") or place.handler.get("url") or place.handler.get("type")).split()
    )
    return command if len(command) <= 60 else f"{command[:59]}…"


# What Codex's say


def _codex(
    places: list[tuple[Path, EntryPlace]], *, environ: Mapping[str, str], home: Path, cwd: Path
) -> Iterator[Finding]:
    folder = agent_dir("codex", environ=environ, home=home)
    try:
        state = codex_trust.read_config(folder / "config.toml")
    except SettingsError as error:
        yield Finding(Severity.WARNING, str(error), "Whether the hook is trusted cannot be told.")
        return
    if codex_trust.hooks_are_off(state):
        yield Finding(
            Severity.FAULT,
            f"{folder / 'config.toml'}: hooks are off in [features], so Codex asks nobody.",
            "Take that line out of it.",
        )
    if codex_trust.never_asks(state):
        yield Finding(
            Severity.WARNING,
            f"{folder / 'config.toml'}: approval_policy is never, so Codex asks nobody.",
            "Set it to on-request to be asked.",
        )
    for path, place in places:
        if path.parent != folder and not codex_trust.trusts_project(state, cwd):
            yield Finding(
                Severity.FAULT,
                f"{path}: Codex does not read it, because this project is not trusted.",
                "Start codex here and trust the project, or use --scope user.",
            )
        match codex_trust.trust_of(state, path, place):
            case codex_trust.Trust.TRUSTED:
                yield Finding(Severity.OK, "Codex trusts the hook.")
            case codex_trust.Trust.DISABLED:
                yield Finding(
                    Severity.FAULT, "The hook is switched off in Codex.", "In Codex, type /hooks and turn it on."
                )
            case codex_trust.Trust.CHANGED:
                yield Finding(
                    Severity.FAULT,
                    "The hook is another than the one you have trusted, so Codex does not run it.",
                    TRUST_IT,
                )
            case codex_trust.Trust.UNKNOWN:
                yield Finding(
                    Severity.FAULT,
                    "Codex has not been told to trust the hook, so it does not run it.",
                    TRUST_IT,
                )


__all__ = ["ASKING", "Finding", "Scope", "Severity", "inspect"]
