"""Claude Code's permission suggestions, one button each: its words name the exact rule and scope."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tapgate.agents.claude.permission_updates import why_careful
from tapgate.agents.claude.tools import COMMAND
from tapgate.model import Action, Choice, Decision, Json, Verdict

MOST_SUGGESTIONS = 20  # more buttons than this no thumb would scroll through
MOST_JUDGED = 30  # rules of one request; reading one takes about a millisecond, and others wait meanwhile
MOST_EXPLAINED = 2000  # characters of a line; no card shows as many
TOO_MANY = "There are too many rules to check all of them"

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

_KEPT = {
    "session": "It ends with this session.",
    "localSettings": "Kept in .claude/settings.local.json of this project.",
    "projectSettings": "Kept in .claude/settings.json of this project, for everyone who works with its files.",
    "userSettings": "Kept in ~/.claude/settings.json, for all projects.",
}
_TAKE_BACK = "To take it back, change that file, or use /permissions in Claude Code."

_SHOWN = {
    "addRules": ("rules", "behavior", "destination"),
    "replaceRules": ("rules", "behavior", "destination"),
    "removeRules": ("rules", "behavior", "destination"),
    "setMode": ("mode", "destination"),
    "addDirectories": ("directories", "destination"),
    "removeDirectories": ("directories", "destination"),
    "toolAlwaysAllow": ("tool",),
}
"""The fields that each kind's own words name. All others stand in front of them."""


def choices_of(entries: Iterable[Json], *, project: str = "") -> tuple[Choice, ...]:
    """One choice per suggestion that is an object. The entry itself is what goes back, whatever else it holds.

    A lasting rule is offered for this session only as well: the same entry with another destination. One that reaches
    far, or that nobody knows, takes a second tap, and is spelled out before it.
    """
    found = [entry for entry in entries if isinstance(entry, dict)]
    choices = []
    named = 0
    for number, entry in enumerate(found[:MOST_SUGGESTIONS]):
        named += len(_listed(entry.get("rules")))
        reason = why_careful(entry, project=project) if named <= MOST_JUDGED else TOO_MANY
        choices.append(_choice(f"s{number}", entry, reason))
        brief = {**entry, "destination": "session"}
        if _is_rule(entry) and brief not in found:
            reason = why_careful(brief, project=project) if named <= MOST_JUDGED else TOO_MANY
            choices.append(_choice(f"n{number}", brief, reason))
    return tuple(choices)


def _choice(key: str, entry: Mapping[str, Any], reason: str | None) -> Choice:
    label, saved = words_of(entry)
    return Choice(
        key,
        label,
        Action.DECIDE if reason is None else Action.CONFIRM,
        Decision(Verdict.ALLOW, updates=(entry,)),
        saved=saved,
        explained=explanation_of(entry, reason or ""),
    )


def explanation_of(entry: Mapping[str, Any], reason: str = "") -> tuple[str, ...]:
    """What the update does from then on, why that is no small thing, where it is kept and how it is taken back."""
    kind, destination = entry.get("type"), entry.get("destination")
    lines = [_effect(entry), f"{reason}." if reason else ""]
    known = isinstance(kind, str) and kind in _SHOWN and isinstance(destination, str) and destination in _KEPT
    if known and isinstance(destination, str):
        lines.append(_KEPT[destination] if destination == "session" else f"{_KEPT[destination]} {_TAKE_BACK}")
    else:
        lines.append("Where it is kept and how long it lasts, only the agent knows.")
        lines.append(f"This goes to the agent: {json.dumps(entry, ensure_ascii=False, separators=(',', ':'))}")
    return tuple(line[:MOST_EXPLAINED] for line in lines if line)


def _effect(entry: Mapping[str, Any]) -> str:
    kind, behavior = entry.get("type"), entry.get("behavior")
    rules = ", ".join(map(_covered, _listed(entry.get("rules"))))
    match kind:
        case "addRules" if behavior == "allow":
            return f"From then on the agent asks nobody before: {rules}."
        case "replaceRules" if behavior == "allow":
            return f"From then on the agent asks nobody before: {rules}. All other allow rules there go."
        case "removeRules" if behavior in ("deny", "ask"):
            return f"From then on no longer {'denied' if behavior == 'deny' else 'asked about'}: {rules}."
        case "replaceRules":
            return f"All {_plain(behavior)} rules there go, but for: {rules or 'none'}."
        case "setMode":
            return f"From then on the agent works in mode {_plain(entry.get('mode'))}."
        case "addDirectories":
            names = ", ".join(map(_plain, _listed(entry.get("directories"))))
            return f"From then on the agent works in these directories and all below them: {names}."
        case "toolAlwaysAllow":
            return f"From then on the agent asks nobody before: every use of {_plain(entry.get('tool'))}."
        case _:
            return ""


def _covered(rule: Json) -> str:
    """What one rule covers, in words."""
    if not isinstance(rule, dict) or not isinstance(rule.get("toolName"), str):
        return _rule(rule)
    tool, content = rule["toolName"], rule.get("ruleContent")
    if content is None or content == "":
        return "every use of every tool" if tool == "*" else f"every use of {tool}"
    if not isinstance(content, str):
        return _rule(rule)
    if tool == COMMAND:
        return f"every command that fits `{content}`" if "*" in content else f"the command `{content}`"
    return f"what fits `{tool}({content})`"


def _is_rule(entry: Mapping[str, Any]) -> bool:
    """Whether it is a rule that allows something for good, and so could do the same for this session only."""
    lasting = entry.get("destination") in ("localSettings", "projectSettings", "userSettings")
    return lasting and entry.get("type") == "addRules" and entry.get("behavior") == "allow"


def words_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The button's words, and what to say about it afterwards. All of it goes back, so all of it is named."""
    label, saved = _known_words(entry)
    kind = entry.get("type")
    shown = ("type", *(_SHOWN.get(kind, ()) if isinstance(kind, str) else ()))
    others = ", ".join(f"{name}: {_plain(value)}" for name, value in entry.items() if name not in shown)
    # In front: a phone may show only a button's ends, and the last words are to be the scope, which nobody can make up.
    return (f"({others}) {label}", f"({others}) {saved}") if others else (label, saved)


def _known_words(entry: Mapping[str, Any]) -> tuple[str, str]:
    kind = entry.get("type")
    scope, place = _reach(entry.get("destination"))
    match kind:
        case "addRules" | "replaceRules" | "removeRules":
            return _rule_words(kind, entry, scope, place)
        case "setMode":
            mode = entry.get("mode")
            switch = _MODES.get(mode) if isinstance(mode, str) else None
            return f"{switch or f'Switch to mode {_plain(mode)}'} {scope}", f"mode {_plain(mode)}, {place}"
        case "addDirectories" | "removeDirectories":
            names = ", ".join(_plain(name) for name in _listed(entry.get("directories"))) or "no directory"
            for_scope = scope.replace("in", "for", 1) if scope.startswith("in ") else scope
            if kind == "removeDirectories":
                return f"Allow, and close {names} {for_scope}", f"{names} removed, {place}"
            return f"Allow {names} {for_scope}", f"{names} added, {place}"
        case "toolAlwaysAllow":
            tool = _plain(entry.get("tool"))
            return f"Always allow `{tool}`", f"every `{tool}` call, kept by the agent"
        case _:
            return f"Allow with “{_plain(kind)}”", f"“{_plain(kind)}” as the agent suggested it"


def _rule_words(kind: str, entry: Mapping[str, Any], scope: str, place: str) -> tuple[str, str]:
    listed = _listed(entry.get("rules"))
    rules = ", ".join(f"`{_rule(rule)}`" for rule in listed) or "no rule"
    many = "rules" if len(listed) > 1 else "rule"
    behavior = "allow" if entry.get("behavior") is None else _plain(entry["behavior"])
    if kind == "removeRules":
        return f"Allow, and drop the {behavior} {many} {rules} {scope}", f"{many} {rules} removed, {place}"
    if kind == "replaceRules":
        return (
            f"Allow, and make {rules} the only {behavior} {many} {scope}",
            f"{behavior} rules replaced by {rules}, {place}",
        )
    if behavior != "allow":
        return f"Allow once, but always {behavior} {rules} {scope}", f"{behavior} {many} {rules} {place}"
    return f"Always allow {rules} {scope}", f"{many} {rules} {place}"


def _reach(destination: Json) -> tuple[str, str]:
    """How far it counts, for the button; where it is kept, for afterwards."""
    if destination is None:
        return "from now on", "kept by the agent"
    if isinstance(destination, str) and destination in _SCOPES:
        return _SCOPES[destination], _PLACES[destination]
    return f"in {_plain(destination)}", f"saved to {_plain(destination)}"


def _rule(rule: Json) -> str:
    if not isinstance(rule, dict):
        return _plain(rule)
    tool, content = _plain(rule.get("toolName")), rule.get("ruleContent")
    others = "".join(f", {name}: {_plain(rule[name])}" for name in rule if name not in ("toolName", "ruleContent"))
    if content is None or content == "":
        return f"{tool}{others}"
    return f"{_plain(content)}{others}" if tool == COMMAND else f"{tool}({_plain(content)}){others}"


def _listed(value: Json) -> list[Json]:
    """What the entry names. Of whatever shape it is, it goes back to the agent, so it is on the button."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
