"""A sample: what an agent asks for, and what was done with its card so far. A value; exhibits.py makes a card of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tapgate.model import Detail, Outcome, Ran

PROJECT = "/home/dev/shop"


@dataclass(frozen=True, slots=True)
class Tap:
    """Press the button of which these are the first words."""

    label: str


@dataclass(frozen=True, slots=True)
class Type:
    """Reply to the message that asks for a text; or, where none does, to the card."""

    text: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """The agent's hook has the answer."""


@dataclass(frozen=True, slots=True)
class Receive:
    """The file with everything has come."""


Step = Tap | Type | Confirm | Receive


@dataclass(frozen=True, slots=True)
class Sample:
    name: str  # of its pictures
    about: str  # what is to be seen, in a line
    tool: str
    input: Mapping[str, Any]
    suggestions: tuple[Mapping[str, Any], ...] = ()
    why: str = ""  # the agent's last words before the call
    on_disk: str | None = None  # the text of the file that would change; "" for a new one
    steps: tuple[Step, ...] = ()
    outcome: Outcome | None = None  # where no step leads there
    ran: Ran = Ran.UNKNOWN
    detail: str = ""
    agent: str = "claude"
    event: str = "PermissionRequest"
    more: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[Sample, ...] = ()  # open at the same time, in the same session
    machine: str = ""
    mask: bool = True
    shows: Detail = Detail.FULL

    def raw(self) -> bytes:
        """What the agent's hook would have on its stdin."""
        event: dict[str, Any] = {
            "session_id": "5e55101d-0000-4000-8000-000000000001",
            "transcript_path": "/home/dev/.claude/projects/-home-dev-shop/session.jsonl",
            "cwd": PROJECT,
            "permission_mode": "default",
            "hook_event_name": self.event,
            "tool_name": self.tool,
            "tool_input": self.input,
            **self.more,
        }
        if self.suggestions:
            event["permission_suggestions"] = list(self.suggestions)
        return json.dumps(event).encode()


def rule(content: str, *, tool: str = "Bash", scope: str = "localSettings") -> dict[str, Any]:
    """A suggestion to allow this for good."""
    one = {"toolName": tool, **({"ruleContent": content} if content else {})}
    return {"type": "addRules", "rules": [one], "behavior": "allow", "destination": scope}


ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
