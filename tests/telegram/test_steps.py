"""Cards in the middle of something: what they show at each step, and that Telegram takes them whatever is in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.desk.case import SHOW_WHOLE
from tapgate.desk.drafts import choices_of
from tapgate.desk.texts import MOST_EDITED, room_of
from tapgate.model import Action, Card, Context, Detail, Draft, Given, Link, Outcome, Prompt, Request, Risk
from tapgate.simulator.html import parse_html
from tapgate.simulator.limits import check_text
from tapgate.telegram.prompts import render_prompt
from tests.builders import SUGGESTION, make_request

from .cards import SETTING, fits, open_card, settled_card, shown

HOSTILE = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from("<>&\"'`\u202e\u200b\x1b\x00\ud800\u0301😀\n\t "),
    ),
    max_size=400,
)
QUESTIONS: dict[str, Any] = {
    "questions": [
        {
            "question": "Which database should we use?",
            "header": "Database",
            "options": [{"label": "Postgres", "description": "Relational"}, {"label": "SQLite"}],
        },
        {
            "question": "Which extras?",
            "options": [{"label": "Cache"}, {"label": "Search", "preview": "a picture"}],
            "multiSelect": True,
        },
    ],
    "metadata": {"source": "plan"},
}


def asking(tool_input: dict[str, Any] = QUESTIONS) -> Request:
    return make_request(tool="AskUserQuestion", tool_input=tool_input, suggestions=())


def in_step(request: Request, draft: Draft) -> Card:
    card = open_card(request, seen=True)
    return replace(card, draft=draft, choices=choices_of(request, draft, risky=False))


def lines(card: Card) -> list[str]:
    return shown(card).split("\n")


# Questions


def test_the_first_question_word_for_word() -> None:
    assert lines(open_card(asking())) == [
        "🔐 shop · Claude Code",
        "❓ Question 1 of 2 · Database",
        "Which database should we use?",
        "1. Postgres — Relational",
        "2. SQLite",
        'metadata: {"source": "plan"}',
        "⏳ until 08:09 · in ~/shop",
    ]


def test_the_second_question_tells_what_was_answered_and_what_is_checked() -> None:
    card = in_step(asking(), Draft(at=1, given=(Given((1,)), Given((0,), "Mail"))))
    assert lines(card)[1:-1] == [
        "❓ Question 2 of 2",
        "Which extras?",
        "Choose one or more, then tap Done.",
        "☑ 1. Cache",
        "2. Search",
        "preview: a picture",
        "✍️ Mail",
        "✓ Database: SQLite",
    ]


def test_a_question_too_long_for_a_card_says_so_and_can_only_be_skipped() -> None:
    request = asking({"questions": [QUESTIONS["questions"][0], {"question": "x" * 9000, "options": []}]})
    card = open_card(request)
    assert not fits(request) and SHOW_WHOLE in card.choices
    assert "characters are not shown" in shown(card), "on the first question already"


def test_a_question_is_shown_with_little_detail_too() -> None:
    brief = replace(SETTING, detail=Detail.SUMMARY)
    text = shown(open_card(asking(), setting=brief), brief)
    assert "Which database should we use?" in text


# Edits


def test_a_changed_command_stands_against_the_old_one() -> None:
    card = in_step(make_request(), Draft(text="npm test -- --bail", author="Ada"))
    assert lines(card)[1:4] == ["✏️ Changed by Ada, not allowed yet:", "- npm test", "+ npm test -- --bail"]


def test_lines_that_stay_are_shown_as_such() -> None:
    request = make_request(tool_input={"command": "cd app\nnpm test\nls"})
    card = in_step(request, Draft(text="cd app\nnpm run lint\nls", author="Ada"))
    assert lines(card)[2:6] == ["  cd app", "- npm test", "+ npm run lint", "  ls"]


def test_in_the_place_of_a_long_text_the_new_one_stands_alone() -> None:
    request = make_request(tool_input={"command": "x" * 5000})
    card = in_step(request, Draft(text="make", author="Ada"))
    assert lines(card)[2:4] == ["make", "in the place of 5,000 characters"]


@pytest.mark.parametrize("letter", ["x", "😀", "\u202e", "\u0301", "\n", "é", "\ud800", "\u2003", "\u3164"])
@pytest.mark.parametrize("old", ["npm test", "y" * 1999, "y\n" * 100])
def test_the_longest_text_that_the_desk_takes_is_shown_whole(letter: str, old: str) -> None:
    count = next(count for count in range(MOST_EDITED, 0, -1) if room_of(f"a{letter * count}z") <= MOST_EDITED)
    card = in_step(make_request(tool_input={"command": old}), Draft(text=f"a{letter * count}z", author="Ada"))
    text = shown(card).split("not allowed yet:")[1]
    assert "z" in text and "…" not in text


def test_a_phones_own_quotation_marks_are_pointed_out() -> None:
    card = in_step(make_request(tool_input={"command": 'echo "a"'}), Draft(text="echo “b” —x", author="Ada"))
    assert "⚠️ A phone's keyboard may have put in — “ ” where you meant plain signs." in lines(card)


def test_with_little_detail_the_old_text_is_not_shown() -> None:
    brief = replace(SETTING, detail=Detail.SUMMARY)
    card = in_step(make_request(tool_input={"command": "deploy --to production"}), Draft(text="make", author="Ada"))
    text = shown(card, brief)
    assert "make" in text and "production" not in text


# Second looks and lists


def test_a_second_look_says_what_would_last() -> None:
    card = in_step(make_request(), Draft(confirming="s0"))
    text = shown(card)
    assert "npm test" in text and "This would last beyond this one call. Really?" in text
    assert "▸ Always allow `npm test *` in this project" in text


def test_a_list_names_each_call() -> None:
    requests = tuple(
        make_request(n, tool="Read", tool_input={"file_path": f"/srv/{n}"}, suggestions=()) for n in (1, 2)
    )
    card = in_step(requests[0], Draft(listed=tuple(request.id for request in requests)))
    assert lines(replace(card, listed=requests))[1:4] == [
        "☑️ Allow these 2 together? Each has a card of its own here.",
        "1. Read /srv/1",
        "2. Read /srv/2",
    ]


# Prompts


def prompt_text(card: Card, purpose: Action, *, question: int = 0, brief: bool = False) -> str:
    setting = replace(SETTING, detail=Detail.SUMMARY) if brief else SETTING
    asking = render_prompt(card, Prompt(1001, purpose, question), setting, is_group=False)
    assert 0 < len(asking.placeholder) <= 64
    text, entities = parse_html(asking.text)
    check_text(text, entities)
    return text


def test_the_question_for_an_edit_holds_the_text_as_it_is_for_copying() -> None:
    text = prompt_text(open_card(make_request()), Action.ASK_EDIT)
    assert "the command to allow instead" in text and text.endswith("Now it is:\nnpm test")


def test_the_question_for_an_edit_hides_secrets_and_says_so() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    card = open_card(make_request(tool_input={"command": f"curl -H 'Authorization: Bearer {token}' x.io"}))
    text = prompt_text(card, Action.ASK_EDIT)
    assert token not in text and "A part of it is masked" in text


def test_with_little_detail_the_question_for_an_edit_shows_nothing() -> None:
    assert "npm" not in prompt_text(open_card(make_request()), Action.ASK_EDIT, brief=True)


def test_the_question_for_an_answer_repeats_the_question() -> None:
    assert prompt_text(open_card(asking()), Action.ASK_ANSWER, question=1).startswith("Which extras?\n")
    assert prompt_text(open_card(asking()), Action.ASK_ANSWER, question=9).startswith("Your answer?")


# Whatever is in them


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(HOSTILE, min_size=6, max_size=6),
    at=st.integers(0, 2),
    picks=st.lists(st.integers(0, 1), max_size=2),
    many=st.booleans(),
    brief=st.booleans(),
)
def test_telegram_takes_every_step_of_any_form(
    texts: list[str], at: int, picks: list[int], many: bool, brief: bool
) -> None:
    one, two, three, four, five, typed = texts
    question = {"question": f"?{one}", "header": two, "multiSelect": many, "extra": five}
    options = [{"label": f"a{three}", "description": four}, {"label": f"b{five}", "more": [one]}]
    request = asking({"questions": [{**question, "options": options}, {"question": f"!{two}", "options": options}]})
    given_so_far = (Given(tuple(sorted(set(picks))), typed), Given((), typed))
    setting = replace(SETTING, detail=Detail.SUMMARY) if brief else SETTING
    shown(in_step(request, Draft(at=at, given=given_so_far)), setting)
    prompt_text(open_card(request), Action.ASK_ANSWER, question=at, brief=brief)


@settings(max_examples=300, deadline=None)
@given(
    old=HOSTILE,
    new=HOSTILE,
    author=HOSTILE,
    tool=st.sampled_from([("Bash", "command"), ("Write", "content"), ("WebFetch", "url")]),
    brief=st.booleans(),
)
def test_telegram_takes_every_changed_text(old: str, new: str, author: str, tool: tuple[str, str], brief: bool) -> None:
    name, field = tool
    request = make_request(tool=name, tool_input={field: old, "file_path": author}, suggestions=(SUGGESTION,))
    setting = replace(SETTING, detail=Detail.SUMMARY) if brief else SETTING
    for draft in (Draft(text=new, author=author), Draft(confirming="s0"), Draft(listed=("a", "b"))):
        card = replace(in_step(request, draft), listed=(request, request))
        shown(card, setting)
        prompt_text(card, Action.ASK_EDIT, brief=brief)


def test_a_question_that_the_terminal_answered_is_called_answered() -> None:
    text = shown(settled_card(asking(), Outcome.TERMINAL_ALLOWED))
    assert "Answered at the terminal" in text and "Allowed" not in text


def test_breaks_that_are_no_line_feeds_are_spelled_out_in_a_changed_text() -> None:
    request = make_request(tool_input={"command": "echo a\nreboot"})
    card = in_step(request, Draft(text="echo a\u2028reboot", author="Ada"))
    assert "+ echo a⟨U+2028⟩reboot" in lines(card)


def test_a_changed_text_says_which_file_it_is_for() -> None:
    """Somebody who looks at the phone only now has not seen the card as it came."""
    request = make_request(tool="Write", tool_input={"file_path": "/home/dev/shop/.env", "content": "A=1"})
    text = shown(in_step(request, Draft(text="A=2", author="Ada")))
    assert "Write .env" in text


def test_the_last_of_many_questions_is_taken_by_telegram_whatever_was_answered_before() -> None:
    options = [{"label": f"{number}" + "l" * 3000, "description": "d" * 3000} for number in range(20)]
    asked = {"header": "h" * 9000, "options": options, "multiSelect": True}
    questions = [{"question": f"{number}?", **asked} for number in range(10)]
    request = asking({"questions": questions})
    answers = tuple(Given((3,), "t" * 4096) for _ in questions)
    assert "Question 10 of 10" in shown(in_step(request, Draft(at=9, given=answers)))


# Links


def test_an_edited_text_shows_where_its_paths_lead_and_not_with_little_detail() -> None:
    card = in_step(make_request(), Draft(text="cp k docs/x", author="Ada"))
    card = replace(card, context=Context(links=(Link("docs/x", "a link to ~/.ssh/x"),)))
    assert "🔗 docs/x: a link to ~/.ssh/x" in lines(card)
    assert ".ssh" not in shown(card, replace(SETTING, detail=Detail.SUMMARY))


def test_the_longest_edited_card_with_links_is_not_too_long() -> None:
    wide = "🎉" * 400
    request = make_request(tool_input={"command": "x"}, agent_id="a", agent_type=wide, cwd=f"/{wide}")
    request = replace(request, caller=replace(request.caller, project=f"/{wide}"))
    around = Context(why=wide, links=tuple(Link(f"{number}{wide}", wide) for number in range(20)))
    card = in_step(request, Draft(text="y" * MOST_EDITED, author=wide))
    risks = tuple(Risk(f"risk-{wide}", wide) for _ in range(9))
    shown(replace(card, context=around, risks=risks, refreshed=True), replace(SETTING, machine=wide, mask=False))
