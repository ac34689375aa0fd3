"""Judges one of Claude Code's permission updates by itself: does it reach far, or is it of a kind that nobody knows.

The call on the card says nothing about it: an agent may suggest any rule beside a harmless call. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tapgate.model import Json
from tapgate.risk.characters import find_hidden, find_look_alike, texts_in
from tapgate.risk.rule_scope import why_broad_command, why_broad_directory, why_broad_domain, why_broad_path

MOST_RULES = 10  # of one update are judged; more of them count as reaching far
_FIELDS = {
    "addRules": {"type", "rules", "behavior", "destination"},
    "replaceRules": {"type", "rules", "behavior", "destination"},
    "removeRules": {"type", "rules", "behavior", "destination"},
    "setMode": {"type", "mode", "destination"},
    "addDirectories": {"type", "directories", "destination"},
    "removeDirectories": {"type", "directories", "destination"},
}
_DESTINATIONS = ("session", "localSettings", "projectSettings", "userSettings")
_BEHAVIORS = ("allow", "deny", "ask")
_ASKING_MODES = ("default", "plan")
_UNASKED = ("bypassPermissions", "dontAsk", "auto")
_COMMAND_TOOLS = ("Bash",)
_FILE_TOOLS = ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS")
_HARMLESS_TOOLS = ("WebSearch", "TodoWrite")
_RUNNING_WORDS = {
    *("exec", "execute", "eval", "evaluate", "run", "spawn", "script", "command", "commands", "cmd"),
    *("shell", "bash", "sh", "zsh", "powershell", "terminal", "tmux"),
}
UNKNOWN = "tapgate does not know what this does"


def why_careful(entry: Mapping[str, Any], *, project: str) -> str | None:
    """Why this update takes a second tap, in words; None where it is narrow and well known."""
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        return "It covers every use of that tool" if kind == "toolAlwaysAllow" else UNKNOWN
    if set(entry) - _FIELDS[kind]:
        return f"{UNKNOWN}: it has fields that are new"
    if _is_none_of(entry.get("destination"), _DESTINATIONS):
        return f"{UNKNOWN}: it does not say in a known way where it counts"
    if kind == "setMode":
        return _why_careful_mode(entry)
    if kind in ("addDirectories", "removeDirectories"):
        return _first(_of_directories(entry, project)) if kind == "addDirectories" else None
    return _why_careful_rules(kind, entry, project)


def _why_careful_mode(entry: Mapping[str, Any]) -> str | None:
    mode = entry.get("mode")
    if not _is_none_of(mode, _ASKING_MODES):
        return None
    if mode == "acceptEdits":
        return None if entry["destination"] == "session" else "It accepts edits in later sessions, too"
    return "The agent then asks for nothing any more" if not _is_none_of(mode, _UNASKED) else UNKNOWN


def _why_careful_rules(kind: str, entry: Mapping[str, Any], project: str) -> str | None:
    behavior = entry.get("behavior")
    if _is_none_of(behavior, _BEHAVIORS):
        return UNKNOWN
    if kind == "addRules" and behavior != "allow":
        return None  # it only makes the agent stricter
    if kind == "removeRules" and behavior == "allow":
        return None
    if behavior != "allow":
        return "It takes away a rule that protects you"
    return _first(_of_rules(entry, project))


def _of_directories(entry: Mapping[str, Any], project: str) -> Iterator[str | None]:
    directories = entry.get("directories")
    if not isinstance(directories, list) or len(directories) > MOST_RULES:
        yield UNKNOWN
        return
    yield find_hidden(texts_in(directories)) or find_look_alike(texts_in(directories))
    if directories and entry["destination"] == "userSettings":
        yield "It counts in all projects"
    for path in directories:
        yield why_broad_directory(path, project=project) if isinstance(path, str) and path else UNKNOWN


def _of_rules(entry: Mapping[str, Any], project: str) -> Iterator[str | None]:
    rules = entry.get("rules")
    if not isinstance(rules, list) or len(rules) > MOST_RULES:
        yield UNKNOWN
        return
    yield find_hidden(texts_in(rules)) or find_look_alike(texts_in(rules))
    for rule in rules:
        yield _why_careful_rule(rule, project, everywhere=entry["destination"] == "userSettings")


def _why_careful_rule(rule: Json, project: str, *, everywhere: bool) -> str | None:
    if not isinstance(rule, dict) or set(rule) - {"toolName", "ruleContent"}:
        return UNKNOWN
    tool, content = rule.get("toolName"), rule.get("ruleContent")
    if not isinstance(tool, str) or not isinstance(content, str | None):
        return UNKNOWN
    if "`" in tool or "`" in (content or ""):
        return "It holds a sign that may make its words on the button look like others"
    if not content:
        return _why_whole_tool(tool, everywhere=everywhere)
    if everywhere and "*" in content:
        return _of_tool(tool, content, project) or "It has a wildcard, and counts in all projects"
    return _of_tool(tool, content, project)


def _of_tool(tool: str, content: str, project: str) -> str | None:
    if tool in _COMMAND_TOOLS and not content.startswith("prompt:"):  # that one describes commands in words
        return why_broad_command(content, project=project)
    if tool in _FILE_TOOLS:
        return why_broad_path(content, project=project)
    if tool == "WebFetch" and content.startswith("domain:"):
        return why_broad_domain(content.removeprefix("domain:"))
    return f"{UNKNOWN}: what stands in the brackets of {tool[:40]}"


def _why_whole_tool(tool: str, *, everywhere: bool) -> str | None:
    """A rule without brackets: every use of a tool. Of some tools there is no narrower one."""
    server, _, name = tool.removeprefix("mcp__").partition("__")
    is_one = tool.startswith("mcp__") and bool(server and name) and "*" not in tool
    if tool in _HARMLESS_TOOLS:
        return None
    if not is_one:
        return "It covers every use of every tool" if tool in ("*", "") else f"It covers every use of {tool[:80]}"
    if _RUNNING_WORDS & set(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())):
        return f"It covers every use of {tool[:80]}, whatever is given to it"
    return "It counts in all projects" if everywhere else None


def _is_none_of(value: Json, known: tuple[str, ...]) -> bool:
    """Not by a set: a value may be of any shape, and lists have no hash."""
    return not isinstance(value, str) or value not in known


def _first(reasons: Iterator[str | None]) -> str | None:
    return next((reason for reason in reasons if reason), None)
