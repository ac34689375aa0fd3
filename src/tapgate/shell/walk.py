"""Goes through a parsed command line as a shell would, and notes every call that it meets. It runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tapgate.shell.calls import UNKNOWN, Arg, Call, Stream, absolute, locate, normal, program_name, sort_options
from tapgate.shell.interpreters import CODE_FLAGS, SHELLS
from tapgate.shell.lexer import TooMuchError
from tapgate.shell.output import output_of
from tapgate.shell.parser import parse
from tapgate.shell.tree import Block, Function, Node, Pipeline, Redirect, Script, Simple, Substitution, Word
from tapgate.shell.words import State, expand, expand_one, new_state
from tapgate.shell.wrappers import inner_calls

MAX_CALLS = 2_000
MAX_PARSED_CHARS = 256 * 1024
MAX_EXPANDED_CHARS = 1024 * 1024
MAX_NESTING = 40
MAX_ROUNDS = 4  # values of a loop that are gone through
MAX_FEEDS = 48
MAX_FILES = 64
MAX_ARGS = 2_000
MAX_WORDS = 10_000  # of all calls together
MAX_STREAMS = 64
USUAL_CWD_CHARS = 200
MAX_PATH_CHARS = 64 * 1024  # of directories beyond that, over all words of all calls
_INTO_FILES = (">", ">>", ">|", "&>", "&>>")


@dataclass(frozen=True, slots=True)
class Reading:
    """`broken`: a part could not be read. `cut`: a limit was met. `bomb`: it starts itself again and again."""

    calls: tuple[Call, ...]
    broken: bool = False
    cut: bool = False
    bomb: bool = False


@dataclass(frozen=True, slots=True)
class _WalkPlace:
    """Where in the command line the walk is."""

    bodies: tuple[Word, ...] = ()
    via: tuple[str, ...] = ()
    away: bool = False
    feeds: tuple[Call, ...] = ()
    stdin: str | None = None
    active: tuple[Node, ...] = ()  # the bodies of functions that are being called
    spawning: bool = False  # in a pipeline or in the background
    nesting: int = 0


def read_commands(text: str, *, cwd: str, project: str, home: str) -> Reading:
    """Everything that this command line would start, in order. Never raises; time and memory are bounded."""
    walk = _Walk()
    state = new_state(cwd, project, home)
    try:
        walk.text(text, state, _WalkPlace())
        walk.uncalled(state)
    except (TooMuchError, RecursionError):
        walk.cut = True
    if walk.unclosed:  # a shell would refuse it; the words may still tell what was meant
        try:
            walk.text(text.translate(_WITHOUT_QUOTES), new_state(cwd, project, home), _WalkPlace())
        except (TooMuchError, RecursionError):
            walk.cut = True
    return Reading(tuple(walk.calls), walk.broken, walk.cut, walk.bomb)


_WITHOUT_QUOTES = str.maketrans("'\"`", "   ")


class _Walk:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.broken = self.unclosed = self.cut = self.bomb = False
        self.parsed_chars = 0
        self.expanded_chars = 0
        self.words = 0
        self.path_chars = 0
        self.files: dict[str, str] = {}  # what this command line itself has written
        self.called: set[str] = set()
        self.defined: list[tuple[str, Node, _WalkPlace]] = []

    def text(self, text: str, state: State, place: _WalkPlace) -> str | None:
        """A script given as text. What it prints, where that can be told."""
        self.parsed_chars += len(text)
        if self.parsed_chars > MAX_PARSED_CHARS or place.nesting > MAX_NESTING:
            raise TooMuchError
        tree = parse(text)
        self.broken |= tree.broken
        self.unclosed |= tree.unclosed
        self.cut |= tree.cut
        return self.script(tree.script, state, replace(place, bodies=tree.bodies, nesting=place.nesting + 1))

    def script(self, script: Script, state: State, place: _WalkPlace) -> str | None:
        output: str | None = ""
        for pipeline in script:
            printed = self.pipeline(pipeline, state, place)
            output = None if output is None or printed is None else output + printed
        return output

    def pipeline(self, pipeline: Pipeline, state: State, place: _WalkPlace) -> str | None:
        if pipeline.context:
            place = replace(place, spawning=True)
        if len(pipeline.stages) == 1:
            return self.node(pipeline.stages[0], state, place)
        feeds, stdin = place.feeds, place.stdin
        for stage in pipeline.stages:
            before = len(self.calls)
            self.spend(len(state.variables))
            stdin = self.node(stage, state.copy(), replace(place, feeds=feeds, stdin=stdin, spawning=True))
            feeds = (*feeds, *self.calls[before:])
            if len(feeds) > MAX_FEEDS:
                self.cut = True
                feeds = feeds[-MAX_FEEDS:]
        return stdin

    def node(self, node: Node, state: State, place: _WalkPlace) -> str | None:
        match node:
            case Simple():
                return self.simple(node, state, place)
            case Block():
                return self.block(node, state, place)
            case Function():
                state.functions[node.name] = (node.body, place.bodies)
                self.defined.append((node.name, node.body, place))
                return ""

    def uncalled(self, state: State) -> None:
        """Functions that are only defined: the agent's shell may keep them for later."""
        for name, body, place in self.defined:
            if name not in self.called:
                self.called.add(name)
                self.node(body, state.copy(), replace(place, active=(body,)))

    def block(self, block: Block, state: State, place: _WalkPlace) -> str | None:
        streams, place = self.streams(block.redirects, state, place)
        if streams:
            self.note(Call("", Arg(""), streams=streams, cwd=state.cwd, via=place.via, away=place.away))
        if block.kind == "(":
            state = state.copy()
        if place.nesting > MAX_NESTING:
            raise TooMuchError
        place = replace(place, nesting=place.nesting + 1)
        if block.kind == "for":
            self.loop(block, state, place)
            return None
        for word in block.words:
            self.spend(1 + sum(len(arg.text) for arg in expand(word, state, self.runner(state, place))))
        output: str | None = None
        for body in block.bodies:
            output = self.script(body, state, place)
        return output if block.kind in ("(", "{") else None

    def loop(self, block: Block, state: State, place: _WalkPlace) -> None:
        values: list[Arg] = []
        for word in block.words:
            fields = expand(word, state, self.runner(state, place))
            self.spend(1 + sum(len(arg.text) for arg in fields))
            values += fields
        if not block.variable or len(values) > MAX_ROUNDS or not values:
            values = [Arg(UNKNOWN)]
        for value in values:
            if block.variable:
                state.set(block.variable, UNKNOWN if value.glob else value.text, inner=value.inner)
            for body in block.bodies:
                self.script(body, state, place)

    def simple(self, node: Simple, state: State, place: _WalkPlace) -> str | None:
        run = self.runner(state, place)
        settings: list[tuple[str, Arg]] = []
        stays = not node.words or node.words[0].source in ("export", "declare", "local", "readonly", "typeset")
        child = state if stays or not node.assignments else state.copy()
        for assignment in node.assignments:
            if assignment.index is not None:
                expand_one(assignment.index, child, run)
            values = [expand_one(word, child, run) for word in assignment.values]
            self.spend(sum(len(value.text) for value in values))
            inner = tuple(call for value in values for call in value.inner)
            before = child.variables.get(assignment.name) if assignment.append else None
            texts = [value.text for value in values]
            if before is not None and len(values) == 1:
                texts = [before.text + texts[0]]
            child.set(assignment.name, *texts, inner=(*(before.inner if before else ()), *inner))
            variables = tuple(name for value in values for name in value.variables)
            source = " ".join(value.source for value in values)
            settings.append((assignment.name, Arg(" ".join(texts), source, False, variables, inner)))
        args: list[Arg] = []
        for word in node.words:
            fields = expand(word, state, run)
            self.spend(1 + sum(len(arg.text) for arg in fields))
            args += fields
        if len(args) > MAX_ARGS:
            self.cut = True
            del args[MAX_ARGS:]
        streams, place = self.streams(node.redirects, state, place)
        if not args:
            if streams or settings:
                self.note(
                    Call("", Arg(""), (), streams, tuple(settings), cwd=state.cwd, via=place.via, away=place.away)
                )
            return ""
        return self.invoke(tuple(args), streams, tuple(settings), child, place)

    def streams(
        self, redirects: Iterable[Redirect], state: State, place: _WalkPlace
    ) -> tuple[tuple[Stream, ...], _WalkPlace]:
        """The redirections, and the place with what they make the command read."""
        streams: list[Stream] = []
        run = self.runner(state, place)
        for number, redirect in enumerate(redirects):
            if number > MAX_STREAMS:
                raise TooMuchError
            word = place.bodies[redirect.body] if 0 <= redirect.body < len(place.bodies) else redirect.target
            target = expand_one(word, state, run)
            self.spend(len(target.text))
            if redirect.operator in ("<<", "<<-", "<<<"):
                place = replace(place, stdin=target.text, feeds=target.inner)
            elif redirect.operator.startswith("<") and redirect.operator != "<>":
                place = replace(place, stdin=None, feeds=target.inner)
            streams.append(Stream(redirect.operator, redirect.fd, target))
        return tuple(streams), place

    def invoke(
        self,
        args: tuple[Arg, ...],
        streams: tuple[Stream, ...],
        settings: tuple[tuple[str, Arg], ...],
        state: State,
        place: _WalkPlace,
    ) -> str | None:
        if place.nesting > MAX_NESTING:
            raise TooMuchError
        program, rest = args[0], args[1:]
        if program.text in state.functions:
            return self.function(program.text, rest, state, place)
        name = program_name(program.text)
        inners = inner_calls(name, rest, place.stdin)
        call = Call(
            name,
            program,
            rest,
            streams,
            settings,
            place.feeds,
            place.stdin,
            state.cwd,
            place.via,
            place.away,
            bool(inners),
        )
        self.note(call)
        self.effect(call, state)
        inside = replace(place, via=(*place.via, name), nesting=place.nesting + 1)
        for inner in inners:
            here = replace(inside, away=place.away or inner.away)
            if not inner.hears:
                here = replace(here, stdin=None, feeds=here.feeds if inner.listed else ())
            child = state if inner.same_shell else state.copy()
            self.spend(0 if inner.same_shell else len(state.variables))
            if inner.away:
                child.cwd = UNKNOWN
            elif inner.cwd is not None:  # a system call goes there: behind a link `..` is not by its words
                child.cwd = absolute(inner.cwd.text, state.cwd, state.home)
                child.set("PWD", child.cwd)
            if inner.positional is not None:
                child.positional = inner.positional[1:]
                for zero in inner.positional[:1]:
                    child.set("0", zero.text, inner=zero.inner)
            if inner.args:
                self.invoke(inner.args, (), (), child, here)
            elif inner.script is not None and inner.script.text.strip(UNKNOWN + " \n\t"):
                before = self.broken, self.unclosed
                self.text(inner.script.text, child, here)
                if inner.guessed:
                    self.broken, self.unclosed = before
        self.own_script(call, state, inside)
        return self.printed(call, state)

    def printed(self, call: Call, state: State) -> str | None:
        """What goes on to the next command. What goes into a file is kept, for it may be run later."""
        output = output_of(call, home=state.home, project=state.project)
        targets = [(s.target, s.operator) for s in call.streams if s.operator in _INTO_FILES and s.fd in ("", "1")]
        if call.name == "tee":
            appends = ">>" if "-a" in call.texts else ">"
            kept = [(arg, appends) for arg in call.args if not arg.text.startswith("-")]
        else:
            kept = targets
        for target, operator in kept:
            if output is not None and len(self.files) < MAX_FILES:
                path = locate(target.text, state.cwd, state.home)
                before = self.files.get(path, "") if operator.endswith(">>") else ""
                self.spend(len(before) + len(output))
                self.files[path] = before + output
        return "" if targets else output

    def own_script(self, call: Call, state: State, place: _WalkPlace) -> None:
        """A file that this command line has written and now runs."""
        if not self.files:
            return
        operand = next((arg for arg in call.args if not arg.text.startswith("-")), None)
        known = call.name in SHELLS or call.name in CODE_FLAGS or call.name in ("source", ".")
        script = operand if known else call.program if "/" in call.program.text else None
        text = self.files.get(locate(script.text, state.cwd, state.home)) if script else None
        if text is None:
            return
        if call.name in CODE_FLAGS:
            flag = CODE_FLAGS[call.name].split()[0]
            self.invoke((call.program, Arg(flag, flag), Arg(text)), (), (), state.copy(), place)
        else:
            self.text(text, state if call.name in ("source", ".") else state.copy(), place)

    def function(self, name: str, args: tuple[Arg, ...], state: State, place: _WalkPlace) -> str | None:
        body, bodies = state.functions[name]
        if any(body is other for other in place.active):
            self.bomb |= place.spawning
            return None
        self.called.add(name)
        outer, state.positional = state.positional, args
        place = replace(place, bodies=bodies, active=(*place.active, body), nesting=place.nesting + 1)
        output = self.node(body, state, place)
        state.positional = outer
        return output

    def effect(self, call: Call, state: State) -> None:
        """What a builtin changes for the commands behind it."""
        operands = [arg for arg in call.args if not arg.text.startswith("-") or arg.text == "-"]
        match call.name:
            case "cd" | "pushd" | "chdir":
                target = operands[0].text if operands else ("~" if call.name == "cd" else UNKNOWN)
                # A shell takes `..` by the words of the path; with -P as the disk does, behind links.
                place = absolute(target, state.cwd, state.home)
                state.cwd = UNKNOWN if target == "-" else place if "-P" in call.texts else normal(place)
                state.set("PWD", state.cwd)
            case "popd":
                state.cwd = UNKNOWN
            case "read" | "mapfile" | "readarray" | "unset":
                for arg in sort_options(call.args, "adnNptu").operands:
                    state.set(arg.text, UNKNOWN, inner=call.feeds)
            case "set" if "--" in call.texts:
                state.positional = call.args[call.texts.index("--") + 1 :]
            case "shift" if state.positional:
                state.positional = state.positional[1:]
            case "printf" if call.texts[:1] == ("-v",) and len(call.args) > 2:
                text = output_of(replace(call, args=call.args[2:]), home=state.home, project=state.project)
                state.set(call.args[1].text, UNKNOWN if text is None else text)

    def runner(self, state: State, place: _WalkPlace) -> _Runner:
        return _Runner(self, state, place)

    def note(self, call: Call) -> None:
        self.words += len(call.args)
        # Each word may be a path from there on, and each of these is looked at again and again.
        self.path_chars += (1 + len(call.args)) * max(0, len(call.cwd) - USUAL_CWD_CHARS)
        if self.path_chars > MAX_PATH_CHARS:
            raise TooMuchError
        if len(self.calls) >= MAX_CALLS or self.words > MAX_WORDS:
            raise TooMuchError
        self.calls.append(call)

    def spend(self, chars: int) -> None:
        self.expanded_chars += chars
        if self.expanded_chars > MAX_EXPANDED_CHARS:
            raise TooMuchError


@dataclass(frozen=True, slots=True)
class _Runner:
    """Goes into a substitution: its calls count like all others."""

    walk: _Walk
    state: State
    place: _WalkPlace

    def __call__(self, substitution: Substitution) -> tuple[str | None, tuple[Call, ...]]:
        if self.place.nesting > MAX_NESTING:
            raise TooMuchError
        before = len(self.walk.calls)
        place = replace(self.place, nesting=self.place.nesting + 1, feeds=(), stdin=None)
        self.walk.spend(len(self.state.variables))
        output = self.walk.script(substitution.script, self.state.copy(), place)
        calls = tuple(self.walk.calls[before:])
        return (None if substitution.sign in ("<(", ">(") else output), calls[-MAX_FEEDS:]
