"""`tapgate log`: the trail for people (one line a request) and machines. Reads beside the daemon, writes nothing."""

from __future__ import annotations

import json
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.desk.outcomes import log_word
from tapgate.journal.codec import SUMMARY_CHARS
from tapgate.model import Outcome, Ran, Verdict

if TYPE_CHECKING:  # imported where they are used: other commands must not wait for them
    from rich.console import Console
    from rich.table import Table

    from tapgate.journal import TrailQuery, TrailRow

JOURNAL_NAME = "journal.db"
_MOST_CUT = 60  # of a longer last word this much is taken off its end
_BETWEEN = " \t\n'\"=:;,/@&?()"
DECISIONS = (*(verdict.value for verdict in Verdict), *(outcome.value for outcome in Outcome))
ROOMY = 120  # a terminal this wide leaves enough for "what" when the other columns take twice their share
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d+)([smhdw])")

_RESULTS: dict[str, str] = {Ran.OK: "ran", Ran.FAILED: "failed", Ran.AGAINST: "ran anyway"}
_STYLES = {
    Verdict.ALLOW.value: "green",
    Verdict.DENY.value: "red",
    "open": "yellow",
    "not taken": "yellow",
    "unconfirmed": "yellow",
    "ran anyway": "bold red",
}


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    most: int  # characters in a terminal of 80; "what" takes what the others leave
    right: bool = False


_COLUMNS = (
    _Column("time", 5),
    _Column("project", 10),
    _Column("agent", 6),
    _Column("tool", 8),
    _Column("what", 0),
    _Column("decision", 12),
    _Column("who", 6),
    _Column("after", 5, right=True),
    _Column("then", 10),
)
_WHAT = next(number for number, column in enumerate(_COLUMNS) if column.title == "what")


def log(
    project: Annotated[str, typer.Option(help="A part of the project's path, or a directory.")] = "",
    session: Annotated[str, typer.Option(help="The session's id, or how it begins.")] = "",
    person: Annotated[str, typer.Option(help="Who answered: the name, or the Telegram user id.")] = "",
    decision: Annotated[str, typer.Option(help="allow, deny, none, or an outcome such as expired.")] = "",
    since: Annotated[str, typer.Option(help="From then on: 2h, 3d, 90m, 2026-01-31, 2026-01-31T14:00.")] = "",
    until: Annotated[str, typer.Option(help="Up to then. A date includes that whole day.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many requests, the newest.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="Show secrets, which are masked otherwise.")] = False,
    config: ConfigOption = None,
    state_dir: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Show what was asked, who answered what, and what came of it."""
    from rich.console import Console

    from tapgate.config import load_config
    from tapgate.journal import TrailQuery

    now = time.time()
    query = TrailQuery(
        project=_parse_project(project),
        session=session,
        person=person,
        decision=_parse_decision(decision),
        since=_parse_option("--since", since, now=now),
        until=_parse_option("--until", until, now=now),
        limit=limit,
    )
    place = load_config(config).state_dir if state_dir is None else state_dir
    show_log(place / JOURNAL_NAME, query, as_json=as_json, reveal=reveal, console=Console())


def show_log(
    journal_path: Path,
    query: TrailQuery,
    *,
    as_json: bool,
    console: Console,
    reveal: bool = False,
    zone: tzinfo | None = None,
) -> None:
    """Print the requests that fit, newest last, in the given time zone (the local one if None)."""
    from tapgate.journal.reader import read_log

    histories = read_log(journal_path, query)
    if histories is not None and not reveal:
        histories = [tuple(map(masked, history)) for history in histories]
    if as_json:
        for history in histories or ():
            console.file.write(json.dumps(render_object(history)) + "\n")
    elif histories is None:
        _say(console, f"There is no journal yet: {journal_path} appears with the first daemon run.")
    elif histories:
        for table in render_tables(histories, width=console.width, zone=zone):
            console.print(table)
    else:
        _say(console, "No request fits.")


def render_object(history: Sequence[TrailRow]) -> dict[str, Any]:
    """One request for machines. Keys are only ever added."""
    first, last = history[0], history[-1]
    ended = [row.at for row in history if row.what == "settled"]
    return {
        "request_id": last.request_id,
        "asked_at": _stamp(first.at) if first.what == "asked" else None,
        "ended_at": _stamp(ended[0]) if ended else None,
        "agent": last.agent,
        "session_id": last.session_id,
        "project": last.project,
        "tool": last.tool,
        "summary": last.summary,
        "verdict": last.verdict or None,
        "choice": last.choice or None,
        "saved": last.saved or None,
        "message": last.message or None,
        "instead": last.instead or None,
        "person": last.person or None,
        "user_id": last.user_id,
        "after_s": last.after_s,
        "outcome": last.outcome or None,
        "detail": last.detail or None,
        "taken": last.taken,
        "ran": last.ran or None,
        "cards": [{"chat_id": row.chat_id, "message_id": row.message_id} for row in history if row.what == "posted"],
        "events": [{"at": _stamp(row.at), "what": row.what} for row in history],
    }


def render_tables(histories: Iterable[Sequence[TrailRow]], *, width: int, zone: tzinfo | None = None) -> list[Table]:
    """One table a day, all with the same columns, so that they read as one."""
    from rich.table import Table
    from rich.text import Text

    lines = [(datetime.fromtimestamp(history[0].at, zone), history[-1]) for history in histories]
    cells = [(moment, _cells(moment, row), _notes(row)) for moment, row in lines]
    notes = [note for _, _, found in cells for note in found]
    widths = _widths([line for _, line, _ in cells], width=width, notes=notes)
    tables: list[Table] = []
    for day, of_day in groupby(cells, key=lambda line: line[0].date()):
        table = Table(
            title=day.strftime("%a %Y-%m-%d"),
            title_justify="left",
            title_style="bold",
            box=None,
            padding=(0, 1, 0, 0),
            pad_edge=False,
            show_header=not tables,
            header_style="dim",
        )
        for column, column_width in zip(_COLUMNS, widths, strict=True):
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                width=column_width,
                no_wrap=True,
                overflow="ellipsis",
            )
        for _, line, below in of_day:
            table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in line))
            for note in below:  # all of it: these are a person's own words, or what a permission says
                table.add_row(*[""] * _WHAT, Text(note, style="dim", no_wrap=False, overflow="fold"))
        tables.append(table)
    return tables


def parse_moment(text: str, *, now: float, whole_day: bool = False, zone: tzinfo | None = None) -> float:
    """A wall time from `2h` (ago), an ISO date or an ISO time. Raises ValueError with what is expected."""
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return now - int(ago[1]) * _UNITS_S[ago[2]]
    try:
        try:
            day = date.fromisoformat(text.strip())
        except ValueError:
            moment = datetime.fromisoformat(text.strip())
        else:
            moment = datetime.combine(day + timedelta(days=1 if whole_day else 0), clock_time())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time; write 2h, 3d, 90m, 2026-01-31 or 2026-01-31T14:00") from None


def _cells(moment: datetime, row: TrailRow) -> tuple[str, ...]:
    return tuple(
        map(
            _printable,
            (
                moment.strftime("%H:%M"),
                Path(row.project).name or row.project,
                row.agent,
                row.tool,
                row.summary,
                _decision(row),
                row.person,
                _duration(row.after_s),
                _result(row),
            ),
        )
    )


def _notes(row: TrailRow) -> list[str]:
    """What was said with the answer, a line each."""
    from tapgate.agents.registry import is_stock_message

    said = "" if is_stock_message(row.agent, row.message) else row.message
    notes = (("told", said), ("instead", row.instead), ("saved", row.saved))
    return [f"{name}: {_printable(text)}" for name, text in notes if text]


def masked(row: TrailRow) -> TrailRow:
    """As a card would show it: without secrets in whatever somebody wrote or an agent chose."""
    from tapgate.masking.mask import mask_text

    return replace(
        row,
        project=mask_text(row.project).text,
        tool=mask_text(row.tool).text,
        summary=mask_text(_without_cut_word(row.summary)).text,
        choice=mask_text(row.choice).text,
        saved=mask_text(row.saved).text,
        detail=mask_text(row.detail).text,
        message=mask_text(row.message).text,
        instead=mask_text(_without_cut_word(row.instead)).text,
    )


def _without_cut_word(summary: str) -> str:
    """Without the last word of a summary that the journal has cut: half a secret looks like none."""
    if len(summary) < SUMMARY_CHARS:
        return summary
    begins = max(summary.rfind(sign) for sign in _BETWEEN) + 1
    return f"{summary[: max(begins, SUMMARY_CHARS - _MOST_CUT)]}…"


def _decision(row: TrailRow) -> str:
    if row.verdict and row.after_s is not None:
        return row.verdict
    return log_word(row.outcome) or "open"


def _result(row: TrailRow) -> str:
    if row.ran:
        return _RESULTS.get(row.ran, row.ran)
    if row.after_s is None:
        return ""
    if row.taken is None:
        return "sending"
    return "taken" if row.taken else log_word(row.outcome)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.0f}s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3600:.0f}h"


def _widths(lines: Sequence[Sequence[str]], *, width: int, notes: Sequence[str] = ()) -> list[int]:
    """As wide as the longest cell, up to the column's share; the rest of the line is for "what"."""
    from rich.cells import cell_len

    share = 2 if width >= ROOMY else 1
    widths = [
        max(len(column.title), min(column.most * share, max(cell_len(line[number]) for line in lines)))
        for number, column in enumerate(_COLUMNS)
    ]
    taken = sum(widths) - widths[_WHAT] + len(_COLUMNS) - 1
    longest = max(cell_len(text) for text in (*(line[_WHAT] for line in lines), *notes))
    widths[_WHAT] = max(len("what"), min(longest, width - taken))
    return widths


def _printable(text: str) -> str:
    """One line that a terminal shows and never obeys: a command may hold escape sequences on purpose."""
    flat = " ".join(text.split())
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c)[0] == "C" else c for c in flat)


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, markup=False, highlight=False, soft_wrap=True)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _parse_project(text: str) -> str:
    """`.`, `~/x` and `../x` name directories; a bare word is a part of a path."""
    if text.startswith((".", "~")):
        return os.path.abspath(Path(text).expanduser())  # noqa: PTH100
    return text


def _parse_decision(text: str) -> str:
    if text and text not in DECISIONS:
        raise typer.BadParameter(f"expected one of: {', '.join(DECISIONS)}", param_hint="--decision")
    return text


def _parse_option(name: str, text: str, *, now: float) -> float | None:
    if not text:
        return None
    try:
        return parse_moment(text, now=now, whole_day=name == "--until")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=name) from None
