"""Codex CLI. Its transcripts are not read: their lines are of another kind, and a call stands in them only later."""

from __future__ import annotations

from tapgate.agents.agent import Agent
from tapgate.agents.codex.events import parse, render
from tapgate.agents.codex.tools import TOOLS
from tapgate.agents.dialect import DENIED

CODEX = Agent(
    name="codex", title="Codex", parse_event=parse, render=render, tools=TOOLS, stock_messages=frozenset({DENIED})
)
