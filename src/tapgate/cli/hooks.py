"""`tapgate hooks`: what to put into the agent's settings."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from tapgate.cli.daemon import ConfigOption

hooks = typer.Typer(no_args_is_help=True, help="The agent's side: which command its settings must name.")


class Agent(StrEnum):
    CLAUDE = "claude"
    CODEX = "codex"


@hooks.command("print")
def print_(
    agent: Annotated[Agent, typer.Option(help="Whose settings.")] = Agent.CLAUDE,
    config: ConfigOption = None,
) -> None:
    """Print the JSON to merge into ~/.claude/settings.json, or for Codex into ~/.codex/hooks.json."""
    from tapgate.config import load_config
    from tapgate.install.hooks import render_settings

    typer.echo(json.dumps(render_settings(load_config(config), agent=agent.value), indent=2))


@hooks.callback()
def _group() -> None:
    """The agent's side: which command its settings must name."""
