"""The oldest supported Claude Code: no permission event headless, so a gate decides there; in a terminal, as today."""

from __future__ import annotations

import pytest

from tests.agents.real import labels
from tests.agents.real.anthropic_api import CLOSING, Use
from tests.agents.real.home import Home
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE, OLD_CLAUDE

pytestmark = needs(OLD_CLAUDE)

BOTH = pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "denied"])


def making(home: Home) -> Use:
    return Use("Bash", {"command": f"touch {home.project / 'made'} && echo it-ran", "description": "Make it"})


def is_made(home: Home) -> bool:
    return (home.project / "made").exists()


def test_headless_without_a_gate_it_does_not_ask_and_denies(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home, version=OLD_CLAUDE)
    outcome = claude.headless().finish()
    assert claude.phone.cards() == []
    assert outcome["permission_denials"] and not is_made(home)


@BOTH
def test_headless_with_a_gate_the_phone_decides(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home, version=OLD_CLAUDE, gate="Bash|Write|Edit")
    run = claude.headless()
    card = claude.phone.answer(labels.ALLOW if allowed else labels.DENY)
    run.finish()
    [result] = claude.api.results()
    assert is_made(home) == allowed
    assert ("it-ran" in result.text) == allowed
    assert (labels.TOLD_DENIED in result.text) == (not allowed)
    claude.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)
    assert len(claude.phone.cards()) == 1


def test_headless_with_a_gate_and_a_reason_the_model_reads_it(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home, version=OLD_CLAUDE, gate="Bash")
    run = claude.headless()
    card = claude.phone.answer(labels.DENY_REASON)
    claude.phone.reply("Not in this folder.", claude.phone.prompt(card))
    run.finish()
    [result] = claude.api.results()
    assert "Not in this folder." in result.text and not is_made(home)


def test_headless_with_a_gate_the_changed_command_is_the_one_that_ran(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home, version=OLD_CLAUDE, gate="Bash")
    run = claude.headless()
    card = claude.phone.edit(claude.phone.card(), f"touch {home.project / 'other'} && echo the-other-ran")
    claude.phone.tap(card, labels.RUN_EDITED)
    run.finish()
    [result] = claude.api.results()
    assert result.text == "the-other-ran" and not is_made(home)
    settled = claude.phone.says(card, labels.CHANGED)
    assert "the-other-ran" in settled and labels.TERMINAL_FIRST not in settled


def test_headless_with_a_gate_and_no_daemon_nothing_is_allowed(own_lab: Lab) -> None:
    home = own_lab.home()
    claude = own_lab.claude(making(home), home=home, version=OLD_CLAUDE, gate="Bash")
    assert claude.headless().finish()["result"] == CLOSING
    assert claude.api.results()[0].is_error and not is_made(home)


def test_a_gate_leaves_other_tools_alone(lab: Lab) -> None:
    home = lab.home()
    path = home.project / "one.txt"
    path.write_text("the content")
    claude = lab.claude(Use("Read", {"file_path": str(path)}), home=home, version=OLD_CLAUDE, gate="Bash")
    claude.headless().finish()
    assert "the content" in claude.api.results()[0].text
    assert claude.phone.cards() == []


@BOTH
def test_in_a_terminal_the_phone_answers(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home, version=OLD_CLAUDE)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.shows(labels.CLAUDE_ASKS)
    claude.phone.tap(card, labels.ALLOW if allowed else labels.DENY)
    [result] = claude.api.wait_for_results()
    assert result.text == ("it-ran" if allowed else labels.TOLD_DENIED)
    assert labels.CLAUDE_ASKS not in terminal.shows(CLOSING)
    claude.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)


@pytest.mark.parametrize(("key", "words"), [("Enter", labels.TERMINAL_ALLOWED), ("Escape", labels.TERMINAL_DENIED)])
def test_in_a_terminal_its_own_answer_settles_the_card(lab: Lab, key: str, words: str) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home, version=OLD_CLAUDE)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.press_until_gone(key, labels.CLAUDE_ASKS)
    claude.phone.says(card, words)
    assert is_made(home) == (key == "Enter")


@needs(CLAUDE)
@BOTH
def test_the_newest_with_a_gate_asks_once(lab: Lab, allowed: bool) -> None:
    """Its permission event fires headless too; a call that the gate has decided does not ask a second time."""
    home = lab.home()
    claude = lab.claude(making(home), home=home, gate="Bash")
    run = claude.headless()
    claude.phone.answer(labels.ALLOW if allowed else labels.DENY)
    run.finish()
    assert is_made(home) == allowed
    assert len(claude.phone.cards()) == 1
