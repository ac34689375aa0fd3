"""`tapgate pair`: one more person, or one more account."""

from __future__ import annotations

from typing import Annotated

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.model import Role


def pair(
    config: ConfigOption = None,
    role: Annotated[
        Role | None, typer.Option(help="What they may do; approver unless they are the first.", show_default=False)
    ] = None,
    name: Annotated[str, typer.Option(help="What cards call them; their name on Telegram by default.")] = "",
    group: Annotated[
        bool, typer.Option("--group", help="Cards go to a group, where this person may tap them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
) -> None:
    """Add another person or another account: a link, a QR code, and Start. Nobody else can pair."""
    from tapgate.cli.dialog import open_dialog
    from tapgate.cli.pairing import existing, meet, pair_person
    from tapgate.cli.running import DaemonControl, own_service
    from tapgate.config import read_token
    from tapgate.setup.config_file import ConfigFile

    dialog = open_dialog(yes=yes)
    dialog.require_terminal()
    file = ConfigFile(existing(config))
    token = read_token(file.config)
    daemons = DaemonControl(dialog, file.config, file.path, own_service())
    try:
        bot = meet(dialog, token, file)
        with daemons.replaced(token):
            newcomer = pair_person(dialog, file, token, bot, role=role, name=name, in_group=group)
    except (KeyboardInterrupt, typer.Abort):
        dialog.say("\nCancelled. Nobody was added.")
        raise typer.Exit(130) from None
    if newcomer is None:
        raise typer.Exit(1)
    if not daemons.is_service_running():
        dialog.say("It counts from the daemon's next start: [bold]tapgate daemon[/bold]")
