"""The agents: which are there, what their versions do with hooks, and whether their settings make them ask."""

from __future__ import annotations

from collections.abc import Iterator

from tapgate.agents.registry import BUILT_IN, Registry, known_agents
from tapgate.config import Config
from tapgate.doctor.check import Check, Status, fault, ok, skipped, warning
from tapgate.doctor.scene import DoctorContext
from tapgate.doctor.support import AGENTS, AgentSupport, parse_version, show_version
from tapgate.errors import SettingsError
from tapgate.hooks.change import read
from tapgate.hooks.command import GATE_EVENT
from tapgate.hooks.registration import ours, parse_settings
from tapgate.hooks.scopes import agent_dir, scopes_of, settings_path
from tapgate.hooks.settings import Finding, Severity, inspect

NOT_FOUND = 127
_STATUS = {Severity.OK: Status.OK, Severity.WARNING: Status.WARNING, Severity.FAULT: Status.FAULT}


def check_agents(scene: DoctorContext, config: Config | None) -> Iterator[Check]:
    findings = {agent.name: look_up(scene, config, agent) for agent in AGENTS} if config is not None else {}
    registered = {name for name, found in findings.items() if any(one.level is Severity.OK for one in found)}
    versions = {agent.name: check_version(scene, agent) for agent in AGENTS}
    for agent in AGENTS:
        version = versions[agent.name]
        yield version
        if config is None:
            yield skipped(f"agents.{agent.name}_hooks", _label(agent), "the config does not say what they should name")
        elif agent.name in registered or version.status is not Status.SKIPPED or has_home(scene, agent):
            elsewhere = bool(registered - {agent.name})
            for finding in findings[agent.name]:
                yield check_hooks(agent, finding, may_be_left_out=elsewhere and agent.name not in registered)
    if not registered and all(version.status is Status.SKIPPED for version in versions.values()):
        yield warning(
            "agents.any",
            "agents",
            f"neither {' nor '.join(agent.title for agent in AGENTS)} can be run here",
            advice="install one of them, or run this where it is in PATH",
        )
    yield from check_packages(known_agents())


def check_packages(registry: Registry) -> Iterator[Check]:
    """The agents that installed packages offer, and those that could not be loaded."""
    for name in sorted(registry.agents.keys() - BUILT_IN.keys()):
        yield ok(f"agents.{name}", registry.agents[name].title, "an installed package offers it")
    for error in registry.errors:
        yield fault(
            "agents.packages",
            "agents of other packages",
            f"{error.source}: {error.reason}",
            advice="update or uninstall that package; until then its agent is not heard",
        )


def look_up(scene: DoctorContext, config: Config, agent: AgentSupport) -> tuple[Finding, ...]:
    return inspect(config, agent=agent.name, environ=scene.environ, home=scene.home, cwd=scene.cwd)


def check_hooks(agent: AgentSupport, finding: Finding, *, may_be_left_out: bool) -> Check:
    """Who has one agent ask tapgate may well want the other one not to."""
    status = _STATUS[finding.level]
    if may_be_left_out and "tapgate hooks install" in finding.advice:
        status = Status.SKIPPED
    return Check(f"agents.{agent.name}_hooks", _label(agent), status, finding.sentence, finding.advice)


def check_version(scene: DoctorContext, agent: AgentSupport) -> Check:
    name, label = f"agents.{agent.name}", agent.title
    ran = scene.run([agent.command, "--version"])
    if ran.code == NOT_FOUND:
        return skipped(name, label, f"`{agent.command}` is not in PATH")
    version = parse_version(ran.stdout) if ran.code == 0 else None
    if version is None:
        return skipped(name, label, f"`{agent.command} --version` does not say which version it is")
    notes = []
    for limit in agent.limits:
        if limit.gate_helps and has_gate(scene, agent):
            continue
        if limit.until is None:
            notes.append(limit.sentence)
        elif version <= limit.until:
            return warning(name, label, f"{show_version(version)}: {limit.sentence}", advice=limit.advice)
        elif limit.certain_from is not None and version < limit.certain_from:
            notes.append(limit.unknown)
    if version > agent.tested:
        notes.append(f"newer than {show_version(agent.tested)}, with which tapgate was tried")
    return ok(name, label, "; ".join([show_version(version), *notes]))


def has_gate(scene: DoctorContext, agent: AgentSupport) -> bool:
    for scope in scopes_of(agent.name):
        path = settings_path(agent.name, scope, environ=scene.environ, home=scene.home, cwd=scene.cwd)
        try:
            data = read(path)
            if data is not None and ours(parse_settings(data, source=path), GATE_EVENT):
                return True
        except SettingsError:
            continue  # that it cannot be read is a finding of its own
    return False


def has_home(scene: DoctorContext, agent: AgentSupport) -> bool:
    """Whether it was ever used here."""
    return agent_dir(agent.name, environ=scene.environ, home=scene.home).is_dir()


def _label(agent: AgentSupport) -> str:
    return f"{agent.title} hooks"
