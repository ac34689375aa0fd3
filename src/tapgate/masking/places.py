"""Where nothing may be hidden: a machine's name, the word that a shell would run, a key block that it would read. Pure.

It reads a few characters around a place and no grammar. What slips through is named as a risk by risk/hidden.py.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from tapgate.shell.calls import names

_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{0,30}:)?//(?:[^\s/@\"'`<>]{0,400}@)?[^\s/@?#\"'`<>]{0,400}\Z")
_TO_USER = re.compile(r"[^\s/?#\"'`<>]*@")
_WORD = re.compile(r"[^\s;|&()<>`\"'{}]*\Z")
_BLANKS = " \t"
_STARTS = frozenset(";|&(`{!\n")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_NUMBER = re.compile(r"\d+[smhd]?")
_RUNNERS = names(
    "! ash bash bun builtin busybox chroot command coproc csh dash deno do doas elif else env eval exec fish gosu if"
    " ionice ksh lua mksh nice node nodejs nohup npx osascript parallel perl php pkexec python python2 python3 pypy"
    " rbash ruby setsid sh source stdbuf strace sudo taskset tcsh then time timeout torsocks trap unbuffer until"
    " uvx watch while xargs zsh"
)
_MOST_WORDS = 8  # before a word, among which its runner is looked for
_MOST_BEFORE = 600
_HEREDOC = re.compile(r"<<-?[ \t]*+(?:\\?(?P<bare>\w+)|'(?P<sq>[^'\n]+)'|\"(?P<dq>[^\"\n]+)\")")
_SIGN = re.compile(r"\\.|[\"']|(?<![^\s;|&(){}])#[^\n\"']*", re.DOTALL)


def is_in_host(text: str, start: int, end: int) -> bool:
    """Whether this stands in the part of an address that names a machine. What comes before an @ does not."""
    before = text[max(0, start - 900) : start]
    return "//" in before and _AUTHORITY.search(before) is not None and not _TO_USER.match(text, end)


def is_in_path(text: str, start: int, end: int) -> bool:
    """Whether this is a part of a path, and not of an address."""
    if text[start - 1 : start] != "/" and text[end : end + 1] != "/":
        return False
    word = _WORD.search(text[max(0, start - 900) : start])
    return word is None or "//" not in word[0]


def is_run(text: str, start: int, quoted: Quoted) -> bool:
    """Whether the word around this place is one that a shell would run, as far as the words before it tell."""
    floor = max(0, start - _MOST_BEFORE)
    end, word = _word_before(text, floor, start)
    if _ASSIGNED.match(word):
        return False
    for _ in range(_MOST_WORDS):
        if _starts_command(text, floor, end, quoted):
            return True
        while end > floor and text[end - 1] in _BLANKS:
            end -= 1
        end, word = _word_before(text, floor, end)
        program = word.rpartition("/")[2]
        if program in _RUNNERS or (word == "." and _starts_command(text, floor, end, quoted)):
            return True
        if not word.startswith(("-", "+")) and not _ASSIGNED.match(word) and not _NUMBER.fullmatch(word):
            return False
    return False


def _word_before(text: str, floor: int, end: int) -> tuple[int, str]:
    """Where the word begins that goes on to this place, and what there is of it. Quotes within it belong to it."""
    word = ""
    while True:
        match = _WORD.search(text, floor, end)
        part = match[0] if match else ""
        end, word = end - len(part), part + word
        left = end
        while left > floor and text[left - 1] in "\"'":
            left -= 1
        if left in (end, floor) or text[left - 1].isspace() or text[left - 1] in _STARTS:
            return left, word
        end = left


def _starts_command(text: str, floor: int, place: int, quoted: Quoted) -> bool:
    """Whether nothing but blanks stands between this place and what a command comes after."""
    while place > floor and text[place - 1] in _BLANKS:
        place -= 1
    if place == 0:
        return True
    sign = text[place - 1]
    if sign == "\n":
        return text[place - 2 : place - 1] != "\\" and not quoted.holds(place - 1, place)
    if sign == "(":  # not of a function that is called in other code
        return not (text[place - 2 : place - 1].isalnum() or text[place - 2 : place - 1] == "_")
    if sign == "{":
        return text[place : place + 1].isspace()
    return sign in _STARTS


class Quoted:
    """Which places of a command line are within quotes or here-documents. Read once, from its start."""

    def __init__(self, text: str) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        position = 0
        while (sign := _SIGN.search(text, position)) is not None:
            position = sign.end()
            if sign[0] not in ("'", '"'):
                continue
            closing = self._closing(text, sign[0], sign.end())
            self._begins.append(sign.start())
            self._ends.append(closing)
            position = closing + 1
        self._bodies = list(_bodies(text))

    def holds(self, start: int, end: int) -> bool:
        index = bisect_right(self._begins, start) - 1
        quoted = index >= 0 and end <= self._ends[index]
        return quoted or any(left <= start and end <= right for left, right in self._bodies)

    @staticmethod
    def _closing(text: str, quote: str, start: int) -> int:
        if quote == "'":
            closing = text.find("'", start)
        else:
            match = _TO_DOUBLE.match(text, start)
            closing = match.end() if match and match.end() < len(text) else -1
        return len(text) if closing < 0 else closing


_TO_DOUBLE = re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL)
_MOST_BODIES = 64


def _bodies(text: str) -> list[tuple[int, int]]:
    found = []
    for match in _HEREDOC.finditer(text):
        if text[match.start() - 1 : match.start()] == "<":
            continue  # a here-string
        word = match["bare"] or match["sq"] or match["dq"]
        start = text.find("\n", match.end())
        if start < 0:
            break
        end = re.compile(rf"^\t*{re.escape(word)}$", re.MULTILINE).search(text, start)
        found.append((start, end.start() if end else len(text)))
        if len(found) == _MOST_BODIES:
            break
    return found
