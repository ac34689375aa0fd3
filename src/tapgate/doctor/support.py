"""What each agent's versions do with hooks. Data; docs/agents.md is the same for people."""

from __future__ import annotations

import re
from dataclasses import dataclass

AgentVersion = tuple[int, int, int]
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Limit:
    """Something these versions do not do. `until` None: every version known."""

    until: AgentVersion | None
    certain_from: AgentVersion | None  # from here on it is known to be different; in between nobody has looked
    sentence: str
    advice: str
    unknown: str = ""  # what is said about a version in between
    gate_helps: bool = False  # not a limit where a PreToolUse gate is registered


@dataclass(frozen=True, slots=True)
class AgentSupport:
    name: str
    title: str
    command: str
    tested: AgentVersion  # the one whose behaviour was observed
    limits: tuple[Limit, ...]


AGENTS = (
    AgentSupport(
        name="claude",
        title="Claude Code",
        command="claude",
        tested=(2, 1, 325),
        limits=(
            Limit(
                until=(2, 1, 197),
                certain_from=(2, 1, 325),
                sentence="without a terminal (`claude -p`) it does not ask tapgate",
                advice="upgrade it, or register a gate as well: tapgate hooks install --gate 'Bash|Write|Edit'",
                unknown="whether it asks tapgate without a terminal (`claude -p`) nobody has tried with this version",
                gate_helps=True,
            ),
        ),
    ),
    AgentSupport(
        name="codex",
        title="Codex",
        command="codex",
        tested=(0, 166, 0),
        limits=(
            Limit(
                until=None,
                certain_from=None,
                sentence="`codex exec` asks tapgate only with --approve-for-me",
                advice="",
            ),
        ),
    ),
)


def parse_version(text: str) -> AgentVersion | None:
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def show_version(version: AgentVersion) -> str:
    return ".".join(str(part) for part in version)
