"""`tapgate log` shows the trail to people within 80 columns, and to machines as lines of JSON."""

from __future__ import annotations

import io
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from tapgate.agents.dialect import DENIED
from tapgate.cli.log import log, parse_moment, show_log
from tapgate.desk.effects import RanEntry
from tapgate.errors import JournalError
from tapgate.journal import Journal, TrailQuery
from tapgate.model import Caller, Decision, Outcome, Ran, Verdict

from .samples import DAY_S, NOW, Opener, answered, asked, make_answer, make_request, posted, settled


def shown(path: Path, query: TrailQuery | None = None, *, width: int = 80, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system="truecolor" if terminal else None)
    show_log(path, query or TrailQuery(), as_json=False, console=console, zone=UTC)
    return file.getvalue()


def objects(path: Path, query: TrailQuery | None = None) -> list[dict[str, Any]]:
    file = io.StringIO()
    show_log(path, query or TrailQuery(), as_json=True, console=Console(file=file, width=20))
    return [json.loads(line) for line in file.getvalue().splitlines()]


async def fill(journal: Journal) -> None:
    await journal.record([asked(), posted(), posted(message_id=101)], at=NOW)
    await journal.record([answered(), settled(), RanEntry("r1", Ran.OK, NOW + 9, 3)], at=NOW + 5)
    deny = replace(make_answer(Verdict.DENY, at=NOW + 1500), after_s=1440.0, person="Maximiliane")
    busy = make_request(
        "r2",
        caller=Caller("claude-code", 600.0, project="/home/ada/a-rather-long-project-name"),
        tool="mcp__browser__navigate_to",
        input={"url": "https://example.org/" + "x" * 300},
    )
    await journal.record([asked(busy, at=NOW + 60), answered("r2", answer=deny)], at=NOW + 60)
    await journal.record([settled("r2", Outcome.NOT_TAKEN, at=NOW + 1501)], at=NOW + 60)
    await journal.record([asked("r3", at=NOW + DAY_S), settled("r3", Outcome.TERMINAL_ALLOWED)], at=NOW + DAY_S)
    await journal.record([asked("r4", at=NOW + DAY_S + 60)], at=NOW + DAY_S + 60)


async def test_table_has_a_line_a_request_newest_last_in_80_columns(journal: Journal) -> None:
    await fill(journal)
    lines = shown(journal.path).splitlines()  # the journal is open, as the daemon's is
    assert all(len(line.rstrip()) <= 80 for line in lines)
    assert lines[0].strip() == "Thu 2026-01-01"
    assert lines[1].split() == ["time", "project", "agent", "tool", "what", "decision", "who", "after", "then"]
    assert lines[2].split() == ["00:00", "shop", "claude", "Bash", "make", "test", "allow", "Ada", "4s", "ran"]
    assert lines[3].startswith("00:01 a-rather-… claud… mcp__br… https:")
    assert lines[3].split()[-5:] == ["deny", "Maxim…", "24m", "not", "taken"]
    assert lines[4].strip() == "Fri 2026-01-02"
    assert lines[5].split() == ["00:00", "shop", "claude", "Bash", "make", "test", "terminal", "yes"]
    assert lines[6].split() == ["00:01", "shop", "claude", "Bash", "make", "test", "open"]
    assert len(lines) == 7


async def test_wider_terminal_shows_more_of_the_input(journal: Journal) -> None:
    await fill(journal)
    text = shown(journal.path, width=160)
    assert "https://example.org/xxxxxxxxxx" in text
    assert "Maximiliane" in text
    assert all(len(line.rstrip()) <= 160 for line in text.splitlines())


async def test_pipe_gets_no_colours_and_a_terminal_does(journal: Journal) -> None:
    await fill(journal)
    assert "\x1b" not in shown(journal.path)
    assert "\x1b[32mallow" in shown(journal.path, terminal=True)


async def test_terminal_never_obeys_what_an_agent_wrote(journal: Journal) -> None:
    nasty = "a\x1b[2Jb\u202ec\r\n[red]d"
    await journal.record([asked(make_request(input={"command": nasty}))], at=NOW)
    text = shown(journal.path)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]d" in text


async def test_json_has_stable_keys(journal: Journal) -> None:
    await fill(journal)
    found = objects(journal.path)
    assert found[0] == {
        "request_id": "r1",
        "asked_at": "2026-01-01T00:00:00.000Z",
        "ended_at": "2026-01-01T00:00:05.000Z",
        "agent": "claude",
        "session_id": "session-1",
        "project": "/home/ada/shop",
        "tool": "Bash",
        "summary": "make test",
        "verdict": "allow",
        "choice": "Allow",
        "saved": None,
        "message": None,
        "instead": None,
        "person": "Ada",
        "user_id": 42,
        "after_s": 4.0,
        "outcome": "allowed",
        "detail": None,
        "taken": True,
        "ran": "ok",
        "cards": [{"chat_id": 11, "message_id": 100}, {"chat_id": 11, "message_id": 101}],
        "events": [
            {"at": "2026-01-01T00:00:00.000Z", "what": "asked"},
            {"at": "2026-01-01T00:00:00.000Z", "what": "posted"},
            {"at": "2026-01-01T00:00:00.000Z", "what": "posted"},
            {"at": "2026-01-01T00:00:04.000Z", "what": "answered"},
            {"at": "2026-01-01T00:00:05.000Z", "what": "settled"},
            {"at": "2026-01-01T00:00:09.000Z", "what": "ran"},
        ],
    }
    assert [entry["request_id"] for entry in found] == ["r1", "r2", "r3", "r4"]
    assert all(entry.keys() == found[0].keys() for entry in found)
    assert (found[3]["verdict"], found[3]["taken"], found[3]["ended_at"]) == (None, None, None)


SECRET = "ghp_" + "R8x2Lq7Zt5Vb9Nw3Kd6Yc1Hs4Jf0Pm2Ga5Qe"


async def fill_secrets(journal: Journal) -> None:
    """A call, a reason, a changed command and a standing permission, each with a secret in it."""
    call = make_request("s1", input={"command": f"login {SECRET}"})
    deny = replace(make_answer(Verdict.DENY), decision=Decision(Verdict.DENY, f"not with {SECRET}, ask me"))
    await journal.record([asked(call), answered("s1", answer=deny), settled("s1", Outcome.DENIED)], at=NOW)
    changed = Decision(Verdict.ALLOW, updated_input={"command": f"logout {SECRET}"})
    allow = replace(make_answer(), decision=changed, saved=f"rule `x {SECRET}` for this session only")
    await journal.record([asked(make_request("s2")), answered("s2", answer=allow), settled("s2")], at=NOW)


def all_shown(path: Path, *, reveal: bool) -> str:
    file = io.StringIO()
    for as_json in (True, False):
        console = Console(file=file, width=300)
        show_log(path, TrailQuery(), as_json=as_json, reveal=reveal, console=console, zone=UTC)
    return file.getvalue()


async def test_secrets_are_masked_unless_they_are_asked_for(journal: Journal) -> None:
    await fill_secrets(journal)
    hidden = all_shown(journal.path, reveal=False)
    assert SECRET not in hidden and SECRET[8:-8] not in hidden
    for words in ("login ", "told: not with ", "ask me", "instead: logout ", "saved: rule `x "):
        assert words in hidden
    assert all_shown(journal.path, reveal=True).count(SECRET) == 8


async def test_a_secret_that_the_journal_has_cut_is_not_shown_by_half(journal: Journal) -> None:
    for number in range(170, 200):
        call = make_request(f"c{number}", input={"command": "x" * number + f" {SECRET}"})
        await journal.record([asked(call)], at=NOW)
    assert SECRET[:10] not in all_shown(journal.path, reveal=False)


async def test_a_plain_no_has_no_words_to_show(journal: Journal) -> None:
    deny = replace(make_answer(Verdict.DENY), decision=Decision(Verdict.DENY, DENIED))
    await journal.record([asked(), answered(answer=deny), settled(outcome=Outcome.DENIED)], at=NOW)
    assert "told" not in shown(journal.path)
    assert objects(journal.path)[0]["message"] == DENIED


async def test_a_long_reason_is_shown_whole(journal: Journal) -> None:
    reason = "because " * 60 + "of that"
    deny = replace(make_answer(Verdict.DENY), decision=Decision(Verdict.DENY, reason))
    await journal.record([asked(), answered(answer=deny), settled(outcome=Outcome.DENIED)], at=NOW)
    lines = shown(journal.path).splitlines()
    assert all(len(line.rstrip()) <= 80 for line in lines)
    assert " ".join(" ".join(lines).split()).count("because") == 60


async def test_an_answer_that_somebody_spoiled_does_not_hide_the_rest(journal: Journal) -> None:
    await fill_secrets(journal)
    with closing(sqlite3.connect(journal.path)) as connection:
        connection.execute("DROP TRIGGER requests_first_answer")
        connection.execute("UPDATE requests SET decision = '[', updated_input = '[1]'")
        connection.commit()
    assert [entry["message"] for entry in objects(journal.path)] == [None, None]


async def test_filter_keeps_the_whole_of_a_request(journal: Journal) -> None:
    await fill(journal)
    [entry] = objects(journal.path, TrailQuery(person="Ada"))
    assert len(entry["events"]) == 6


async def test_limit_counts_requests_and_keeps_the_newest(journal: Journal) -> None:
    await fill(journal)
    assert [entry["request_id"] for entry in objects(journal.path, TrailQuery(limit=2))] == ["r3", "r4"]


async def test_log_reads_while_the_writer_is_in_a_transaction(journal: Journal) -> None:
    await fill(journal)
    with closing(sqlite3.connect(journal.path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert len(objects(journal.path)) == 4


async def test_log_of_a_stopped_daemon_changes_nothing(open_journal: Opener) -> None:
    journal = await open_journal()
    await fill(journal)
    await journal.close()
    before = journal.path.read_bytes()
    assert len(objects(journal.path)) == 4
    assert journal.path.read_bytes() == before


async def test_log_works_on_a_read_only_disk(
    open_journal: Opener, small_disk: Path, remount: Callable[[str], None]
) -> None:
    journal = await open_journal(path=small_disk / "journal.db")
    await journal.record([asked(), settled()], at=NOW)
    await journal.close()
    remount("ro")
    assert len(objects(journal.path)) == 1


def test_no_journal_yet_is_a_friendly_sentence(tmp_path: Path) -> None:
    assert shown(tmp_path / "journal.db").startswith("There is no journal yet")
    assert objects(tmp_path / "journal.db") == []
    assert list(tmp_path.iterdir()) == []


async def test_nothing_that_fits_is_said(journal: Journal) -> None:
    assert shown(journal.path) == "No request fits.\n"
    assert objects(journal.path) == []


def test_empty_file_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    assert objects(tmp_path / "journal.db") == []


@pytest.mark.parametrize("content", ["garbage", "foreign", "directory", "newer"])
async def test_file_that_is_no_journal_is_named(open_journal: Opener, content: str) -> None:
    path = open_journal.path
    path.parent.mkdir()
    if content == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif content == "directory":
        path.mkdir()
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA application_id = 1952542823" if content == "newer" else "CREATE TABLE a (x)")
            connection.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match=r"journal\.db"):
        shown(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", NOW - 5400),
        ("2h", NOW - 7200),
        ("3d", NOW - 3 * DAY_S),
        ("1w", NOW - 7 * DAY_S),
        ("30s", NOW - 30),
        ("2026-01-01", NOW),
        ("2026-01-01T01:00", NOW + 3600),
        ("2026-01-01 01:00:30", NOW + 3630),
        ("2026-01-01T01:00+01:00", NOW),
        ("2026-01-01T00:00Z", NOW),
    ],
)
def test_moments_are_understood(text: str, expected: float) -> None:
    assert parse_moment(text, now=NOW, zone=UTC) == expected


def test_until_a_date_includes_the_day() -> None:
    assert parse_moment("2026-01-01", now=NOW, whole_day=True, zone=UTC) == NOW + DAY_S


def test_dates_are_in_the_given_zone() -> None:
    assert parse_moment("2026-01-01", now=NOW, zone=timezone(timedelta(hours=2))) == NOW - 7200


@pytest.mark.parametrize("text", ["yesterday", "2x", "", "2026-13-01", "-3d", "99999999999999999d", "0001-01-01"])
def test_other_words_are_refused_with_what_is_expected(text: str) -> None:
    if text in ("99999999999999999d", "0001-01-01"):  # absurd, but a time: nothing is older
        assert parse_moment(text, now=NOW, zone=UTC) < 0
        return
    with pytest.raises(ValueError, match="write 2h"):
        parse_moment(text, now=NOW)


@pytest.fixture
def app() -> typer.Typer:
    found = typer.Typer()
    found.command()(log)
    return found


async def test_command_takes_its_filters(journal: Journal, app: typer.Typer) -> None:
    now = time.time()
    for name, at, cwd in (("old", now - 5 * DAY_S, "/srv/shop"), ("new", now - 60, "/srv/shop"), ("other", now, "/x")):
        await journal.record([asked(make_request(name, cwd=cwd), at=at)], at=at)
        await journal.record([answered(name, answer=make_answer(at=at + 1)), settled(name, at=at + 1)], at=at + 1)
    arguments = ["--state-dir", str(journal.path.parent), "--json", "--project", "shop", "--since", "3d"]
    arguments += ["--person", "ada", "--decision", "allow", "--session", "session", "--limit", "5"]
    arguments += ["--until", datetime.now().date().isoformat()]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert [json.loads(line)["request_id"] for line in result.stdout.splitlines()] == ["new"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [(["--since", "soon"], "is not a time"), (["--decision", "maybe"], "allow"), (["--limit", "0"], "limit")],
)
def test_command_refuses_a_filter_it_does_not_understand(app: typer.Typer, arguments: list[str], hint: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert hint in result.stderr


def test_command_leaves_a_sentence_for_the_main_function(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"garbage" * 1000)
    result = CliRunner().invoke(app, ["--state-dir", str(tmp_path)])
    assert isinstance(result.exception, JournalError)
    assert "journal.db" in str(result.exception)
    assert result.stdout == ""


def test_command_finds_the_journal_by_the_config(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('state_dir = "elsewhere"\n')
    result = CliRunner().invoke(app, ["--config", str(tmp_path / "config.toml")])
    assert result.exit_code == 0
    assert str(tmp_path / "elsewhere" / "journal.db") in result.stdout.replace("\n", "")


def test_project_dot_is_this_directory(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["--state-dir", str(tmp_path), "--project", "."])
    assert (result.exit_code, "no journal yet" in result.stdout) == (0, True)
