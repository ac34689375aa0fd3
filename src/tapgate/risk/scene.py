"""What the rules look at: the calls of one request, the files that they touch, and where all that happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tapgate.model import Link, ToolUse
from tapgate.risk.files import Touch, deletes_of, reads_of, writes_of
from tapgate.risk.paths import Ground, PathKind, kind_of
from tapgate.shell.calls import Arg, Call
from tapgate.shell.walk import Reading

NO_USE = ToolUse("", {})


@dataclass(frozen=True, slots=True)
class RiskInput:
    ground: Ground
    calls: tuple[Call, ...] = ()
    reads: tuple[Touch, ...] = ()
    writes: tuple[Touch, ...] = ()
    deletes: tuple[Touch, ...] = ()
    url: str = ""  # what a tool, not a command, would fetch
    use: ToolUse = NO_USE
    words: tuple[str, ...] = ()  # of the input: the command, paths and addresses
    links: tuple[Link, ...] = ()
    leads_to: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # of words, by their ids, through links
    unchecked: tuple[str, ...] = ()  # what is written or deleted, and nobody can tell where
    broken: bool = False
    cut: bool = False
    bomb: bool = False

    def first_write(self, *kinds: PathKind, deletes: bool = False) -> Touch | None:
        """The first file of these kinds that would be changed, or with `deletes` also be deleted."""
        touches = (*self.writes, *self.deletes) if deletes else self.writes
        return next((touch for touch in touches if kind_of(touch.path, self.ground) in kinds), None)

    def paths_of(self, arg: Arg, call: Call) -> tuple[str, ...]:
        """Where a word of a call that writes or deletes stands for: by itself, and by the links on the way."""
        return (self.ground.locate(arg.text, call.cwd), *self.leads_to.get(id(arg), ()))


Finder = Callable[[RiskInput], str | None]
"""A rule's eye: a sentence for a person if the rule fits, else None."""


def scene_of_commands(reading: Reading, ground: Ground) -> RiskInput:
    calls = reading.calls
    return RiskInput(
        ground,
        calls,
        tuple(touch for call in calls for touch in reads_of(call, ground)),
        tuple(touch for call in calls for touch in writes_of(call, ground)),
        tuple(touch for call in calls for touch in deletes_of(call, ground)),
        broken=reading.broken,
        cut=reading.cut,
        bomb=reading.bomb,
    )


def touch_of(path: str, *, tool: str, cwd: str, ground: Ground) -> Touch:
    """A file that a tool names."""
    arg = Arg(path, path)
    return Touch(ground.locate(path, cwd), arg, Call(tool.lower(), Arg(tool, tool), (arg,), cwd=cwd))


def each_call(find: Callable[[Call, RiskInput], str | None]) -> Finder:
    """A rule that looks at one call after another."""

    def search(scene: RiskInput) -> str | None:
        for call in scene.calls:
            sentence = find(call, scene)
            if sentence:
                return f"{sentence}, on another machine or in a container" if call.away else sentence
        return None

    return search


def listed(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    names = list(dict.fromkeys(items))
    if len(names) <= 2:
        return " and ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"
