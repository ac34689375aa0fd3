"""The dialects, one a file: each reads what its agent sends and writes what its agent accepts. Pure."""

from __future__ import annotations

from tapgate.agents import claude, codex
from tapgate.agents.dialect import AgentEvent, Dialect
from tapgate.errors import InputError
from tapgate.model import Caller, Request

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (claude.CLAUDE, codex.CODEX)}

__all__ = ["DIALECTS", "AgentEvent", "Dialect", "dialect_of", "parse_request"]


def dialect_of(agent: str) -> Dialect:
    try:
        return DIALECTS[agent]
    except KeyError:
        raise InputError(f"tapgate does not know the agent {agent!r}; it knows {', '.join(DIALECTS)}") from None


def parse_request(request_id: str, caller: Caller, raw: bytes) -> Request:
    """Read a question that was journaled earlier. Raises InputError where it is not one."""
    heard = dialect_of(caller.agent).parse(request_id, caller, raw)
    if not isinstance(heard, Request):
        raise InputError("this is not a question")
    return heard
