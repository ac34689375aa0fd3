"""Words of a command line as the shell would expand them, from the variables that the same line has set."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tapgate.shell.calls import UNKNOWN, Arg, Call
from tapgate.shell.tree import Arithmetic, Node, Parameter, Part, Substitution, Text, Word

MAX_VALUE_CHARS = 32 * 1024
MAX_BRACES = 64

RunText = Callable[[Substitution], tuple[str | None, tuple[Call, ...]]]
"""Walks the commands of a substitution: their output where it can be told, and the calls."""


@dataclass(frozen=True, slots=True)
class Value:
    items: tuple[str, ...]  # several for an array
    inner: tuple[Call, ...] = ()

    @property
    def text(self) -> str:
        return " ".join(self.items)[:MAX_VALUE_CHARS]


@dataclass(slots=True)
class State:
    """What a shell knows at one moment. Subshells get a copy."""

    cwd: str
    home: str
    project: str
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, tuple[Node, tuple[Word, ...]]] = field(default_factory=dict)
    positional: tuple[Arg, ...] | None = None

    def copy(self) -> State:
        return State(self.cwd, self.home, self.project, dict(self.variables), dict(self.functions), self.positional)

    def set(self, name: str, *items: str, inner: tuple[Call, ...] = ()) -> None:
        self.variables[name] = Value(tuple(item[:MAX_VALUE_CHARS] for item in items), inner)


def new_state(cwd: str, project: str, home: str) -> State:
    """With the variables whose values are the same on every machine, or do not matter beyond their kind."""
    state = State(cwd or UNKNOWN, home, project)
    known = {
        "HOME": home,
        "PWD": cwd or UNKNOWN,
        "IFS": " ",
        "PATH": "/usr/bin:/bin",
        "SHELL": "/bin/bash",
        "BASH": "/bin/bash",
        "TMPDIR": "/tmp",  # noqa: S108 - a name for a place, nothing is written
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "CODEX_HOME": f"{home}/.codex",
        "CLAUDE_PROJECT_DIR": project or UNKNOWN,
    }
    for name, text in known.items():
        state.set(name, text)
    return state


class _Sheet:
    """A word while it is expanded: its letters and, for each, how it came in.

    `q` was quoted, `t` stood there as it is, `v` came out of a variable and is split at blanks.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.marks: list[str] = []
        self.room = MAX_VALUE_CHARS
        self.quoted = False
        self.variables: list[str] = []
        self.inner: list[Call] = []

    def add(self, text: str, kind: str) -> None:
        text = text[: self.room]
        self.room -= len(text)
        self.pieces.append(text)
        self.marks.append(kind * len(text))
        self.quoted |= kind == "q"

    @property
    def both(self) -> tuple[str, str]:
        return "".join(self.pieces), "".join(self.marks)


def expand(word: Word, state: State, run: RunText) -> list[Arg]:
    """The fields that a word becomes: none, one or several."""
    if len(word.parts) == 1:
        only = word.parts[0]
        if isinstance(only, Text) and only.text.isalnum():  # most words
            return [Arg(only.text, word.source, disguised=_is_disguised(word, only.text))]
        if isinstance(only, Parameter) and only.name in "@*" and only.name and not only.operator:
            return list(state.positional) if state.positional is not None else [_unknown(word, only.name)]
    sheet = _Sheet()
    for index, part in enumerate(word.parts):
        _add(sheet, part, state, run, first=index == 0)
    common = (tuple(sheet.variables), tuple(sheet.inner))
    torn = any(isinstance(part, Parameter) and part.name == "IFS" and not part.quoted for part in word.parts)
    fields: list[Arg] = []
    whole, marks = sheet.both
    for text, mask in _braces(whole, marks):
        for piece, signs in _split(text, mask):
            if piece or sheet.quoted:
                glob = any(letter in "*?[" and mark != "q" for letter, mark in zip(piece, signs, strict=True))
                source = word.source if piece == whole or UNKNOWN in piece else piece
                disguised = torn or _is_disguised(word, piece)
                fields.append(Arg(piece, source, glob, *common, disguised))
    return fields


def expand_one(word: Word, state: State, run: RunText) -> Arg:
    """As in an assignment or a redirection: not split."""
    sheet = _Sheet()
    for index, part in enumerate(word.parts):
        _add(sheet, part, state, run, first=index == 0)
    text, marks = sheet.both
    glob = any(letter in "*?[" and mark != "q" for letter, mark in zip(text, marks, strict=True))
    return Arg(text, word.source, glob, tuple(sheet.variables), tuple(sheet.inner))


def _unknown(word: Word, name: str) -> Arg:
    return Arg(UNKNOWN, word.source, variables=(name,))


def _add(sheet: _Sheet, part: Part, state: State, run: RunText, *, first: bool) -> None:
    match part:
        case Text():
            text = part.text
            if first and not part.quoted and text.startswith("~"):
                text = _tilde(text, state)
            sheet.add(text, "q" if part.quoted else "t")
        case Parameter():
            value = _parameter(part, state, run)
            sheet.variables.append(part.name)
            sheet.inner += value.inner
            many = part.name in ("@", "*") or "[@]" in part.operator
            sheet.add(value.text, "q" if part.quoted and not many else "v")
        case Substitution():
            output, calls = run(part)
            sheet.inner += calls
            sheet.add(UNKNOWN if output is None else output.rstrip("\n"), "q" if part.quoted else "v")
        case Arithmetic():
            hidden = _Sheet()
            for inside in part.parts:
                _add(hidden, inside, state, run, first=False)
            sheet.inner += hidden.inner
            sheet.add(UNKNOWN, "q")


def _tilde(text: str, state: State) -> str:
    name, slash, rest = text.partition("/")
    if name == "~":
        return state.home + slash + rest
    if name in ("~+", "~-"):
        return (state.cwd if name == "~+" else UNKNOWN) + slash + rest
    return text


_SUBSTRING = re.compile(r"\s*(-?\d+)(?::(-?\d+))?")


def _parameter(part: Parameter, state: State, run: RunText) -> Value:
    """`${name…}`. Its argument is expanded in any case: commands may stand in it."""
    value = _lookup(part.name, state)
    operator = part.operator
    if not operator and part.argument is None:
        return value or Value((UNKNOWN,))
    argument = expand_one(part.argument, state, run) if part.argument is not None else Arg("")
    subscript = re.match(r"[#!]?\[([^\]]*)\]", operator)
    if subscript:
        operator = operator.replace(f"[{subscript[1]}]", "", 1)
        if value and subscript[1].isdigit():
            value = Value(value.items[int(subscript[1]) :][:1] or ("",), value.inner)
    inner = (*(value.inner if value else ()), *argument.inner)
    known = value.text if value and UNKNOWN not in value.text else None
    if operator in (":-", "-", ":=", "="):
        text = known or argument.text
        if "=" in operator and part.name:
            state.set(part.name, text, inner=inner)
        return Value((text,), inner)
    if operator in (":+", "+"):
        return Value((argument.text,), inner)
    if operator == "!" and known and not argument.text:
        return _lookup(known, state) or Value((UNKNOWN,), inner)
    if operator in ("", ":?", "?") or operator[0] == "@":
        return Value(value.items if value else (UNKNOWN,), inner)
    text = _change(known, operator, argument.text) if known is not None else UNKNOWN
    return Value((text,), inner)


def _change(text: str, operator: str, argument: str) -> str:
    if operator in ("^^", ",,") and not argument:
        return text.upper() if operator == "^^" else text.lower()
    if operator == ":" and (numbers := _SUBSTRING.fullmatch(argument)):
        start = max(-len(text), min(len(text), int(numbers[1][:9])))
        start = start + len(text) if start < 0 else start
        length = int(numbers[2][:9]) if numbers[2] else len(text)
        return text[start : start + length] if length >= 0 else text[start:length]
    if operator[0] == "/" and operator[-1] == "/":
        old, _, new = argument.partition("/")
        if old and not any(letter in "*?[\\" for letter in old):
            return text.replace(old, new, 1 if operator == "/" else -1)[:MAX_VALUE_CHARS]
    if operator in ("#", "##", "%", "%%") and argument and len(text) <= 256 and len(argument) <= 64:
        pattern = re.compile(fnmatch.translate(argument)) if argument.count("*") <= 2 and "[" not in argument else None
        lengths = range(len(text) + 1) if len(operator) == 1 else range(len(text), -1, -1)
        for length in lengths if pattern else ():
            piece = text[:length] if operator[0] == "#" else text[len(text) - length :]
            if pattern and pattern.match(piece):
                return text[length:] if operator[0] == "#" else text[: len(text) - length]
        return text
    return UNKNOWN


def _lookup(name: str, state: State) -> Value | None:
    if name in state.variables:
        return state.variables[name]
    if name == "0":
        return Value(("bash",))
    if name == "?":
        return Value(("0",))
    if name == "!":
        return Value(("%!",))  # a job of this command line, as %1 is
    if state.positional is not None:
        if name.isdigit():
            chosen = state.positional[int(name) - 1 : int(name)] if len(name) < 4 else ()
            return Value((chosen[0].text,), chosen[0].inner) if chosen else Value(("",))
        if name in ("@", "*"):
            inner = tuple(call for arg in state.positional for call in arg.inner)
            return Value(tuple(arg.text for arg in state.positional), inner)
    return None


def _braces(text: str, mask: str) -> list[tuple[str, str]]:
    """`a{b,c}` as two words. At most `MAX_BRACES` of them; more stay as they are."""
    done: list[tuple[str, str]] = []
    todo = [(text, mask)]
    while todo:
        text, mask = todo.pop(0)
        group = _first_group(text, mask) if len(done) + len(todo) < MAX_BRACES else None
        if group is None:
            done.append((text, mask))
            continue
        start, end, commas = group
        edges = [start, *commas, end]
        todo[:0] = [
            (text[:start] + text[a + 1 : b] + text[end + 1 :], mask[:start] + mask[a + 1 : b] + mask[end + 1 :])
            for a, b in itertools.pairwise(edges)
        ]
    return done


def _first_group(text: str, mask: str) -> tuple[int, int, list[int]] | None:
    """The first braces that hold a comma: where they open and close, and their commas."""
    if "{" not in text or "," not in text or len(text) > 4096:
        return None
    stack: list[tuple[int, list[int]]] = []
    best: tuple[int, int, list[int]] | None = None
    for index, letter in enumerate(text):
        if mask[index] != "t":
            continue
        if letter == "{":
            stack.append((index, []))
        elif letter == "," and stack:
            stack[-1][1].append(index)
        elif letter == "}" and stack:
            start, commas = stack.pop()
            if commas and (best is None or start < best[0]):
                best = (start, index, commas)
    return best


def _split(text: str, mask: str) -> list[tuple[str, str]]:
    """Cut at the blanks that came out of variables."""
    if "v" not in mask:
        return [(text, mask)]
    pieces: list[tuple[str, str]] = []
    start = 0
    for index, letter in enumerate(text):
        if letter in " \t\n" and mask[index] == "v":
            if index > start:
                pieces.append((text[start:index], mask[start:index]))
            start = index + 1
    pieces.append((text[start:], mask[start:]))
    return pieces


_PLAIN_NAME = re.compile(r"[A-Za-z0-9._+-]+")


def _is_disguised(word: Word, text: str) -> bool:
    """`r\\m`, `"r"m` and $'\\x72m', but not `\\rm`, which only steps around an alias."""
    if any(isinstance(part, Text) and part.escaped for part in word.parts):
        return True
    if word.source in (text, f"\\{text}", f"'{text}'", f'"{text}"') or not _PLAIN_NAME.fullmatch(text):
        return False
    return all(isinstance(part, Text) for part in word.parts)
