"""The parts of a parsed command line: plain values, without a word about how they are read or what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Letters as they are. `escaped` if they were written as codes, as in $'\\x72'."""

    text: str
    quoted: bool = False
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`, or `${name` with an operator and what follows it."""

    name: str
    quoted: bool
    operator: str = ""
    argument: Word | None = None


@dataclass(frozen=True, slots=True)
class Substitution:
    """Commands whose output becomes part of a word. `sign` is `$(`, a backtick, `<(` or `>(`."""

    script: Script
    quoted: bool
    sign: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A number that is computed. Its parts may hold substitutions."""

    parts: tuple[Part, ...]


Part: TypeAlias = Text | Parameter | Substitution | Arithmetic


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[Part, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    values: tuple[Word, ...]  # several for an array
    append: bool = False
    index: Word | None = None  # of an array


@dataclass(frozen=True, slots=True)
class Redirect:
    """`body` is the number of a here-document in `Tree.bodies`, or -1."""

    operator: str
    target: Word
    fd: str = ""
    body: int = -1


@dataclass(frozen=True, slots=True)
class Simple:
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A compound command. `kind` is its first word; `words` are what a loop, a case or a test looks at."""

    kind: str
    bodies: tuple[Script, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Node


Node: TypeAlias = Simple | Block | Function


@dataclass(frozen=True, slots=True)
class Pipeline:
    stages: tuple[Node, ...]
    context: bool = False


Script: TypeAlias = tuple[Pipeline, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """`broken`: a shell would refuse a part of it. `unclosed`: by a quote without end. `cut`: a limit was met.

    `steps` is the work that reading took.
    """

    script: Script
    bodies: tuple[Word, ...] = ()
    broken: bool = False
    unclosed: bool = False
    cut: bool = False
    steps: int = 0
