"""The agents that there are: the built-in ones, and those of installed packages (entry points of `tapgate.agents`).

A package's code is loaded once, when an agent that is not built in is asked for or all are listed. What cannot be
loaded is recorded for `tapgate doctor` and raises nothing: it must not keep the other agents from being heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from tapgate.agents.agent import Agent
from tapgate.agents.claude import CLAUDE
from tapgate.agents.codex import CODEX
from tapgate.errors import InputError
from tapgate.model import Caller, Request

GROUP = "tapgate.agents"
BUILT_IN: Mapping[str, Agent] = {agent.name: agent for agent in (CLAUDE, CODEX)}


@dataclass(frozen=True, slots=True)
class AgentLoadError:
    """An entry point that gave no agent. `source` names it with its package."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Registry:
    agents: Mapping[str, Agent]
    errors: tuple[AgentLoadError, ...] = ()


@cache
def known_agents() -> Registry:
    """All agents, built-in ones first."""
    return load(entry_points(group=GROUP))


def load(found: Iterable[EntryPoint]) -> Registry:
    """The built-in agents and these. A name that is taken stays with whom it belongs to."""
    agents, errors = dict(BUILT_IN), []
    for entry in sorted(found, key=lambda one: (_package_of(one), one.name, one.value)):
        agent = _agent_of(entry)
        if isinstance(agent, str):
            errors.append(AgentLoadError(_source_of(entry), agent))
        elif agent.name in agents:
            errors.append(AgentLoadError(_source_of(entry), f"there is another agent named {agent.name!r}"))
        else:
            agents[agent.name] = agent
    return Registry(agents, tuple(errors))


def agent_of(name: str) -> Agent:
    """Raises InputError where there is no such agent. No package is loaded for a built-in one."""
    agents = BUILT_IN if name in BUILT_IN else known_agents().agents
    try:
        return agents[name]
    except KeyError:
        raise InputError(f"tapgate does not know the agent {name!r}; it knows {', '.join(agents)}") from None


def title_of(name: str) -> str:
    """What people call this agent; its name where it is not known (any more)."""
    try:
        return agent_of(name).title
    except InputError:
        return name


def is_stock_message(name: str, message: str) -> bool:
    """Whether a decision's message is the agent's own stock text, and no person's."""
    try:
        return message in agent_of(name).stock_messages
    except InputError:
        return False


def parse_request(request_id: str, caller: Caller, raw: bytes) -> Request:
    """Read a question that was journaled earlier. Raises InputError where it is not one."""
    event = agent_of(caller.agent).parse(request_id, caller, raw)
    if not isinstance(event, Request):
        raise InputError("this is not a question")
    return event


def described(request: Request) -> Request:
    """The same for a request whose input was dropped, so that it cannot be parsed; as it is for an unknown agent."""
    try:
        return agent_of(request.caller.agent).described(request)
    except InputError:
        return request


def _agent_of(entry: EntryPoint) -> Agent | str:
    """The agent that an entry point names; or in words, why there is none."""
    try:
        agent = entry.load()
    except (Exception, SystemExit) as error:  # it is somebody else's code: anything may happen
        return f"it cannot be loaded ({type(error).__name__}: {error})"
    if not isinstance(agent, Agent):
        return f"it names a {type(agent).__name__}, not an Agent of tapgate.agents.agent"
    if agent.name != entry.name:
        return f"its agent is named {agent.name!r}, not {entry.name!r} as the entry point"
    return agent


def _package_of(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else ""


def _source_of(entry: EntryPoint) -> str:
    package = _package_of(entry)
    return f"{entry.name} = {entry.value}" + (f", of {package}" if package else "")
