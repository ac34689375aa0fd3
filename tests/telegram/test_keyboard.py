"""The buttons: where they stand, what they say, and that each leads back to its choice."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from tapgate.desk.case import SHOW_HIDDEN, SHOW_WHOLE, Case
from tapgate.model import Action, Card, Choice, Draft, Risk
from tapgate.telegram.callback import decode_button
from tapgate.telegram.keyboard import MOST_UNITS, SHORT_UNITS, is_cut, keyboard_of
from tapgate.telegram.text import units
from tests.builders import SUGGESTION, at, make_request

from .cards import captured, open_card, shown


def layout(card: Card) -> list[list[str]]:
    return [[key.text for key in row] for row in keyboard_of(card)]


def test_allow_and_deny_stand_side_by_side_and_all_else_below() -> None:
    suggestions = (SUGGESTION, {"type": "setMode", "mode": "acceptEdits", "destination": "session"})
    assert layout(open_card(make_request(suggestions=suggestions))) == [
        ["Allow", "Deny"],
        ["Always allow `npm test *` in this project"],
        ["Always allow `npm test *` in this session"],
        ["Accept edits in this session"],
        ["Edit…", "Deny and stop"],
        ["Deny with a reason…"],
    ]


def test_a_question_s_options_come_first_and_skip_after_them() -> None:
    options = [{"label": "Postgres"}, {"label": "SQLite"}]
    questions = {"questions": [{"question": "Which?", "options": options}]}
    card = open_card(make_request(tool="AskUserQuestion", tool_input=questions))
    assert layout(card) == [["1. Postgres"], ["2. SQLite"], ["Other…"], ["Skip", "Skip and stop"]]


def test_content_that_was_not_shown_can_be_shown_or_refused_but_not_allowed() -> None:
    card = open_card(make_request(tool_input={"command": "x" * 9000}))
    assert layout(card) == [["Show all of it"], ["Deny", "Deny and stop"], ["Deny with a reason…"]]


def test_a_card_without_choices_has_no_keyboard() -> None:
    request = make_request()
    assert keyboard_of(Card(request, open_card(request).phase, (), 0.0, 0.0)) == ()


def test_colours_say_what_is_good_and_what_is_bad() -> None:
    styles = {key.text: key.style for row in keyboard_of(open_card(make_request())) for key in row}
    assert (styles["Allow"], styles["Deny"], styles["Deny and stop"]) == ("success", "danger", "")


def test_red_is_for_one_thing_at_a_time() -> None:
    """Two red buttons side by side would say nothing about which of them is the risky one."""
    case = Case(request=make_request(), asked=at(0), deadline=at(590).mono, chats=(1001,))
    case.risks = (Risk("privilege", "Runs with administrator rights"),)
    styles = {key.text: key.style for row in keyboard_of(case.card()) for key in row}
    assert (styles["Allow"], styles["Deny"]) == ("danger", "")


def test_what_must_be_seen_first_is_the_main_button() -> None:
    card = open_card(make_request(tool_input={"command": "x" * 9000}))
    styles = {key.text: key.style for row in keyboard_of(card) for key in row}
    assert (styles["Show all of it"], styles["Deny"]) == ("primary", "danger")


def test_skipping_a_question_is_no_denial_and_not_red() -> None:
    questions = {"questions": [{"question": "Which?", "options": [{"label": "Postgres"}]}]}
    card = open_card(make_request(tool="AskUserQuestion", tool_input=questions))
    assert {key.style for row in keyboard_of(card) for key in row} == {""}


def test_while_an_edit_waits_for_its_second_tap_editing_again_stands_beside_back() -> None:
    case = Case(request=make_request(), asked=at(0), deadline=at(590).mono, chats=(1001,))
    case.draft = Draft(text="npm test -- --runInBand", author="Ada")
    assert layout(case.card()) == [
        ["Run it as edited"],
        ["Edit…", "Back"],
        ["Deny", "Deny and stop"],
        ["Deny with a reason…"],
    ]


def test_at_the_gate_what_leads_elsewhere_stands_side_by_side() -> None:
    assert layout(open_card(make_request(event="PreToolUse"))) == [
        ["Allow", "Deny"],
        ["Edit…", "Ask at the terminal"],
        ["Deny with a reason…"],
    ]


def long_rule(content: str) -> list[str]:
    rule = {"toolName": "WebFetch", "ruleContent": content}
    card = open_card(make_request(suggestions=({**SUGGESTION, "rules": [rule]},)), seen=True)
    return [row[0] for row in layout(card)[1:3]]


def test_however_long_a_rule_is_its_scope_stands_on_the_button() -> None:
    """For the project and for the session only: two buttons that look alike would be a trap."""
    project, session = long_rule("domain:documentation.example.com")
    assert project.startswith("Always allow `WebFet") and project.endswith("` in this project")
    assert session.startswith("Always allow `WebFet") and session.endswith("` in this session")
    assert units(project) == units(session) == SHORT_UNITS


@pytest.mark.parametrize("size", [60, 9000])
def test_a_rule_cannot_make_up_its_scope(size: int) -> None:
    project, session = long_rule("x in this session`" + " " * size)
    assert project.endswith("in this project…") and session.endswith("in this session…"), "and wants a second tap"


def test_the_end_of_a_long_button_shows_no_secret() -> None:
    secret = "ghp_" + "R8x2Lq7Zt5Vb9Nw3Kd6Yc1Hs4Jf0Pm2Ga5Qe"
    entry = {"type": "toolAlwaysAllow", "tool": f"{'x' * 40} {secret}"}
    card = open_card(make_request(suggestions=(entry,)), seen=True)
    texts = [text for row in layout(card) for text in row]
    assert not any(secret[-12:] in text for text in texts), texts


@pytest.mark.parametrize("request_", captured().values(), ids=captured())
def test_every_button_leads_back_to_its_choice(request_: Any) -> None:
    card = open_card(request_)
    keys = [key for row in keyboard_of(card) for key in row]
    found = []
    for key in keys:
        button = decode_button(key.data)
        assert button is not None
        assert button.request_id == request_.id
        (choice,) = (c for c in card.choices if (c.key, c.seal) == (button.choice_key, button.seal))
        assert all(part in choice.label for part in key.text.split("…"))
        found.append(choice)
    assert len(found) == len(card.choices)
    assert all(choice in found for choice in card.choices)


def labelled(label: str) -> Choice:
    return Choice("s0", label, Action.DECIDE, seal="x")


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("x" * 48, "x" * 48),
        ("x" * 49, "x" * 47 + "…"),
        ("🎉" * 24, "🎉" * 24),
        ("🎉" * 25, "🎉" * 23 + "…"),  # 50 units: they would be 100 bytes, and half a character is none
        ("a\nb", "a⏎b"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\ud800", "⟨U+D800⟩"),
        ("<b>&amp;", "<b>&amp;"),  # no HTML on buttons
        (" ", "“ ”"),
        ("\t", "“ ”"),
    ],
)
def test_a_button_shows_its_words_as_far_as_they_go(label: str, text: str) -> None:
    request = make_request()
    card = Card(request, open_card(request).phase, (labelled(label),), 0.0, 0.0)
    ((key,),) = keyboard_of(card)
    assert key.text == text
    assert units(key.text) <= MOST_UNITS
    assert is_cut(labelled(label)) is text.endswith("…")
    shown(card)


def test_a_button_of_16_mib_costs_nothing() -> None:
    """A rule may hold a whole command, and a command may hold a whole file."""
    begun = time.perf_counter()
    rule = {"toolName": "Bash", "ruleContent": "\u202e" * (4 * 1024 * 1024)}
    request = make_request(suggestions=({**SUGGESTION, "rules": [rule]},))
    assert SHOW_WHOLE in open_card(request).choices
    shown(open_card(request))
    shown(open_card(request, seen=True))
    assert time.perf_counter() - begun < 5


def test_what_is_hidden_is_not_offered_where_a_summary_is_all_that_is_sent_or_nothing_is_masked() -> None:
    request = make_request()
    card = replace(open_card(request), choices=(*request.choices, SHOW_HIDDEN))
    assert "Show hidden" in [key.text for row in keyboard_of(card) for key in row]
    for more in ({"is_brief": True}, {"mask": False}):
        assert "Show hidden" not in [key.text for row in keyboard_of(card, **more) for key in row]
