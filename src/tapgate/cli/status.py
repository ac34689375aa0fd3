"""`tapgate status`: how the daemon is, asked over its own socket; once, or again and again."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.client import ask_status
from tapgate.errors import NotRunningError, TapgateError

if TYPE_CHECKING:  # imported where it is used: other commands must not wait for it
    from rich.console import Console

EVERY_S = 2.0
MOST_SESSIONS = 8
MOST_PENDING = 8


def status(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Say whether the daemon runs, hears Telegram, and can write its journal. Exit code 1 where something is wrong."""
    from rich.console import Console

    from tapgate.config import load_config

    path = load_config(config).socket_path
    console = Console(highlight=False)
    if watch:
        try:
            watch_status(lambda: ask_status(path), console=console, as_json=as_json, wall=time.time, sleep=time.sleep)
        except KeyboardInterrupt:
            raise typer.Exit from None
    try:
        found = ask_status(path)
    except TapgateError as error:
        if not as_json:
            raise
        found = _absent(error)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for line in describe(found, now=time.time()):
            typer.echo(line)
    if not is_well(found):
        raise typer.Exit(1)


def is_well(found: dict[str, Any]) -> bool:
    return "error" not in found and found["telegram"] == "ok" and found["journal"] == "ok"


def describe(found: dict[str, Any], *, now: float) -> list[str]:
    """The lines for a person. A daemon of another version may know less."""
    if "error" in found:
        return [str(found["error"])]
    heard = found["last_poll_at"]
    people = [f"{printable(one['name'])} ({one['role']})" for one in found.get("persons", ())]
    lines = [
        f"tapgate {found['version']} runs as pid {found['pid']}, for {span(now - found['started_at'])}",
        f"telegram: {found['telegram']}, last heard {span(now - heard) + ' ago' if heard else 'never'}",
        f"journal:  {found['journal']}",
        f"people:   {', '.join(people) or found['people']}",
        f"open:     {found['open_requests']}",
        *_describe_pending(found),
    ]
    stale = found.get("stale_cards")
    if stale:
        lines.append(f"cards:    {stale} could not be updated: Telegram refuses it; tried again from time to time")
    sessions = found.get("sessions")
    if sessions is None:
        return lines
    from tapgate.agents.registry import title_of

    lines.append(f"sessions: {len(sessions) or 'none heard from'}")
    for session in sessions[:MOST_SESSIONS]:
        waiting = f", {session['open_requests']} open" if session["open_requests"] else ""
        lines.append(
            f"          {printable(Path(session['project']).name) or 'somewhere'} · "
            f"{printable(title_of(session['agent']))} · "
            f"{span(now - session['last_at'])} ago{waiting}"
        )
    if len(sessions) > MOST_SESSIONS:
        lines.append(f"          and {len(sessions) - MOST_SESSIONS} more; --json has them all")
    return lines


def _describe_pending(found: dict[str, Any]) -> list[str]:
    """Who waits, and for how long. What they want to do stands on their cards alone."""
    from tapgate.agents.registry import title_of

    lines = [
        f"          {printable(Path(one['project']).name) or 'somewhere'} · "
        f"{printable(title_of(one['agent']))} · {printable(one['tool'])} · {span(one['age_s'])}"
        for one in found.get("pending", ())[:MOST_PENDING]
    ]
    more = found["open_requests"] - len(lines)
    return [*lines, f"          and {more} more"] if lines and more > 0 else lines


def describe_briefly(found: dict[str, Any]) -> str:
    """One line, which changes only when something did."""
    if "error" in found:
        return str(found["error"])
    sessions = len(found.get("sessions", ()))
    return (
        f"pid {found['pid']}; telegram: {found['telegram']}; journal: {found['journal']}; "
        f"open: {found['open_requests']}; sessions: {sessions}"
    )


def watch_status(
    ask: Callable[[], dict[str, Any]],
    *,
    console: Console,
    as_json: bool,
    wall: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Ask again and again, until interrupted. A terminal is redrawn in place; elsewhere each change is a line."""
    from rich.live import Live
    from rich.text import Text

    def look() -> dict[str, Any]:
        try:
            return ask()
        except TapgateError as error:
            return _absent(error)

    if console.is_terminal and not as_json:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                now = wall()
                lines = [
                    *describe(look(), now=now),
                    "",
                    f"{time.strftime('%H:%M:%S', time.localtime(now))}, Ctrl-C ends",
                ]
                live.update(Text("\n".join(lines)), refresh=True)
                sleep(EVERY_S)
    before = ""
    while True:
        found = look()
        line = json.dumps(found) if as_json else describe_briefly(found)
        if as_json or line != before:
            before = line
            stamp = "" if as_json else time.strftime("%H:%M:%S ", time.localtime(wall()))
            console.file.write(f"{stamp}{line}\n")
            console.file.flush()
        sleep(EVERY_S)


def span(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h" if whole < 172_800 else f"{whole // 86_400} d"


def printable(text: str) -> str:
    """What an agent or a config calls itself, without anything that a terminal would obey."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c)[0] == "C" else c for c in text)


def _absent(error: TapgateError) -> dict[str, Any]:
    running = False if isinstance(error, NotRunningError) else None  # None: it cannot be told
    return {"running": running, "error": str(error)}
