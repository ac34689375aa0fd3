"""Claude Code's permission suggestions, one button each: its words name the exact rule and scope."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tapgate.model import Act, Choice, Decision, Json, Verdict

MOST_SUGGESTIONS = 20  # more buttons than this no thumb would scroll through

_SCOPES = {
    "session": "in this session",
    "localSettings": "in this project",
    "projectSettings": "in this project, for everyone",
    "userSettings": "in all projects",
}
_PLACES = {
    "session": "for this session only",
    "localSettings": "saved to this project's local settings",
    "projectSettings": "saved to this project's shared settings",
    "userSettings": "saved to your user settings",
}
_MODES = {
    "acceptEdits": "Accept edits",
    "bypassPermissions": "Stop asking for anything",
    "plan": "Switch to plan mode",
    "default": "Ask for everything",
    "auto": "Switch to auto mode",
    "dontAsk": "Switch to the mode that never asks",
}

_KNOWN = frozenset({"type", "rules", "behavior", "destination", "mode", "directories", "tool"})
_UNASKED = frozenset({"bypassPermissions", "dontAsk", "auto"})
"""Modes in which the agent no longer asks: nobody switches to one of them with a single tap."""


def choices_of(entries: Iterable[Json]) -> tuple[Choice, ...]:
    """One choice per suggestion that is an object. The entry itself is what goes back, whatever else it holds.

    A lasting rule is offered for this session only as well: the same entry with another destination.
    """
    found = [entry for entry in entries if isinstance(entry, dict)]
    choices = []
    for number, entry in enumerate(found[:MOST_SUGGESTIONS]):
        choices.append(_choice(f"s{number}", entry))
        brief = {**entry, "destination": "session"}
        if _is_rule(entry) and brief not in found:
            choices.append(_choice(f"n{number}", brief))
    return tuple(choices)


def _choice(key: str, entry: Mapping[str, Any]) -> Choice:
    label, saved = words_of(entry)
    act = Act.CONFIRM if entry.get("type") == "setMode" and entry.get("mode") in _UNASKED else Act.DECIDE
    return Choice(key, label, act, Decision(Verdict.ALLOW, updates=(entry,)), saved=saved)


def _is_rule(entry: Mapping[str, Any]) -> bool:
    """Whether it is a rule that allows something for good, and so could do the same for this session only."""
    lasting = entry.get("destination") in ("localSettings", "projectSettings", "userSettings")
    return lasting and entry.get("type") == "addRules" and entry.get("behavior") == "allow"


def words_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The button's words, and what to say about it afterwards. All of it goes back, so all of it is named."""
    label, saved = _known_words(entry)
    others = ", ".join(f"{name}: {_plain(value)}" for name, value in entry.items() if name not in _KNOWN)
    # In front: a phone may show only a button's ends, and the last words are to be the scope, which nobody can make up.
    return (f"({others}) {label}", f"({others}) {saved}") if others else (label, saved)


def _known_words(entry: Mapping[str, Any]) -> tuple[str, str]:
    kind = entry.get("type")
    destination = entry.get("destination")
    scope = _SCOPES.get(str(destination), f"in {destination}" if destination else "from now on")
    place = _PLACES.get(str(destination), f"saved to {destination}" if destination else "kept by the agent")
    match kind:
        case "addRules" | "replaceRules" | "removeRules":
            rules = ", ".join(f"`{_rule(rule)}`" for rule in _listed(entry.get("rules"))) or "no rule"
            many = "rules" if "`, `" in rules else "rule"
            behavior = str(entry.get("behavior") or "allow")
            if kind == "removeRules":
                return (
                    f"Allow, and drop the {behavior} {many} {rules} {scope}",
                    f"{many} {rules} removed, {place}",
                )
            if kind == "replaceRules":
                return (
                    f"Allow, and make {rules} the only {behavior} {many} {scope}",
                    f"{behavior} rules replaced by {rules}, {place}",
                )
            if behavior != "allow":
                return (
                    f"Allow once, but always {behavior} {rules} {scope}",
                    f"{behavior} {many} {rules} {place}",
                )
            return f"Always allow {rules} {scope}", f"{many} {rules} {place}"
        case "setMode":
            mode = str(entry.get("mode"))
            return f"{_MODES.get(mode, f'Switch to mode {mode}')} {scope}", f"mode {mode}, {place}"
        case "addDirectories" | "removeDirectories":
            names = ", ".join(_plain(name) for name in _listed(entry.get("directories"))) or "no directory"
            if kind == "removeDirectories":
                return (
                    f"Allow, and close {names} {scope.replace('in', 'for', 1)}",
                    f"{names} removed, {place}",
                )
            return f"Allow {names} {scope.replace('in', 'for', 1)}", f"{names} added, {place}"
        case "toolAlwaysAllow":
            return (
                f"Always allow `{entry.get('tool')}`",
                f"every `{entry.get('tool')}` call, kept by the agent",
            )
        case _:
            return f"Allow with “{kind}”", f"“{kind}” as the agent suggested it"


def _rule(rule: Json) -> str:
    if not isinstance(rule, dict):
        return _plain(rule)
    tool, content = rule.get("toolName"), rule.get("ruleContent")
    others = "".join(f", {name}: {_plain(rule[name])}" for name in rule if name not in ("toolName", "ruleContent"))
    if not content:
        return f"{tool}{others}"
    return f"{content}{others}" if tool == "Bash" else f"{tool}({content}){others}"


def _listed(value: Json) -> list[Json]:
    """What the entry names. Of whatever shape it is, it goes back to the agent, so it is on the button."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
