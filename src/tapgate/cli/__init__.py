"""The command line: the only code that prints to people. Each command imports what it needs when it runs."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated

import typer

from tapgate import __version__
from tapgate.cli.daemon import daemon
from tapgate.cli.demo import demo
from tapgate.cli.doctor import doctor
from tapgate.cli.hooks import hooks
from tapgate.cli.log import log
from tapgate.cli.pair import pair
from tapgate.cli.people import people
from tapgate.cli.service import service
from tapgate.cli.setup import setup
from tapgate.cli.simulator import simulator
from tapgate.cli.status import status
from tapgate.cli.trial import test
from tapgate.errors import TapgateError, redact

app = typer.Typer(
    name="tapgate",
    help="Answer your coding agent from your phone.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command()(setup)
app.command()(pair)
app.add_typer(people, name="people")
app.command()(test)
app.command()(daemon)
app.command()(demo)
app.command()(simulator)
app.command()(log)
app.command()(status)
app.command()(doctor)
app.add_typer(hooks, name="hooks")
app.add_typer(service, name="service")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"tapgate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answer your coding agent from your phone."""


def main() -> None:
    """Run a command; our own errors are sentences, not tracebacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="replace")
    try:
        app()
    except TapgateError as error:
        typer.echo(f"tapgate: {error}", err=True)
        sys.exit(1)
    except Exception:
        typer.echo(redact(traceback.format_exc()), err=True, nl=False)  # a library's error may hold the token
        sys.exit(1)
