"""The phone's side: taps and texts, what they make of a card, and the answers that come of them. Pure.

What a card asks for beyond one tap (a question's answers, a changed text, a second tap, a list) is its draft: see
drafts.py. All copies of a card show the same draft, and only buttons that stand on it now count. No draft outlives
a run.
"""

from __future__ import annotations

from dataclasses import replace

from tapgate.desk import batches, drafts, words
from tapgate.desk.calls import edited_fingerprint
from tapgate.desk.case import Case, answer_by, edited_request
from tapgate.desk.effects import (
    AnsweredEntry,
    AnswerTap,
    AskText,
    CopyEntry,
    Effect,
    KeepUpdate,
    Record,
    Reply,
    Retract,
    Say,
    ShowHidden,
    ShowWhole,
)
from tapgate.desk.events import PromptPosted, Replied, Tapped
from tapgate.desk.index import By
from tapgate.desk.people import why_not
from tapgate.desk.restart import MOST_KEPT
from tapgate.desk.state import DeskState
from tapgate.desk.texts import UNSEEN, Meaning, meaning_of, why_not_edit, why_unheard
from tapgate.model import (
    NO_DRAFT,
    Action,
    Choice,
    Copy,
    Decision,
    Draft,
    Findings,
    Instant,
    Outcome,
    Person,
    Phase,
    Prompt,
    Verdict,
)

CHANGED = "This button is not on the card as it stands now, so nothing happened."
NOT_BACK = "tapgate was restarted, and the agent is not back yet. Tap again in a moment."
JUST_CHANGED = "The card has just changed, so nothing happened: look at it again, then answer."
REPLACED = "A newer message has replaced this card, so nothing happened: answer there."

# Taps


def hear_tap(desk: DeskState, event: Tapped, now: Instant) -> list[Effect]:
    return [] if desk.is_repeated(event.tap.query_id) else take_tap(desk, event, now)


def take_tap(desk: DeskState, event: Tapped, now: Instant) -> list[Effect]:
    tap, roster = event.tap, desk.cases.roster
    if not roster.knows(tap.user_id):
        return [AnswerTap(tap.query_id, "You are not on this tapgate's list, so your tap does not count.", True)]
    case = desk.cases.get(event.request_id)
    if case is None:
        return [AnswerTap(tap.query_id, "This button belongs to no request that tapgate knows of.", True)]
    if tap.copy is None or roster.person(tap.user_id, tap.copy.chat_id) is None or tap.copy.chat_id not in case.chats:
        return [AnswerTap(tap.query_id, "Cards are not answered from this chat.", True)]
    return desk.take(case, event, now)


def tap_open(desk: DeskState, case: Case, event: Tapped, now: Instant) -> list[Effect]:
    if case.awaits_caller:
        return _keep(case, event)
    tap, copy, person = _whose(desk, event)
    as_it_came = case.find_choice(event.choice_key, event.seal)
    offered = desk.cases.card(case, copy.chat_id).choices
    choice = next((one for one in offered if (one.key, one.seal) == (event.choice_key, event.seal)), None)
    if choice is None and as_it_came is None:
        return [AnswerTap(tap, CHANGED, True), *desk.cases.show_again(case, copy)]
    effects = desk.cases.learn(case, copy)
    if desk.is_stopping:
        return [*effects, AnswerTap(tap, "tapgate is stopping; answer at the terminal.", True)]
    refused_why = why_not(person.role, choice or as_it_came)
    if refused_why is not None:
        return [*effects, AnswerTap(tap, refused_why, True)]
    if choice is None:
        unseen = not case.is_whole(copy.chat_id)
        told = AnswerTap(tap, UNSEEN if unseen else CHANGED, True)
        return [*effects, told, *([] if unseen else desk.cases.show_again(case, copy))]
    if max(0, case.copies.get(copy, 0)) < case.changed_at and drafts.leads_to_allow(choice):
        # The button is the same as before; what is said above it on that phone is not.
        return [*effects, AnswerTap(tap, JUST_CHANGED, True), *desk.cases.show_again(case, copy)]
    return effects + _choose(desk, case, person, choice, event, now)


def tap_closed(desk: DeskState, case: Case, event: Tapped, now: Instant) -> list[Effect]:
    """It is answered, or its caller is leaving."""
    if case.find_choice(event.choice_key, event.seal) is None:
        return [AnswerTap(event.tap.query_id, CHANGED, True)]
    return tap_settled(desk, case, event, now)


def tap_settled(desk: DeskState, case: Case, event: Tapped, now: Instant) -> list[Effect]:
    tap, copy, _ = _whose(desk, event)
    is_its_own = case.find_choice(event.choice_key, event.seal) is not None
    learnt = desk.cases.learn(case, copy) if is_its_own else []
    return [*learnt, AnswerTap(tap, words.too_late(case.card()), True), *desk.cases.mend(case, copy)]


def _whose(desk: DeskState, event: Tapped) -> tuple[str, Copy, Person]:
    """The query to answer, the message, and who tapped there; `take_tap` has seen to it that they are known."""
    tap = event.tap
    assert tap.copy is not None
    person = desk.cases.roster.person(tap.user_id, tap.copy.chat_id)
    assert person is not None
    return tap.query_id, tap.copy, person


def _keep(case: Case, event: Tapped | Replied) -> list[Effect]:
    """Look at it when the caller is back: until then nobody knows whether the journal has its request as it is."""
    if len(case.kept) < MOST_KEPT:
        case.kept.append(event)
        return [KeepUpdate(case.request.id)]
    return [AnswerTap(event.tap.query_id, NOT_BACK, True)] if isinstance(event, Tapped) else []


def _choose(desk: DeskState, case: Case, person: Person, choice: Choice, event: Tapped, now: Instant) -> list[Effect]:
    """A button that stands on the card, tapped by somebody who may."""
    query_id, copy = event.tap.query_id, event.tap.copy
    assert copy is not None
    form = case.request.form
    match choice.action:
        case Action.DECIDE:
            return _answer(desk, case, person, choice, now, query_id=query_id)
        case Action.SHOW_WHOLE:
            unseen = tuple(copy for copy in case.copies if not case.is_whole(copy.chat_id))
            sending = AnswerTap(query_id, "Sending all of it as a file…")
            return [sending, ShowWhole(desk.cases.card(case), unseen)]
        case Action.SHOW_HIDDEN:
            sending = AnswerTap(query_id, "Sending what is hidden…")
            return [sending, ShowHidden(desk.cases.card(case, copy.chat_id), copy)]
        case Action.ASK_REASON | Action.ASK_EDIT | Action.ASK_ANSWER:
            prompt = Prompt(person.user_id, choice.action, case.draft.at)
            case.asking.add((copy.chat_id, prompt))
            asked = AskText(desk.cases.card(case, copy.chat_id), copy.chat_id, copy.message_id, prompt)
            return [AnswerTap(query_id, "Reply to the message below."), asked]
        case Action.RELEASE:
            settled = desk.settle(case, Outcome.RELEASED, now, detail=f"by {person.name}")
            return _answered(settled, AnswerTap(query_id, f"The agent {words.asks(case.request)}."))
        case Action.CONFIRM:
            return _redraft(desk, case, replace(case.draft, confirming=choice.key), query_id, "Really?")
        case Action.LIST:
            together = desk.cases.together(case, copy.chat_id)
            return _redraft(desk, case, Draft(listed=tuple(one.request.id for one in together)), query_id)
        case Action.ALLOW_LISTED:
            return _allow_listed(desk, case, person, copy.chat_id, now, query_id=query_id)
        case Action.BACK:
            return _redraft(desk, case, drafts.with_back(case.draft), query_id)
        case Action.PICK:
            assert form is not None
            draft = drafts.with_pick(form, case.draft, int(choice.key[1:]))
            return _fill_in(desk, case, person, draft, now, query_id=query_id)
        case Action.NEXT:
            assert form is not None
            return _fill_in(desk, case, person, drafts.with_next(form, case.draft), now, query_id=query_id)


# Texts


def hear_text(desk: DeskState, event: Replied, now: Instant) -> list[Effect]:
    """A reply to a question for a text, by the person who was asked; or to a card, by anybody who may answer it."""
    return [] if desk.is_repeated((event.chat_id, event.message_id)) else take_text(desk, event, now)


def take_text(desk: DeskState, event: Replied, now: Instant) -> list[Effect]:
    if desk.cases.roster.person(event.user_id, event.chat_id) is None:
        return []
    answered = Copy(event.chat_id, event.reply_to)
    asking = [case for case in desk.cases.find(By.PROMPT, answered) if _prompt(case, event) is not None]
    showing = (*desk.cases.find(By.COPY, answered), *desk.cases.find(By.RETIRED, answered))
    case = next(iter((*asking, *showing)), None)
    if case is not None:
        return desk.take(case, event, now)
    if desk.cases.up_to_date().count(By.ASKING, (event.chat_id, event.user_id)):
        desk.early[answered] = event
    return []


def edited_by(desk: DeskState, event: Replied, posted: PromptPosted | None) -> tuple[Case, str] | None:
    """The case whose text this reply would replace, and the text; `posted` is the prompt that it answers, if new."""
    copy = Copy(event.chat_id, event.reply_to)
    asked = [(case, case.prompts[copy]) for case in desk.cases.find(By.PROMPT, copy)]
    if posted is not None and posted.request_id in desk.cases.by_id:
        asked.insert(0, (desk.cases.by_id[posted.request_id], posted.prompt))
    for case, prompt in asked:
        if (prompt.user_id, prompt.purpose) == (event.user_id, Action.ASK_EDIT):
            return case, drafts.as_typed(case.request, event.text.strip())
    return None


def write_open(desk: DeskState, case: Case, event: Replied, now: Instant) -> list[Effect]:
    if case.awaits_caller:
        return _keep(case, event)
    person = desk.cases.roster.person(event.user_id, event.chat_id)
    assert person is not None
    refused = why_unheard(person, event.text.strip(), is_stopping=desk.is_stopping)
    if refused is not None:
        return [Say(event.chat_id, event.message_id, refused)]
    prompt = _prompt(case, event)
    if prompt is not None:
        return _write_to_prompt(desk, case, person, prompt, event, now)
    return _write_to_card(desk, case, person, event, now)


def write_closed(desk: DeskState, case: Case, event: Replied, now: Instant) -> list[Effect]:
    return [Say(event.chat_id, event.message_id, words.too_late(case.card()))]


def _prompt(case: Case, event: Replied) -> Prompt | None:
    """The question for a text that this answers, if it was put to this person."""
    prompt = case.prompts.get(Copy(event.chat_id, event.reply_to))
    return prompt if prompt is not None and prompt.user_id == event.user_id else None


def _write_to_prompt(
    desk: DeskState, case: Case, person: Person, prompt: Prompt, event: Replied, now: Instant
) -> list[Effect]:
    text, refused = event.text.strip(), None
    match prompt.purpose:
        case Action.ASK_EDIT:
            text = drafts.as_typed(case.request, text)
            refused = why_not_edit(case, event.chat_id, text)
        case Action.ASK_ANSWER if not _is_asked(desk, case, prompt, event.chat_id):
            refused = "The card has gone on: answer what it asks now."
        case Action.ASK_ANSWER if not desk.cases.is_current_in(case, event.chat_id):
            # The answers to the questions before go out with this one, and they are not shown here as they stand.
            refused = JUST_CHANGED
    if refused is not None:
        return [Say(event.chat_id, event.message_id, refused)]
    match prompt.purpose:
        case Action.ASK_EDIT:
            retracted = _retract_prompts(case, Action.ASK_EDIT)
            draft = Draft(text=text, author=person.name)
            return retracted + _redraft(desk, case, draft, findings=event.findings)
        case Action.ASK_ANSWER:
            assert case.request.form is not None
            retracted = _retract_prompts(case, Action.ASK_ANSWER)
            draft = drafts.with_typed(case.request.form, case.draft, text)
            return retracted + _fill_in(desk, case, person, draft, now)
        case _:
            return _deny(desk, case, person, text, now)


def _write_to_card(desk: DeskState, case: Case, person: Person, event: Replied, now: Instant) -> list[Effect]:
    """Without a tap before: words are the reason for a no, or answer a question; a watch sends yes and no."""
    text = event.text.strip()
    offered = {choice.key: choice for choice in desk.cases.card(case, event.chat_id).choices}
    form, meaning = case.request.form, meaning_of(text)
    copy = Copy(event.chat_id, event.reply_to)
    behind = not desk.cases.shows_current(case, copy)
    if behind and ((form is not None and "q" in offered) or (meaning is Meaning.YES and "a" in offered)):
        # A text has no seal: it may mean what the card said before, another command or another question.
        why = REPLACED if copy in case.retired else JUST_CHANGED
        return [Say(event.chat_id, event.message_id, why), *desk.cases.mend(case, copy)]
    if form is not None and "q" in offered:
        return _fill_in(desk, case, person, drafts.with_typed(form, case.draft, text), now)
    if meaning is Meaning.YES:
        allow = offered.get("a")
        if allow is not None and allow.action is Action.DECIDE:
            return _answer(desk, case, person, allow, now)
        unseen = not case.is_whole(event.chat_id)
        why = UNSEEN if unseen else "A yes is not enough here: tap the button that you mean."
        return [Say(event.chat_id, event.message_id, why)]
    if meaning is Meaning.NO:
        deny = next((choice for choice in case.request.choices if choice.key == "d"), None)
        if deny is not None:
            return _answer(desk, case, person, deny, now)
    return _deny(desk, case, person, text, now)


def _is_asked(desk: DeskState, case: Case, prompt: Prompt, chat_id: int) -> bool:
    keys = {choice.key for choice in desk.cases.card(case, chat_id).choices}
    return case.request.form is not None and "q" in keys and prompt.question == case.draft.at


# Questions for a text


def hear_prompt(desk: DeskState, event: PromptPosted, now: Instant) -> list[Effect]:
    desk.cases.soundings.note(event.copy)
    case = desk.cases.get(event.request_id)
    if case is None:
        return []
    case.asking.discard((event.copy.chat_id, event.prompt))
    return desk.take(case, event, now)


def prompt_open(desk: DeskState, case: Case, event: PromptPosted, now: Instant) -> list[Effect]:
    desk.cases.take_from_others(case, event.copy)
    case.prompts[event.copy] = event.prompt
    effects: list[Effect] = [Record(case.request.id, CopyEntry(case.request.id, event.copy, prompt=event.prompt))]
    early = desk.early.pop(event.copy, None)
    if early is not None:
        effects += take_text(desk, replace(early, findings=event.findings), now)
    return effects


def prompt_closed(desk: DeskState, case: Case, event: PromptPosted, now: Instant) -> list[Effect]:
    return [Retract(event.copy)]


def _retract_prompts(case: Case, purpose: Action) -> list[Effect]:
    """They have done their work; a later reply to one of them would mean something that was not asked."""
    done = [copy for copy, prompt in case.prompts.items() if prompt.purpose is purpose]
    for copy in done:
        del case.prompts[copy]
    return [Retract(copy) for copy in done]


# Drafts


def _redraft(
    desk: DeskState, case: Case, draft: Draft, query_id: str = "", told: str = "", findings: Findings | None = None
) -> list[Effect]:
    is_same = draft.text == case.draft.text and findings is None
    case.draft = draft
    if not is_same:
        _assess_draft(desk, case, findings)
    case.version += 1
    effects: list[Effect] = [AnswerTap(query_id, told)] if query_id else []
    return effects + desk.cases.edit(case)


def _assess_draft(desk: DeskState, case: Case, findings: Findings | None) -> None:
    """Keep what was found out about the edited text; the desk's own `assess` knows less, as it asks no disk."""
    changed = edited_request(case.request, case.draft)
    if changed is not None:
        seen = findings or Findings(desk.assess(changed))
        case.draft_risks, case.draft_links = seen.risks, seen.links


def _fill_in(
    desk: DeskState, case: Case, person: Person, draft: Draft, now: Instant, *, query_id: str = ""
) -> list[Effect]:
    """One step further in a form; after the last question, that is the answer."""
    assert case.request.form is not None
    if not drafts.is_complete(case.request.form, draft):
        return _redraft(desk, case, draft, query_id)
    case.draft = draft
    return _answer(desk, case, person, drafts.answer_of(case.request, draft), now, query_id=query_id)


# Answers


def _allow_listed(
    desk: DeskState, case: Case, person: Person, chat_id: int, now: Instant, *, query_id: str
) -> list[Effect]:
    """All of those that were listed, or none: the list says exactly what one tap allows."""
    together = desk.cases.together(case, chat_id)
    if case.draft.listed != tuple(one.request.id for one in together):
        draft = Draft(listed=tuple(one.request.id for one in together)) if together else NO_DRAFT
        return _redraft(desk, case, draft, query_id, "They are not the same any more: look again.")
    effects: list[Effect] = []
    for number, one in enumerate(together):
        allow = batches.plain_allow(one)
        assert allow is not None
        effects += _answer(desk, one, person, allow, now, query_id="" if number else query_id)
    return effects


def _deny(desk: DeskState, case: Case, person: Person, reason: str, now: Instant) -> list[Effect]:
    choices = case.request.choices
    choice = next((one for one in choices if one.action is Action.ASK_REASON), None) or next(
        one for one in choices if drafts.refuses(one)
    )
    return _answer(desk, case, person, replace(choice, decision=Decision(Verdict.DENY, reason)), now)


def _answer(
    desk: DeskState, case: Case, person: Person, choice: Choice, now: Instant, *, query_id: str = ""
) -> list[Effect]:
    desk.move(case, Phase.SENDING)
    case.answer = answer_by(person, choice, case.asked, now)
    case.answered = now
    case.edited_as = edited_fingerprint(case.request, case.answer)
    case.query_id = query_id
    case.version += 1
    effects: list[Effect] = [Record(case.request.id, AnsweredEntry(case.request.id, case.answer, case.version), True)]
    effects.append(Reply(case.request, choice.decision))
    if query_id:
        effects.append(AnswerTap(query_id, words.sending(case.answer)))
    effects += [Retract(copy) for copy in case.prompts]
    effects += desk.cases.edit(case)
    return effects


def _answered(effects: list[Effect], answer: AnswerTap) -> list[Effect]:
    """With the tap's answer where it belongs: behind what is recorded and replied, before the cards are edited."""
    first = [effect for effect in effects if isinstance(effect, Record | Reply)]
    return [*first, answer, *(effect for effect in effects if effect not in first)]
