"""Claude Code: its hook events, its tools, its permission suggestions, its transcripts."""

from __future__ import annotations

from tapgate.agents.agent import Agent
from tapgate.agents.claude.events import SKIPPED, parse, render
from tapgate.agents.claude.tools import TOOLS
from tapgate.agents.claude.transcript import read_request_words
from tapgate.agents.dialect import DENIED

CLAUDE = Agent(
    name="claude",
    title="Claude Code",
    parse_event=parse,
    render=render,
    tools=TOOLS,
    read_last_words=read_request_words,
    stock_messages=frozenset({DENIED, SKIPPED}),
)
