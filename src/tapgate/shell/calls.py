"""What a command line would run: the calls, with their words as far as they can be known without running anything."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

UNKNOWN = "\0"
"""Stands in a text for a part that only the run can tell."""


@dataclass(frozen=True, slots=True)
class Arg:
    """One word of a call, after quotes, variables and braces."""

    text: str
    source: str = ""
    glob: bool = False
    variables: tuple[str, ...] = ()
    inner: tuple[Call, ...] = ()  # the calls whose output is a part of it
    disguised: bool = False  # its letters are written as codes, or torn apart by quotes

    @property
    def known(self) -> bool:
        return UNKNOWN not in self.text

    @property
    def shown(self) -> str:
        """For people: the text where it is known, else as it was written."""
        text = self.text if self.known or not self.source else self.source
        text = " ".join(text.replace(UNKNOWN, "…").split())
        return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True, slots=True)
class Stream:
    """A redirection to or from `target`."""

    operator: str
    fd: str
    target: Arg


@dataclass(frozen=True, slots=True)
class Call:
    """One program with its words. A call that starts another one (`wraps`) is followed by that one."""

    name: str  # without its directory and version; "" if there is none or it is not known
    program: Arg
    args: tuple[Arg, ...] = ()
    streams: tuple[Stream, ...] = ()
    settings: tuple[tuple[str, Arg], ...] = ()
    feeds: tuple[Call, ...] = ()  # the calls whose output it reads
    stdin: str | None = None  # what it reads, where that is known
    cwd: str = UNKNOWN
    via: tuple[str, ...] = ()  # the programs around it, outermost first
    away: bool = False  # on another machine or in a container: its paths are not ours
    wraps: bool = False
    texts: tuple[str, ...] = field(init=False, repr=False, compare=False)  # of `args`

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(arg.text for arg in self.args))


def names(text: str) -> frozenset[str]:
    """A set of names, written with blanks between them."""
    return frozenset(text.split())


_VERSIONED = re.compile(r"(python|pypy|pip|perl|ruby|php|node|lua|bash|zsh|ksh|go)[\d.]+")
_PRIVATE = re.compile(r"/private/(?:tmp|var|etc)(?:/|$)")
_GNU = re.compile(r"g(rm|cp|mv|find|xargs|dd|shred|chmod|chown|timeout|env|sed|awk|tar|grep|ln|tee)")


def program_name(text: str) -> str:
    """`/usr/bin/python3.11` is python: rules speak of programs, not of where they lie."""
    name = text.rsplit("/", 1)[-1].lower().removesuffix(".exe")
    if UNKNOWN in name:
        return ""
    match = _VERSIONED.fullmatch(name) or _GNU.fullmatch(name)
    return match[1] if match else name


PATH_CHARS = 4096  # PATH_MAX of Linux: a system call takes no longer path


def absolute(text: str, cwd: str, home: str) -> str:
    """The path as an absolute one, with each `.` and `..` as it was written: behind a link, `..` leads elsewhere.

    It begins with UNKNOWN if its beginning is not known.
    """
    text = text[:PATH_CHARS]
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    return text if text.startswith(("/", UNKNOWN)) else posixpath.join(cwd or UNKNOWN, text)


def locate(text: str, cwd: str, home: str) -> str:
    """The path as an absolute one, without `.` and `..`. It begins with UNKNOWN if its beginning is not known."""
    return normal(absolute(text, cwd, home))


def normal(path: str) -> str:
    """Without `.` and `..`, by its words alone; and without the /private that macOS puts before three directories."""
    path = posixpath.normpath(path)
    if path.startswith("//"):
        path = path[1:]
    return path.removeprefix("/private") if _PRIVATE.match(path) else path


@dataclass(frozen=True, slots=True)
class Options:
    """A call's words sorted out. `flags` holds each option once, short ones one by one."""

    flags: frozenset[str]
    values: tuple[tuple[str, Arg], ...]
    operands: tuple[Arg, ...]

    def has(self, *names: str) -> bool:
        """Long names also by their beginning, as getopt takes them."""
        return any(
            name in self.flags or (name[:2] == "--" and any(len(f) > 4 and name.startswith(f) for f in self.flags))
            for name in names
        )

    def value(self, *names: str) -> Arg | None:
        return next((value for name, value in self.values if name in names), None)

    def all(self, *names: str) -> tuple[Arg, ...]:
        return tuple(value for name, value in self.values if name in names)


def sort_options(args: tuple[Arg, ...], short: str = "", long: str = "") -> Options:
    """`short` are the letters, `long` the names (with blanks between them) of the options that take a value."""
    flags: set[str] = set()
    values: list[tuple[str, Arg]] = []
    operands: list[Arg] = []
    valued = set(long.split())
    position = 0
    while position < len(args):
        arg = args[position]
        position += 1
        text = arg.text
        following = args[position] if position < len(args) else None
        if text == "--":
            operands += args[position:]
            break
        if text.startswith("--"):
            name, equals, rest = text.partition("=")
            flags.add(name)
            if equals:
                values.append((name, _like(arg, rest)))
            elif name[2:] in valued and following is not None:
                values.append((name, following))
                position += 1
        elif text.startswith("-") and len(text) > 1:
            for index, letter in enumerate(text[1:], 1):
                flags.add(f"-{letter}")
                if letter in short:
                    rest = text[index + 1 :]
                    if rest:
                        values.append((f"-{letter}", _like(arg, rest)))
                    elif following is not None:
                        values.append((f"-{letter}", following))
                        position += 1
                    break
        else:
            operands.append(arg)
    return Options(frozenset(flags), tuple(values), tuple(operands))


def _like(arg: Arg, text: str) -> Arg:
    return Arg(text, text, arg.glob, arg.variables, arg.inner)
