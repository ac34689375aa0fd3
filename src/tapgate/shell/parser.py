"""A shell command line as a tree of pipelines, blocks and words. Nothing is run, expanded or looked up here.

Written here because no library passed the tests. Compared with Python 3.11 on x86-64 Linux: on 264 scripts of that
machine and 1392 commands of tests/data/risks.toml, all of which `bash -n` accepts, and on repeated signs up to 64 KiB.

                         scripts  commands  real 64 KiB  hostile 64 KiB, worst seen       else
  tree-sitter-bash 0.25  239      1389      15 ms        157 s                            wheels 3.10 to 3.14, Dec 2025
  bashlex 0.18           101      1368      490 ms       1.7 s, RecursionError (7 tried)  GPL, Jan 2023, no recovery
  shfmt 4.2              263      1391      610 ms       3 s                              a process of its own, so I/O
  this module            264      1392      80 ms        under 1 s                        bounded by counting

tree-sitter 0.26.0 was not taken because nothing bounds it: `a|a|a|…` takes minutes, and the one way to stop a parse,
`progress_callback`, crashed the process on every input tried, in 0.25.2 too. It also crashed without it on random
input, in two of three runs of one seed; why was not found. A command must not be able to end the daemon. libdash did
not finish the scripts; rable asks for Python 3.12. In those scripts shfmt sees 15873 commands, and 15866 of them are
word for word the same here; the other seven are in backticks, where shfmt keeps backslashes.

It reads bash, and what zsh and sh share with it, in one pass that is bounded by `MAX_STEPS` and `MAX_DEPTH`. It is
lenient: what does not fit is skipped and `broken` is set, so that the commands around it are still seen.
"""

from __future__ import annotations

import re

from tapgate.shell.lexer import META, Limits, TooMuchError, WordReader
from tapgate.shell.tree import (
    Assignment,
    Block,
    Function,
    Node,
    Parameter,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Tree,
    Word,
)

MAX_CHARS = 64 * 1024

_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])?(\+?)=")
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||<(?!\()|>(?!\())|(&>>?)")
_END_OF_TEST = re.compile(rf"\]\](?={META}|$)")
_IN = re.compile(rf"in(?={META}|$)")
_COPROC_NAME = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[({]|while |until |for |if )")
_EMPTY_PARENS = re.compile(r"\([ \t]*\)")
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_DECLARERS = frozenset({"export", "declare", "local", "readonly", "typeset"})
_NOTHING = Word((), "")


def parse(text: str) -> Tree:
    """Read a whole command line. Never raises; the time is linear in the first `MAX_CHARS` characters."""
    cut = len(text) > MAX_CHARS
    reader = _CommandReader(text[:MAX_CHARS].replace("\r\n", "\n"), Limits())
    found: list[Pipeline] = []
    try:
        reader.script(frozenset(), found)
    except TooMuchError:
        cut = True
    limits = reader.limits
    return Tree(tuple(found), tuple(limits.bodies), limits.broken, limits.unclosed, cut, limits.steps)


class _CommandReader(WordReader):
    """Pipelines, blocks, functions and redirections."""

    def script(self, stops: frozenset[str], found: list[Pipeline]) -> None:
        """Statements up to one of `stops`, which is left unread."""
        dangling = False
        while True:
            self.blank(newlines=True)
            self.limits.spend()
            here = self.peek()
            reserved = self.reserved()
            double = self.text[self.position : self.position + 2]
            if here == "" or here in stops or reserved in stops or (";;" in stops and double in (";;", ";&")):
                self.limits.broken |= dangling or (here == "" and bool(stops))
                return
            if (here in ";&|)" and double != "&>") or reserved in _CLOSERS:  # nothing to separate or to close here
                self.limits.broken = True
                self.position += len(reserved) or 1
                continue
            before = self.position
            stages = self.pipeline()
            self.blank()
            rest = self.text[self.position : self.position + 2]
            context = rest[:1] == "&" and rest != "&&"
            if stages:
                found.append(Pipeline(stages, context))
            dangling = rest in ("&&", "||")
            if dangling:
                self.position += 2
            elif context or (rest[:1] == ";" and rest not in (";;", ";&")):
                self.position += 1
            elif rest[:1] not in ("", "\n", ")", ";"):
                self.limits.broken = True
            if self.position == before:
                self.limits.broken = True
                self.position += 1

    def pipeline(self) -> tuple[Node, ...]:
        stages: list[Node] = []
        while True:
            self.blank()
            reserved = self.reserved()
            if reserved in ("!", "time"):
                self.position += len(reserved)
                self.blank()
                if reserved == "time" and self.text.startswith("-p", self.position):
                    self.position += 2
                if self.peek() in ("", "\n", ";"):
                    return tuple(stages)
                continue
            node = self.command()
            if node is None:
                self.limits.broken = True
                return tuple(stages)
            stages.append(node)
            self.blank()
            if self.peek() != "|" or self.text.startswith("||", self.position):
                return tuple(stages)
            self.position += 2 if self.text.startswith("|&", self.position) else 1
            self.blank(newlines=True)

    def command(self) -> Node | None:
        self.limits.enter()
        self.limits.spend()
        try:
            node = self.compound()
            return node if node is not None else self.simple()
        finally:
            self.limits.leave()

    def compound(self) -> Node | None:
        if self.peek() == "(":
            if self.text.startswith("((", self.position) and (inside := self.arithmetic(self.position)) is not None:
                return self.closed(Block("((", words=(Word(inside, ""),)))
            self.position += 1
            body = self.body(frozenset(")"))
            self.expect(")")
            return self.closed(Block("(", (body,)))
        reserved = self.reserved()
        if not reserved or reserved in _CLOSERS:
            return None
        self.position += len(reserved)
        match reserved:
            case "{":
                body = self.body(frozenset("}"))
                self.expect("}")
                return self.closed(Block("{", (body,)))
            case "if":
                return self.closed(self.conditional())
            case "while" | "until":
                condition = self.body(frozenset({"do"}))
                return self.closed(Block("while", (condition, self.loop_body())))
            case "for" | "select":
                return self.closed(self.loop())
            case "case":
                return self.closed(self.case())
            case "[[":
                return self.closed(self.test())
            case "function":
                self.blank()
                name = self.word()
                self.blank()
                if match := _EMPTY_PARENS.match(self.text, self.position):
                    self.position = match.end()
                return self.function(name.source)
            case _:  # coproc, with an optional name before a block
                self.blank()
                if match := _COPROC_NAME.match(self.text, self.position):
                    self.position = match.end()
                return self.command()

    def closed(self, block: Block) -> Block:
        """A block together with the redirections behind it."""
        redirects = []
        while True:
            self.blank()
            redirect = self.redirect()
            if redirect is None:
                break
            redirects.append(redirect)
        return Block(block.kind, block.bodies, block.words, tuple(redirects), block.variable) if redirects else block

    def conditional(self) -> Block:
        bodies = [self.body(frozenset({"then"}))]
        self.expect("then")
        while True:
            bodies.append(self.body(frozenset({"elif", "else", "fi"})))
            reserved = self.reserved()
            if reserved == "elif":
                self.expect("elif")
                bodies.append(self.body(frozenset({"then"})))
                self.expect("then")
            elif reserved == "else":
                self.expect("else")
            else:
                self.expect("fi")
                return Block("if", tuple(bodies))

    def loop_body(self) -> Script:
        self.blank(newlines=True)
        opening, closing = ("{", "}") if self.reserved() == "{" else ("do", "done")
        self.expect(opening)
        body = self.body(frozenset({closing}))
        self.expect(closing)
        return body

    def loop(self) -> Block:
        self.blank()
        words: list[Word] = []
        name = ""
        if self.text.startswith("((", self.position):
            inside = self.arithmetic(self.position)
            self.limits.broken |= inside is None
            words.append(Word(inside or (), ""))
        else:
            name = self.word().source
            self.blank(newlines=True)
            if match := _IN.match(self.text, self.position):
                self.position = match.end()
                words += self.words_until("\n;")
            else:
                words.append(Word((Parameter("@", quoted=True),), '"$@"'))
        self.blank()
        if self.peek() == ";":
            self.position += 1
        return Block("for", (self.loop_body(),), tuple(words), variable=name)

    def case(self) -> Block:
        self.blank()
        words = [self.word()]
        self.blank(newlines=True)
        if match := _IN.match(self.text, self.position):
            self.position = match.end()
        else:
            self.limits.broken = True
        bodies: list[Script] = []
        while True:
            self.blank(newlines=True)
            self.limits.spend()
            if self.peek() == "" or self.reserved() == "esac":
                self.expect("esac")
                return Block("case", tuple(bodies), tuple(words))
            if self.peek() == "(":
                self.position += 1
            words += self.words_until(")|")
            while self.peek() == "|":
                self.position += 1
                words += self.words_until(")|")
            self.expect(")")
            bodies.append(self.body(frozenset({";;", "esac"}), may_be_empty=True))
            if self.peek() == ";":
                self.position += 3 if self.text.startswith(";;&", self.position) else 2

    def test(self) -> Block:
        words: list[Word] = []
        while True:
            self.blank(newlines=True)
            self.limits.spend()
            if match := _END_OF_TEST.match(self.text, self.position):
                self.position = match.end()
                return Block("[[", words=tuple(words))
            if self.peek() == "":
                self.limits.broken = True
                return Block("[[", words=tuple(words))
            before = self.position
            word = self.word()
            if self.position == before:
                self.position += 1  # an operator or a parenthesis
            else:
                words.append(word)

    def function(self, name: str) -> Function:
        self.blank(newlines=True)
        body = self.command()
        self.limits.broken |= not isinstance(body, Block)
        return Function(name, body or Block("{"))

    def simple(self) -> Node | None:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while True:
            self.blank()
            self.limits.spend()
            redirect = self.redirect()
            if redirect is not None:
                redirects.append(redirect)
                continue
            here = self.peek()
            if here == "(" and len(words) == 1 and not assignments and not redirects:
                match = _EMPTY_PARENS.match(self.text, self.position)
                if match:
                    self.position = match.end()
                    return self.function(words[0].source)
            if here in ("", "\n", ";", "|", "&", "(", ")"):
                break
            if not words or words[0].source in _DECLARERS:
                assign = _ASSIGN.match(self.text, self.position)
                if assign:
                    self.position = assign.end()
                    index = Word(self.fragment(assign[2]), assign[2]) if assign[2] else None
                    assignments.append(Assignment(assign[1], self.value(), bool(assign[3]), index))
                    continue
            before = self.position
            word = self.word()
            if self.position == before:
                break
            words.append(word)
        if not words and not assignments and not redirects:
            return None
        return Simple(tuple(words), tuple(assignments), tuple(redirects))

    def value(self) -> tuple[Word, ...]:
        if self.peek() != "(":
            return (self.word(),)
        self.position += 1
        words = self.words_until(")")
        self.expect(")")
        return tuple(words)

    def words_until(self, ends: str) -> list[Word]:
        words: list[Word] = []
        while True:
            self.blank(newlines="\n" not in ends)
            self.limits.spend()
            here = self.peek()
            if here == "" or here in ends:
                return words
            before = self.position
            word = self.word()
            if self.position == before:
                if here in "&;|\n":
                    self.limits.broken = True
                    return words
                self.limits.broken |= here in "()"
                self.position += 1
            else:
                words.append(word)

    def redirect(self) -> Redirect | None:
        match = _REDIRECT.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        operator = match[2] or match[3]
        self.blank()
        target = self.word()
        self.limits.broken |= not target.source
        body = -1
        if operator in ("<<", "<<-"):
            raw = any(sign in target.source for sign in "\\'\"")
            body = len(self.limits.bodies)
            self.limits.bodies.append(_NOTHING)
            end = re.sub(r"\\(.)", r"\1", target.source.replace("'", "").replace('"', ""))
            self.awaited.append((end, raw, operator == "<<-", body))
        return Redirect(operator, target, match[1] or "", body)
