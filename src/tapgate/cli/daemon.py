"""`tapgate daemon`: the long-running side, in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The config file; TAPGATE_CONFIG names one as well."),
]


def daemon(config: ConfigOption = None, debug: Annotated[bool, typer.Option(help="Log more.")] = False) -> None:
    """Wait for your agents' questions and put them on your phone. Stop it with Ctrl-C or SIGTERM."""
    import logging

    import anyio

    from tapgate.config import load_config, read_token
    from tapgate.daemon.app import Daemon
    from tapgate.daemon.logs import start_logging
    from tapgate.errors import ConfigError

    loaded = load_config(config)
    token = read_token(loaded)
    if not loaded.people:
        raise ConfigError("nobody is listed under [[people]] in the config, so nobody could answer; add your user_id")
    log = start_logging(logging.DEBUG if debug else logging.INFO)

    async def run() -> None:
        await Daemon(loaded, token, report=log.warning).run(lambda line: typer.echo(line))

    anyio.run(run)
