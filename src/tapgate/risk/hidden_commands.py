"""Commands that stand in a text which is written: scripts of a package, steps of a workflow, recipes, images. Pure."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator

MOST_COMMANDS = 100
_KEY = (
    r"run|script|scripts|before_script|after_script|command|cmd|exec|shell|entrypoint|args|hook|\w*_?command"
    r"|ExecStart\w*|ExecStop\w*|ExecReload"
)
_LINE = re.compile(
    rf"(?P<indent>[ \t]*)(?P<item>-[ \t]+)?(?:[\"']?(?:{_KEY})[\"']?[ \t]*[:=]|(?:RUN|CMD|ENTRYPOINT|SHELL)(?=[ \t\[]))"
    r"[ \t]*(?P<command>.*)",
    re.DOTALL,
)
_NESTED = re.compile(r"(?:[|>][-+\d]{0,2})?[ \t]*(?:#.*)?")
_SCRIPTS = re.compile(r"\"scripts\"\s*:\s*\{(?P<pairs>[^{}]*)\}?")
_PAIR = re.compile(r"\"[^\"\n]*\"\s*:\s*(?P<command>\"(?:[^\"\\\n]|\\.)*\")")
_PACKAGES = frozenset({"package.json", "composer.json", "deno.json"})
_RECIPES = frozenset({"makefile", "gnumakefile", "justfile"})


def commands_in(text: str, path: str) -> Iterator[str]:
    """What a program would run that reads this text later, as far as its lines or the file's name tell."""
    name = posixpath.basename(path).lower()
    yield from _of_lines(text)
    if name in _PACKAGES:
        yield from (command for command in _of_pairs([text]) if "://" not in command)
    else:
        yield from _of_pairs(match["pairs"] for match in _SCRIPTS.finditer(text))
    if name in _RECIPES or name.endswith(".mk"):
        yield from (line.strip("\t @-+") for line in text.split("\n") if line[:1] in ("\t", " "))
    if name == "procfile":
        yield from (line.partition(":")[2] for line in text.split("\n"))


def _of_lines(text: str) -> Iterator[str]:
    """The value of a key in the same line, or in the lines below it that are further in."""
    lines = text.split("\n")
    inside = -1  # how far in the key stands to which these lines belong
    for line in lines:
        indent = len(line) - len(line.lstrip(" \t"))
        if inside >= 0 and line.strip() and indent < inside + (not line.lstrip().startswith("- ")):
            inside = -1
        match = _LINE.match(line)
        if match is None:
            if inside >= 0 and line.strip():
                yield _unquoted(line.strip().removeprefix("- "))
            continue
        command = match["command"].strip().rstrip(",")
        if _NESTED.fullmatch(command):
            inside = len(match["indent"]) + len(match["item"] or "")
        else:
            yield _unquoted(command)


def _of_pairs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for pair in _PAIR.finditer(text):
            try:
                yield json.loads(pair["command"])
            except ValueError:
                yield pair["command"]


def _unquoted(command: str) -> str:
    """Without the quotes around all of it, and of a list of words the words: `["./run", "--all"]`."""
    if command.startswith("["):
        return " ".join(re.findall(r"[^\[\]\s,\"']+", command))
    if len(command) > 1 and command[0] == command[-1] and command[0] in "\"'":
        return command[1:-1]
    return command
