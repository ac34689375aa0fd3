"""The agents: which are there, and what their versions do with hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tapgate.doctor.check import Check, Status, ok, skipped, warning
from tapgate.doctor.scene import NoCommandError, Scene
from tapgate.doctor.support import AGENTS, Agent, parse_version, show_version


def check_versions(scene: Scene, *, has_gate: Callable[[str], bool]) -> Iterator[Check]:
    checks = [check_version(scene, agent, has_gate=has_gate) for agent in AGENTS]
    yield from checks
    if all(check.status is Status.SKIPPED for check in checks):
        titles = " nor ".join(agent.title for agent in AGENTS)
        yield warning(
            "agents.any",
            "agents",
            f"neither {titles} can be run here",
            advice="install one of them, or run this where it is in PATH",
        )


def check_version(scene: Scene, agent: Agent, *, has_gate: Callable[[str], bool]) -> Check:
    name, label = f"agents.{agent.name}", agent.title
    try:
        ran = scene.run([agent.command, "--version"])
    except NoCommandError as error:
        return skipped(name, label, str(error))
    version = parse_version(ran.output) if ran.code == 0 else None
    if version is None:
        return skipped(name, label, f"`{agent.command} --version` does not say which version it is")
    notes = []
    for limit in agent.limits:
        if limit.gate_helps and has_gate(agent.name):
            continue
        if limit.until is None:
            notes.append(limit.sentence)
        elif version <= limit.until:
            return warning(name, label, f"{show_version(version)}: {limit.sentence}", advice=limit.advice)
        elif limit.certain_from is not None and version < limit.certain_from:
            notes.append(f"whether {limit.sentence.replace('does not ask', 'asks')} nobody has tried with this version")
    if version > agent.tested:
        notes.append(f"newer than {show_version(agent.tested)}, with which tapgate was tried")
    return ok(name, label, "; ".join([show_version(version), *notes]))
