"""Where the paths of a call lead: through links on the disk, and through those that the command line makes itself.

Pure: the disk is asked by whoever implements `Links`. Every path is judged twice, by its words and by where it leads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from posixpath import basename, dirname
from typing import Protocol

from tapgate.model import Link
from tapgate.risk.files import Touch, base_of
from tapgate.risk.paths import NO_FILES, Ground, PathKind, is_secret, is_within, kind_of
from tapgate.risk.scene import RiskInput
from tapgate.shell.calls import UNKNOWN, Arg, Call, Options, absolute, normal, sort_options
from tapgate.shell.wrappers import follows_links

MOST_LOOKUPS = 1000  # paths of one call that are followed
MOST_MADE = 50  # links that one command line makes and that are remembered
MOST_TURNS = 8  # of those, one after another
MOST_MATCHES = 40  # links that one pattern stands for
MOST_SHOWN = 20
_NAME_CHARS = 120
_SIGNS = frozenset("*?[")


class LinkEnd(StrEnum):
    """How far a path could be followed."""

    REACHED = "reached"  # all of it; there may be no file yet
    LOOP = "loop"
    UNKNOWN = "unknown"  # the disk did not answer, or too late; or there are too many links
    BARRED = "barred"  # through a directory of another user, into which this one may not look


@dataclass(frozen=True, slots=True)
class Way:
    """`path` is absolute; if the end was reached, no part of it is a link."""

    path: str
    end: LinkEnd = LinkEnd.REACHED
    is_directory: bool = False
    is_shared: bool = False  # a file that has a second name somewhere (a hard link)


class Links(Protocol):
    """Tells where paths lead. Never raises and never reads what is in a file; what it cannot tell is an `End`."""

    def follow(self, path: str, *, last: bool = True) -> Way:
        """Follow the links of this absolute path. Without `last`, a link that stands at its very end is not followed,
        but each one on the way there is."""

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        """The names of links and directories there that fit a pattern of the shell; None if that cannot be told."""


class NoLinks:
    """A disk without links: paths are judged by their words alone."""

    def follow(self, path: str, *, last: bool = True) -> Way:
        return Way(normal(path))

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        return ()


class UnknownLinks(NoLinks):
    """A disk that cannot be asked."""

    def follow(self, path: str, *, last: bool = True) -> Way:
        return Way(normal(path), LinkEnd.UNKNOWN)

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        return None


def with_real_project(ground: Ground, links: Links) -> Ground:
    """The project is the same one under the name that it has with all links followed."""
    way = links.follow(ground.project)
    real = normal(way.path)
    return replace(ground, real_project=real if way.end is LinkEnd.REACHED and real != ground.project else "")


def follow_links(scene: RiskInput, links: Links) -> RiskInput:
    """The scene with what its paths lead to: more files that are touched, and what a card should say about links."""
    follower = _Follower(scene, _at_home(links, scene.ground))
    writes = follower.follow_all(scene.writes, _Touched.WRITTEN)
    deletes = follower.follow_all(scene.deletes, _Touched.DELETED)
    reads = follower.follow_all(scene.reads, _Touched.READ)
    return replace(
        scene,
        reads=(*scene.reads, *reads),
        writes=(*scene.writes, *writes),
        deletes=(*scene.deletes, *deletes),
        leads_to=_by_word((*writes, *deletes)),
        links=follower.shown(),
        unchecked=tuple(follower.unchecked),
    )


def _by_word(touches: Sequence[Touch]) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for touch in touches:
        found[id(touch.arg)] = (*found.get(id(touch.arg), ()), touch.path)
    return found


@dataclass(frozen=True, slots=True)
class _HomeLinks:
    """With the home directory under its usual name, should that be a link itself."""

    links: Links
    home: str
    real_home: str

    def follow(self, path: str, *, last: bool = True) -> Way:
        way = self.links.follow(path, last=last)
        real = normal(way.path)
        if is_within(real, self.real_home):
            real = self.home + real[len(self.real_home) :]
        return replace(way, path=real)

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        return self.links.matching(directory, pattern)


def _at_home(links: Links, ground: Ground) -> _HomeLinks:
    home = ground.home
    way = links.follow(home)
    real = normal(way.path)
    is_usual = home == "/" or real == "/" or way.end is not LinkEnd.REACHED
    return _HomeLinks(links, home, home if is_usual else real)


class _Touched(StrEnum):
    WRITTEN = "written"
    DELETED = "deleted"
    READ = "read"


@dataclass(frozen=True, slots=True)
class _Made:
    """A link that the call with this number makes: `where` will lead to `goal`."""

    number: int
    where: str
    goal: str


@dataclass(slots=True)
class _Follower:
    scene: RiskInput
    links: _HomeLinks
    unchecked: list[str] = field(default_factory=list)  # what is written or deleted where nobody knows
    _facts: dict[Link, bool] = field(default_factory=dict)  # each with whether it is one of those to be shown first
    _made: list[_Made] = field(default_factory=list)
    _numbers: Mapping[int, int] = field(default_factory=dict)
    _lookups: int = 0

    def __post_init__(self) -> None:
        self._numbers = {id(call): number for number, call in enumerate(self.scene.calls)}
        for number, call in enumerate(self.scene.calls):
            if call.name in ("ln", "cp", "mv") and not call.away and len(self._made) < MOST_MADE:
                self._made += self._made_by(call, number)

    def follow_all(self, touches: Sequence[Touch], how: _Touched) -> list[Touch]:
        found = []
        for touch in touches:
            raw = absolute(touch.arg.text, base_of(touch.call, self.scene.ground), self.scene.ground.home)
            if raw.startswith(UNKNOWN) or (NO_FILES.match(raw) and ".." not in raw):
                continue
            for path in self._spelled_out(raw, touch, how):
                self._lookups += 1
                way = self._follow(path, touch.call, last=self._follows_last(path, touch, how))
                self._note(way, touch, how)
                if way.path != touch.path and way.end in (LinkEnd.REACHED, LinkEnd.BARRED):
                    found.append(replace(touch, path=way.path, named=touch.path))
        return found

    # Following

    def _follow(self, raw: str, call: Call, *, last: bool = True) -> Way:
        """Through the links that were made before this call, then by the disk."""
        if self._lookups > MOST_LOOKUPS:
            return Way(normal(raw), LinkEnd.UNKNOWN)
        number = self._numbers.get(id(call), 0)
        for _ in range(MOST_TURNS):
            made = self._made_on(raw, number, last=last)
            if made is None:
                return self._by_disk(raw, last=last)
            raw = made.goal + normal(raw)[len(made.where) :]
            if raw.startswith(UNKNOWN):
                return Way(normal(raw), LinkEnd.UNKNOWN)
        return Way(normal(raw), LinkEnd.LOOP)

    def _by_disk(self, raw: str, *, last: bool) -> Way:
        """What stands behind a part that only the run can tell is taken by its words."""
        known, unknown, rest = raw.partition(UNKNOWN)
        if not unknown:
            return self.links.follow(raw, last=last)
        head, _, begun = known.rpartition("/")
        way = self.links.follow(head or "/")
        return replace(way, path=normal(f"{way.path}/{begun}{UNKNOWN}{rest}"), is_directory=False, is_shared=False)

    def _made_on(self, raw: str, number: int, *, last: bool) -> _Made | None:
        path = normal(raw)
        for made in reversed(self._made):
            if made.number < number and is_within(path, made.where) and (last or path != made.where):
                return made
        return None

    def _follows_last(self, path: str, touch: Touch, how: _Touched) -> bool:
        """Whether the call goes through a link that stands at the end of its path, or handles the link itself."""
        call = touch.call
        if how is _Touched.DELETED:
            is_entered = call.name == "shred" or (call.name == "find" and follows_links(call.args)[0])
            return is_entered or path.endswith("/")
        if how is _Touched.WRITTEN and call.name in ("mv", "ln"):
            options = sort_options(call.args, "tS", "target-directory suffix")
            if options.has("-T", "--no-target-directory") or (call.name == "ln" and options.has("-n", "-h")):
                return path.endswith("/")
            return self._follow(path, call).is_directory  # a directory is entered, any other link is replaced
        return True

    def _spelled_out(self, raw: str, touch: Touch, how: _Touched) -> Iterator[str]:
        """The path itself; and for a pattern, the links that it may stand for."""
        yield raw
        if not touch.arg.glob or UNKNOWN in raw:
            return
        begun = [""]
        for part in raw.split("/")[1:]:
            if not _SIGNS & set(part):
                begun = [f"{path}/{part}" for path in begun]
                continue
            longer = []
            for path in begun[:MOST_MATCHES]:
                self._lookups += 1
                names = None
                if self._lookups <= MOST_LOOKUPS:
                    names = self.links.matching(self._follow(path or "/", touch.call).path, part)
                if names is None and how is not _Touched.READ:
                    self.unchecked.append(self._name(touch))
                longer += [f"{path}/{name}" for name in (names or ())]
            begun = longer[:MOST_MATCHES]
        yield from (path for path in begun if path != raw)

    # Links that the command line makes

    def _made_by(self, call: Call, number: int) -> Iterator[_Made]:
        options = sort_options(call.args, "tSgmo", "target-directory suffix backup")
        symbolic = options.has("-s", "--symbolic", "--symbolic-link")
        if call.name == "cp" and not (symbolic or options.has("-l", "--link", "-a", "-d", "-P", "-R", "-r")):
            return
        for source, places in islice(_placed(options), MOST_MADE):
            inside = places[-1:]
            for place in inside if len(places) > 1 and self._is_directory(places[0], call) else places:
                where = normal(absolute(place, call.cwd, self.scene.ground.home))
                base = dirname(where) if symbolic and call.name == "ln" else call.cwd
                goal = absolute(source.text, base, self.scene.ground.home)
                if UNKNOWN in where or where == "/" or basename(place) in ("", ".", ".."):
                    continue
                is_made = call.name == "ln" or (call.name == "cp" and (symbolic or options.has("-l", "--link")))
                if is_made or self._is_link(goal, call):
                    yield _Made(number, where, goal.rstrip("/"))

    def _is_directory(self, path: str, call: Call) -> bool:
        return self._follow(absolute(path, call.cwd, self.scene.ground.home), call).is_directory

    def _is_link(self, path: str, call: Call) -> bool:
        """Whether a link stands at the end of this path; moved or copied, it is one in the new place, too."""
        return self._follow(path, call).path != self._follow(path.rstrip("/"), call, last=False).path

    # What a card says

    def _note(self, way: Way, touch: Touch, how: _Touched) -> None:
        name = self._name(touch)
        if way.end is LinkEnd.LOOP:
            self._say(name, "a link that leads to itself", first=True)
        elif way.end is LinkEnd.UNKNOWN and how is _Touched.READ:
            self._say("", "It could not be checked whether what it reads is a link to something else")
        elif way.end is LinkEnd.BARRED and how is not _Touched.READ:
            self._say("", "tapgate may not look there, so a link could lead elsewhere")
        if way.end in (LinkEnd.LOOP, LinkEnd.UNKNOWN) and how is not _Touched.READ:
            self.unchecked.append(name)
        if way.end is not LinkEnd.REACHED:
            return
        if self._is_worth_saying(way.path, touch.path, how):
            leaves = self.scene.ground.owns(touch.path) and not self.scene.ground.owns(way.path)
            out = ", out of the project" if leaves else ""
            self._say(name, f"a link to {_cut(self._from_project(way.path))}{out}", first=leaves)
        elif way.is_shared and how is _Touched.WRITTEN and touch.call.name not in ("mv", "ln"):
            self._say(name, "the same file has another name elsewhere (a hard link)")

    def _is_worth_saying(self, real: str, path: str, how: _Touched) -> bool:
        """Not for the links above a project, which lead to the same project; of what is read, only what matters."""
        ground = self.scene.ground
        if how is _Touched.READ:
            return (
                (ground.owns(path) and not ground.owns(real))
                or (is_secret(real) and not is_secret(path))
                or (kind_of(real, ground) is PathKind.TAPGATE and kind_of(path, ground) is not PathKind.TAPGATE)
            )
        is_same = real == path or (ground.owns(path) and self._from_project(real) == self._from_project(path))
        return not is_same or kind_of(real, ground) is not kind_of(path, ground)

    def _name(self, touch: Touch) -> str:
        written = touch.arg.text
        return _cut(written if ".." in written else self._from_project(touch.path))

    def _from_project(self, path: str) -> str:
        ground = self.scene.ground
        for project in (ground.project, ground.real_project):
            if len(project) > 1 and path.startswith(f"{project}/"):
                return path[len(project) + 1 :]
        return ground.with_tilde(path)

    def _say(self, name: str, words: str, *, first: bool = False) -> None:
        self._facts.setdefault(Link(name.replace(UNKNOWN, "…"), words.replace(UNKNOWN, "…")), first)

    def shown(self) -> tuple[Link, ...]:
        """What leads out of the project comes first."""
        return tuple(sorted(self._facts, key=lambda link: not self._facts[link])[:MOST_SHOWN])


def _placed(options: Options) -> Iterator[tuple[Arg, tuple[str, ...]]]:
    """Each source of a copy, with the places where it may come to stand: whether the target is a directory is not
    known, so both are given."""
    directory = options.value("-t", "--target-directory")
    operands = options.operands
    if directory is None and len(operands) == 1:
        yield operands[0], (basename(operands[0].text.rstrip("/")),)
        return
    sources, target = (
        (operands, directory) if directory is not None else (operands[:-1], operands[-1] if operands else None)
    )
    for source in sources if target is not None else ():
        assert target is not None
        inside = f"{target.text.rstrip('/')}/{basename(source.text.rstrip('/'))}"
        whole = directory is not None or len(sources) > 1 or target.text.endswith("/")
        yield source, (inside,) if whole else (target.text, inside)


def _cut(text: str) -> str:
    """Both ends of a long path: where it begins, and which file it is."""
    return text if len(text) <= _NAME_CHARS else f"{text[: _NAME_CHARS // 2 - 1]}…{text[-_NAME_CHARS // 2 :]}"
