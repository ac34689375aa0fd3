"""Requests, people and taps for tests, in few words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tapgate.agents.registry import BUILT_IN, parse_request
from tapgate.desk.events import Tapped
from tapgate.model import NO_UID, UNKNOWN_TOOL, Caller, Choice, Copy, Instant, Person, Request, Tap, ToolUse

ADA = Person(user_id=1001, chat_id=1001, name="Ada")
BOB = Person(user_id=1002, chat_id=1002, name="Bob")
STRANGER_ID = 6666
GROUP_ID = -500

_QUERIES = itertools.count()

SUGGESTION = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}],
    "behavior": "allow",
    "destination": "localSettings",
}


def request_id(number: int) -> str:
    return f"{number:032x}"


def event_bytes(
    *,
    tool: str = "Bash",
    tool_input: dict[str, Any] | None = None,
    session: str = "session-1",
    event: str = "PermissionRequest",
    suggestions: tuple[dict[str, Any], ...] = (SUGGESTION,),
    **more: Any,
) -> bytes:
    value = {
        "session_id": session,
        "transcript_path": "/home/dev/.claude/projects/shop/session-1.jsonl",
        "cwd": "/home/dev/shop",
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": {"command": "npm test"} if tool_input is None else tool_input,
        **more,
    }
    if suggestions and event == "PermissionRequest":
        value["permission_suggestions"] = list(suggestions)
    return json.dumps(value).encode()


def make_request(
    number: int = 1, *, agent: str = "", deadline_s: float = 590.0, uid: int = NO_UID, **fields: Any
) -> Request:
    """Of Claude Code, or of the agent that has this tool."""
    owners = [one.name for one in BUILT_IN.values() if fields.get("tool") in one.tools]
    agent = agent or next(iter(owners), "claude")
    caller = Caller(
        agent=agent,
        deadline_s=deadline_s,
        pid=4242,
        parent_pid=4241,
        attended=True,
        project="/home/dev/shop",
        uid=uid,
    )
    return parse_request(request_id(number), caller, event_bytes(**fields))


def tool_use(name: str, fields: Mapping[str, Any]) -> ToolUse:
    """A call of this tool, of whichever built-in agent has it."""
    tools = [agent.tools[name] for agent in BUILT_IN.values() if name in agent.tools]
    return ToolUse(name, fields, tools[0] if tools else UNKNOWN_TOOL)


def with_deadline(request: Request, deadline_s: float) -> Request:
    return replace(request, caller=replace(request.caller, deadline_s=deadline_s))


def at(seconds: float) -> Instant:
    """A moment: `seconds` on the monotonic clock, and a wall clock that goes with it."""
    return Instant(mono=1000.0 + seconds, wall=1_800_000_000.0 + seconds)


def choice_of(request: Request, key: str) -> Choice:
    return next(choice for choice in request.choices if choice.key == key)


def tap_on(
    request: Request,
    key: str = "a",
    *,
    person: Person = ADA,
    message_id: int = 10,
    query_id: str = "",
    seal: str | None = None,
) -> Tapped:
    found = [choice.seal for choice in request.choices if choice.key == key]
    chosen = seal if seal is not None else found[0] if found else "whole"
    query_id = query_id or f"query-{next(_QUERIES)}"
    return Tapped(Tap(query_id, person.user_id, Copy(person.chat_id, message_id), "raw"), request.id, key, chosen)
