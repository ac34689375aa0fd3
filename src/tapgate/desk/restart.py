"""What a fresh desk may take from an earlier run's requests, and what it must not. Pure.

The journal is a file that any process of this user can write, so it proves no tap. A tap proves itself: Telegram
delivers it, and its seal says which bytes its card showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tapgate.desk import words
from tapgate.desk.case import Case
from tapgate.desk.effects import AnswerTap, Retract, Say
from tapgate.desk.events import Tapped
from tapgate.model import Action, Outcome, Verdict

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


def end_of_claimed(case: Case, detail: str) -> tuple[Outcome, str]:
    """How a request ends whose answer, as the journal says, may have reached the caller before the restart.

    Where Telegram has delivered the same tap again, who answered is known. Without it the card says whose word it is.
    """
    assert case.claimed is not None
    case.answer = case.claimed
    is_taken = detail == words.TAKEN_BEFORE
    case.from_journal = not any(_is_claimed(case, event) for event in case.kept)
    if is_taken and not case.from_journal:
        return (Outcome.ALLOWED if case.answer.decision.verdict is Verdict.ALLOW else Outcome.DENIED), ""
    return Outcome.UNCONFIRMED, detail if is_taken else ""


def answers_to_kept(case: Case) -> list[AnswerTap | Say]:
    """What is told to those who tapped or wrote while the caller was away, now that the request is over."""
    told: list[AnswerTap | Say] = []
    for event in case.kept:
        if isinstance(event, Tapped) and _is_claimed(case, event):
            told.append(AnswerTap(event.tap.query_id, f"{words.ended(case.card())}.", True))
        elif isinstance(event, Tapped):
            told.append(AnswerTap(event.tap.query_id, words.too_late(case.card()), True))
        else:
            told.append(Say(event.chat_id, event.message_id, words.too_late(case.card())))
    return told


def _is_claimed(case: Case, event: object) -> bool:
    """Whether this is the tap that the journal's answer came from."""
    if not isinstance(event, Tapped) or case.claimed is None or event.tap.user_id != case.claimed.user_id:
        return False
    choice = case.find_choice(event.choice_key, event.seal)
    return choice is not None and (choice.key, choice.action, choice.decision) == (
        case.claimed.choice_key,
        Action.DECIDE,
        case.claimed.decision,
    )
