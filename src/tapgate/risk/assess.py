"""Names what is risky about a tool call, in words for a person. It shows and never decides. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from tapgate.model import CHANGES_FILES, Context, Findings, Request, Risk, ToolKind, ToolUse
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
_WRITING = re.compile(r"write|edit|create|delete|remove|move|rename|append|replace|save|update|patch|insert|upload")
_PATH_KEYS = frozenset(
    {"file_path", "notebook_path", "path", "filepath", "filename", "file", "directory", "dir", "destination", "source"}
    | {"target", "absolute_path", "dir_path", "paths", "files", "new_path", "old_path", "uri", "relative_path"}
)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_PATCHER = "apply_patch"  # a program on the command line, too
_NO_LINKS = NoLinks()
_UNCERTAIN = frozenset({"not-understood", "unknown-command"})


def assess(use: ToolUse, *, cwd: str, project: str, home: str) -> tuple[Risk, ...]:
    """The risks of this call by its words alone: links are followed only where the command line makes them itself."""
    return examine(use, cwd=cwd, project=project, home=home).risks


def examine(use: ToolUse, *, cwd: str, project: str, home: str, links: Links = _NO_LINKS) -> Findings:
    """The risks of this call in the order of the table, each at most once, and its paths that lead elsewhere.

    `links` asks the disk; everything else is pure, never raises, and is bounded in time and memory.
    """
    where = with_real_project(ground(_plain(home), _plain(project), _plain(cwd)), links)
    here = where.locate(_plain(cwd) or where.project, "/")
    scene = follow_links(_scene(use, here, where), links)
    scene = replace(scene, use=use, words=_words(use, cwd))
    found = []
    for rule in RULES:
        sentence = rule.find(scene)
        if sentence and (use.kind is ToolKind.COMMAND or rule.name not in _UNCERTAIN):
            found.append(Risk(rule.name, _readable(sentence), rule.asks_twice, rule.reveals))
    return Findings(tuple(found), scene.links)


def assess_request(request: Request, *, home: str) -> tuple[Risk, ...]:
    """The risks of what an agent asks for, by its words alone."""
    return assess(request.tool_use, cwd=request.cwd, project=request.project, home=home)


def examine_request(request: Request, *, home: str, links: Links) -> Findings:
    """What there is to say about what an agent asks for. Not short for a large input: run it in a worker thread."""
    return examine(request.tool_use, cwd=request.cwd, project=request.project, home=home, links=links)


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


def _scene(use: ToolUse, cwd: str, where: Ground) -> RiskInput:
    command = _command(use)
    if use.kind is ToolKind.PATCH and command is not None:
        return _of_patch(command, cwd, where)
    if command is not None and use.kind not in _WITHOUT_COMMAND:
        workdir = use.value("workdir")
        if isinstance(workdir, str) and workdir:
            cwd = where.locate(_plain(workdir), cwd)
        scene = scene_of_commands(read_commands(command, cwd=cwd, project=where.project, home=where.home), where)
        scene = replace(scene, cut=scene.cut or len(command) > MAX_CHARS)
        if use.kind is ToolKind.OTHER:  # what it makes of the text is not known: it may be a patch
            scene = replace(scene, writes=scene.writes + _of_patch(command, cwd, where).writes)
        return _with_patches(scene, where)
    if use.kind in (ToolKind.FETCH, ToolKind.WEB_SEARCH):
        url = use.value("url")
        return RiskInput(where, url=_plain(url)[:4096] if isinstance(url, str) else "")
    paths = list(_paths(use))
    touches = tuple(touch_of(path, tool=use.name, cwd=cwd, ground=where) for path in paths[:MAX_PATHS])
    cut = len(paths) > MAX_PATHS
    if use.kind in CHANGES_FILES or _WRITING.search(use.name.rsplit("__", 1)[-1].lower()):
        return RiskInput(where, writes=touches, cut=cut)
    return RiskInput(where, reads=touches, cut=cut)


_WITHOUT_COMMAND = CHANGES_FILES | {ToolKind.READ, ToolKind.FIND, ToolKind.SEARCH, ToolKind.LIST, ToolKind.TASK}
"""Kinds that run nothing, also where a field is called so."""


def _command(use: ToolUse) -> str | None:
    """A command line: a text, or a list of words as some agents send it."""
    command = use.command
    if isinstance(command, str):
        return _plain(command)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command[:1000]):
        return " ".join(_quoted(_plain(word)) for word in command[:1000])
    return None


def _words(use: ToolUse, cwd: str) -> tuple[str, ...]:
    """Where one letter for another leads to another program, file or machine."""
    command, url = _command(use), use.value("url")
    own = [command] if command is not None and use.kind is not ToolKind.PATCH else []
    own += [url[:4096]] if isinstance(url, str) else []
    return (use.name, cwd, *own, *islice(_paths(use), MAX_PATHS))


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _plain(text: str) -> str:
    """Without the sign by which unknown parts are marked, and not longer than what is looked at."""
    return text[: MAX_CHARS + 1].replace(UNKNOWN, " ")


def _of_patch(patch: str, cwd: str, where: Ground) -> RiskInput:
    found = [match[1] or match[2] for match in _PATCHED.finditer(patch)]
    touches = tuple(touch_of(path.strip(), tool=_PATCHER, cwd=cwd, ground=where) for path in found[:MAX_PATHS])
    return RiskInput(where, writes=touches, cut=len(found) > MAX_PATHS or len(patch) > MAX_CHARS)


def _with_patches(scene: RiskInput, where: Ground) -> RiskInput:
    """A patch may also be applied by a command."""
    touches: tuple[Touch, ...] = ()
    for call in scene.calls:
        if call.name in (_PATCHER, "applypatch"):
            for text in (*call.texts, call.stdin or ""):
                touches += _of_patch(text, call.cwd, where).writes
    return replace(scene, writes=scene.writes + touches) if touches else scene


def _paths(use: ToolUse) -> Iterator[str]:
    """What the input's fields name as paths; a list of edits may name more."""
    file_path, edits = use.field_of("file_path"), use.field_of("edits")
    known = _PATH_KEYS | {file_path, use.field_of("notebook_path"), use.field_of("path")}
    for key, value in use.input.items():
        if key in known:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str) and item:
                    yield _plain(item)[:4096].removeprefix("file://")
        elif key == edits and isinstance(value, list):
            for edit in value[: MAX_PATHS + 1]:
                if isinstance(edit, dict) and isinstance(edit.get(file_path), str):
                    yield _plain(edit[file_path])[:4096]
