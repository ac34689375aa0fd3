"""A sample request through the command that the agent's settings name, to the phone and back, timed."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from tapgate.cli.dialog import Dialog, shown
from tapgate.cli.log import JOURNAL_NAME
from tapgate.config import Config
from tapgate.errors import JournalError, TapgateError
from tapgate.hooks.change import read
from tapgate.hooks.registration import ours, parse_settings
from tapgate.hooks.settings import AGENTS, Scope, settings_path
from tapgate.journal import TrailQuery, TrailRow
from tapgate.journal.reader import read_log

LOOK_S = 0.25
ENDING_S = 15.0  # for a hook that was told to go


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of the way, and how long it took."""

    name: str
    what: str
    took_s: float


@dataclass(frozen=True, slots=True)
class Trial:
    verdict: str  # allow, deny, or "" where no answer came
    person: str
    reason: str  # why there was no answer
    total_s: float
    legs: tuple[Leg, ...]


def find_command(agent: str | None = None) -> tuple[str, str | None]:
    """The command that an agent's settings name for permissions, and the agent; None where none does."""
    for candidate in [agent] if agent else AGENTS:
        for scope in Scope:
            with suppress(TapgateError):
                path = settings_path(candidate, scope, environ=os.environ, home=Path.home(), cwd=Path.cwd())
                data = read(path)
                places = [] if data is None else ours(parse_settings(data, source=path), "PermissionRequest")
                if places:
                    return candidate, places[0].command
    return agent or AGENTS[0], None


def try_out(dialog: Dialog, config: Config, command: str, *, agent: str, quiet: bool = False) -> Trial:
    """Ask as the agent does, and wait until the hook ends."""
    session = f"tapgate-test-{secrets.token_hex(8)}"
    began = time.time()
    with _asking(command, sample_event(session, agent=agent)) as heard:
        if not quiet:
            _show_progress(dialog, config, session, heard)
        heard.join()
    rows = _trail(config, session)
    verdict = parse_verdict(heard.output)
    reason = heard.errors.decode("utf-8", "replace").strip().removeprefix("tapgate: ") or "the hook gave no answer"
    answered = [row for row in rows if row.what == "answered"]
    return Trial(
        verdict=verdict,
        person=answered[-1].person if answered else "",
        reason="" if verdict else reason,
        total_s=heard.ended - began,
        legs=legs_of(rows, began=began, ended=heard.ended) if verdict else (),
    )


class _Ear(threading.Thread):
    """Takes the hook's answer the moment it comes: what is measured is the hook, not how often somebody looks."""

    def __init__(self, hook: subprocess.Popen[bytes], question: bytes) -> None:
        super().__init__(daemon=True)
        self._hook = hook
        self._question = question
        self.output = b""
        self.errors = b""
        self.ended = 0.0

    def run(self) -> None:
        self.output, self.errors = self._hook.communicate(self._question)
        self.ended = time.time()


def _show_progress(dialog: Dialog, config: Config, session: str, heard: _Ear) -> None:
    with dialog.waiting("The test card is on its way …") as status:
        while heard.is_alive():
            if any(row.what == "posted" for row in _trail(config, session)):
                status.update("The test card is on your phone: tap a button …")
            heard.join(LOOK_S)


def sample_event(session: str, *, agent: str) -> dict[str, Any]:
    """What the agent would send. Whatever is tapped, nothing runs: there is no agent."""
    where = str(Path.cwd())
    event: dict[str, Any] = {
        "session_id": session,
        "transcript_path": None,  # a session's own would be waited for, which is no part of the way
        "cwd": where,
        "permission_mode": "default",
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": {
            "command": "echo 'tapgate works'",
            "description": "A test of tapgate. Nothing runs, whatever you tap.",
        },
    }
    if agent == "codex":
        event |= {"turn_id": session, "model": "test"}
    return event


def parse_verdict(output: bytes) -> str:
    try:
        found = json.loads(output)["hookSpecificOutput"]["decision"]["behavior"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(found) if found in ("allow", "deny") else ""


def legs_of(rows: tuple[TrailRow, ...], *, began: float, ended: float) -> tuple[Leg, ...]:
    """The way in four parts, from what the journal noted; empty where it cannot be read."""
    at = {row.what: row.at for row in reversed(rows)}  # the first of each kind
    if not {"asked", "posted", "answered"} <= at.keys():
        return ()
    # A tap can be quicker than Telegram's own answer to the card.
    posted = min(at["posted"], at["answered"])
    return (
        Leg("hook", "it starts, and the daemon has recorded the question", max(0.0, at["asked"] - began)),
        Leg("Telegram", "the card is made and sent", max(0.0, posted - at["asked"])),
        Leg("you", "until your tap was heard and recorded", max(0.0, at["answered"] - posted)),
        Leg("back", "the answer is on the hook's stdout", max(0.0, ended - at["answered"])),
    )


def show(dialog: Dialog, trial: Trial) -> None:
    if not trial.verdict:
        dialog.fail(f"No answer came: {escape(trial.reason)}")
        return
    who = f" by {shown(trial.person)}" if trial.person else ""
    answer = {"allow": "Allowed", "deny": "Denied"}[trial.verdict]
    dialog.done(f"{answer}{who}. The whole way took {_span(trial.total_s)}.")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for leg in trial.legs:
        table.add_row(f"  {leg.name}", _span(leg.took_s), leg.what)
    dialog.console.print(table)


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _trail(config: Config, session: str) -> tuple[TrailRow, ...]:
    """What the journal says of this request. A daemon of another user keeps its journal to itself: nothing then."""
    try:
        histories = read_log(config.state_dir / JOURNAL_NAME, TrailQuery(session=session, limit=1))
    except JournalError:
        return ()
    return histories[-1] if histories else ()


@contextmanager
def _asking(command: str, event: dict[str, Any]) -> Iterator[_Ear]:
    """The hook as the agent runs it: in a shell, the event on its stdin. It is told to go when nobody waits for it."""
    hook = subprocess.Popen(
        ["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    heard = _Ear(hook, json.dumps(event).encode())
    heard.start()
    try:
        yield heard
    finally:
        if heard.is_alive():
            hook.terminate()
            heard.join(ENDING_S)
        if heard.is_alive():
            hook.kill()
            heard.join()
