"""Reads the words of a command line: quotes, variables, substitutions, here-documents. shell.py reads the rest."""

from __future__ import annotations

import re
from typing import Self

from tapgate.shell.tree import Arithmetic, Parameter, Part, Pipeline, Script, Substitution, Text, Word

MAX_STEPS = 50_000  # real scripts take less than one a character
MAX_DEPTH = 40  # about eight Python frames a level


class TooMuchError(Exception):
    """A limit was met."""


class Limits:
    """What all readers of one command line share."""

    def __init__(self) -> None:
        self.steps = 0
        self.depth = 0
        self.broken = False
        self.unclosed = False
        self.bodies: list[Word] = []

    def spend(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise TooMuchError

    def enter(self) -> None:
        """One level deeper; `leave` goes back."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooMuchError

    def leave(self) -> None:
        self.depth -= 1


META = r"[ \t\n;&|()<>]"
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_BARE = re.compile(r"[^ \t\n;&|()<>\\'\"`$]+")
_IN_BRACES = re.compile(r"[^}\\'\"`$]+")
_IN_BRACES_QUOTED = re.compile(r"[^}\\\"`$]+")
_IN_QUOTES = re.compile(r'[^"\\`$]+')
_IN_FRAGMENT = re.compile(r"[^\\`$]+")
_BACKTICKS = re.compile(r"`([^`\\]*(?:\\.[^`\\]*)*)`", re.DOTALL)
_ANSI = re.compile(r"\$'([^'\\]*(?:\\.[^'\\]*)*)'", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_PARAMETER = re.compile(r"\$\{([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])?(\[[^\]$`\"'}]*\])?")
_OPERATOR = re.compile(r":?[-=?+]|##?|%%?|//?[#%]?|\^\^?|,,?|@[a-zA-Z]|:")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|select|do|done|case|esac|function|coproc|time|\{|\}|!|\[\[)"
    rf"(?={META}|\\\n|$)"
)
_SKIPPED_IN_BALANCE = re.compile(r"[^()\\'\"]+")
_CODES = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|c.|.)", re.DOTALL)
_LETTER_CODES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def decode_codes(text: str) -> str:
    """Backslash codes as $'…', `echo -e` and `printf` know them."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            value = int(code[1:], 16)
            return chr(value) if 0 < value < 0xD800 or 0xDFFF < value < 0x110000 else ""
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF).strip("\0")
        if code[0] == "c" and len(code) > 1:
            return chr(ord(code[1]) & 0x1F).strip("\0")
        return _LETTER_CODES.get(code, code)

    return _CODES.sub(one, text)


class WordReader:
    """A recursive-descent reader over one text; `position` only ever moves forward."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.position = 0
        self.limits = limits
        self.awaited: list[tuple[str, bool, bool, int]] = []  # here-documents of this line: end, raw, tabs, number

    def script(self, stops: frozenset[str], found: list[Pipeline]) -> None:
        """Statements up to one of `stops`."""
        raise NotImplementedError

    def body(self, stops: frozenset[str], *, may_be_empty: bool = False) -> Script:
        found: list[Pipeline] = []
        self.script(stops, found)
        self.limits.broken |= not found and not may_be_empty
        return tuple(found)

    def word(self) -> Word:
        start = self.position
        parts = self.bare("")
        return Word(tuple(parts), self.text[start : self.position])

    def bare(self, closing: str, *, quoted: bool = False) -> list[Part]:
        """Parts up to a blank or an operator, or, inside ${…}, up to its closing brace."""
        parts: list[Part] = []
        plain = (_IN_BRACES_QUOTED if quoted else _IN_BRACES) if closing else _BARE
        start = self.position
        while True:
            self.limits.spend()
            match = plain.match(self.text, self.position)
            if match:
                parts.append(Text(match[0], quoted))
                self.position = match.end()
                continue
            here = self.peek()
            follows = self.text[self.position + 1 : self.position + 2]
            if here == "":
                self.limits.broken |= bool(closing)
                return parts
            if here == closing:
                self.position += 1
                return parts
            if here == "\\":
                if follows != "\n" and follows:
                    parts.append(Text(follows, quoted=True))
                self.position += 2
            elif here == "'":
                parts.append(self.single())
            elif here == '"':
                self.position += 1
                parts.append(Text("", quoted=True))
                parts += self.double(_IN_QUOTES, '"')
            elif here == "`":
                parts.append(self.backticks(quoted))
            elif here == "$":
                parts += self.dollar(quoted)
            elif here in "<>" and follows == "(":
                parts.append(self.substitution(here + "(", quoted=False))
            elif here == "(" and self.position > start and self.text[self.position - 1] in "?*+@!":
                end = self.balanced(self.position)
                parts.append(Text(self.text[self.position : end]))
                self.position = end
            else:
                return parts

    def single(self) -> Text:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            self.limits.broken = self.limits.unclosed = True
            end = len(self.text)
        text = self.text[self.position + 1 : end]
        self.position = end + 1
        return Text(text, quoted=True)

    def double(self, plain: re.Pattern[str], closing: str) -> list[Part]:
        """What stands in double quotes; with an empty `closing` the whole text, as in a here-document."""
        parts: list[Part] = []
        while True:
            self.limits.spend()
            match = plain.match(self.text, self.position)
            if match:
                parts.append(Text(match[0], quoted=True))
                self.position = match.end()
                continue
            here = self.peek()
            if here == "":
                if closing:
                    self.limits.broken = self.limits.unclosed = True
                return parts
            if here == closing:
                self.position += 1
                return parts
            if here == "\\":
                follows = self.text[self.position + 1 : self.position + 2]
                if follows != "\n":
                    parts.append(Text(follows if follows and follows in '$`"\\' else "\\" + follows, quoted=True))
                self.position += 2
            elif here == "`":
                parts.append(self.backticks(quoted=True))
            else:
                parts += self.dollar(quoted=True)

    def dollar(self, quoted: bool) -> list[Part]:
        start = self.position
        follows = self.text[start + 1 : start + 2]
        if follows == "(":
            if self.text.startswith("((", start + 1) and (inside := self.arithmetic(start + 1)) is not None:
                return [Arithmetic(inside)]
            return [self.substitution("$(", quoted)]
        if follows == "{":
            return self.parameter(quoted)
        if follows == "'" and not quoted:
            match = _ANSI.match(self.text, start)
            if match:
                self.position = match.end()
                return [Text(decode_codes(match[1]), quoted=True, escaped="\\" in match[1])]
        if follows == '"' and not quoted:
            self.position += 2
            return [Text("", quoted=True), *self.double(_IN_QUOTES, '"')]
        name = _NAME.match(self.text, start + 1)
        if name:
            self.position = name.end()
            return [Parameter(name[0], quoted)]
        self.position += 1
        return [Text("$", quoted)]

    def parameter(self, quoted: bool) -> list[Part]:
        head = _PARAMETER.match(self.text, self.position)
        assert head is not None  # the caller has seen "${"
        self.position = head.end()
        operator = _OPERATOR.match(self.text, self.position)
        if operator:
            self.position = operator.end()
        start = self.position
        self.limits.enter()
        argument = self.bare("}", quoted=quoted)
        self.limits.leave()
        sign = (head[1] or "") + (head[3] or "") + (operator[0] if operator else "")
        word = Word(tuple(argument), self.text[start : max(start, self.position - 1)])
        return [Parameter(head[2] or "", quoted, sign, word)]

    def substitution(self, sign: str, quoted: bool) -> Substitution:
        self.limits.enter()
        self.position += 2
        body = self.body(frozenset(")"), may_be_empty=True)
        self.expect(")")
        self.limits.leave()
        return Substitution(body, quoted, sign)

    def backticks(self, quoted: bool) -> Substitution:
        match = _BACKTICKS.match(self.text, self.position)
        if match is None:
            self.limits.broken = self.limits.unclosed = True
            text = self.text[self.position + 1 :]
            self.position = len(self.text)
        else:
            text = match[1]
            self.position = match.end()
        inner = re.sub(r'\\([`\\$"])' if quoted else r"\\([`\\$])", r"\1", text)
        found: list[Pipeline] = []
        self.inner(inner).script(frozenset(), found)
        self.limits.leave()
        return Substitution(tuple(found), quoted, "`")

    def inner(self, text: str) -> Self:
        """A reader of a part that has been cut out. The caller leaves the level again."""
        self.limits.enter()
        self.limits.spend(1 + len(text) // 64)
        return type(self)(text, self.limits)

    def fragment(self, text: str) -> tuple[Part, ...]:
        parts = self.inner(text).double(_IN_FRAGMENT, "")
        self.limits.leave()
        return tuple(parts)

    def arithmetic(self, start: int) -> tuple[Part, ...] | None:
        """`start` is at `((`. None if the two do not close together: then they are two subshells."""
        end = self.balanced(start)
        if self.text[end - 2 : end] != "))" or self.balanced(start + 1) != end - 1:
            return None
        self.position = end
        return self.fragment(self.text[start + 2 : end - 2])

    def balanced(self, start: int) -> int:
        """The position behind the parenthesis that closes the one at `start`, or the end of the text."""
        depth = 0
        position = start
        while position < len(self.text):
            self.limits.spend()
            here = self.text[position]
            if here == "(":
                depth += 1
            elif here == ")":
                depth -= 1
                if depth == 0:
                    return position + 1
            elif here == "\\":
                position += 1
            elif here in "'\"":
                closing = self.text.find(here, position + 1)
                position = closing if closing > 0 else len(self.text)
            else:
                match = _SKIPPED_IN_BALANCE.match(self.text, position)
                assert match is not None
                position = match.end()
                continue
            position += 1
        return len(self.text)

    # Characters

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def reserved(self) -> str:
        match = _RESERVED.match(self.text, self.position)
        return match[0] if match else ""

    def expect(self, token: str) -> None:
        self.blank(newlines=True)
        if self.text.startswith(token, self.position):
            self.position += len(token)
        else:
            self.limits.broken = True

    def blank(self, *, newlines: bool = False) -> None:
        """Skip blanks and comments and, where the grammar allows them, line ends with their here-documents."""
        while True:
            match = _BLANK.match(self.text, self.position)
            if match:
                self.position = match.end()
            here = self.peek()
            comment = _COMMENT.match(self.text, self.position) if here == "#" else None
            if comment:
                self.position = comment.end()
            elif here == "\n" and newlines:
                self.position += 1
                self.documents()
            else:
                return

    def documents(self) -> None:
        """Read the here-documents that were announced on the line that has just ended."""
        awaited, self.awaited = self.awaited, []
        for end, raw, tabs, number in awaited:
            lines = []
            while self.position < len(self.text):
                self.limits.spend()
                stop = self.text.find("\n", self.position)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.position : stop]
                self.position = min(len(self.text), stop + 1)
                line = line.lstrip("\t") if tabs else line
                if line == end:
                    break
                lines.append(line)
            text = "\n".join(lines) + "\n" if lines else ""
            parts: tuple[Part, ...] = (Text(text, quoted=True),) if raw else self.fragment(text)
            self.limits.bodies[number] = Word(parts, text)
