"""`tapgate service`: the daemon as a service that starts at login and is started again when it fails."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.errors import ConfigError, ServiceError

if TYPE_CHECKING:
    from tapgate.service.manager import FileChange, Service, ServiceState

service = typer.Typer(no_args_is_help=True, help="The daemon as a service: systemd's user manager, or launchd.")


@service.callback()
def _group() -> None:
    """The daemon as a service: systemd's user manager, or launchd."""


@service.command()
def install(
    config: ConfigOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace changed files without asking.")] = False,
    start: Annotated[bool, typer.Option(help="Start it at once.")] = True,
) -> None:
    """Write the service's files, enable it and start it. Running it again changes only what changed."""
    found = _service()
    plan = found.plan(config)
    changes = [change for change in plan if change.is_change]
    if dry_run:
        _show(plan)
        return
    _check_config(config)
    replaced = [change for change in changes if change.before is not None]
    if replaced and not yes:
        _show(replaced)
        if not sys.stdin.isatty():
            raise ServiceError("these files are there already and differ; run it again with --yes to replace them")
        typer.confirm("Replace them?", abort=True)
    done = found.install(config, start=start)
    for change in done:
        typer.echo(f"wrote {change.path}")
    if not done:
        typer.echo("the files are as they should be")
    state = found.state()
    typer.echo(f"service: {state.detail}")
    if state.sandboxed is False:
        typer.echo(
            "This system lets no user make namespaces, so it runs without most of the sandbox: docs/hardening.md"
        )
    if state.lingers is False:
        typer.echo("It ends when you log out. To keep it for agents in tmux or over ssh: loginctl enable-linger")


@service.command()
def uninstall() -> None:
    """Stop it and take its files away. Config, journal and token stay."""
    found = _service()
    drop_ins = [folder for path in found.state().paths if (folder := Path(f"{path}.d")).is_dir()]
    gone = found.uninstall()
    for path in gone:
        typer.echo(f"removed {path}")
    if not gone:
        typer.echo("the service is not installed; there was nothing to remove")
    for folder in drop_ins:
        typer.echo(f"left {folder}: these are your own settings; remove them if you like")


@service.command()
def start() -> None:
    """Start it now."""
    found = _service()
    found.start()
    typer.echo(f"service: {found.state().detail}")


@service.command()
def stop() -> None:
    """Stop it until the next login. Waiting agents are answered without an opinion and ask at the terminal."""
    found = _service()
    found.stop()
    typer.echo(f"service: {found.state().detail}")


@service.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """How the service is. Exit code 1 where it does not run; `tapgate status` asks the daemon itself."""
    state = _service().state()
    if as_json:
        typer.echo(json.dumps({**asdict(state), "paths": [str(path) for path in state.paths]}))
    else:
        for line in describe(state, now=time.time()):
            typer.echo(line)
    if not state.running:
        raise typer.Exit(1)


@service.command()
def logs(
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with those to come.")] = False,
) -> None:
    """What the daemon said, from the system's journal (macOS: ~/Library/Logs/tapgate.log)."""
    try:
        for line in _service().logs(lines, follow):
            typer.echo(line)
    except KeyboardInterrupt:
        raise typer.Exit from None


def describe(state: ServiceState, *, now: float) -> list[str]:
    lines = [f"service:    {state.detail}"]
    if state.running and state.since is not None:
        lines.append(f"since:      {time.strftime('%Y-%m-%d %H:%M', time.localtime(state.since))}")
    if state.installed:
        lines.append(
            f"at login:   {'starts by itself' if state.enabled else 'does not start; `tapgate service install`'}"
        )
        missing = "" if state.executable_exists else " (missing! run `tapgate service install` again)"
        lines.append(f"runs:       {state.executable}{missing}")
        lines += [f"file:       {path}" for path in state.paths]
        if not state.is_current:
            lines.append("out of date: these files are not what this version writes; run `tapgate service install`")
    if state.lingers is not None and state.installed:
        kept = "goes on" if state.lingers else "ends; `loginctl enable-linger` keeps it"
        lines.append(f"at logout:  {kept}")
    return lines


def _service() -> Service:
    from tapgate.service.manager import service_of, why_not

    home = Path.home()
    found = service_of(platform=sys.platform, home=home, environ=os.environ)
    if found is None:
        raise ServiceError(why_not(platform=sys.platform, home=home, environ=os.environ))
    return found


def _check_config(config: Path | None) -> None:
    """A service that cannot start is no service."""
    from tapgate.config import load_config, read_token

    loaded = load_config(config)
    read_token(loaded)
    if not loaded.people:
        raise ConfigError(
            "nobody is listed under [[people]] in the config, so the daemon would not start; add yourself"
        )


def _show(changes: list[FileChange] | tuple[FileChange, ...]) -> None:
    for change in changes:
        typer.echo(change.diff if change.is_change else f"{change.path}: unchanged", nl=not change.is_change)
