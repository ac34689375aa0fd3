"""Answers beyond one tap: questions, edits, second looks, lists, replies and roles. That they work, and the attacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tapgate.desk.answers import CHANGED
from tapgate.desk.desk import Desk
from tapgate.desk.effects import AnswerTap, AskText, Edit, Effect, Record, Reply, Retract, Say
from tapgate.desk.events import (
    Asked,
    CallerConfirmed,
    Edited,
    Posted,
    PromptPosted,
    Replied,
    Tapped,
    ToolEnded,
    WholePosted,
)
from tapgate.desk.people import LOOK_ONLY, ONCE_ONLY
from tapgate.desk.texts import MOST_EDITED
from tapgate.desk.words import ended
from tapgate.model import (
    NO_DRAFT,
    Action,
    Card,
    Choice,
    Copy,
    Outcome,
    Person,
    Phase,
    Prompt,
    Ran,
    Request,
    Risk,
    Role,
    Tap,
    Tone,
    Verdict,
)
from tests.builders import ADA, BOB, GROUP_ID, SUGGESTION, at, make_request

CARD = Copy(ADA.chat_id, 10)
BOBS_CARD = Copy(BOB.chat_id, 11)
RISK = Risk("deletes", "It deletes files.")
QUESTIONS: dict[str, Any] = {
    "questions": [
        {"question": "Which one?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Deny"}]},
        {
            "question": "Which sizes?",
            "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}],
            "multiSelect": True,
        },
    ],
    "metadata": {"source": "remember"},
}


class Table:
    """A desk, one open request and the taps of people who look at its card."""

    def __init__(self, *people: Person, risky: str = "\0") -> None:
        self.seconds = 1.0
        self.queries = 0
        self.desk = Desk(
            people or (ADA,),
            hold_s=590,
            assess=lambda request: (RISK,) if risky in str(request.input) else (),
        )

    def open(self, request: Request, *, fits: bool = True, risks: tuple[Risk, ...] = (), message: int = 10) -> Request:
        effects = self.desk.handle(Asked(request, fits=fits, risks=risks), at(0))
        for chat_id in {chat for post in effects if hasattr(post, "chats") for chat in post.chats}:
            number = message if chat_id == ADA.chat_id else message + 1
            self.desk.handle(Posted(request.id, Copy(chat_id, number), 0), at(0))
        return request

    def card(self, request: Request, chat_id: int = ADA.chat_id) -> Card:
        found = self.desk.cases.by_id[request.id]
        return self.desk.cases.card(found, chat_id)

    def labels(self, request: Request, chat_id: int = ADA.chat_id) -> list[str]:
        return [choice.label for choice in self.card(request, chat_id).choices]

    def choice(self, request: Request, label: str, chat_id: int = ADA.chat_id) -> Choice:
        (choice,) = (choice for choice in self.card(request, chat_id).choices if choice.label == label)
        return choice

    def tap(self, request: Request, label: str, *, person: Person = ADA, message: int = 10) -> list[Effect]:
        return self.press(request, self.choice(request, label, person.chat_id), person=person, message=message)

    def press(self, request: Request, choice: Choice, *, person: Person = ADA, message: int = 10) -> list[Effect]:
        self.seconds += 1
        self.queries += 1
        tap = Tap(f"q{self.queries}", person.user_id, Copy(person.chat_id, message), "raw")
        return self.desk.handle(Tapped(tap, request.id, choice.key, choice.seal), at(self.seconds))

    def reply(self, text: str, *, to: int = 10, person: Person = ADA) -> list[Effect]:
        self.seconds += 1
        self.queries += 1
        return self.desk.handle(
            Replied(person.user_id, person.chat_id, 1000 + self.queries, to, text), at(self.seconds)
        )

    def prompt(self, request: Request, effects: list[Effect], *, message: int = 30) -> None:
        """The question for a text arrives, on a phone that shows the card as it stands."""
        (asked,) = (effect for effect in effects if isinstance(effect, AskText))
        self.show(request)
        self.desk.handle(PromptPosted(request.id, Copy(asked.chat_id, message), asked.prompt), at(self.seconds))

    def show(self, request: Request) -> None:
        """Telegram confirms that every copy shows the card as it stands."""
        found = self.desk.cases.by_id[request.id]
        for copy in tuple(found.copies):
            self.desk.handle(Edited(request.id, copy, found.version), at(self.seconds))

    def confirm(self, request: Request) -> list[Effect]:
        return self.desk.handle(CallerConfirmed(request.id), at(self.seconds))


def replies(effects: list[Effect]) -> list[Reply]:
    return [effect for effect in effects if isinstance(effect, Reply)]


def decided(effects: list[Effect]) -> Any:
    (reply,) = replies(effects)
    return reply.decision


def told(effects: list[Effect]) -> str:
    (answer,) = (effect for effect in effects if isinstance(effect, AnswerTap))
    return answer.text


def said(effects: list[Effect]) -> str:
    assert [type(effect) for effect in effects] == [Say], effects
    return next(effect.text for effect in effects if isinstance(effect, Say))


def question(number: int = 1, tool_input: dict[str, Any] = QUESTIONS) -> Request:
    return make_request(number, tool="AskUserQuestion", tool_input=tool_input, suggestions=())


# Questions


def test_questions_are_answered_one_after_another_on_one_card() -> None:
    table = Table()
    request = table.open(question())
    assert table.labels(request) == ["1. Red", "2. Deny", "Other…", "Skip all", "Skip all and stop"]
    effects = table.tap(request, "1. Red")
    assert not replies(effects) and any(isinstance(effect, Edit) for effect in effects)
    assert table.labels(request) == ["☐ 1. S", "☐ 2. M", "☐ 3. L", "Other…", "Back", "Skip all", "Skip all and stop"]
    table.tap(request, "☐ 3. L")
    table.tap(request, "☐ 1. S")
    assert table.labels(request)[:3] == ["☑ 1. S", "☐ 2. M", "☑ 3. L"] and "Done" in table.labels(request)
    decision = decided(table.tap(request, "Done"))
    assert decision.verdict is Verdict.ALLOW
    assert decision.updated_input == {**QUESTIONS, "answers": {"Which one?": "Red", "Which sizes?": "S, L"}}
    card = table.confirm(request)[1]
    assert isinstance(card, Edit) and card.card.outcome is Outcome.ALLOWED
    assert card.card.answer is not None and card.card.answer.label == "Red; S, L"


def test_an_option_can_be_unchecked_and_back_leads_to_the_question_before() -> None:
    table = Table()
    request = table.open(question())
    table.tap(request, "1. Red")
    table.tap(request, "☐ 2. M")
    table.tap(request, "☑ 2. M")
    assert "Done" not in table.labels(request), "nothing is chosen"
    table.tap(request, "Back")
    assert table.labels(request)[:2] == ["● 1. Red", "2. Deny"], "what was chosen is remembered"
    table.tap(request, "2. Deny")
    table.tap(request, "☐ 2. M")
    assert decided(table.tap(request, "Done")).updated_input["answers"] == {"Which one?": "Deny", "Which sizes?": "M"}


def test_one_question_takes_one_tap() -> None:
    table = Table()
    request = table.open(question(tool_input={"questions": QUESTIONS["questions"][:1]}))
    assert decided(table.tap(request, "2. Deny")).updated_input["answers"] == {"Which one?": "Deny"}


def test_an_answer_can_be_typed() -> None:
    table = Table()
    request = table.open(question())
    table.prompt(request, table.tap(request, "Other…"))
    effects = table.reply("Mauve", to=30)
    assert Retract(Copy(ADA.chat_id, 30)) in effects and not replies(effects)
    table.prompt(request, table.tap(request, "Other…"), message=31)
    table.reply("XXL", to=31)
    assert "Other: XXL" in table.labels(request)
    table.tap(request, "☐ 1. S")
    assert decided(table.tap(request, "Done")).updated_input["answers"] == {
        "Which one?": "Mauve",
        "Which sizes?": "S, XXL",
    }


def test_a_reply_to_the_card_answers_the_question_on_it() -> None:
    table = Table()
    table.open(question(tool_input={"questions": QUESTIONS["questions"][:1]}))
    assert decided(table.reply("yes")).updated_input["answers"] == {"Which one?": "yes"}


def test_a_typed_answer_counts_for_its_own_question_only() -> None:
    table = Table()
    request = table.open(question())
    table.prompt(request, table.tap(request, "Other…"))
    table.tap(request, "1. Red")
    assert "gone on" in said(table.reply("Mauve", to=30))
    assert table.card(request).draft.given[0].picks == (0,)


def test_a_button_of_the_question_before_changes_nothing() -> None:
    table = Table()
    request = table.open(question())
    old = table.choice(request, "1. Red")
    table.tap(request, "1. Red")
    before = table.card(request)
    assert told(table.press(request, old)) == CHANGED
    assert table.card(request) == before


def test_the_same_check_mark_tapped_twice_is_not_taken_back() -> None:
    """The second tap was on the button that said ☐: a nervous thumb must not undo what it did."""
    table = Table()
    request = table.open(question())
    table.tap(request, "1. Red")
    unchecked = table.choice(request, "☐ 2. M")
    table.press(request, unchecked)
    assert told(table.press(request, unchecked)) == CHANGED
    assert "☑ 2. M" in table.labels(request)


def test_skipping_is_a_deny_with_a_sentence() -> None:
    table = Table()
    request = table.open(question())
    table.tap(request, "1. Red")
    decision = decided(table.tap(request, "Skip all"))
    assert (decision.verdict, decision.interrupt) == (Verdict.DENY, False) and "skipped" in decision.message


def test_questions_that_were_not_shown_whole_can_be_skipped_but_not_answered() -> None:
    table = Table()
    request = table.open(question(), fits=False)
    assert table.labels(request) == ["Show all of it", "Skip all", "Skip all and stop"]
    table.desk.handle(WholePosted(request.id, ADA.chat_id), at(2))
    assert "1. Red" in table.labels(request)


def test_what_was_answered_so_far_is_not_recorded() -> None:
    """The next run could not tell it from what somebody else wrote into the journal."""
    table = Table()
    request = table.open(question())
    assert not [effect for effect in table.tap(request, "1. Red") if isinstance(effect, Record)]


# Edits


def edited(table: Table, text: str, request: Request | None = None) -> Request:
    request = request or table.open(make_request())
    table.prompt(request, table.tap(request, "Edit…"))
    table.reply(text, to=30)
    return request


def test_a_changed_command_runs_after_a_second_tap_and_keeps_every_other_field() -> None:
    table = Table()
    tool_input = {"command": "npm test", "description": "Run the tests", "timeout": 1000}
    request = table.open(make_request(tool_input=tool_input))
    effects = table.tap(request, "Edit…")
    assert not replies(effects) and told(effects) == "Reply to the message below."
    table.prompt(request, effects)
    effects = table.reply("npm test -- --bail", to=30)
    assert not replies(effects), "nothing runs before the second tap"
    assert table.labels(request) == [
        "Run it as edited",
        "Edit…",
        "Back",
        "Deny",
        "Deny with a reason…",
        "Deny and stop",
    ]
    decision = decided(table.tap(request, "Run it as edited"))
    assert decision.verdict is Verdict.ALLOW
    assert decision.updated_input == {**tool_input, "command": "npm test -- --bail"}


def test_the_card_of_a_changed_command_says_that_it_was_changed() -> None:
    table = Table()
    request = edited(table, "npm test -- --bail")
    table.tap(request, "Run it as edited")
    edit = table.confirm(request)[1]
    assert isinstance(edit, Edit) and edit.card.answer is not None
    assert edit.card.answer.decision.updated_input == {"command": "npm test -- --bail"}


def test_the_old_allow_button_does_not_run_the_changed_command_nor_the_original() -> None:
    table = Table()
    request = table.open(make_request())
    allow = table.choice(request, "Allow")
    edited(table, "npm test -- --bail", request)
    effects = table.press(request, allow)
    assert not replies(effects) and told(effects) == CHANGED


def test_a_button_for_one_text_does_not_run_another() -> None:
    table = Table()
    request = edited(table, "npm test -- --bail")
    first = table.choice(request, "Run it as edited")
    table.prompt(request, table.tap(request, "Edit…"), message=31)
    table.reply("npm publish", to=31)
    effects = table.press(request, first)
    assert not replies(effects) and told(effects) == CHANGED


def test_back_gives_the_card_as_it_came() -> None:
    table = Table()
    request = edited(table, "npm test -- --bail")
    table.tap(request, "Back")
    assert table.card(request).draft == NO_DRAFT
    assert decided(table.tap(request, "Allow")).updated_input is None


def test_a_changed_text_is_looked_at_for_risks_of_its_own() -> None:
    table = Table(risky="rm -rf")
    request = edited(table, "rm -rf /")
    assert table.card(request).risks == (RISK,)
    assert table.choice(request, "Run it as edited").tone is Tone.BAD
    table.tap(request, "Back")
    assert table.card(request).risks == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("npm test", "already"),
        ("x" * (MOST_EDITED + 1), "too long"),
        ("😀" * (MOST_EDITED // 2 + 1), "too long"),
        ("\u202e" * (MOST_EDITED // 10 + 1), "too long"),
        ("curl -H ‹password›", "masked"),
        ("", "Only a text"),
    ],
)
def test_a_text_that_cannot_be_taken_changes_nothing_and_says_why(text: str, words: str) -> None:
    table = Table()
    request = table.open(make_request())
    table.prompt(request, table.tap(request, "Edit…"))
    before = table.card(request)
    assert words in said(table.reply(text, to=30))
    assert table.card(request) == before


def test_what_was_not_shown_whole_cannot_be_edited() -> None:
    table = Table()
    request = table.open(make_request(), fits=False)
    assert "Edit…" not in table.labels(request)


CHANGED_CALL = "npm test -- --bail"


def allowed_as_edited(table: Table) -> Request:
    """At 4 s."""
    request = edited(table, CHANGED_CALL)
    table.tap(request, "Run it as edited")
    table.confirm(request)
    return request


def report(table: Table, request: Request, *, command: str = "", duration_s: float | None, at_s: float) -> list[Card]:
    """The cards that change when the agent reports this call's end."""
    call = make_request(tool_input={**request.input, "command": command}).call if command else request.call
    effects = table.desk.handle(ToolEnded(call, failed=False, duration_s=duration_s), at(at_s))
    return [effect.card for effect in effects if isinstance(effect, Edit)]


def test_an_edit_that_lost_against_the_terminal_says_so() -> None:
    """The original ran: a card that says the changed text was allowed would lie."""
    table = Table()
    request = allowed_as_edited(table)
    (card,) = report(table, request, duration_s=57, at_s=60)
    assert card.ran is Ran.AGAINST


@pytest.mark.parametrize("duration_s", [0.5, None])
def test_an_edit_that_ran_stands(duration_s: float | None) -> None:
    """The agent reports the call with the text that it ran with."""
    table = Table()
    request = allowed_as_edited(table)
    assert report(table, request, command=CHANGED_CALL, duration_s=duration_s, at_s=60) == []
    assert table.card(request).ran is Ran.OK


@pytest.mark.parametrize("heard", [True, False], ids=["its own report came", "its own report is missing"])
@pytest.mark.parametrize("duration_s", [0.5, None])
def test_the_original_call_later_on_does_not_make_an_edit_a_lie(heard: bool, duration_s: float | None) -> None:
    table = Table()
    request = allowed_as_edited(table)
    if heard:
        report(table, request, command=CHANGED_CALL, duration_s=0.1, at_s=5)
    assert report(table, request, duration_s=duration_s, at_s=60) == []
    assert table.card(request).ran is (Ran.OK if heard else Ran.UNKNOWN)


def test_the_original_asked_again_takes_its_own_report() -> None:
    table = Table()
    first = allowed_as_edited(table)
    second = table.open(make_request(2), message=20)
    (card,) = report(table, first, duration_s=0.5, at_s=10)
    assert card.request.id == second.id and card.outcome is Outcome.TERMINAL_ALLOWED
    assert table.card(first).ran is Ran.UNKNOWN


def test_a_rule_whose_call_had_begun_before_the_tap_was_not_written_by_it() -> None:
    table = Table()
    request = table.open(make_request())
    table.tap(request, "Always allow `npm test *` in this project")  # at 2 s
    table.confirm(request)
    effects = table.desk.handle(ToolEnded(request.call, failed=False, duration_s=59.5), at(60))
    assert [effect.card.ran for effect in effects if isinstance(effect, Edit)] == [Ran.AGAINST]


def test_a_rule_whose_call_began_after_the_tap_stands() -> None:
    table = Table()
    request = table.open(make_request())
    table.tap(request, "Always allow `npm test *` in this project")
    table.confirm(request)
    assert not [
        effect
        for effect in table.desk.handle(ToolEnded(request.call, failed=False, duration_s=50), at(60))
        if isinstance(effect, Edit)
    ]


def test_codex_offers_no_edit_and_no_stop() -> None:
    table = Table()
    request = table.open(make_request(agent="codex", suggestions=()))
    assert table.labels(request) == ["Allow", "Deny", "Deny with a reason…", "Ask at the terminal"]


# Suggestions and risks


def test_a_lasting_rule_is_also_offered_for_this_session_only() -> None:
    table = Table()
    request = table.open(make_request())
    decision = decided(table.tap(request, "Always allow `npm test *` in this session"))
    assert decision.updates == ({**SUGGESTION, "destination": "session"},)


def test_a_risk_makes_allow_a_warning_and_takes_standing_permissions_out_of_one_taps_reach() -> None:
    table = Table()
    request = table.open(make_request(), risks=(RISK,))
    assert table.choice(request, "Allow").tone is Tone.BAD
    effects = table.tap(request, "Always allow `npm test *` in this project…")
    assert not replies(effects)
    assert table.labels(request)[:2] == ["Yes: Always allow `npm test *` in this project", "Back"]
    assert decided(table.tap(request, table.labels(request)[0])).updates == (SUGGESTION,)


def test_a_risk_never_decides() -> None:
    table = Table()
    request = table.open(make_request(), risks=(RISK,))
    assert decided(table.tap(request, "Allow")).verdict is Verdict.ALLOW


@pytest.mark.parametrize("mode", ["bypassPermissions", "dontAsk", "auto"])
def test_no_single_tap_makes_the_agent_stop_asking(mode: str) -> None:
    table = Table()
    entry = {"type": "setMode", "mode": mode, "destination": "session"}
    request = table.open(make_request(suggestions=(entry,)))
    (choice,) = (choice for choice in table.card(request).choices if choice.key == "s0")
    assert choice.action is Action.CONFIRM and not replies(table.press(request, choice))
    assert decided(table.tap(request, table.labels(request)[0])).updates == (entry,)


def test_a_yes_of_one_second_look_does_not_fit_another() -> None:
    table = Table()
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    request = table.open(make_request(suggestions=(SUGGESTION, mode)), risks=(RISK,))
    table.tap(request, "Accept edits in this session…")
    yes = table.choice(request, "Yes: Accept edits in this session")
    table.tap(request, "Back")
    table.tap(request, "Always allow `npm test *` in this project…")
    effects = table.press(request, yes)
    assert not replies(effects) and told(effects) == CHANGED


# Several at once


def reads(table: Table, count: int, **more: Any) -> list[Request]:
    return [
        table.open(
            make_request(n, tool="Read", tool_input={"file_path": f"/srv/{n}"}, suggestions=(), **more), message=n * 10
        )
        for n in range(1, count + 1)
    ]


def retold(effects: list[Effect]) -> dict[str, bool]:
    """The requests whose cards are edited, and whether that can wait for quieter moments."""
    return {effect.card.request.id: effect.idle for effect in effects if isinstance(effect, Edit)}


def test_cards_that_can_be_allowed_together_are_told_of_it_and_no_others() -> None:
    table = Table()
    one, two, three = reads(table, 3)
    risky = table.open(make_request(8, tool="Read", suggestions=()), risks=(RISK,), message=80)
    elsewhere = table.open(make_request(9, tool="Read", suggestions=(), session="other"), message=90)
    assert [table.labels(request)[-1] for request in (one, two, three)] == ["Allow these 3…"] * 3
    effects = table.tap(one, "Deny")
    assert retold(effects) == {one.id: False, two.id: True, three.id: True}
    assert [table.labels(request)[-1] for request in (two, three)] == ["Allow these 2…"] * 2
    effects = table.tap(two, "Deny", message=20)
    assert retold(effects) == {two.id: False, three.id: True}
    assert not any("these" in label for one in (three, risky, elsewhere) for label in table.labels(one))


def test_of_a_list_that_is_too_long_nobody_is_told_the_length() -> None:
    """One more or one less than can be read at once changes no card, however many there are."""
    table = Table()
    requests = reads(table, 10)
    more = [make_request(n, tool="Read", suggestions=()) for n in range(11, 14)]
    edits = []
    for request in more:
        table.desk.handle(Asked(request), at(1))
        card = Copy(ADA.chat_id, int(request.id, 16) * 10)
        edits.append(retold(table.desk.handle(Posted(request.id, card, 0), at(1))))
    assert edits == [dict.fromkeys([request.id for request in requests], True), {}, {}]
    assert retold(table.tap(more[0], "Deny", message=110)) == {more[0].id: False}
    assert retold(table.tap(more[1], "Deny", message=120)) == {more[1].id: False}
    back = retold(table.tap(more[2], "Deny", message=130))
    assert back == {more[2].id: False, **dict.fromkeys([request.id for request in requests], True)}


def test_several_harmless_ones_are_listed_and_then_allowed_together() -> None:
    table = Table()
    requests = reads(table, 3)
    effects = table.tap(requests[1], "Allow these 3…", message=20)
    assert not replies(effects), "first they are listed"
    card = table.card(requests[1])
    assert [request.id for request in card.listed] == [request.id for request in requests]
    assert [choice.label for choice in card.choices] == ["Allow all 3", "Back"]
    effects = table.tap(requests[1], "Allow all 3", message=20)
    assert [(reply.request.id, reply.decision.verdict) for reply in replies(effects)] == [
        (request.id, Verdict.ALLOW) for request in requests
    ]
    assert len([effect for effect in effects if isinstance(effect, AnswerTap)]) == 1


def test_a_list_that_is_no_longer_true_allows_nothing() -> None:
    table = Table()
    requests = reads(table, 3)
    table.tap(requests[0], "Allow these 3…")
    all_three = table.choice(requests[0], "Allow all 3")
    table.tap(requests[2], "Deny", message=30)
    effects = table.press(requests[0], all_three)
    assert not replies(effects) and "look again" in told(effects)
    assert table.labels(requests[0]) == ["Allow all 2", "Back"]


def test_a_request_that_came_after_the_list_is_not_allowed_with_it() -> None:
    table = Table()
    requests = reads(table, 2)
    table.tap(requests[0], "Allow these 2…")
    both = table.choice(requests[0], "Allow all 2")
    late = table.open(make_request(9, tool="Read", tool_input={"file_path": "/etc/shadow"}, suggestions=()), message=90)
    effects = table.press(requests[0], both)
    assert not replies(effects) and table.card(late).phase is Phase.OPEN


@pytest.mark.parametrize("odd", ["risky", "unseen", "other session", "question"])
def test_what_is_not_harmless_or_not_of_the_session_is_not_on_the_list(odd: str) -> None:
    table = Table()
    reads(table, 2)
    name = "session-2" if odd == "other session" else "session-1"
    request = make_request(3, tool="Read", tool_input={"file_path": "/srv/3"}, suggestions=(), session=name)
    if odd == "question":
        request = question(3)
    table.open(request, risks=(RISK,) if odd == "risky" else (), fits=odd != "unseen", message=30)
    assert not [label for label in table.labels(request) if label.startswith("Allow these")]
    assert "Allow these 2…" in table.labels(make_request(1))


# Replies to a card


@pytest.mark.parametrize("text", ["y", "Yes", "OK", "ok.", "👍", "👍🏽", " yes! "])
def test_a_yes_in_reply_to_a_card_allows(text: str) -> None:
    table = Table()
    table.open(make_request())
    decision = decided(table.reply(text))
    assert (decision.verdict, decision.updates, decision.updated_input) == (Verdict.ALLOW, (), None)


@pytest.mark.parametrize("text", ["n", "No", "👎", "👎🏿"])
def test_a_no_in_reply_to_a_card_denies(text: str) -> None:
    table = Table()
    table.open(make_request())
    assert decided(table.reply(text)).verdict is Verdict.DENY


@pytest.mark.parametrize("text", ["use pnpm", "yes, but with --bail", "okay then", "y?", "no, use pnpm", "👍👎"])
def test_any_other_text_in_reply_to_a_card_is_the_reason_for_a_no(text: str) -> None:
    table = Table()
    table.open(make_request())
    decision = decided(table.reply(text))
    assert (decision.verdict, decision.message) == (Verdict.DENY, text)


@pytest.mark.parametrize("to", [0, 9, 11, 999])
def test_a_message_that_replies_to_no_card_means_nothing(to: int) -> None:
    table = Table()
    request = table.open(make_request())
    before = table.card(request)
    assert table.reply("yes", to=to) == [] and table.card(request) == before


def test_a_yes_does_not_allow_what_was_not_shown_whole() -> None:
    table = Table()
    request = table.open(make_request(), fits=False)
    assert "Show all of it" in said(table.reply("yes"))
    assert table.card(request).phase is Phase.OPEN


def test_a_yes_does_not_take_a_second_step() -> None:
    table = Table()
    request = edited(table, "npm test -- --bail")
    assert "tap the button" in said(table.reply("yes"))
    assert table.card(request).phase is Phase.OPEN


def test_a_strangers_reply_and_one_from_another_chat_mean_nothing() -> None:
    table = Table(ADA, BOB)
    request = table.open(make_request())
    assert table.reply("yes", person=Person(6666, ADA.chat_id, "Mallory")) == []
    assert table.reply("yes", person=replace(BOB, chat_id=ADA.chat_id)) == []
    assert table.card(request).phase is Phase.OPEN


def test_the_same_reply_delivered_twice_answers_once() -> None:
    table = Table()
    request = table.open(question())
    reply = Replied(ADA.user_id, ADA.chat_id, 500, 10, "Mauve")
    table.desk.handle(reply, at(2))
    assert table.desk.handle(reply, at(3)) == []
    assert table.card(request).draft.at == 1, "and not the next question as well"


def test_a_plan_is_revised_by_a_reply() -> None:
    table = Table()
    table.open(make_request(tool="ExitPlanMode", tool_input={"plan": "1. Do"}, suggestions=()))
    decision = decided(table.reply("Do it in two steps"))
    assert (decision.verdict, decision.message) == (Verdict.DENY, "Do it in two steps")


# Roles


APPROVER = replace(BOB, role=Role.APPROVER)
VIEWER = replace(BOB, role=Role.VIEWER)


def test_an_approver_allows_once_and_is_offered_nothing_that_lasts() -> None:
    table = Table(ADA, APPROVER)
    request = table.open(make_request())
    assert table.labels(request, BOB.chat_id) == ["Allow", "Deny", "Edit…", "Deny with a reason…", "Deny and stop"]
    assert decided(table.tap(request, "Allow", person=APPROVER, message=11)).verdict is Verdict.ALLOW


def test_an_approver_cannot_take_an_owners_button() -> None:
    table = Table(ADA, APPROVER)
    request = table.open(make_request())
    always = table.choice(request, "Always allow `npm test *` in this project")
    effects = table.press(request, always, person=APPROVER, message=11)
    assert not replies(effects) and told(effects) == ONCE_ONLY


def test_an_approver_cannot_finish_an_owners_second_look() -> None:
    table = Table(ADA, APPROVER)
    request = table.open(make_request(), risks=(RISK,))
    table.tap(request, "Always allow `npm test *` in this project…")
    yes = table.choice(request, "Yes: Always allow `npm test *` in this project")
    assert "Yes: Always allow `npm test *` in this project" not in table.labels(request, BOB.chat_id)
    effects = table.press(request, yes, person=APPROVER, message=11)
    assert not replies(effects)


def test_in_a_group_an_approver_sees_the_owners_buttons_and_is_refused() -> None:
    owner, approver = replace(ADA, chat_id=GROUP_ID), replace(APPROVER, chat_id=GROUP_ID)
    table = Table(owner, approver)
    request = table.open(make_request())
    effects = table.tap(request, "Always allow `npm test *` in this project", person=approver, message=11)
    assert not replies(effects) and told(effects) == ONCE_ONLY


def test_a_viewer_has_no_buttons_and_no_say() -> None:
    table = Table(ADA, VIEWER)
    request = table.open(make_request())
    assert table.labels(request, BOB.chat_id) == []
    effects = table.press(request, table.choice(request, "Allow"), person=VIEWER, message=11)
    assert not replies(effects) and told(effects) == LOOK_ONLY
    assert said(table.reply("yes", to=11, person=VIEWER)) == LOOK_ONLY
    assert table.card(request).phase is Phase.OPEN


# Back to the terminal


def test_a_released_request_has_no_opinion_and_its_card_says_who() -> None:
    table = Table()
    request = table.open(make_request(agent="codex", suggestions=()))
    effects = table.tap(request, "Ask at the terminal")
    assert decided(effects).verdict is Verdict.NONE
    assert [type(effect) for effect in effects] == [Record, Reply, AnswerTap, Edit]
    card = table.card(request)
    assert (card.outcome, card.detail) == (Outcome.RELEASED, "by Ada")


def test_of_an_agent_that_may_have_no_terminal_it_is_not_said_that_it_asks_there() -> None:
    """Headless, Claude Code denies what nobody answers."""
    table = Table()
    request = make_request(agent_id="a1")
    attended = table.open(request)
    assert told(table.tap(attended, "Ask at the terminal")) == "The agent asks at the terminal."
    unattended = replace(make_request(2, agent_id="a1"), caller=replace(request.caller, attended=False))
    table.open(unattended, message=20)
    effects = table.press(unattended, table.choice(unattended, "Ask at the terminal"), message=20)
    assert told(effects) == "The agent asks at the terminal, if it has one."


def test_a_subagents_request_can_be_released_and_the_main_threads_has_its_dialog_open() -> None:
    table = Table()
    assert "Ask at the terminal" in table.labels(table.open(make_request(agent_id="a1")))
    assert "Ask at the terminal" not in table.labels(table.open(make_request(2, session="s2"), message=20))


def test_how_long_a_request_is_held_depends_on_what_it_is() -> None:
    desk = Desk((ADA,), hold_s=590, hold_of=lambda request: 30.0 if request.call.agent_id else 1000.0)
    request = make_request(1, agent_id="a1")
    desk.handle(Asked(request), at(0))
    desk.handle(Posted(request.id, Copy(ADA.chat_id, 10), 0), at(0))
    assert desk.next_deadline() == at(30).mono
    desk = Desk((ADA,), hold_s=590, hold_of=lambda request: 30.0 if request.call.agent_id else 1000.0)
    desk.handle(Asked(make_request(1)), at(0))
    assert desk.next_deadline() == at(590).mono


def test_a_prompt_is_remembered_with_its_purpose() -> None:
    table = Table()
    request = table.open(make_request())
    effects = table.tap(request, "Edit…")
    (asked,) = (effect for effect in effects if isinstance(effect, AskText))
    assert asked.prompt == Prompt(ADA.user_id, Action.ASK_EDIT, 0)


# What reads like something else


def test_an_option_called_skip_that_was_chosen_is_an_answer_and_no_skipping() -> None:
    table = Table()
    question = {"question": "What about the failing test?", "options": [{"label": "Skip"}, {"label": "Fix"}]}
    request = table.open(make_request(tool="AskUserQuestion", tool_input={"questions": [question]}, suggestions=()))
    assert decided(table.tap(request, "1. Skip")).verdict is Verdict.ALLOW
    table.confirm(request)
    assert ended(table.card(request)) == "Answered “Skip” by Ada"


def test_an_edited_text_keeps_the_line_break_at_the_end_that_no_message_can_have() -> None:
    """Without it the line behind the edit would be joined to it."""
    table = Table()
    fields = {"file_path": "/home/dev/shop/a.py", "old_string": "x = 1\n", "new_string": "x = 2\n"}
    request = table.open(make_request(tool="Edit", tool_input=fields, suggestions=()))
    table.prompt(request, table.tap(request, "Edit…"))
    table.reply("x = 3", to=30)
    assert decided(table.tap(request, "Allow it as edited")).updated_input == {**fields, "new_string": "x = 3\n"}


@pytest.mark.parametrize(
    "text",
    [
        "echo a" + "\u20dd" * 1400,  # a mark that stands on its own is spelled out
        " ".join(["pwd=a1x"] * 180),  # a mask is longer than what it hides
    ],
)
def test_a_text_that_needs_more_room_than_it_seems_is_not_taken(text: str) -> None:
    assert len(text) < MOST_EDITED
    table = Table()
    request = table.open(make_request())
    table.prompt(request, table.tap(request, "Edit…"))
    assert "too long for a card" in said(table.reply(text, to=30))
    assert table.card(request).draft == NO_DRAFT


def test_a_yes_that_was_meant_for_the_edited_text_does_not_allow_the_original() -> None:
    """A reply carries no seal. Ada reads the edit and says yes while Bob takes it back."""
    table = Table(replace(ADA, chat_id=GROUP_ID), replace(BOB, chat_id=GROUP_ID))
    ada, bob = replace(ADA, chat_id=GROUP_ID), replace(BOB, chat_id=GROUP_ID)
    request = table.open(make_request(), message=10)
    table.prompt(request, table.tap(request, "Edit…", person=ada, message=11))
    table.reply("ls", to=30, person=ada)
    table.tap(request, "Back", person=bob, message=11)
    effects = table.reply("yes", to=11, person=ada)
    assert replies(effects) == [] and "just changed" in effects[0].text  # type: ignore[union-attr]
    found = table.desk.cases.by_id[request.id]
    table.desk.handle(Edited(request.id, Copy(GROUP_ID, 11), found.version), at(table.seconds))
    assert decided(table.reply("yes", to=11, person=ada)).verdict is Verdict.ALLOW


def test_an_answer_that_was_typed_for_the_last_question_is_not_taken_for_the_next() -> None:
    table = Table()
    request = table.open(make_request(tool="AskUserQuestion", tool_input=QUESTIONS, suggestions=()))
    table.tap(request, "1. Red")
    assert "just changed" in table.reply("Green", to=10)[0].text  # type: ignore[union-attr]
    assert "Green" not in str(table.card(request).draft)


def test_an_edited_text_keeps_the_indentation_of_what_it_replaces() -> None:
    """Telegram takes blanks off both ends of a message, and in Python that would be another program."""
    table = Table()
    tool_input = {"file_path": "/home/dev/shop/a.py", "old_string": "    x = 1\n", "new_string": "    x = 2\n"}
    request = table.open(make_request(tool="Edit", tool_input=tool_input, suggestions=()))
    table.prompt(request, table.tap(request, "Edit…"))
    table.reply("x = 3\n    y = 4", to=30)
    assert table.card(request).draft.text == "    x = 3\n    y = 4\n"
