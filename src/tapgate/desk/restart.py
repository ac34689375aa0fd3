"""What a fresh desk may take from an earlier run's requests, and what it must not. Pure.

The journal is a file that any process of this user can write, so it proves no tap. A tap proves itself: Telegram
delivers it, and its seal says which bytes its card showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tapgate.desk import words
from tapgate.desk.case import Case, answer_by
from tapgate.desk.effects import AnswerTap, Retract, Say
from tapgate.desk.events import Replied, Tapped
from tapgate.desk.people import Roster
from tapgate.model import Action, Answer, Choice, Instant, Outcome, Verdict

MOST_KEPT = 20  # taps and texts about one request, while its caller is not back


def forget_shared_messages(cases: Iterable[Case]) -> None:
    """A message that shows two requests, as the journal has it, shows neither: a text there could mean the other."""
    found = list(cases)
    counts = Counter(copy for case in found for copy in (*case.copies, *case.prompts))
    for case in found:
        for copy in [copy for copy in (*case.copies, *case.prompts) if counts[copy] > 1]:
            case.copies.pop(copy, None)
            case.prompts.pop(copy, None)
        case.pending = set(case.chats) - {copy.chat_id for copy in case.copies}


def retract_answer_prompts(case: Case) -> list[Retract]:
    """A text to such a prompt could answer a question, and so allow. The others lead to a no, or to one more tap."""
    asking = [copy for copy, prompt in case.prompts.items() if prompt.purpose is Action.ASK_ANSWER]
    for copy in asking:
        del case.prompts[copy]
    return [Retract(copy) for copy in asking]


def end_of_claimed(case: Case, detail: str, roster: Roster, now: Instant) -> tuple[Outcome, str]:
    """How a request ends whose answer, as the journal says, may have reached the caller before the restart.

    Where Telegram has delivered the same tap again, who answered is known: the answer is put together from that tap,
    the config and the request's own button. Without it the card says whose word it is.
    """
    assert case.claimed is not None
    is_taken = detail == words.TAKEN_BEFORE
    proven = next((answer for event in case.kept if (answer := _answer_of(case, event, roster, now))), None)
    case.answer = proven or case.claimed
    case.from_journal = proven is None
    if is_taken and not case.from_journal:
        return (Outcome.ALLOWED if case.answer.decision.verdict is Verdict.ALLOW else Outcome.DENIED), ""
    return Outcome.UNCONFIRMED, detail if is_taken else ""


def answers_to_kept(case: Case) -> list[AnswerTap | Say]:
    """What is told to those who tapped or wrote while the caller was away, now that the request is over."""
    told: list[AnswerTap | Say] = []
    for event in case.kept:
        if isinstance(event, Tapped) and _claimed_choice(case, event):
            told.append(AnswerTap(event.tap.query_id, f"{words.ended(case.card())}.", True))
        elif isinstance(event, Tapped):
            told.append(AnswerTap(event.tap.query_id, words.too_late(case.card()), True))
        else:
            told.append(Say(event.chat_id, event.message_id, words.too_late(case.card())))
    return told


def _claimed_choice(case: Case, event: object) -> Choice | None:
    """The button that was tapped, if this is the tap that the journal's answer came from."""
    if not isinstance(event, Tapped) or case.claimed is None or event.tap.user_id != case.claimed.user_id:
        return None
    choice = case.find_choice(event.choice_key, event.seal)
    claimed = (case.claimed.choice_key, Action.DECIDE, case.claimed.decision)
    return choice if choice is not None and (choice.key, choice.action, choice.decision) == claimed else None


def _answer_of(case: Case, event: Tapped | Replied, roster: Roster, now: Instant) -> Answer | None:
    """The journal's answer as this tap proves it; None where it proves nothing. Its time is when it is known again."""
    choice = _claimed_choice(case, event)
    if choice is None or not isinstance(event, Tapped) or event.tap.copy is None:
        return None
    person = roster.person(event.tap.user_id, event.tap.copy.chat_id)
    return None if person is None else answer_by(person, choice, case.asked, now)
