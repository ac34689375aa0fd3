"""`tapgate hooks`: the agent's side. Registers the hook in its settings, takes it out, says what is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tapgate.cli.daemon import ConfigOption

if TYPE_CHECKING:
    from tapgate.hooks.settings import Change, Finding

hooks = typer.Typer(no_args_is_help=True, help="The agent's side: register the hook, take it out, see what is wrong.")


class AgentName(StrEnum):
    CLAUDE = "claude"
    CODEX = "codex"


class ScopeName(StrEnum):
    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


AgentOption = Annotated[AgentName, typer.Option(help="Whose settings.")]
ScopeOption = Annotated[
    ScopeName,
    typer.Option(
        help="user: all your projects. project: this directory, for all who work on it. local: only you, here."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the change, and make none.")]
GateOption = Annotated[
    str | None,
    typer.Option(
        help="Also ask before every call of these tools, needed or not, like 'Bash|Write|Edit'. Claude Code only.",
        metavar="TOOLS",
    ),
]


@hooks.command()
def install(
    agent: AgentOption = AgentName.CLAUDE,
    scope: ScopeOption = ScopeName.USER,
    gate: GateOption = None,
    no_gate: Annotated[bool, typer.Option("--no-gate", help="Take a gate out again.")] = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    config: ConfigOption = None,
) -> None:
    """Register the hook in the agent's settings: shows the change first, and asks."""
    from tapgate.config import load_config
    from tapgate.errors import SettingsError
    from tapgate.hooks.settings import TITLES, Severity, inspect, plan_install

    if gate is not None and (no_gate or not gate):
        raise SettingsError("--gate needs the names of tools, like 'Bash|Write|Edit'; --no-gate takes a gate out")
    loaded = load_config(config)
    path = _path(agent, scope)
    change = plan_install(loaded, agent=agent.value, path=path, gate="" if no_gate else gate)
    if change.is_nothing:
        typer.echo(f"Registered in {path} already; nothing to change.")
    elif not _carry_out(change, yes=yes, dry_run=dry_run):
        return
    elif agent is AgentName.CODEX:
        typer.echo("Codex asks tapgate once you have told it to trust the hook: in Codex, type /hooks.")
    else:
        typer.echo(f"{TITLES[agent.value]} asks tapgate from its next session on.")
    if scope is ScopeName.PROJECT:
        typer.echo(
            "Others who work on this project get the entry too, with paths of this machine; --scope local is yours."
        )
    findings = inspect(loaded, agent=agent.value, environ=os.environ, home=Path.home(), cwd=Path.cwd())
    _show(finding for finding in findings if finding.level is not Severity.OK)


@hooks.command()
def uninstall(
    agent: AgentOption = AgentName.CLAUDE,
    scope: ScopeOption = ScopeName.USER,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Take the hook out again: what else stands in the settings stays as it is."""
    from tapgate.hooks.settings import TITLES, plan_uninstall

    path = _path(agent, scope)
    change = plan_uninstall(agent=agent.value, path=path)
    if change.is_nothing:
        typer.echo(f"{path} does not name tapgate; nothing to change.")
    elif _carry_out(change, yes=yes, dry_run=dry_run):
        typer.echo(f"{TITLES[agent.value]} no longer asks tapgate, from its next session on.")


@hooks.command()
def status(
    agent: Annotated[
        AgentName | None, typer.Option(help="Whose settings; all agents that are used here otherwise.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Is the hook registered, does it lead anywhere, what keeps tapgate from being asked. Exits with 1 on a fault."""
    from tapgate.config import load_config
    from tapgate.hooks.settings import Severity, inspect

    loaded = load_config(config)
    asked = [agent.value] if agent else _used()
    found = {name: inspect(loaded, agent=name, environ=os.environ, home=Path.home(), cwd=Path.cwd()) for name in asked}
    for findings in found.values():
        _show(findings)
    levels = {finding.level for findings in found.values() for finding in findings}
    if Severity.FAULT in levels or Severity.OK not in levels:
        raise typer.Exit(1)


@hooks.command("print")
def print_(
    agent: AgentOption = AgentName.CLAUDE,
    gate: GateOption = None,
    config: ConfigOption = None,
) -> None:
    """Print the JSON to merge into ~/.claude/settings.json, or for Codex into ~/.codex/hooks.json."""
    from tapgate.config import load_config
    from tapgate.hooks.command import render_settings
    from tapgate.hooks.settings import check_gate

    if gate:
        check_gate(gate, agent=agent.value)
    typer.echo(json.dumps(render_settings(load_config(config), agent=agent.value, gate=gate or ""), indent=2))


@hooks.callback()
def _group() -> None:
    """The agent's side: register the hook, take it out, see what is wrong."""


def _path(agent: AgentName, scope: ScopeName) -> Path:
    from tapgate.hooks.settings import Scope, settings_path

    return settings_path(agent.value, Scope(scope.value), environ=os.environ, home=Path.home(), cwd=Path.cwd())


def _used() -> list[str]:
    """Claude Code, unless only Codex has been used here, and Codex, where it has."""
    from tapgate.hooks.settings import AGENTS, agent_dir

    used = [name for name in AGENTS if agent_dir(name, environ=os.environ, home=Path.home()).is_dir()]
    return used or [AgentName.CLAUDE.value]


def _carry_out(change: Change, *, yes: bool, dry_run: bool) -> bool:
    """Show it, ask, write it. False where it was only shown."""
    from tapgate.hooks.settings import apply

    for line in change.diff().splitlines():
        colour = {"+": typer.colors.GREEN, "-": typer.colors.RED, "@": typer.colors.CYAN}.get(line[:1])
        typer.secho(line, fg=colour)
    typer.echo(_summary(change))
    if dry_run:
        typer.echo("Nothing was changed (--dry-run).")
        return False
    if not yes and not typer.confirm(f"Change {change.path}?", default=True):
        typer.echo("Nothing was changed.")
        raise typer.Exit(1)
    backup = apply(change)
    if change.after is None:
        typer.echo(f"Removed {change.path}, which tapgate had made.")
    else:
        typer.echo(f"Wrote {change.path}." + (f" What was there before: {backup}" if backup else ""))
    return True


def _summary(change: Change) -> str:
    """The diff scrolls by; this is what stands right above the question."""
    from tapgate.hooks.settings import events_of

    before, after = events_of(change.before), events_of(change.after)
    parts = [
        f"{what} {', '.join(events)}"
        for what, events in (
            ("adds tapgate to", [event for event in after if event not in before]),
            ("updates it in", [event for event in after if event in before and after[event] != before[event]]),
            ("takes it out of", [event for event in before if event not in after]),
        )
        if events
    ]
    summary = "; ".join(parts) or "restores the file"
    return f"This {summary}. Everything else in the file stays as it is."


def _show(findings: Iterable[Finding]) -> None:
    marks = {
        "ok": ("ok", typer.colors.GREEN),
        "warning": ("warning", typer.colors.YELLOW),
        "fault": ("fault", typer.colors.RED),
    }
    for finding in findings:
        word, colour = marks[finding.level.value]
        sentence, advice = _wrapped(finding.sentence), _wrapped(finding.advice)
        typer.echo(typer.style(f"{word:8}", fg=colour) + sentence)
        if advice:
            typer.echo(f"{'':8}{advice}")


def _wrapped(text: str) -> str:
    """Between words, under the first one; as one line where no person reads it."""
    if not sys.stdout.isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns - 8)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{'':8}".join(lines)
