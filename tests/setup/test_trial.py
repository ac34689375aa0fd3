"""`tapgate test`: through the registered command, to the phone and back, with the time of each part."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from tapgate.cli.probe import Leg, legs_of, parse_verdict
from tapgate.journal import TrailRow
from tests.e2e.world import PATIENCE_S, finish
from tests.setup.terminal import Newcomer


def installs_hooks(newcomer: Newcomer) -> None:
    words = [sys.executable, "-m", "tapgate", "hooks", "install", "--yes"]
    subprocess.run(words, env=newcomer.environ, check=True, capture_output=True, cwd=newcomer.home)


def test_it_goes_through_the_command_that_the_settings_name(newcomer: Newcomer) -> None:
    """Shown by a mark that only that command leaves."""
    newcomer.is_set_up()
    installs_hooks(newcomer)
    settings = json.loads(newcomer.settings_path.read_text())
    handler = settings["hooks"]["PermissionRequest"][0]["hooks"][0]
    mark = newcomer.home / "mark"
    handler["command"] = f"touch {shlex.quote(str(mark))}; {handler['command']}"
    newcomer.settings_path.write_text(json.dumps(settings))
    newcomer.start_daemon()
    terminal = newcomer.runs("test")
    terminal.sees("on your phone: tap a button")
    newcomer.tap(newcomer.open_card("tapgate works"), "Allow")
    terminal.sees("Allowed by Ada", "hook", "Telegram", "you", "back")
    terminal.ends(0)
    assert mark.exists()


def test_each_parts_time_adds_up_for_machines(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    installs_hooks(newcomer)
    newcomer.start_daemon()
    process = newcomer.tapgate("test", "--json")
    newcomer.tap(newcomer.open_card("tapgate works"), "Deny")
    output, errors, code = finish(process)
    found = json.loads(output)
    assert (errors, code) == (b"", 0)
    assert (found["verdict"], found["person"], found["reason"]) == ("deny", "Ada", "")
    assert [leg["name"] for leg in found["legs"]] == ["hook", "Telegram", "you", "back"]
    assert sum(leg["took_s"] for leg in found["legs"]) == pytest.approx(found["total_s"], abs=0.01)


def test_without_registered_hooks_it_says_so_and_tries_all_the_same(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.start_daemon()
    terminal = newcomer.runs("test")
    terminal.sees("Claude Code does not ask tapgate yet")
    newcomer.tap(newcomer.open_card("tapgate works"), "Allow")
    terminal.sees("Allowed by Ada")
    terminal.ends(0)


def test_codex_is_tested_in_its_own_dialect(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.start_daemon()
    terminal = newcomer.runs("test", "--agent", "codex")
    card = newcomer.open_card("tapgate works")
    assert "Codex" in card["text"]
    newcomer.tap(card, "Deny")
    terminal.sees("Denied by Ada")
    terminal.ends(0)


def test_without_a_daemon_it_says_so_at_once(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    installs_hooks(newcomer)
    output, _, code = finish(newcomer.tapgate("test"))
    assert code == 1 and "the daemon is not running" in " ".join(output.decode().split())


def test_with_nobody_to_answer_no_card_is_sent(newcomer: Newcomer) -> None:
    newcomer.is_set_up((101, "Ada", "viewer"))
    _, errors, code = finish(newcomer.tapgate("test"))
    assert code == 1 and b"nobody is listed who could answer" in errors


def test_cancelled_it_leaves_no_card_that_can_be_tapped(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.start_daemon()
    terminal = newcomer.runs("test")
    newcomer.open_card("tapgate works")
    terminal.interrupts()
    terminal.sees("Cancelled")
    terminal.ends(130)
    newcomer.until(lambda: not any(card["buttons"] for card in newcomer.cards()))


def test_a_card_that_cannot_be_sent_is_no_answer_and_the_reason_is_told(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.post("block", user_id=101, blocked=True)
    newcomer.start_daemon()
    output, _, code = finish(newcomer.tapgate("test"), PATIENCE_S)
    assert code == 1 and "No answer came" in output.decode()


# The parts


def row(what: str, at: float) -> TrailRow:
    return TrailRow(
        *(1, at, "id", what, "claude", "s", "/p", "Bash", "x", None, None, "Ada", 101),
        *("allow", "", "", None, "", "", None, ""),
    )


def test_the_way_is_cut_where_the_journal_noted_something() -> None:
    rows = (row("asked", 10.25), row("posted", 11.0), row("posted", 12.0), row("answered", 15.0), row("settled", 15.5))
    took = [leg.took_s for leg in legs_of(rows, began=10.0, ended=15.75)]
    assert took == [0.25, 0.75, 4.0, 0.75]


def test_a_tap_before_telegrams_own_answer_takes_no_negative_time() -> None:
    rows = (row("asked", 10.25), row("answered", 10.5), row("posted", 10.75))
    assert [leg.took_s for leg in legs_of(rows, began=10.0, ended=11.0)] == [0.25, 0.25, 0.0, 0.5]


@pytest.mark.parametrize("rows", [(), (row("asked", 1.0),), (row("asked", 1.0), row("posted", 2.0))])
def test_what_the_journal_does_not_tell_is_not_made_up(rows: tuple[TrailRow, ...]) -> None:
    found: tuple[Leg, ...] = legs_of(rows, began=0.0, ended=9.0)
    assert found == ()


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (b"", ""),
        (b"{}", ""),
        (b"[1]", ""),
        (b"null", ""),
        (b'{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}', "allow"),
        (b'{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"}}}', "deny"),
        (b'{"hookSpecificOutput":{"decision":{"behavior":"maybe"}}}', ""),
        (b'{"hookSpecificOutput":{"decision":"allow"}}', ""),
    ],
)
def test_only_an_answer_in_the_agents_form_is_one(output: bytes, verdict: str) -> None:
    assert parse_verdict(output) == verdict
