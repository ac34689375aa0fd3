"""Interpreters: the code that a command line gives them, and what that code would start in turn."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tapgate.shell.calls import Arg

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})
CODE_FLAGS = {
    "python": "-c",
    "pypy": "-c",
    "perl": "-e -E",
    "ruby": "-e",
    "node": "-e -p --eval --print",
    "nodejs": "-e -p --eval --print",
    "bun": "-e --eval",
    "deno": "--eval",
    "php": "-r",
    "lua": "-e",
    "osascript": "-e",
    "pwsh": "-c -Command",
    "powershell": "-c -Command",
}
"""Interpreters of other languages, and the options that carry code."""


@dataclass(frozen=True, slots=True)
class Inner:
    """A call that another one starts: by its words, or as the text of a script."""

    args: tuple[Arg, ...] = ()
    script: Arg | None = None
    positional: tuple[Arg, ...] | None = None  # from $0 on
    away: bool = False  # on another machine or in a container
    same_shell: bool = False  # what it sets and where it goes to stays
    hears: bool = True  # it reads what the outer call reads
    listed: bool = False  # what the outer call reads becomes its words
    guessed: bool = False  # found in other code: it may be no command at all
    cwd: Arg | None = None  # the directory in which it starts, where that is not the outer call's


_CALLED_SHELL = re.compile(
    r"(?:os\.(?:system|popen)|subprocess\.\w+|getoutput|execSync|exec|spawnSync|spawn|shell_exec|passthru|system|popen"
    r"|run|call|check_call|check_output|Popen|do shell script)\s*\(?\s*[fr]?(\"\"\"|'''|\"|'|`)(.{1,4000}?)(?<!\\)\1",
    re.DOTALL,
)
_CALLED_LIST = re.compile(
    r"(?:subprocess\.\w+|run|call|check_call|check_output|Popen|execv?p?e?|spawn\w*)"
    r"\(\s*(?:['\"][^'\"\n]{1,200}['\"]\s*,\s*)?\[([^\]]{1,2000})\]"
)
_BACKTICKED = re.compile(r"`([^`\n]{1,2000})`")
_LITERAL = re.compile(r"\"([^\"\\\n]*(?:\\.[^\"\\\n]*)*)\"|'([^'\\\n]*(?:\\.[^'\\\n]*)*)'")


def code_of(name: str, args: tuple[Arg, ...], stdin: str | None) -> list[str]:
    """The code that is given to an interpreter in the command line itself."""
    wanted = CODE_FLAGS[name].split()
    codes: list[str] = []
    operand = False
    for index, arg in enumerate(args):
        text = arg.text
        follows = args[index + 1].text if index + 1 < len(args) else ""
        if text in wanted:
            codes.append(follows)
        elif text.startswith("-") and not text.startswith("--") and any(text.endswith(flag[1:]) for flag in wanted):
            codes.append(follows)  # a cluster such as -pe or -Ec
        elif not text.startswith("-") and not operand:
            operand = not (index and args[index - 1].text in wanted)
    if not codes and not operand and stdin:
        codes.append(stdin)
    return codes


def calls_in_code(name: str, code: str) -> list[Inner]:
    """What it hands to a shell or starts by a list of words, as far as both stand in it as they are."""
    texts = [match[2] for match in _CALLED_SHELL.finditer(code)]
    if name in ("perl", "ruby", "php"):
        texts += [match[1] for match in _BACKTICKED.finditer(code)]
    found = [Inner(script=Arg(text), hears=False, guessed=True) for text in texts]
    for match in _CALLED_LIST.finditer(code):
        words = tuple(Arg(literal[1] or literal[2] or "") for literal in _LITERAL.finditer(match[1]))
        if words:
            found.append(Inner(words, hears=False, guessed=True))
    return found[:32]


STDIN_FILES = ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0", "-")


def shell_use(args: tuple[Arg, ...]) -> tuple[str, int]:
    """What a shell takes as its program: "code" or "file" with the number of the word, or its "input"."""
    code = from_input = False
    position = 0
    while position < len(args):
        text = args[position].text
        if text in ("-", "--"):
            position += 1
            break
        if text.startswith("--"):
            position += 2 if text in ("--rcfile", "--init-file") else 1
        elif text.startswith(("-", "+")):
            code |= text[0] == "-" and "c" in text
            from_input |= "s" in text
            position += 2 if "o" in text.lower() else 1  # -o pipefail
        else:
            break
    if position >= len(args):
        return ("none", -1) if code else ("input", -1)
    if code:
        return "code", position
    if from_input or args[position].text in STDIN_FILES:
        return "input", -1
    return "file", position


def calls_of_shell(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    use, position = shell_use(args)
    if use == "code":
        return [Inner(script=args[position], positional=args[position + 1 :])]
    return [Inner(script=Arg(stdin), hears=False)] if stdin and use == "input" else []


def calls_of_awk(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    found: list[Inner] = []
    for arg in args:
        for match in re.finditer(r"(?:system\s*\(\s*|\|\s*(?:getline\s*)?)\"([^\"]{1,4000})\"", arg.text[:65536]):
            found.append(Inner(script=Arg(match[1]), hears=False))
    return found[:32]
