"""What the desk makes of edits that Telegram refuses: only what is confirmed to stand on a phone counts there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapgate.desk.answers import CHANGED, JUST_CHANGED, REPLACED
from tapgate.desk.cases import MOST_COPIES
from tapgate.desk.effects import AskText, CopyEntry, Edit, Effect, Post, Record, Say, ShownEntry, Withdraw
from tapgate.desk.events import (
    Asked,
    CallerConfirmed,
    CopyGone,
    Edited,
    EditRefused,
    Event,
    Posted,
    PostFailed,
    PromptPosted,
    SessionEnded,
    Ticked,
    Withdrawn,
)
from tapgate.desk.retries import FIRST_S, LONGEST_S, Retries
from tapgate.model import Context, Copy, OnDisk, Outcome, Phase, Request, Verdict
from tests.builders import ADA, BOB, GROUP_ID, at, make_request
from tests.desk.test_answers import CARD, QUESTIONS, RISK, Table, decided, question, replies, told

NEW = Copy(ADA.chat_id, 20)


def happen(table: Table, event: Event, seconds: float | None = None) -> list[Effect]:
    return table.desk.handle(event, at(table.seconds if seconds is None else seconds))


def version(table: Table, request: Request) -> int:
    return table.desk.cases.by_id[request.id].version


def refuse(table: Table, request: Request, copy: Copy = CARD, *, seconds: float | None = None) -> list[Effect]:
    return happen(table, EditRefused(request.id, copy, version(table, request)), seconds)


def posts(effects: list[Effect]) -> list[Post]:
    return [effect for effect in effects if isinstance(effect, Post)]


def withdrawals(effects: list[Effect]) -> list[Copy]:
    return [effect.copy for effect in effects if isinstance(effect, Withdraw)]


def shown(effects: list[Effect]) -> list[Copy]:
    """The copies that are recorded as needing nothing more."""
    return [e.entry.copy for e in effects if isinstance(e, Record) and isinstance(e.entry, ShownEntry)]


def read(number: int) -> Request:
    return make_request(number, tool="Read", tool_input={"file_path": f"/etc/{number}"}, suggestions=())


def went_on(table: Table) -> Request:
    """A form at its second question, which the phone does not show: the edit was refused."""
    request = table.open(question())
    table.tap(request, "1. Red")
    refuse(table, request)
    return request


# A new message


def test_a_refused_edit_of_an_open_card_becomes_a_new_message_in_the_same_chat() -> None:
    table = Table(ADA, BOB)
    request = table.open(question())
    table.tap(request, "1. Red")
    (post,) = posts(refuse(table, request))
    assert (post.chats, post.reply_to, post.is_silent) == ((ADA.chat_id,), CARD.message_id, False)
    assert post.card == table.card(request)


def test_a_refused_edit_of_a_settled_card_becomes_a_silent_message() -> None:
    table = Table()
    request = table.open(make_request())
    happen(table, SessionEnded("session-1", "exit"))
    (post,) = posts(refuse(table, request))
    assert post.is_silent and post.card.phase is Phase.SETTLED


def test_one_state_of_a_card_is_sent_anew_once() -> None:
    table = Table()
    request = went_on(table)
    assert not posts(refuse(table, request))
    table.tap(request, "☐ 1. S")
    assert posts(refuse(table, request)), "the next state again"


def test_what_is_only_being_sent_waits_for_its_end() -> None:
    table = Table()
    request = table.open(make_request())
    table.tap(request, "Allow")
    assert not posts(refuse(table, request))
    happen(table, CallerConfirmed(request.id))
    assert posts(refuse(table, request))


def test_a_refusal_that_is_out_of_date_or_about_nothing_much_changes_nothing() -> None:
    table = Table()
    request = table.open(make_request())
    assert happen(table, EditRefused(request.id, CARD, 0)) == [], "only its place among the others"
    table.prompt(request, table.tap(request, "Edit…"))
    table.reply("ls", to=30)
    assert happen(table, EditRefused(request.id, CARD, 0)) == [], "a newer one is on its way"
    assert happen(table, EditRefused(request.id, Copy(ADA.chat_id, 99), 1)) == [], "not a card"
    assert happen(table, EditRefused("0" * 32, CARD, 1)) == []
    assert table.desk.stale_copies() == 0


def test_a_bot_that_may_not_write_sends_no_new_message_and_tries_later() -> None:
    table = Table()
    request = table.open(make_request())
    happen(table, SessionEnded("session-1", "exit"))
    assert happen(table, EditRefused(request.id, CARD, version(table, request), is_blocked=True)) == []
    assert table.desk.stale_copies() == 1


def test_a_form_on_which_no_edit_ever_succeeds_sends_no_endless_row_of_messages() -> None:
    table = Table()
    request = went_on(table)
    sent = 1
    for number in range(3 * MOST_COPIES):
        new = Copy(ADA.chat_id, 100 + number)
        happen(table, Posted(request.id, new, version(table, request)))
        table.tap(request, "☐ 1. S" if number % 2 == 0 else "☑ 1. S", message=new.message_id)
        sent += len(posts(refuse(table, request, new)))
    assert MOST_COPIES // 2 < sent <= MOST_COPIES


# The old one


def test_the_old_message_is_withdrawn_once_the_new_one_stands() -> None:
    table = Table()
    request = went_on(table)
    effects = happen(table, Posted(request.id, NEW, version(table, request)))
    assert withdrawals(effects) == [CARD]
    assert any(isinstance(effect, Record) and isinstance(effect.entry, CopyEntry) for effect in effects)
    happen(table, Withdrawn(request.id, CARD))
    assert table.desk.stale_copies() == 0
    assert {
        copy
        for effect in table.tap(request, "☐ 1. S", message=20)
        if isinstance(effect, Edit)
        for copy in effect.copies
    } == {NEW}


def test_a_copy_that_could_be_edited_is_not_withdrawn_for_another_one() -> None:
    """After a send that timed out there may be two, and both are right."""
    table = Table()
    request = table.open(make_request())
    assert withdrawals(happen(table, Posted(request.id, NEW, 0))) == []


def test_an_old_message_that_cannot_be_withdrawn_is_neither_replaced_nor_edited_again() -> None:
    table = Table()
    request = went_on(table)
    happen(table, Posted(request.id, NEW, version(table, request)))
    edits = [effect for effect in table.tap(request, "☐ 1. S", message=20) if isinstance(effect, Edit)]
    assert [edit.copies for edit in edits] == [(NEW,)]
    assert not posts(refuse(table, request, CARD))


def test_what_was_withdrawn_needs_nothing_more_once_the_request_has_ended() -> None:
    table = Table()
    request = went_on(table)
    happen(table, Posted(request.id, NEW, version(table, request)))
    assert shown(happen(table, Withdrawn(request.id, CARD))) == [], "still open"
    assert shown(happen(table, SessionEnded("session-1", "exit"))) == [CARD]


def test_a_settled_card_that_was_replaced_needs_nothing_more() -> None:
    table = Table()
    request = table.open(make_request())
    happen(table, SessionEnded("session-1", "exit"))
    refuse(table, request)
    happen(table, Posted(request.id, NEW, version(table, request)))
    assert shown(happen(table, Withdrawn(request.id, CARD))) == [CARD]


# What counts meanwhile


def test_a_text_under_a_card_that_stayed_behind_answers_nothing() -> None:
    table = Table()
    request = went_on(table)
    say = table.reply("Yes, all of them")[0]
    assert isinstance(say, Say) and say.text == JUST_CHANGED
    assert "all of them" not in str(table.card(request).draft)


def test_a_text_under_a_replaced_card_is_sent_to_the_new_one_and_a_no_is_heard() -> None:
    table = Table()
    request = table.open(make_request())
    table.prompt(request, table.tap(request, "Edit…"))
    table.reply("ls", to=30)
    refuse(table, request)
    table.tap(request, "Back")
    refuse(table, request)
    happen(table, Posted(request.id, NEW, version(table, request)))
    happen(table, Withdrawn(request.id, CARD))
    say = table.reply("yes", to=CARD.message_id)[0]
    assert isinstance(say, Say) and say.text == REPLACED
    assert decided(table.reply("no", to=CARD.message_id)).verdict is Verdict.DENY


def test_a_text_under_the_new_message_counts() -> None:
    table = Table()
    request = went_on(table)
    happen(table, Posted(request.id, NEW, version(table, request)))
    table.reply("XXL", to=NEW.message_id)
    assert table.card(request).draft.given[1].typed == "XXL"


def test_a_text_in_another_chat_counts_for_what_stands_there() -> None:
    table = Table(ADA, BOB)
    request = went_on(table)
    happen(table, Edited(request.id, Copy(BOB.chat_id, 11), version(table, request)))
    table.reply("XXL", to=11, person=BOB)
    assert table.card(request).draft.given[1].typed == "XXL"


def test_an_answer_to_a_prompt_counts_only_where_the_answers_before_it_are_shown_as_they_are() -> None:
    """Ada was asked for a text to the last question. Before she writes it, Bob changes the answer to the first one."""
    both = {"questions": [QUESTIONS["questions"][0], {**QUESTIONS["questions"][1], "multiSelect": False}]}
    table = Table(ADA, BOB)
    request = table.open(question(tool_input=both))
    table.tap(request, "1. Red")
    table.prompt(request, table.tap(request, "Other…"))
    table.tap(request, "Back", person=BOB, message=11)
    table.tap(request, "2. Deny", person=BOB, message=11)
    refuse(table, request)
    effects = table.reply("Mauve", to=30)
    assert replies(effects) == [] and isinstance(effects[0], Say) and effects[0].text == JUST_CHANGED
    table.show(request)
    assert decided(table.reply("Mauve", to=30)).updated_input["answers"] == {
        "Which one?": "Deny",
        "Which sizes?": "Mauve",
    }


def test_a_prompt_that_could_not_be_deleted_takes_no_text_for_another_question() -> None:
    table = Table()
    request = table.open(question())
    effects = table.tap(request, "Other…")
    (asked,) = (effect for effect in effects if isinstance(effect, AskText))
    happen(table, PromptPosted(request.id, Copy(ADA.chat_id, 30), asked.prompt))
    table.reply("Mauve", to=30)
    table.show(request)
    before = table.card(request).draft
    assert replies(table.reply("Drop it", to=30)) == [] and table.card(request).draft == before


# Buttons


def test_done_sends_only_the_options_that_its_card_showed() -> None:
    table = Table(ADA, BOB)
    request = table.open(question())
    table.tap(request, "1. Red")
    table.tap(request, "☐ 1. S")
    done = table.choice(request, "Done")
    table.tap(request, "☐ 2. M", person=BOB, message=11)
    refuse(table, request)
    assert told(table.press(request, done)) == CHANGED
    assert decided(table.tap(request, "Done")).updated_input["answers"]["Which sizes?"] == "S, M"


def test_the_last_option_sends_only_the_answers_that_its_card_showed() -> None:
    both = {"questions": [QUESTIONS["questions"][0], {**QUESTIONS["questions"][1], "multiSelect": False}]}
    table = Table(ADA, BOB)
    request = table.open(question(tool_input=both))
    table.tap(request, "1. Red")
    small = table.choice(request, "1. S")
    table.tap(request, "Back", person=BOB, message=11)
    table.tap(request, "2. Deny", person=BOB, message=11)
    assert told(table.press(request, small)) == CHANGED
    assert decided(table.tap(request, "1. S")).updated_input["answers"] == {"Which one?": "Deny", "Which sizes?": "S"}


def test_check_marks_can_be_set_faster_than_the_card_shows_them() -> None:
    table = Table()
    request = table.open(question())
    table.tap(request, "1. Red")
    small, large = table.choice(request, "☐ 1. S"), table.choice(request, "☐ 3. L")
    table.press(request, small)
    table.press(request, large)
    assert table.card(request).draft.given[1].picks == (0, 2)


def test_the_fastest_tap_counts_before_telegram_has_confirmed_the_card() -> None:
    table = Table()
    request = make_request()
    happen(table, Asked(request))
    assert decided(table.tap(request, "Allow")).verdict is Verdict.ALLOW


def test_a_tap_on_allow_counts_although_a_later_state_is_on_its_way() -> None:
    """What would be allowed is the same: the card only says that tapgate was away."""
    table = Table()
    request = table.open(make_request())
    allow = table.choice(request, "Allow")
    table.desk.cases.by_id[request.id].version += 1
    assert decided(table.press(request, allow)).verdict is Verdict.ALLOW


def test_allow_does_not_count_on_a_card_that_does_not_name_the_risks_yet() -> None:
    """The caller came back, and the call is found risky now. The phone shows it without a risk."""
    table = Table()
    request = table.open(make_request())
    allow, deny = table.choice(request, "Allow"), table.choice(request, "Deny")
    effects = happen(table, Asked(request, risks=(RISK,)))
    assert [effect.copies for effect in effects if isinstance(effect, Edit)] == [(CARD,)]
    effects = table.press(request, allow)
    assert replies(effects) == [] and told(effects) == JUST_CHANGED
    assert any(isinstance(effect, Edit) and effect.copies == (CARD,) for effect in effects), "and shown again"
    table.show(request)
    assert decided(table.press(request, allow)).verdict is Verdict.ALLOW
    table = Table()
    request = table.open(make_request())
    happen(table, Asked(request, risks=(RISK,)))
    assert decided(table.press(request, deny)).verdict is Verdict.DENY, "a no is heard from any card"


@pytest.mark.parametrize(
    ("context", "is_shown"),
    [
        (Context(on_disk=OnDisk(at=2.0, added=1)), False),
        (Context(on_disk=OnDisk(at=1.0, added=5)), True),
        (Context(why="Because."), True),
    ],
)
def test_a_caller_that_comes_back_with_another_background_has_it_shown(context: Context, is_shown: bool) -> None:
    table = Table()
    request = make_request()
    happen(table, Asked(request, context=Context(on_disk=OnDisk(at=1.0, added=1))))
    happen(table, Posted(request.id, CARD, 0))
    effects = happen(table, Asked(request, context=context))
    assert any(isinstance(effect, Edit) for effect in effects) is is_shown
    effects = table.reply("yes")
    assert bool(replies(effects)) is not is_shown, "a yes waits until the phone shows it"


# Deleted messages


def test_a_request_whose_cards_are_all_deleted_is_posted_once_more() -> None:
    table = Table(ADA, BOB)
    request = table.open(make_request())
    assert happen(table, CopyGone(request.id, CARD)) == [], "Bob has his"
    (post,) = posts(happen(table, CopyGone(request.id, Copy(BOB.chat_id, 11))))
    assert post.chats == (ADA.chat_id, BOB.chat_id)
    for person, number in ((ADA, 30), (BOB, 31)):
        happen(table, Posted(request.id, Copy(person.chat_id, number), 0))
    assert replies(happen(table, CopyGone(request.id, Copy(ADA.chat_id, 30)))) == []
    effects = happen(table, CopyGone(request.id, Copy(BOB.chat_id, 31)))
    assert decided(effects).verdict is Verdict.NONE
    assert table.card(request).outcome is Outcome.NOT_SHOWN


def test_a_request_whose_new_message_is_deleted_while_the_old_one_is_withdrawn_is_posted_once_more() -> None:
    table = Table()
    request = went_on(table)
    happen(table, Posted(request.id, NEW, version(table, request)))
    assert not posts(happen(table, CopyGone(request.id, NEW))), "the old one still stands"
    assert len(posts(happen(table, Withdrawn(request.id, CARD)))) == 1


def test_a_deleted_card_that_is_not_open_any_more_is_let_go() -> None:
    table = Table()
    request = table.open(make_request())
    happen(table, SessionEnded("session-1", "exit"))
    effects = happen(table, CopyGone(request.id, CARD))
    assert shown(effects) == [CARD] and not posts(effects)
    assert happen(table, CopyGone(request.id, CARD)) == []


def test_a_deleted_card_is_no_card_to_allow_with_others_from() -> None:
    table = Table()
    one, two = (table.open(read(n), message=10 * n) for n in (1, 2))
    assert "Allow these 2…" in table.labels(one)
    happen(table, CopyGone(two.id, Copy(ADA.chat_id, 20)))
    assert "Allow these 2…" not in table.labels(one)


# Trying again


def test_a_refused_copy_is_tried_again_at_growing_intervals() -> None:
    table = Table()
    request = table.open(make_request())
    happen(table, SessionEnded("session-1", "exit"))
    refuse(table, request, seconds=0)
    happen(table, PostFailed(request.id, ADA.chat_id, "no"), 0)
    moment, waits = 0.0, []
    for _ in range(12):
        due = table.desk.next_deadline()
        assert due is not None
        waits.append(due - at(moment).mono)
        assert not happen(table, Ticked(), moment + waits[-1] - 0.001)
        moment += waits[-1]
        (edit,) = happen(table, Ticked(), moment)
        assert isinstance(edit, Edit) and edit.idle and edit.copies == (CARD,)
        assert len(posts(refuse(table, request, seconds=moment))) == 1, "and in every way"
        happen(table, PostFailed(request.id, ADA.chat_id, "no"), moment)
    assert waits[0] == FIRST_S and waits[-1] == LONGEST_S
    assert waits == sorted(waits)
    happen(table, Edited(request.id, CARD, version(table, request)))
    assert table.desk.next_deadline() is None and table.desk.stale_copies() == 0


def test_an_old_message_is_withdrawn_at_the_next_try() -> None:
    table = Table()
    request = went_on(table)
    happen(table, Posted(request.id, NEW, version(table, request)))
    assert withdrawals(happen(table, Ticked(), table.seconds + 4 * FIRST_S)) == [CARD]


def test_a_tap_on_a_card_that_stayed_behind_tries_at_once() -> None:
    table = Table()
    request = table.open(question())
    red = table.choice(request, "1. Red")
    table.press(request, red)
    refuse(table, request)
    happen(table, PostFailed(request.id, ADA.chat_id, "no"))
    effects = table.press(request, red)
    assert told(effects) == CHANGED
    assert [effect.idle for effect in effects if isinstance(effect, Edit)] == [False]
    happen(table, Posted(request.id, NEW, version(table, request)))
    happen(table, Withdrawn(request.id, CARD))
    assert withdrawals(table.press(request, red)) == [CARD], "it has buttons after all"


def test_nothing_is_sent_anew_to_somebody_who_was_taken_off_the_list() -> None:
    table = Table(ADA, BOB)
    request = table.open(make_request())
    happen(table, SessionEnded("session-1", "exit"))
    table.desk.cases.roster = Table(BOB).desk.cases.roster
    assert not posts(refuse(table, request))


def test_what_is_forgotten_is_not_tried_again() -> None:
    retries = Retries()
    retries.note("r", CARD, 0.0)
    assert retries.due(FIRST_S) == [("r", CARD)]
    retries.forget(CARD)
    assert retries.due(FIRST_S) == [] and retries.next_due() is None


def test_a_group_s_card_is_kept_apart_from_a_person_s() -> None:
    """The newest message of one chat says nothing about another chat, whose numbers are its own."""
    ada = replace(ADA, chat_id=GROUP_ID)
    table = Table(ada, BOB)
    request = table.open(question())
    copies = list(table.desk.cases.by_id[request.id].copies)
    table.press(request, table.choice(request, "1. Red", GROUP_ID), person=ada, message=11)
    for copy in copies:
        assert [post.chats for post in posts(refuse(table, request, copy))] == [(copy.chat_id,)]
