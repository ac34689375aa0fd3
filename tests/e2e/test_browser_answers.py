"""Every kind of answer, given on the phone page, as the bytes that a real hook process writes to its stdout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.builders import SUGGESTION, event_bytes
from tests.e2e.browsing import ALLOW, MARKS, button, card_on, expect_settled, labels, press, reply_to, type_text
from tests.e2e.world import World, finish

pytestmark = MARKS

FORM = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [
                {"label": "Postgres", "description": "A server"},
                {"label": "SQLite", "description": "One file"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which parts?",
            "header": "Parts",
            "options": [{"label": "Search"}, {"label": "Reviews"}, {"label": "Coupons"}],
            "multiSelect": True,
        },
    ],
    "metadata": {"source": "plan"},
}
PLAN = {"plan": "# Plan\n\n1. **Fix** `total()`\n2. Test it\n", "planFilePath": "/home/dev/.claude/plans/cart.md"}


def decided(**decision: Any) -> tuple[bytes, bytes, int]:
    """What the hook leaves behind: these bytes, nothing on stderr, 0."""
    output = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
    return json.dumps(output, separators=(",", ":")).encode(), b"", 0


def denied(message: str = "Denied from the phone.", *, interrupt: bool = False) -> tuple[bytes, bytes, int]:
    return decided(behavior="deny", message=message, interrupt=interrupt)


def prompt_on(page: Page, words: str) -> None:
    """A message that asks for a text has come, and the box below is ready for it."""
    expect(page.locator("#quote")).to_contain_text(words)
    expect(page.get_by_label("Message", exact=True)).to_be_focused()


def expect_style(card: Locator, label: str, style: str) -> None:
    expect(button(card, label)).to_have_class(f"key {style}".strip())


# Standing permissions


@pytest.mark.parametrize(
    ("label", "destination", "written"),
    [
        ("Always allow `npm test *` in this project", "localSettings", "saved to this project's local settings"),
        ("Always allow `npm test *` in this session", "session", "for this session only"),
    ],
)
def test_a_rule_is_given_in_the_scope_that_its_button_names(
    world: World, phone: Page, label: str, destination: str, written: str
) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    press(card, label)
    assert finish(caller) == decided(behavior="allow", updatedPermissions=[{**SUGGESTION, "destination": destination}])
    expect_settled(card, "Allowed by Ada", "rule `npm test *`", written)


def test_a_risky_command_warns_in_red_and_lasting_permission_takes_a_second_tap(world: World, phone: Page) -> None:
    rule = {**SUGGESTION, "rules": [{"toolName": "Bash", "ruleContent": "rm -rf build"}]}
    caller = world.ask(event_bytes(tool_input={"command": "rm -rf build"}, suggestions=(rule,)))
    card = card_on(phone, world, "rm -rf build")
    expect(card).to_contain_text("Deletes /home/dev/shop/build and everything in it")
    expect_style(card, "Allow", "danger")
    expect_style(card, "Deny", "")
    press(card, "Always allow `rm -rf build` in this project…")
    expect(card).to_contain_text("This would last beyond this one call.")
    expect(button(card, "Allow")).to_have_count(0)
    press(card, "Back")
    expect_style(card, "Allow", "danger")
    press(card, "Always allow `rm -rf build` in this project…")
    press(card, "Yes: Always allow `rm -rf build` in this project")
    assert finish(caller) == decided(behavior="allow", updatedPermissions=[rule])
    expect_settled(card, "Allowed by Ada", "rule `rm -rf build` saved to this project's local settings")


# A changed command


def test_an_edited_command_runs_after_a_second_tap_and_keeps_every_other_field(world: World, phone: Page) -> None:
    given = {"command": "npm test", "description": "Run the tests", "timeout": 120000, "later": {"field": [1, None]}}
    caller = world.ask(event_bytes(tool_input=given))
    card = card_on(phone, world)
    press(card, "Edit…")
    prompt_on(phone, "Reply to this message with the command to allow instead")
    type_text(phone, "npm test -- --runInBand")
    expect(card).to_contain_text("Changed by Ada, not allowed yet")
    expect(card.locator(".removed")).to_have_text("- npm test\n")
    expect(card.locator(".added")).to_have_text("+ npm test -- --runInBand")
    assert caller.poll() is None  # nothing went to the agent yet
    press(card, "Run it as edited")
    assert finish(caller) == decided(behavior="allow", updatedInput={**given, "command": "npm test -- --runInBand"})
    expect_settled(card, "Allowed by Ada, with a changed text", "npm test -- --runInBand")


def test_an_edit_that_is_risky_says_so_and_back_gives_the_card_as_it_came(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    press(card, "Edit…")
    prompt_on(phone, "command to allow instead")
    type_text(phone, "sudo npm test")
    expect(card).to_contain_text("Runs with administrator rights")
    expect_style(card, "Run it as edited", "danger")
    press(card, "Back")
    expect_style(card, "Allow", "success")
    expect(card).not_to_contain_text("sudo")
    press(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)


# Refusals


def test_deny_and_stop_ends_the_turn(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    press(card, "Deny and stop")
    assert finish(caller) == denied(interrupt=True)
    expect_settled(card, "Denied by Ada", "the turn was stopped")


def test_codex_gets_its_prompt_back_at_the_terminal(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes(suggestions=(), turn_id="t1", model="gpt"), agent="codex")
    card = card_on(phone, world)
    assert labels(card) == ["Allow", "Deny", "Deny with a reason…", "Ask at the terminal"]
    press(card, "Ask at the terminal")
    output, errors, code = finish(caller)
    assert (output, code) == (b"", 0)
    assert b"Handed back to the terminal" in errors
    expect_settled(card, "Handed back to the terminal", "the agent asks at the terminal")


def test_codex_gets_a_typed_reason_and_no_key_that_it_would_choke_on(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes(suggestions=(), turn_id="t1", model="gpt"), agent="codex")
    card = card_on(phone, world)
    press(card, "Deny with a reason…")
    prompt_on(phone, "Why not?")
    type_text(phone, "Use pnpm.")
    assert finish(caller) == decided(behavior="deny", message="Use pnpm.")
    expect_settled(card, "Denied by Ada", "Use pnpm.")


# Questions and plans


def test_two_questions_are_answered_on_one_card_with_check_marks_back_and_typed_words(
    world: World, phone: Page
) -> None:
    caller = world.ask(event_bytes(tool="AskUserQuestion", tool_input=FORM, suggestions=()))
    card = card_on(phone, world, "Which database?")
    expect(card).to_contain_text("Question 1 of 2 · Database")
    expect(card).to_contain_text("2. SQLite — One file")
    press(card, "1. Postgres")
    expect(card).to_contain_text("Question 2 of 2 · Parts")
    expect(card).to_contain_text("✓ Database: Postgres")
    press(card, "Back")
    press(card, "2. SQLite")  # it was changed on the way back
    expect(card).to_contain_text("✓ Database: SQLite")
    expect(button(card, "Done")).to_have_count(0)  # nothing is chosen yet
    for option in ("1. Search", "2. Reviews", "3. Coupons"):
        press(card, f"☐ {option}")
        expect(button(card, f"☑ {option}")).to_be_visible()
    press(card, "☑ 2. Reviews")
    expect(button(card, "☐ 2. Reviews")).to_be_visible()
    press(card, "Other…")
    prompt_on(phone, "Which parts?")
    type_text(phone, "Gift cards")
    expect(button(card, "Other: Gift cards")).to_be_visible()
    assert caller.poll() is None
    press(card, "Done")
    answers = {"Which database?": "SQLite", "Which parts?": "Search, Coupons, Gift cards"}
    assert finish(caller) == decided(behavior="allow", updatedInput={**FORM, "answers": answers})
    expect_settled(card, "Answered “SQLite; Search, Coupons, Gift cards” by Ada")


def test_a_plan_is_approved_with_edits_accepted_and_given_back_as_it_came(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes(tool="ExitPlanMode", tool_input=PLAN, suggestions=()))
    card = card_on(phone, world, "total()")
    expect(card.locator("strong", has_text="Fix")).to_be_visible()  # rendered, not as stars
    press(card, "Approve, and accept edits")
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    assert finish(caller) == decided(behavior="allow", updatedInput=PLAN, updatedPermissions=[mode])
    expect_settled(card, "Allowed by Ada", "mode acceptEdits, for this session only")


def test_a_plan_goes_back_with_what_should_change(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes(tool="ExitPlanMode", tool_input=PLAN, suggestions=()))
    card = card_on(phone, world, "total()")
    press(card, "Revise…")
    prompt_on(phone, "What should change?")
    type_text(phone, "Round to whole cents.")
    assert finish(caller) == denied("Round to whole cents.")
    expect_settled(card, "Denied by Ada", "Round to whole cents.")


# What does not fit


def test_what_does_not_fit_can_be_allowed_once_its_file_has_come(world: World, phone: Page) -> None:
    command = "\n".join(f"echo line {number} of many" for number in range(300))
    caller = world.ask(event_bytes(tool_input={"command": command}))
    card = card_on(phone, world, "echo line 0")
    expect(card).to_contain_text("characters are not shown")
    assert labels(card) == ["Show all of it", "Deny", "Deny and stop", "Deny with a reason…"]
    expect_style(card, "Show all of it", "primary")
    press(card, "Show all of it")
    expect(button(card, "Allow")).to_be_visible()
    file = phone.locator("a.document")
    expect(file).to_contain_text(".sh")
    with phone.expect_download() as downloading:
        file.click()
    content = downloading.value.path().read_text()
    assert all(line in content for line in command.splitlines())
    press(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)
    expect_settled(card, "Allowed by Ada")


# Replies, as a watch sends them


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("y", (ALLOW, b"", 0)),
        ("👎", denied()),
        ("Use pnpm, and only in packages/cart", denied("Use pnpm, and only in packages/cart")),
    ],
)
def test_a_reply_to_the_card_answers_it_without_a_tap(
    world: World, phone: Page, text: str, left: tuple[bytes, bytes, int]
) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    reply_to(phone, card, text)
    assert finish(caller) == left
    expect_settled(card, "by Ada")


def test_a_reply_is_no_way_around_what_was_not_shown(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes(tool_input={"command": "echo x\n" * 2000}))
    card = card_on(phone, world, "echo x")
    reply_to(phone, card, "y")
    expect(phone.locator(".theirs", has_text="Not all of it was shown here yet")).to_be_visible()
    assert caller.poll() is None
    press(card, "Deny")
    assert finish(caller) == denied()


def test_a_message_that_is_no_reply_does_nothing(world: World, phone: Page) -> None:
    """A yes to something else, or to somebody else, must not fall on whatever happens to be open."""
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    before = card.inner_text()
    for text in ("y", "👍", "yes"):
        type_text(phone, text)
        expect(phone.locator(".own").last).to_contain_text(text)
    # Updates are taken in order: where this one is answered, all three have been taken.
    type_text(phone, "/history")
    expect(phone.locator(".theirs")).to_have_count(2)
    assert (caller.poll(), card.inner_text()) == (None, before)
    press(card, "Deny")
    assert finish(caller) == denied()


# Several at once


def test_several_harmless_ones_are_allowed_together_after_they_were_listed(world: World, phone: Page) -> None:
    searches = {"Grep": {"pattern": "total", "path": "/home/dev/other"}, "Glob": {"pattern": "*.md", "path": "/srv"}}
    callers = [world.ask(event_bytes(tool=tool, tool_input=given, suggestions=())) for tool, given in searches.items()]
    card = card_on(phone, world, "total")
    press(card, "Allow these 2…")
    expect(card).to_contain_text("Allow these 2 together?")
    expect(card).to_contain_text("Grep total")
    expect(card).to_contain_text("Glob *.md")
    assert [caller.poll() for caller in callers] == [None, None]
    press(card, "Allow all 2")
    assert [finish(caller) for caller in callers] == [(ALLOW, b"", 0)] * 2
    expect(phone.locator(".theirs", has_text="Allowed by Ada")).to_have_count(2)
    expect(phone.locator(".keyboard")).to_have_count(0)


def test_a_risky_one_is_never_among_those_that_are_allowed_together(world: World, phone: Page) -> None:
    asked: list[tuple[str, Mapping[str, Any]]] = [
        ("Grep", {"pattern": "total", "path": "/home/dev/other"}),
        ("Write", {"file_path": "/home/dev/.bashrc", "content": "true\n"}),
    ]
    callers = [world.ask(event_bytes(tool=tool, tool_input=dict(given), suggestions=())) for tool, given in asked]
    card, risky = card_on(phone, world, "total"), card_on(phone, world, ".bashrc")
    assert not any("these" in label for label in (*labels(card), *labels(risky)))
    for one in (card, risky):
        press(one, "Deny")
    assert [finish(caller) for caller in callers] == [denied()] * 2
