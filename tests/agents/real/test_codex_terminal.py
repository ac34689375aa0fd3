"""Codex in a terminal: its hook comes before its prompt, so the phone is asked first and the terminal after it."""

from __future__ import annotations

import signal

import pytest

from tests.agents.real import labels
from tests.agents.real.home import hooks_are_well, install_hooks
from tests.agents.real.lab import Lab, needs
from tests.agents.real.openai_api import CLOSING, Custom, Function
from tests.agents.real.pinned import CODEX
from tests.agents.real.test_codex_exec import is_made, making

pytestmark = needs(CODEX)

BOTH = pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "denied"])


@BOTH
def test_the_phone_decides_and_no_prompt_appears(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.answer(labels.ALLOW if allowed else labels.DENY)
    [result] = codex.api.wait_for_results()
    assert ("it-ran" in result) == allowed
    assert (labels.TOLD_DENIED in result) == (not allowed)
    screen = terminal.shows(CLOSING)
    assert labels.CODEX_ASKS not in screen
    assert (labels.CODEX_BLOCKED in screen) == (not allowed)
    assert is_made(home) == allowed
    codex.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)


def test_a_typed_reason_is_shown_and_told(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.answer(labels.DENY_REASON)
    codex.phone.reply("Only inside the project, please.", codex.phone.prompt(card))
    [result] = codex.api.wait_for_results()
    assert "Only inside the project, please." in result and not is_made(home)
    terminal.shows(labels.CODEX_BLOCKED, "Only inside the project, please.")


@BOTH
def test_a_patch(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    path = home.outside / "new.txt"
    codex = lab.codex(
        Custom("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n+hello\n*** End Patch\n"), home=home
    )
    codex.interactive()
    codex.phone.answer(labels.ALLOW if allowed else labels.DENY, containing="new.txt")
    [result] = codex.api.wait_for_results()
    assert path.exists() == allowed
    assert (labels.TOLD_DENIED in result) == (not allowed)


@BOTH
def test_an_mcp_tool(lab: Lab, allowed: bool) -> None:
    codex = lab.codex(Function("write_note", {"text": "a note"}, namespace="mcp__notes"))
    codex.interactive()
    codex.phone.answer(labels.ALLOW if allowed else labels.DENY, containing="write_note of MCP server notes")
    [result] = codex.api.wait_for_results()
    assert codex.note.exists() == allowed
    assert (labels.TOLD_DENIED in result) == (not allowed)


# No opinion: its own prompt


def test_without_a_daemon_its_own_prompt_appears_and_works(own_lab: Lab) -> None:
    home = own_lab.home()
    codex = own_lab.codex(making(home), home=home)
    terminal = codex.interactive()
    terminal.shows(labels.CODEX_ASKS)
    assert not is_made(home)
    terminal.press_until_gone("y", labels.CODEX_ASKS)
    [result] = codex.api.wait_for_results()
    assert "it-ran" in result


def test_with_the_daemon_stopped_its_own_prompt_appears(own_lab: Lab) -> None:
    own_lab.world.start_daemon()
    home = own_lab.home()
    codex = own_lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.card()
    assert labels.CODEX_ASKS not in terminal.screen()
    own_lab.world.stop_daemon()
    terminal.shows(labels.CODEX_ASKS)
    codex.phone.says(card, labels.ASKS_AT_TERMINAL)
    assert not is_made(home)


def test_when_nobody_answers_in_time_its_own_prompt_appears(own_lab: Lab) -> None:
    own_lab.world.configure(timeout_s=5)
    own_lab.world.start_daemon()
    home = own_lab.home()
    codex = own_lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.card()
    terminal.shows(labels.CODEX_ASKS)
    codex.phone.says(card, labels.EXPIRED)
    assert not is_made(home)


def test_ask_at_the_terminal_brings_its_own_prompt_at_once(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.card()
    assert labels.CODEX_ASKS not in terminal.screen()
    codex.phone.tap(card, labels.AT_THE_TERMINAL)
    terminal.shows(labels.CODEX_ASKS)
    assert labels.ASKS_AT_TERMINAL in codex.phone.says(card, labels.HANDED_BACK)
    assert not is_made(home)
    terminal.press_until_gone("y", labels.CODEX_ASKS)
    [result] = codex.api.wait_for_results()
    assert "it-ran" in result and is_made(home)


def test_with_a_shorter_hold_its_own_prompt_comes_by_itself(own_lab: Lab) -> None:
    """The hook could wait 600 s; the config says that Codex's questions are kept from the terminal for less."""
    own_lab.world.configure(more="[hold]\ncodex_s = 5")
    own_lab.world.start_daemon()
    home = own_lab.home()
    codex = own_lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.card()
    terminal.shows(labels.CODEX_ASKS)
    assert labels.ASKS_AT_TERMINAL in codex.phone.says(card, labels.EXPIRED)
    terminal.press_until_gone("y", labels.CODEX_ASKS)
    [result] = codex.api.wait_for_results()
    assert "it-ran" in result


def test_with_the_daemon_restarted_the_phone_decides(own_lab: Lab) -> None:
    own_lab.world.start_daemon()
    home = own_lab.home()
    codex = own_lab.codex(making(home), home=home)
    terminal = codex.interactive()
    codex.phone.card()
    own_lab.world.stop_daemon(signal.SIGKILL)
    own_lab.world.start_daemon()
    codex.phone.answer(labels.ALLOW)
    [result] = codex.api.wait_for_results()
    assert "it-ran" in result
    assert labels.CODEX_ASKS not in terminal.screen()
    codex.phone.settles(labels.ALLOWED)


# The terminal ends it


def test_escape_settles_the_card_which_claims_no_prompt(lab: Lab) -> None:
    """Codex kills the hook without a word, interrupts the turn, and asks nothing."""
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.card()
    terminal.press_until_gone("Escape", "Running hook")
    terminal.shows(labels.CODEX_INTERRUPTED)
    assert labels.ASKS_AT_TERMINAL not in codex.phone.says(card, labels.STOPPED_WAITING)
    assert not is_made(home)


def test_closing_the_terminal_settles_the_card(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    terminal = codex.interactive()
    card = codex.phone.card()
    terminal.close()
    codex.phone.says(card, labels.AGENT_DIED)
    assert not is_made(home)


# Trust


def test_codex_asks_nobody_until_the_person_trusts_the_hook_and_then_the_trust_lasts(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    assert not hooks_are_well(home, "codex")
    terminal = codex.interactive(trusted=False)
    terminal.shows(labels.CODEX_REVIEWS_HOOKS)
    assert codex.phone.cards() == []
    terminal.press_until_shown("2", labels.CODEX_TRUST_ALL)
    terminal.press_until_gone("Enter", labels.CODEX_REVIEWS_HOOKS)
    card = codex.phone.answer(labels.ALLOW)
    codex.phone.says(card, labels.ALLOWED)
    terminal.close()
    assert hooks_are_well(home, "codex")
    # Installing again changes nothing, so the next session trusts it without a question.
    install_hooks(home, "codex")
    terminal = codex.interactive(trusted=False)
    card = codex.phone.answer(labels.DENY)
    assert labels.CODEX_REVIEWS_HOOKS not in terminal.screen()
    codex.phone.says(card, labels.DENIED)


def test_where_the_person_does_not_trust_the_hook_codex_asks_at_the_terminal(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    terminal = codex.interactive(trusted=False)
    terminal.press_until_gone("Escape", labels.CODEX_REVIEWS_HOOKS)
    terminal.shows(labels.CODEX_ASKS)
    assert codex.phone.cards() == [] and not is_made(home)
