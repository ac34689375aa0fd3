"""What `tapgate status` shows, once and again and again; of a daemon that is older, gone, or says strange things."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from tapgate.cli.status import describe, is_well, span, watch_status
from tapgate.errors import NotRunningError, TapgateError

NOW = 1_800_000_000.0
WELL: dict[str, Any] = {
    "running": True,
    "version": "0.1.0",
    "pid": 4242,
    "started_at": NOW - 7200,
    "uptime_s": 7200.0,
    "people": 2,
    "persons": [{"name": "Ada", "role": "owner"}, {"name": "Linus", "role": "viewer"}],
    "open_requests": 1,
    "sessions": [
        {
            "agent": "claude",
            "id": "s1",
            "project": "/home/dev/shop",
            "first_at": 0,
            "last_at": NOW - 5,
            "open_requests": 1,
        },
        {"agent": "codex", "id": "s2", "project": "", "first_at": 0, "last_at": NOW - 600, "open_requests": 0},
    ],
    "last_poll_at": NOW - 3,
    "telegram": "ok",
    "journal": "ok",
    "reports": [],
}


def test_everything_in_a_few_lines() -> None:
    assert describe(WELL, now=NOW) == [
        "tapgate 0.1.0 runs as pid 4242, for 2 h",
        "telegram: ok, last heard 3 s ago",
        "journal:  ok",
        "people:   Ada (owner), Linus (viewer)",
        "open:     1",
        "sessions: 2",
        "          shop · Claude Code · 5 s ago, 1 open",
        "          somewhere · Codex · 10 min ago",
    ]


def test_the_longest_waiting_requests_are_listed() -> None:
    one = {"project": "/home/dev/shop", "agent": "claude", "tool": "Bash\x1b[2J", "age_s": 180.0, "uid": 1000}
    two = {**one, "project": "", "agent": "other", "tool": "Edit", "age_s": 5.0}
    lines = describe({**WELL, "open_requests": 2, "pending": [one, two]}, now=NOW)
    assert lines[4:8] == [
        "open:     2",
        "          shop · Claude Code · Bash\N{REPLACEMENT CHARACTER}[2J · 3 min",
        "          somewhere · other · Edit · 5 s",
        "sessions: 2",
    ]
    lines = describe({**WELL, "open_requests": 120, "pending": [one] * 100}, now=NOW)
    assert lines[4] == "open:     120" and lines[13] == "          and 112 more"


def test_cards_that_telegram_refuses_to_update_are_told() -> None:
    lines = describe({**WELL, "stale_cards": 1}, now=NOW)
    assert lines[5] == "cards:    1 could not be updated: Telegram refuses it; tried again from time to time"
    assert describe({**WELL, "stale_cards": 0}, now=NOW) == describe(WELL, now=NOW)


def test_a_daemon_of_an_older_version_knows_less() -> None:
    old = {key: value for key, value in WELL.items() if key not in ("running", "uptime_s", "persons", "sessions")}
    assert describe(old, now=NOW)[3:] == ["people:   2", "open:     1"] and is_well(old)


def test_many_sessions_are_cut_and_none_is_said() -> None:
    lines = describe({**WELL, "sessions": WELL["sessions"] * 10}, now=NOW)
    assert lines[-1] == "          and 12 more; --json has them all" and len(lines) == 6 + 8 + 1
    assert describe({**WELL, "sessions": []}, now=NOW)[-1] == "sessions: none heard from"


def test_names_are_shown_and_not_obeyed() -> None:
    hostile = {**WELL["sessions"][0], "project": "/tmp/\x1b]0;owned\x07", "agent": "\x1b[2J"}
    text = "\n".join(
        describe({**WELL, "sessions": [hostile], "persons": [{"name": "\x1b[31m", "role": "owner"}]}, now=NOW)
    )
    assert "\x1b" not in text and "\x07" not in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_799, "47 h"), (200_000, "2 d")],
)
def test_spans(seconds: float, words: str) -> None:
    assert span(seconds) == words


class Play:
    """A daemon that says one thing after the other, and a person who presses Ctrl-C after the last."""

    def __init__(self, *said: dict[str, Any] | TapgateError) -> None:
        self.said = list(said)
        self.slept: list[float] = []

    def ask(self) -> dict[str, Any]:
        said = self.said.pop(0)
        if isinstance(said, TapgateError):
            raise said
        return said

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self.said:
            raise KeyboardInterrupt

    def watch(self, *, terminal: bool, as_json: bool = False) -> str:
        file = io.StringIO()
        console = Console(file=file, force_terminal=terminal, width=80, highlight=False)
        with pytest.raises(KeyboardInterrupt):
            watch_status(self.ask, console=console, as_json=as_json, wall=lambda: NOW, sleep=self.sleep)
        assert not self.said and len(set(self.slept)) == 1
        return file.getvalue()


GONE = NotRunningError("the daemon is not running (Connection refused); start it with `tapgate daemon`")


def test_elsewhere_than_in_a_terminal_each_change_is_a_line() -> None:
    text = Play(WELL, {**WELL, "last_poll_at": NOW}, {**WELL, "open_requests": 2}, GONE, GONE, WELL).watch(
        terminal=False
    )
    lines = [line[len("12:34:56 ") :] for line in text.splitlines()]
    assert lines == [
        "pid 4242; telegram: ok; journal: ok; open: 1; sessions: 2",
        "pid 4242; telegram: ok; journal: ok; open: 2; sessions: 2",
        str(GONE),
        "pid 4242; telegram: ok; journal: ok; open: 1; sessions: 2",
    ]
    assert "\x1b" not in text


def test_for_machines_each_look_is_an_object() -> None:
    lines = Play(WELL, GONE, TapgateError("the daemon does not answer")).watch(terminal=True, as_json=True).splitlines()
    assert [json.loads(line)["running"] for line in lines] == [True, False, None]


def test_a_terminal_is_redrawn_in_place() -> None:
    text = Play(WELL, GONE).watch(terminal=True)
    assert "runs as pid 4242" in text and "is not running" in text and "Ctrl-C ends" in text
    assert "\x1b[1A" in text or "\x1b[2K" in text, "the lines before are taken back"
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is given back"
