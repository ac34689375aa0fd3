"""Claude Code while the daemon is absent, killed, restarted or out of time: never stuck, never told allow."""

from __future__ import annotations

import signal

import pytest

from tests.agents.real import labels
from tests.agents.real.anthropic_api import CLOSING, Use
from tests.agents.real.claude import Claude
from tests.agents.real.home import Home
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE

pytestmark = needs(CLAUDE)

SHORT_S = 6
"""In the place of the hook's 600 s, where a test waits for the end of it."""


def making(lab: Lab) -> Claude:
    home = lab.home()
    return lab.claude(
        Use("Bash", {"command": f"touch {made(home)} && echo it-ran", "description": "Make it"}), home=home
    )


def made(home: Home) -> str:
    return str(home.project / "made")


def is_made(claude: Claude) -> bool:
    return (claude.home.project / "made").exists()


def is_denied_by_itself(claude: Claude, outcome: dict[str, object]) -> bool:
    """Headless, nobody having an opinion: Claude Code denies in its own words, and goes on."""
    [result] = claude.api.results()
    told = result.is_error and labels.TOLD_DENIED not in result.text
    return told and outcome["result"] == CLOSING and bool(outcome["permission_denials"]) and not is_made(claude)


# Headless


def test_headless_without_a_daemon_it_is_denied_at_once(own_lab: Lab) -> None:
    claude = making(own_lab)
    assert is_denied_by_itself(claude, claude.headless().finish())


def test_headless_with_the_daemon_killed_it_is_denied_when_the_time_is_over(own_lab: Lab) -> None:
    own_lab.world.configure(timeout_s=SHORT_S)
    own_lab.world.start_daemon()
    claude = making(own_lab)
    run = claude.headless()
    claude.phone.card()
    own_lab.world.stop_daemon(signal.SIGKILL)
    assert is_denied_by_itself(claude, run.finish())


def test_headless_with_the_daemon_stopped_it_is_denied(own_lab: Lab) -> None:
    own_lab.world.start_daemon()
    claude = making(own_lab)
    run = claude.headless()
    card = claude.phone.card()
    own_lab.world.stop_daemon()
    assert is_denied_by_itself(claude, run.finish())
    claude.phone.says(card, labels.DAEMON_STOPPED)


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "denied"])
def test_headless_with_the_daemon_restarted_the_phone_decides(own_lab: Lab, allowed: bool) -> None:
    own_lab.world.start_daemon()
    claude = making(own_lab)
    run = claude.headless()
    claude.phone.card()
    own_lab.world.stop_daemon(signal.SIGKILL)
    own_lab.world.start_daemon()
    claude.phone.answer(labels.ALLOW if allowed else labels.DENY)
    run.finish()
    [result] = claude.api.results()
    assert result.text == ("it-ran" if allowed else labels.TOLD_DENIED)
    assert is_made(claude) == allowed
    claude.phone.settles(labels.ALLOWED if allowed else labels.DENIED)


def test_headless_a_tap_made_while_the_daemon_was_down_counts(own_lab: Lab) -> None:
    own_lab.world.start_daemon()
    claude = making(own_lab)
    run = claude.headless()
    card = claude.phone.card()
    own_lab.world.stop_daemon(signal.SIGKILL)
    claude.phone.tap(card, labels.DENY)
    own_lab.world.start_daemon()
    run.finish()
    [result] = claude.api.results()
    assert result.text == labels.TOLD_DENIED and not is_made(claude)
    claude.phone.settles(labels.DENIED)


def test_headless_when_nobody_answers_in_time_it_is_denied(own_lab: Lab) -> None:
    own_lab.world.configure(timeout_s=SHORT_S)
    own_lab.world.start_daemon()
    claude = making(own_lab)
    run = claude.headless()
    card = claude.phone.card()
    assert is_denied_by_itself(claude, run.finish())
    claude.phone.says(card, labels.EXPIRED)


# In a terminal, where the dialog works in every case


def test_in_a_terminal_without_a_daemon_the_dialog_works(own_lab: Lab) -> None:
    claude = making(own_lab)
    terminal = claude.interactive()
    terminal.press_until_gone("Enter", labels.CLAUDE_ASKS)
    [result] = claude.api.wait_for_results()
    assert result.text == "it-ran"


def test_in_a_terminal_with_the_daemon_killed_the_dialog_works(own_lab: Lab) -> None:
    own_lab.world.start_daemon()
    claude = making(own_lab)
    terminal = claude.interactive()
    claude.phone.card()
    own_lab.world.stop_daemon(signal.SIGKILL)
    terminal.shows(labels.CLAUDE_ASKS)
    assert claude.api.results() == [] and not is_made(claude)
    terminal.press_until_gone("Enter", labels.CLAUDE_ASKS)
    [result] = claude.api.wait_for_results()
    assert result.text == "it-ran"


def test_in_a_terminal_with_the_daemon_restarted_either_can_answer(own_lab: Lab) -> None:
    own_lab.world.start_daemon()
    by_phone, by_hand = making(own_lab), making(own_lab)
    one, two = by_phone.interactive(), by_hand.interactive()
    by_phone.phone.card()
    by_hand.phone.card()
    own_lab.world.stop_daemon(signal.SIGKILL)
    one.shows(labels.CLAUDE_ASKS)
    two.shows(labels.CLAUDE_ASKS)
    own_lab.world.start_daemon()
    by_phone.phone.answer(labels.ALLOW)
    assert by_phone.api.wait_for_results()[0].text == "it-ran"
    by_phone.phone.settles(labels.ALLOWED)
    two.press_until_gone("Enter", labels.CLAUDE_ASKS)
    assert by_hand.api.wait_for_results()[0].text == "it-ran"
    by_hand.phone.settles(labels.TERMINAL_ALLOWED)


def test_in_a_terminal_when_nobody_taps_in_time_the_dialog_stays(own_lab: Lab) -> None:
    own_lab.world.configure(timeout_s=SHORT_S)
    own_lab.world.start_daemon()
    claude = making(own_lab)
    terminal = claude.interactive()
    card = claude.phone.card()
    claude.phone.says(card, labels.EXPIRED)
    assert labels.CLAUDE_ASKS in terminal.screen()
    assert claude.api.results() == [] and not is_made(claude)
    terminal.press_until_gone("Enter", labels.CLAUDE_ASKS)
    [result] = claude.api.wait_for_results()
    assert result.text == "it-ran"
