"""What an agent must offer: one frozen value, from one of the folders here or from an installed package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tapgate.desk.events import SessionEnded, SessionMoved, ToolEnded
from tapgate.model import UNKNOWN_TOOL, Caller, Decision, Request, Tool


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that is understood and calls for nothing."""

    event: str


AgentEvent = Request | ToolEnded | SessionMoved | SessionEnded | Ignored


def reads_no_transcript(request: Request) -> str:
    """For agents whose transcripts are not read."""
    return ""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its language, and what it declares about itself.

    `parse_event` and `render` are pure. `parse_event` raises InputError for what is not one of the agent's events.
    `render` gives the bytes for the agent's stdout; empty bytes are no opinion. `read_last_words` gives what the agent
    wrote last before it asked, or ""; it may read files and block, so it is run in a worker thread.
    """

    name: str  # in `--agent`, in the journal and in the log
    title: str  # for people
    parse_event: Callable[[str, Caller, bytes], AgentEvent]
    render: Callable[[Request, Decision], bytes]
    tools: Mapping[str, Tool] = field(default_factory=dict)  # by the agent's names; all others are UNKNOWN_TOOL
    read_last_words: Callable[[Request], str] = reads_no_transcript
    stock_messages: frozenset[str] = frozenset()  # what a decision tells the agent where no person wrote a text

    def parse(self, request_id: str, caller: Caller, raw: bytes) -> AgentEvent:
        """What the agent says; a request comes with its tool's row. Raises InputError."""
        event = self.parse_event(request_id, caller, raw)
        return self.described(event) if isinstance(event, Request) else event

    def described(self, request: Request) -> Request:
        """The request with what the agent declares about it: its tool's row, and who asks."""
        return replace(request, tool=self.tools.get(request.call.tool, UNKNOWN_TOOL), agent_title=self.title)
