"""Claude Code in a terminal, dialog and card open at the same time: the first answer wins, and the card says whose."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.agents.real import labels
from tests.agents.real.anthropic_api import CLOSING, Use
from tests.agents.real.home import Home
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE

pytestmark = needs(CLAUDE)

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}

EXTRAS = {
    "question": "Which extras?",
    "header": "Extras",
    "multiSelect": True,
    "options": [{"label": name, "description": "an extra"} for name in ("Cache", "Search", "Mail")],
}


def making(home: Home) -> Use:
    return Use("Bash", {"command": f"touch {home.project / 'made'} && echo it-ran", "description": "Make it"})


def is_made(home: Home) -> bool:
    return (home.project / "made").exists()


# The phone answers


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "denied"])
def test_the_phones_answer_closes_the_dialog(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.shows(labels.CLAUDE_ASKS)
    claude.phone.tap(card, labels.ALLOW if allowed else labels.DENY)
    [result] = claude.api.wait_for_results()
    assert result.text == ("it-ran" if allowed else labels.TOLD_DENIED)
    screen = terminal.shows(CLOSING)
    assert labels.CLAUDE_ASKS not in screen
    assert (labels.CLAUDE_HOOK_ALLOWED in screen) == allowed
    assert is_made(home) == allowed
    claude.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)


def test_deny_and_stop_gives_the_turn_back_to_the_person(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), making(home), home=home)
    terminal = claude.interactive()
    terminal.shows(labels.CLAUDE_ASKS)
    card = claude.phone.answer(labels.DENY_STOP)
    screen = terminal.shows(labels.CLAUDE_INTERRUPTED)
    assert labels.CLAUDE_ASKS not in screen and CLOSING not in screen
    claude.phone.says(card, labels.STOPPED_TURN)
    assert len(claude.phone.cards()) == 1 and not is_made(home)


# The terminal answers


def test_yes_at_the_terminal_settles_the_card(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.press_until_gone("Enter", labels.CLAUDE_ASKS)
    claude.phone.says(card, labels.TERMINAL_ALLOWED)
    [result] = claude.api.wait_for_results()
    assert result.text == "it-ran" and is_made(home)


def test_no_at_the_terminal_settles_the_card(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    number = re.findall(r"(\d)\. No", terminal.shows(labels.CLAUDE_ASKS, "No"))[-1]
    terminal.press_until_gone(number, labels.CLAUDE_ASKS)
    claude.phone.says(card, labels.TERMINAL_DENIED)
    assert not is_made(home)


def test_escape_settles_the_card(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.press_until_gone("Escape", labels.CLAUDE_ASKS)
    claude.phone.says(card, labels.TERMINAL_DENIED)
    assert not is_made(home)


def test_closing_the_terminal_settles_the_card(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.shows(labels.CLAUDE_ASKS)
    terminal.close()
    claude.phone.says(card, labels.SESSION_ENDED)
    assert not is_made(home)


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGTERM, labels.SESSION_ENDED), (signal.SIGKILL, labels.AGENT_DIED)]
)
def test_an_agent_that_is_ended_settles_the_card(lab: Lab, number: signal.Signals, words: str) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.shows(labels.CLAUDE_ASKS)
    os.kill(terminal.pid, number)
    claude.phone.says(card, words)
    terminal.ended()
    assert not is_made(home)


def test_a_tap_after_the_terminals_answer_changes_nothing(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.press_until_gone("Escape", labels.CLAUDE_ASKS)
    claude.phone.says(card, labels.TERMINAL_DENIED)
    data = card["buttons"][0][0]["callback_data"]
    assert labels.TERMINAL_DENIED in lab.world.answer(lab.world.tap(card, data=data, forge=True))
    assert not is_made(home)


# Questions and plans


def test_a_question_is_answered_from_the_phone(lab: Lab) -> None:
    claude = lab.claude(Use("AskUserQuestion", {"questions": [COLOUR]}))
    terminal = claude.interactive()
    card = claude.phone.card("Which colour?")
    terminal.shows("Which colour?", "1. Red")
    claude.phone.tap(card, labels.option(2, "Blue"))
    [result] = claude.api.wait_for_results()
    assert '"Which colour?"="Blue"' in result.text
    assert "1. Red" not in terminal.shows(CLOSING)
    claude.phone.says(card, labels.answered("Blue"))


def test_two_questions_are_answered_from_the_phone_one_typed_and_one_of_several(lab: Lab) -> None:
    claude = lab.claude(Use("AskUserQuestion", {"questions": [COLOUR, EXTRAS]}))
    terminal = claude.interactive()
    phone = claude.phone
    card = phone.card("Which colour?")
    terminal.shows("Which colour?", "1. Red")
    phone.tap(card, labels.OTHER)
    phone.reply("Green, as the logo", phone.prompt(card))
    phone.says(card, "Which extras?")
    phone.tap(card, labels.option(1, "Cache", chosen=False))
    phone.tap(card, labels.option(2, "Search", chosen=False))
    phone.tap(card, labels.option(3, "Mail", chosen=False))
    phone.tap(card, labels.option(2, "Search", chosen=True))
    phone.offers(card, labels.option(2, "Search", chosen=False))
    assert claude.api.results() == []
    phone.tap(card, labels.DONE)
    [result] = claude.api.wait_for_results()
    assert '"Which colour?"="Green, as the logo"' in result.text
    assert '"Which extras?"="Cache, Mail"' in result.text and not result.is_error
    screen = terminal.shows(CLOSING, "Which extras? → Cache, Mail")
    assert "1. Red" not in screen
    assert labels.TERMINAL_FIRST not in phone.says(card, labels.answered("Green, as the logo; Cache, Mail"))


def test_a_question_is_skipped_from_the_phone(lab: Lab) -> None:
    claude = lab.claude(Use("AskUserQuestion", {"questions": [COLOUR]}))
    terminal = claude.interactive()
    card = claude.phone.answer(labels.SKIP, containing="Which colour?")
    [result] = claude.api.wait_for_results()
    assert "skipped it" in result.text and result.is_error
    assert "1. Red" not in terminal.shows(CLOSING)
    claude.phone.says(card, labels.SKIPPED)


def test_a_question_answered_at_the_terminal_settles_the_card(lab: Lab) -> None:
    claude = lab.claude(Use("AskUserQuestion", {"questions": [COLOUR]}), making(lab.home()))
    terminal = claude.interactive()
    card = claude.phone.card("Which colour?")
    terminal.press_until_gone("Enter", "1. Red")
    claude.phone.says(card, labels.TERMINAL_ANSWERED)
    assert '"Which colour?"="Red"' in claude.api.wait_for_results()[0].text


def plan_of(words: str) -> Use:
    """In plan mode the agent is told of one file that it may write."""
    [path] = set(re.findall(r"\S+/\.claude/plans/\S+\.md", words))
    return Use("Write", {"file_path": path, "content": "# Plan\n\nWrite one file, well.\n"})


@pytest.mark.parametrize("edits", [False, True], ids=["approved", "approved, with edits"])
def test_a_plan_is_approved_from_the_phone(lab: Lab, edits: bool) -> None:
    home = lab.home()
    path = home.project / "one.txt"
    write = Use("Write", {"file_path": str(path), "content": "1"})
    claude = lab.claude(plan_of, Use("ExitPlanMode", {}), write, home=home)
    terminal = claude.interactive(mode="plan")
    card = claude.phone.card("Plan")
    assert "Write one file, well." in card["text"]
    claude.phone.tap(card, labels.APPROVE_PLAN_EDITS if edits else labels.APPROVE_PLAN)
    claude.phone.says(card, labels.ALLOWED)
    if not edits:  # then the plan's first edit asks
        claude.phone.answer(labels.ALLOW, containing="one.txt")
    result = claude.api.wait_for_results(3)[1]
    assert "approved" in result.text and not result.is_error
    terminal.shows("accept edits on" if edits else "manual mode on", CLOSING)
    assert path.read_text() == "1"
    assert len(claude.phone.cards()) == (1 if edits else 2)


def test_a_plan_is_sent_back_with_the_persons_words(lab: Lab) -> None:
    claude = lab.claude(plan_of, Use("ExitPlanMode", {}))
    terminal = claude.interactive(mode="plan")
    card = claude.phone.answer(labels.REVISE_PLAN, containing="Plan")
    claude.phone.reply("Two files, please.", claude.phone.prompt(card))
    result = claude.api.wait_for_results(2)[1]
    assert "Two files, please." in result.text and result.is_error
    terminal.shows("plan mode on", CLOSING)


@pytest.mark.parametrize(
    ("key", "words"), [("2", labels.TERMINAL_ALLOWED), ("Escape", labels.TERMINAL_DENIED)], ids=["yes", "escape"]
)
def test_a_plan_answered_at_the_terminal_settles_the_card(lab: Lab, key: str, words: str) -> None:
    """The turn goes on after a yes: the card does not wait for its end."""
    claude = lab.claude(plan_of, Use("ExitPlanMode", {}), making(lab.home()))
    terminal = claude.interactive(mode="plan")
    card = claude.phone.card("Plan")
    terminal.press_until_gone(key, labels.CLAUDE_PLAN_ASKS)
    claude.phone.says(card, words)


# A text that was changed on the phone


def test_a_changed_command_is_the_one_that_ran_and_the_card_says_so(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(making(home), home=home)
    terminal = claude.interactive()
    card = claude.phone.edit(claude.phone.card(), f"touch {home.project / 'other'} && echo the-other-ran")
    terminal.shows(labels.CLAUDE_ASKS)
    claude.phone.tap(card, labels.RUN_EDITED)
    [result] = claude.api.wait_for_results()
    assert result.text == "the-other-ran" and not is_made(home) and (home.project / "other").exists()
    assert labels.CLAUDE_ASKS not in terminal.shows(CLOSING)
    settled = claude.phone.says(card, labels.CHANGED)
    assert "the-other-ran" in settled and labels.TERMINAL_FIRST not in settled


def test_a_change_that_comes_after_the_terminals_yes_does_not_run_and_the_card_says_so(lab: Lab) -> None:
    """A yes at the terminal is not told to the hook: while the tool runs, the phone can still answer, in vain."""
    home = lab.home()
    go = home.path / "go"
    slow = f"touch {home.project / 'made'}; until [ -e {go} ]; do sleep 0.1; done; echo it-ran"
    claude = lab.claude(Use("Bash", {"command": slow, "description": "Make it"}), home=home)
    terminal = claude.interactive()
    card = claude.phone.card()
    terminal.press_until_gone("Enter", labels.CLAUDE_ASKS)
    terminal.until(lambda _: is_made(home))
    claude.phone.edit(card, f"touch {home.project / 'other'}")
    claude.phone.tap(card, labels.RUN_EDITED)
    claude.phone.says(card, labels.CHANGED)
    go.touch()
    [result] = claude.api.wait_for_results()
    assert result.text == "it-ran" and not (home.project / "other").exists()
    claude.phone.says(card, labels.TERMINAL_FIRST)


# A subagent shows no dialog while its hook waits


def test_a_subagents_question_is_handed_to_the_terminal(lab: Lab) -> None:
    home = lab.home()
    agent = {"description": "Help", "prompt": "HELPER: make it", "subagent_type": "general-purpose"}
    claude = lab.claude(
        Use("Agent", {**agent, "run_in_background": True}), others={"HELPER": [making(home)]}, home=home
    )
    terminal = claude.interactive()
    card = claude.phone.card("subagent general-purpose")
    assert labels.CLAUDE_ASKS not in terminal.screen()
    claude.phone.tap(card, labels.AT_THE_TERMINAL)
    assert labels.ASKS_AT_TERMINAL in claude.phone.says(card, labels.HANDED_BACK)
    terminal.shows(labels.CLAUDE_ASKS)
    assert not is_made(home)
    terminal.press_until_gone("Enter", labels.CLAUDE_ASKS)
    [result] = claude.api.wait_for_results(having="HELPER")
    assert result.text == "it-ran" and is_made(home)


def test_with_a_shorter_hold_a_subagents_dialog_comes_by_itself(own_lab: Lab) -> None:
    own_lab.world.configure(more="[hold]\nsubagent_s = 4")
    own_lab.world.start_daemon()
    home = own_lab.home()
    agent = {"description": "Help", "prompt": "HELPER: make it", "subagent_type": "general-purpose"}
    claude = own_lab.claude(Use("Agent", agent), others={"HELPER": [making(home)]}, home=home)
    terminal = claude.interactive()
    card = claude.phone.card("subagent general-purpose")
    terminal.shows(labels.CLAUDE_ASKS)
    assert labels.ASKS_AT_TERMINAL in claude.phone.says(card, labels.EXPIRED)
    assert not is_made(home)
