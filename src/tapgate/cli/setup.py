"""`tapgate setup`: from nothing to a tapped test card."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.cli.hooks import AgentName


def setup(
    config: ConfigOption = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file that holds the bot token; the config will name it. - is stdin."),
    ] = None,
    proxy: Annotated[str | None, typer.Option(metavar="URL", help="Reach Telegram through this proxy.")] = None,
    name: Annotated[str, typer.Option(help="What cards call you; your name on Telegram by default.")] = "",
    agent: Annotated[
        list[AgentName] | None, typer.Option(help="Whose hooks to register; may be repeated. Those found by default.")
    ] = None,
    pair: Annotated[bool, typer.Option("--pair/--no-pair", help="Pair your phone.")] = True,
    hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Register the agent's hooks.")] = True,
    service: Annotated[bool, typer.Option("--service/--no-service", help="Install the service.")] = True,
    test: Annotated[bool, typer.Option("--test/--no-test", help="Send a test card.")] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: yes to every step.")] = False,
    base_url: Annotated[str | None, typer.Option(metavar="URL", hidden=True)] = None,
) -> None:
    """Set everything up: your bot, your phone, the agent's hooks, the service, and a test card.

    Each step says what it does and can be skipped. Run it again at any time: it changes only what changed.
    """
    from tapgate.cli.dialog import open_dialog
    from tapgate.cli.wizard import SetupOptions, Wizard
    from tapgate.config import find_config

    dialog = open_dialog(yes=yes)
    dialog.require_terminal()
    for unwanted in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal ends it like Ctrl-C, in order
        signal.signal(unwanted, signal.default_int_handler)
    wizard = Wizard(
        dialog,
        find_config(config),
        SetupOptions(
            token_file=token_file,
            base_url=base_url,
            proxy=proxy,
            name=name,
            agents=tuple(one.value for one in agent or ()),
            pair=pair,
            hooks=hooks,
            service=service,
            test=test,
        ),
    )
    try:
        is_well = wizard.run()
    except (KeyboardInterrupt, typer.Abort):
        wizard.stopped()
        raise typer.Exit(130) from None
    if not is_well:
        raise typer.Exit(1)
