"""`tapgate daemon`: the long-running side, in the foreground."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The config file; TAPGATE_CONFIG names one as well."),
]
CONFIG_EXIT = 78  # sysexits' EX_CONFIG: the service's unit says that starting again is of no use then


class FormatOption(StrEnum):  # as in daemon/logs.py, which is loaded when it is needed
    AUTO = "auto"
    HUMAN = "human"
    JOURNAL = "journal"
    JSON = "json"


class LevelOption(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def daemon(
    config: ConfigOption = None,
    log_format: Annotated[
        FormatOption, typer.Option(help="How the log looks. auto: the journal's form in a service, otherwise human.")
    ] = FormatOption.AUTO,
    log_level: Annotated[LevelOption, typer.Option(help="How much is logged.")] = LevelOption.INFO,
    debug: Annotated[bool, typer.Option("--debug", help="The same as --log-level debug.")] = False,
) -> None:
    """Wait for your agents' questions and put them on your phone. Stop it with Ctrl-C or SIGTERM."""
    import faulthandler
    import os
    import sys

    import anyio

    from tapgate.config import find_exposed, load_config, read_token
    from tapgate.daemon.app import Daemon
    from tapgate.daemon.logs import LogFormat, LogLevel, settle_format, start_logging
    from tapgate.daemon.notify import Notifier
    from tapgate.daemon.refusal import turn_away
    from tapgate.daemon.sockets import inherited_socket
    from tapgate.errors import ConfigError, TapgateError

    faulthandler.enable(file=2)  # the watchdog's SIGABRT then leaves in the log where it hung: names, and no values
    sys.setswitchinterval(0.0005)  # threads that compute give way to the event loop ten times as soon as usual
    form = settle_format(LogFormat(log_format), environ=os.environ, fd=2)
    log = start_logging(LogLevel.DEBUG.number if debug else LogLevel(log_level).number, form=form)
    inherited = inherited_socket()

    def ready(line: str) -> None:
        if form is LogFormat.HUMAN:
            typer.echo(line)
        else:
            log.info(line)

    async def run() -> None:
        loaded = load_config(config)
        token = read_token(loaded)
        if not loaded.people:
            raise ConfigError(
                "nobody is listed under [[people]] in the config, so nobody could answer; run `tapgate pair`"
            )
        for sentence in find_exposed(config, loaded):
            log.warning(sentence)
        notifier = Notifier.from_environ(os.environ, pid=os.getpid())
        await Daemon(loaded, token, report=log.warning, debug=log.debug, inherited=inherited, notifier=notifier).run(
            ready
        )

    try:
        anyio.run(run)
    except TapgateError as error:
        if inherited is not None:
            turn_away(inherited, str(error))
        if not isinstance(error, ConfigError):
            raise
        typer.echo(f"tapgate: {error}", err=True)
        raise typer.Exit(CONFIG_EXIT) from None
