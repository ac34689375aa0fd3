"""`tapgate doctor`: every check, a line each, with what to do next; `--fix` mends what is safe to mend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tapgate import __version__
from tapgate.cli.daemon import ConfigOption
from tapgate.cli.status import printable
from tapgate.client import ask_status
from tapgate.errors import TapgateError, redact

if TYPE_CHECKING:  # imported where they are used: other commands must not wait for them
    from rich.console import Console

    from tapgate.doctor.check import Check
    from tapgate.doctor.scene import DoctorContext
    from tapgate.service.manager import CommandResult

COMMAND_S = 10.0
LABEL_WIDTH = 18
NARROWEST = 40
MARKS = {
    "ok": ("✓", "+", "green"),
    "warning": ("!", "!", "yellow"),
    "fault": ("✗", "x", "red"),
    "skipped": ("–", "-", "dim"),
}


def doctor(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend: modes, a stale socket file.")] = False,
) -> None:
    """Look at everything, and say what is wrong and what to do about it. Exit code 1 where there is a fault."""
    from rich.console import Console

    from tapgate.doctor.check import Status, render_object, sum_up
    from tapgate.doctor.examination import examine

    console = Console(highlight=False, soft_wrap=True)
    scene = look_around(config)
    fixed = mend(examine(scene)) if fix else []
    if as_json:
        checks = list(examine(scene))
        typer.echo(json.dumps({"version": __version__, **render_object(checks), "fixed": fixed}))
    else:
        for line in fixed:
            console.print(line, markup=False)
        if fixed:
            console.print()
        checks = list(show(examine(scene), console=console))
        console.print(f"\n{sum_up(checks)}", markup=False, style="bold")
    if any(check.status is Status.FAULT for check in checks):
        raise typer.Exit(1)


def mend(checks: Iterable[Check]) -> list[str]:
    """Apply every fix that is offered; a line for each, done or not."""
    from tapgate.doctor.fixes import apply_fix

    lines = []
    for check in checks:
        if check.fix is not None:
            try:
                lines.append(f"fixed: {apply_fix(check.fix)}")
            except TapgateError as error:
                lines.append(f"not fixed: {error}")
    return lines


def show(checks: Iterable[Check], *, console: Console) -> Iterator[Check]:
    """Print each check as it comes, so that a slow one does not hold up the others."""
    from rich.text import Text

    from tapgate.doctor.examination import GROUPS

    plain = not console.encoding.lower().startswith("utf")
    group = ""
    waiting = console.status("looking …") if console.is_terminal and not plain else None
    if waiting is not None:
        waiting.start()
    try:
        for check in checks:
            if check.group != group:
                console.print(("\n" if group else "") + GROUPS[check.group], style="bold", markup=False)
                group = check.group
            good, ascii_mark, style = MARKS[check.status.value]
            first, *more = lay_out(check, width=console.width, arrow="->" if plain else "→")
            console.print(Text.assemble("  ", (ascii_mark if plain else good, style), " ", first))
            for line in more:
                console.print(Text(line, style="" if check.advice else "dim"))
            yield check
    finally:
        if waiting is not None:
            waiting.stop()


def lay_out(check: Check, *, width: int, arrow: str) -> list[str]:
    """The lines of one check after its mark: label and detail in two columns, then what to do."""
    room = max(width, NARROWEST) - LABEL_WIDTH - 5
    indent = " " * (LABEL_WIDTH + 5)
    lines = [line for part in check.detail.splitlines() for line in _wrap(part, room)] or [""]
    if check.advice:
        first, *more = _wrap(check.advice, room - len(arrow) - 1)
        lines += [f"{arrow} {first}", *(" " * (len(arrow) + 1) + line for line in more)]
    label, head, *rest = [printable(redact(line)) for line in (check.label, *lines)]
    return [f"{label:<{LABEL_WIDTH}} {head}".rstrip(), *(indent + line for line in rest)]


def _wrap(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]


def look_around(given: Path | None) -> DoctorContext:
    """The real world, as the checks see it."""
    import shutil

    from tapgate.config import CONFIG_VARIABLE, find_config
    from tapgate.doctor.bot import HttpBot
    from tapgate.doctor.scene import DoctorContext
    from tapgate.paths import default_runtime_dir, default_state_dir

    return DoctorContext(
        version=__version__,
        config_path=find_config(given),
        is_named=given is not None or bool(os.environ.get(CONFIG_VARIABLE)),
        environ=os.environ,
        home=Path.home(),
        cwd=_cwd(),
        uid=os.getuid(),
        platform=sys.platform,
        wall=time.time,
        run=run,
        ask_status=ask_status,
        open_bot=HttpBot,
        free_bytes=lambda path: shutil.disk_usage(path).free,
        may_write=lambda path: os.access(path, os.W_OK),
        runtime_dir=default_runtime_dir(),
        state_dir=default_state_dir(),
    )


def _cwd() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # somebody has removed it under our feet
        return Path("/")


def run(words: Sequence[str], /) -> CommandResult:
    """A command's exit code and output. It gets no terminal, and not for ever."""
    from tapgate.service.manager import CommandResult

    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_S,
            check=False,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        return CommandResult(127, "", f"{words[0]}: command not found")
    except subprocess.TimeoutExpired:
        return CommandResult(124, "", f"{words[0]} did not come to an end within {COMMAND_S:g} s")
    except OSError as error:
        return CommandResult(126, "", f"{words[0]}: {error.strerror}")
    return CommandResult(done.returncode, done.stdout, done.stderr)
