"""`tapgate test`: a test card, and how long each part of its way took."""

from __future__ import annotations

from typing import Annotated

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.cli.hooks import AgentName


def test(
    config: ConfigOption = None,
    agent: Annotated[
        AgentName | None, typer.Option(help="Whose hook; the first that is registered by default.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Send a test card through the registered hook, wait for your tap, and say how long each part took."""
    import json
    from dataclasses import asdict

    from tapgate.cli.dialog import open_dialog
    from tapgate.cli.probe import find_command, show, try_out
    from tapgate.config import load_config
    from tapgate.errors import TapgateError
    from tapgate.hooks.command import hook_command
    from tapgate.hooks.settings import TITLES
    from tapgate.model import Role

    dialog = open_dialog()
    loaded = load_config(config)
    if not any(person.role is not Role.VIEWER for person in loaded.persons()):
        raise TapgateError("nobody is listed who could answer; add somebody with `tapgate pair`")
    chosen, command = find_command(agent.value if agent else None)
    if command is None:
        if not as_json:
            dialog.warn(
                f"{TITLES[chosen]} does not ask tapgate yet; this runs what `tapgate hooks install` would name."
            )
        command = hook_command(loaded, agent=chosen, deadline_s=loaded.deadline_s)
    try:
        trial = try_out(dialog, loaded, command, agent=chosen, quiet=as_json)
    except (KeyboardInterrupt, typer.Abort):
        dialog.say("\nCancelled; the card says so.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(asdict(trial)))
    else:
        show(dialog, trial)
    if not trial.verdict:
        raise typer.Exit(1)
