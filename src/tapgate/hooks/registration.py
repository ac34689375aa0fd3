"""tapgate's entries in an agent's settings: found, added, brought up to date, taken out. Reads files, writes none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tapgate.config import Config
from tapgate.errors import SettingsError
from tapgate.hooks import jsontext
from tapgate.hooks.change import Change, backup_path, read
from tapgate.hooks.command import GATE_EVENT, Registration, registrations

BOM = "\ufeff"
EVERY_TOOL = "*"
OUR_KEYS = ("type", "command", "timeout", "async", "args")
"""What tapgate decides in its entries. Whatever else people put there stays."""

# By the file's name, wherever it lies; an agent may refuse a key of ours that would mark an entry.
_OURS = re.compile(r"""(?<![^/\s'"])(?:tapgate/hook\.py|tapgate\.hook|tapgate-hook)(?![^\s'";&|])""")


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """One of tapgate's handlers in somebody's settings: which event, which group of handlers, which one in it."""

    event: str
    group: int
    number: int
    matcher: str
    handler: Mapping[str, Any]

    @property
    def command(self) -> str:
        return str(self.handler["command"])


def is_ours(handler: object) -> bool:
    if not isinstance(handler, dict) or not isinstance(handler.get("command"), str):
        return False
    args = handler.get("args")
    words = [handler["command"], *(args if isinstance(args, list) else ())]
    return any(isinstance(word, str) and _OURS.search(word) for word in words)


def handlers(settings: object) -> Iterator[EntryPlace]:
    """Every handler in these settings, ours or not, in the order in which they stand there."""
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inside = group.get("hooks") if isinstance(group, dict) else None
            matcher = group.get("matcher") if isinstance(group, dict) else None
            for place, handler in enumerate(inside if isinstance(inside, list) else ()):
                if isinstance(handler, dict):
                    yield EntryPlace(event, number, place, matcher if isinstance(matcher, str) else "", handler)


def ours(settings: object, event: str | None = None) -> list[EntryPlace]:
    return [place for place in handlers(settings) if is_ours(place.handler) and event in (None, place.event)]


def events_of(data: bytes | None) -> dict[str, list[EntryPlace]]:
    """Our entries in what a file holds, by event; none where it cannot be read."""
    try:
        found = ours(jsontext.parse((data or b"").decode().removeprefix(BOM)))
    except (jsontext.FaultError, UnicodeDecodeError):
        return {}
    return {
        event: [place for place in found if place.event == event] for event in dict.fromkeys(p.event for p in found)
    }


def parse_settings(data: bytes, *, source: Path) -> Any:
    """The settings as a value. Raises SettingsError with file, line and column."""
    text = _decode(data, source).removeprefix(BOM)
    return _parse(text, source) if text.strip() else {}


def plan_install(config: Config, *, agent: str, path: Path, gate: str | None = None) -> Change:
    """Make this agent ask tapgate. `gate` names tools that are asked about at every call: None leaves it as it is.

    Raises SettingsError where the file is not what the agent could read.
    """
    before = read(path)
    text = "" if before is None else _decode(before, path)
    bom = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(bom)
    if gate:
        check_gate(gate, agent=agent)
    if not text.strip():
        wanted = registrations(config, agent=agent, gate=gate or "")
        fresh = {"hooks": {entry.event: [entry.group()] for entry in wanted}}
        return Change(path, before, (bom + _fresh(fresh)).encode())
    settings = _parse(text, path)
    if gate is None:
        gate = next((place.matcher or EVERY_TOOL for place in ours(settings, GATE_EVENT)), "")
    wanted = registrations(config, agent=agent, gate=gate)
    _check_shape(text, settings, source=path, events={entry.event for entry in wanted})
    if "hooks" not in settings:
        text = jsontext.add(text, (), {entry.event: [entry.group()] for entry in wanted}, key="hooks")
    else:
        try:
            text = _update(text, wanted)
        except ValueError:
            raise SettingsError(
                f"{path}: tapgate's entry holds a number that is too large to be written again; take that out of it"
            ) from None
    return _returned(Change(path, before, (bom + text).encode()))


def plan_uninstall(*, agent: str, path: Path) -> Change:
    """Take tapgate out. Where nothing else was changed since the install, the file becomes what it was, to the byte."""
    before = read(path)
    if before is None:
        return Change(path, None, None)
    text = _decode(before, path)
    bom = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(bom)
    if not text.strip() or not ours(_parse(text, path)):
        return Change(path, before, before)
    content, spent = before, []
    for backup, earlier in _history(path, before):
        content = earlier
        spent.append(backup)
        if not events_of(earlier):
            return Change(path, before, earlier, spent=tuple(spent))
    if _is_fresh(content):
        return Change(path, before, None, spent=tuple(spent))
    for place in reversed(ours(_parse(text, path))):
        text = _without(text, place)
    return Change(path, before, (bom + text).encode())


def check_gate(gate: str, *, agent: str) -> None:
    if agent != "claude":
        raise SettingsError("a gate is for Claude Code only; Codex asks whenever it needs a permission")
    if gate == EVERY_TOOL:
        return
    try:
        re.compile(gate)
    except re.error as error:
        raise SettingsError(
            f"--gate {gate!r} is not a regular expression ({error}); name tools like 'Bash|Write|Edit'"
        ) from None


def _update(text: str, wanted: tuple[Registration, ...]) -> str:
    """Entry by entry: what is there already stays where it is, what is no longer wanted goes, the rest is added."""
    known = {entry.event: entry for entry in wanted}
    found = ours(jsontext.parse(text))
    first = {place.event: place for place in reversed(found)}
    for place in reversed(found):
        if place is not first[place.event] or place.event not in known:
            text = _without(text, place)
    for place in ours(jsontext.parse(text)):
        text = _brought_up_to_date(text, place, known.pop(place.event))
    hooks = jsontext.parse(text).get("hooks")
    if hooks is None:
        return jsontext.add(text, (), {entry.event: [entry.group()] for entry in known.values()}, key="hooks")
    for event, entry in known.items():
        if event in hooks:
            text = jsontext.add(text, ("hooks", event), entry.group())
        else:
            text = jsontext.add(text, ("hooks",), [entry.group()], key=event)
    return text


def _brought_up_to_date(text: str, place: EntryPlace, entry: Registration) -> str:
    kept = {key: value for key, value in place.handler.items() if key not in OUR_KEYS or key in entry.handler}
    handler = {**kept, **entry.handler}
    group = ("hooks", place.event, place.group)
    if handler != place.handler:
        text = jsontext.replace(text, (*group, "hooks", place.number), handler)
    if entry.matcher and entry.matcher != place.matcher:
        if "matcher" in jsontext.parse(text)["hooks"][place.event][place.group]:
            text = jsontext.replace(text, (*group, "matcher"), entry.matcher)
        else:
            text = jsontext.add(text, group, entry.matcher, key="matcher")
    return text


def _without(text: str, place: EntryPlace) -> str:
    """Without this handler, and without the group, the event and the table that held nothing else."""
    path: list[str | int] = ["hooks", place.event, place.group, "hooks", place.number]
    text = jsontext.remove(text, path)
    for length in (3, 2, 1):  # the group goes with its handlers, whatever its matcher was
        inside: Any = jsontext.parse(text)
        for name in path[: length + 1] if length == 3 else path[:length]:
            inside = inside[name]
        if inside:
            break
        text = jsontext.remove(text, path[:length])
    return text


def _history(path: Path, content: bytes) -> Iterator[tuple[Path, bytes]]:
    """What the file held before, as far back as every change since then was tapgate's: the backup, and its bytes."""
    seen: set[Path] = set()
    while True:
        backup = backup_path(path, content)
        earlier = None if backup in seen or backup.is_symlink() else read(backup)
        if earlier is None:
            return
        seen.add(backup)
        yield backup, earlier
        content = earlier


def _returned(change: Change) -> Change:
    """A change back to an earlier state ends what came after; keeping that would cut off the way to the first."""
    if change.before is None or change.is_nothing:
        return change
    spent = []
    for backup, earlier in _history(change.path, change.before):
        spent.append(backup)
        if earlier == change.after:
            return replace(change, spent=tuple(spent))
    return change


def _is_fresh(data: bytes) -> bool:
    """Whether this is a file that tapgate made where there was none: nothing but our entries, as we write them."""
    value = jsontext.parse(data.decode().removeprefix(BOM))
    if data.decode() != _fresh(value) or set(value) != {"hooks"}:
        return False
    groups = [group for event in value["hooks"].values() if isinstance(event, list) for group in event]
    return all(isinstance(event, list) and event for event in value["hooks"].values()) and all(
        isinstance(group, dict)
        and set(group) <= {"matcher", "hooks"}
        and isinstance(inside := group.get("hooks"), list)
        and len(inside) == 1
        and is_ours(inside[0])
        for group in groups
    )


def _fresh(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _decode(data: bytes, source: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = jsontext.place_of(data[: error.start].decode(), len(data[: error.start].decode()))
        raise SettingsError(
            f"{source}:{line}:{column}: this is not UTF-8; nothing was changed. Mend the file, and run this again"
        ) from None


def _parse(text: str, source: Path) -> Any:
    try:
        return jsontext.parse(text)
    except jsontext.FaultError as fault:
        raise SettingsError(
            f"{source}:{fault.line}:{fault.column}: this is not valid JSON: {fault.what}; "
            "nothing was changed. Mend the file, and run this again"
        ) from None


def _check_shape(text: str, settings: Any, *, source: Path, events: set[str]) -> None:
    def refuse(path: jsontext.Path, expected: str) -> SettingsError:
        line, column = jsontext.place_of(text, jsontext.locate(text, path))
        name = ".".join(str(part) for part in path) or "the whole file"
        return SettingsError(
            f"{source}:{line}:{column}: {name} is to be {expected}; nothing was changed. Mend it, and run this again"
        )

    if not isinstance(settings, dict):
        raise refuse((), "an object in braces")
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise refuse(("hooks",), "an object in braces")
    for event, groups in hooks.items():
        if event in events and not isinstance(groups, list):
            raise refuse(("hooks", event), "a list in brackets")
