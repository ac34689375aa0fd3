"""What the real agents sent, and short ways to let a dialect hear it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tapgate.agents.agent import AgentEvent
from tapgate.agents.registry import BUILT_IN
from tapgate.model import Caller, Choice, Request

FOLDER = Path(__file__).parent.parent / "data" / "captures"
CLAUDE = sorted((FOLDER / "claude-code-2.1.325").glob("*.json"))
CODEX = sorted(path for path in (FOLDER / "codex-0.166.0").glob("*.json") if path.name != "decision-matrix.json")
CODEX_MATRIX = FOLDER / "codex-0.166.0" / "decision-matrix.json"

ID = "0123456789abcdef" * 2


def hear(raw: bytes, agent: str = "claude") -> AgentEvent:
    return BUILT_IN[agent].parse(ID, Caller(agent=agent, deadline_s=590.0), raw)


def ask(raw: bytes, agent: str = "claude") -> Request:
    heard = hear(raw, agent)
    assert isinstance(heard, Request)
    return heard


def event(**fields: Any) -> bytes:
    """A permission request with nothing but what every version sends, and these fields."""
    plain = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "npm test"}}
    return json.dumps({**plain, **fields}).encode()


def press(request: Request, key: str) -> Choice:
    return next(choice for choice in request.choices if choice.key == key)


def answer(request: Request, key: str) -> bytes:
    """The bytes that go to the agent's hook when this button was pressed."""
    return BUILT_IN[request.caller.agent].render(request, press(request, key).decision)
