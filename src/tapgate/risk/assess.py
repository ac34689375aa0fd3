"""Names what is risky about a tool call, in words for a person. It shows and never decides. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from tapgate.model import Context, Findings, Request, Risk
from tapgate.risk.files import Touch
from tapgate.risk.hidden import HIDDEN_TEXT, RUNS_HIDDEN, hidden_texts, runs_in_changed_file
from tapgate.risk.links import Links, NoLinks, follow_links, with_real_project
from tapgate.risk.paths import Ground, ground
from tapgate.risk.rules import RULES, Rule
from tapgate.risk.scene import RiskInput, scene_of_commands, touch_of
from tapgate.shell.calls import UNKNOWN
from tapgate.shell.parser import MAX_CHARS
from tapgate.shell.walk import read_commands

__all__ = [
    "RULES",
    "Risk",
    "Rule",
    "assess",
    "assess_request",
    "examine",
    "examine_request",
    "hidden_texts",
    "sentence_of",
    "with_changed_file",
    "without_masks",
]

MAX_PATHS = 200
_SHELL_TOOLS = frozenset({"Bash", "shell", "local_shell", "exec_command", "unified_exec", "run_shell_command"})
_WRITING = re.compile(r"write|edit|create|delete|remove|move|rename|append|replace|save|update|patch|insert|upload")
_PATH_KEYS = frozenset(
    {"file_path", "notebook_path", "path", "filepath", "filename", "file", "directory", "dir", "destination", "source"}
    | {"target", "absolute_path", "dir_path", "paths", "files", "new_path", "old_path", "uri", "relative_path"}
)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_NO_LINKS = NoLinks()
_UNCERTAIN = frozenset({"not-understood", "unknown-command"})


def assess(tool: str, tool_input: Mapping[str, Any], *, cwd: str, project: str, home: str) -> tuple[Risk, ...]:
    """The risks of this call by its words alone: links are followed only where the command line makes them itself."""
    return examine(tool, tool_input, cwd=cwd, project=project, home=home).risks


def examine(
    tool: str, tool_input: Mapping[str, Any], *, cwd: str, project: str, home: str, links: Links = _NO_LINKS
) -> Findings:
    """The risks of this call in the order of the table, each at most once, and its paths that lead elsewhere.

    `links` asks the disk; everything else is pure, never raises, and is bounded in time and memory.
    """
    where = with_real_project(ground(_plain(home), _plain(project), _plain(cwd)), links)
    here = where.locate(_plain(cwd) or where.project, "/")
    scene = follow_links(_scene(tool, tool_input, here, where), links)
    scene = replace(scene, fields=tool_input, words=_words(tool, tool_input, cwd))
    found = []
    for rule in RULES:
        sentence = rule.find(scene)
        if sentence and not (tool not in _SHELL_TOOLS and rule.name in _UNCERTAIN):
            found.append(Risk(rule.name, _readable(sentence), rule.asks_twice, rule.reveals))
    return Findings(tuple(found), scene.links)


def assess_request(request: Request, *, home: str) -> tuple[Risk, ...]:
    """The risks of what an agent asks for, by its words alone."""
    return assess(request.call.tool, request.input, cwd=request.cwd, project=request.project, home=home)


def examine_request(request: Request, *, home: str, links: Links) -> Findings:
    """What there is to say about what an agent asks for. Not short for a large input: run it in a worker thread."""
    return examine(request.call.tool, request.input, cwd=request.cwd, project=request.project, home=home, links=links)


def with_changed_file(risks: tuple[Risk, ...], context: Context) -> tuple[Risk, ...]:
    """The same, and whether the file that the call would change runs what is hidden in it."""
    rule = next(rule for rule in RULES if rule.name == RUNS_HIDDEN)
    if any(risk.name == rule.name for risk in risks) or not runs_in_changed_file(context):
        return risks
    return (Risk(rule.name, rule.sentence, rule.asks_twice, rule.reveals), *risks)


def without_masks(risks: tuple[Risk, ...]) -> tuple[Risk, ...]:
    """The same where nothing is masked: then nothing is hidden."""
    return tuple(risk for risk in risks if risk.name not in (RUNS_HIDDEN, HIDDEN_TEXT))


def sentence_of(name: str) -> str:
    """What a risk means in general, for a card that is not to name any file."""
    return next((rule.sentence for rule in RULES if rule.name == name), name)


def _readable(sentence: str) -> str:
    """Names of files come from the agent: nothing in them may turn the text around or hide a part of it."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in sentence)


def _scene(tool: str, fields: Mapping[str, Any], cwd: str, where: Ground) -> RiskInput:
    command = _command(fields)
    if tool == "apply_patch" and command is not None:
        return _of_patch(command, cwd, where)
    if command is not None and (tool in _SHELL_TOOLS or tool not in _OWN_FORMS):
        workdir = fields.get("workdir")
        if isinstance(workdir, str) and workdir:
            cwd = where.locate(_plain(workdir), cwd)
        scene = scene_of_commands(read_commands(command, cwd=cwd, project=where.project, home=where.home), where)
        scene = replace(scene, cut=scene.cut or len(command) > MAX_CHARS)
        return _with_patches(scene, where)
    if tool in ("WebFetch", "web_fetch", "WebSearch"):
        url = fields.get("url")
        return RiskInput(where, url=_plain(url)[:4096] if isinstance(url, str) else "")
    paths = list(_paths(fields))
    touches = tuple(touch_of(path, tool=tool, cwd=cwd, ground=where) for path in paths[:MAX_PATHS])
    cut = len(paths) > MAX_PATHS
    if _WRITING.search(tool.rsplit("__", 1)[-1].lower()):
        return RiskInput(where, writes=touches, cut=cut)
    return RiskInput(where, reads=touches, cut=cut)


_OWN_FORMS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit", "Read", "Glob", "Grep", "LS", "Task", "Agent"})


def _command(fields: Mapping[str, Any]) -> str | None:
    """A command line: a text, or a list of words as some agents send it."""
    command = fields.get("command", fields.get("cmd"))
    if isinstance(command, str):
        return _plain(command)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command[:1000]):
        return " ".join(_quoted(_plain(word)) for word in command[:1000])
    return None


def _words(tool: str, fields: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """Where one letter for another leads to another program, file or machine."""
    command, url = _command(fields), fields.get("url")
    own = [command] if command is not None and tool != "apply_patch" else []
    own += [url[:4096]] if isinstance(url, str) else []
    return (tool, cwd, *own, *islice(_paths(fields), MAX_PATHS))


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _plain(text: str) -> str:
    """Without the sign by which unknown parts are marked, and not longer than what is looked at."""
    return text[: MAX_CHARS + 1].replace(UNKNOWN, " ")


def _of_patch(patch: str, cwd: str, where: Ground) -> RiskInput:
    found = [match[1] or match[2] for match in _PATCHED.finditer(patch)]
    touches = tuple(touch_of(path.strip(), tool="apply_patch", cwd=cwd, ground=where) for path in found[:MAX_PATHS])
    return RiskInput(where, writes=touches, cut=len(found) > MAX_PATHS or len(patch) > MAX_CHARS)


def _with_patches(scene: RiskInput, where: Ground) -> RiskInput:
    """Codex also runs apply_patch as a command."""
    touches: tuple[Touch, ...] = ()
    for call in scene.calls:
        if call.name in ("apply_patch", "applypatch"):
            for text in (*call.texts, call.stdin or ""):
                touches += _of_patch(text, call.cwd, where).writes
    return replace(scene, writes=scene.writes + touches) if touches else scene


def _paths(fields: Mapping[str, Any]) -> Iterator[str]:
    """What the input's fields name as paths; a list of edits may name more."""
    for key, value in fields.items():
        if key in _PATH_KEYS:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str) and item:
                    yield _plain(item)[:4096].removeprefix("file://")
        elif key == "edits" and isinstance(value, list):
            for edit in value[: MAX_PATHS + 1]:
                if isinstance(edit, dict) and isinstance(edit.get("file_path"), str):
                    yield _plain(edit["file_path"])[:4096]
