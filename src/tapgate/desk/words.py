"""What is said about a request, in plain sentences: to a late tap, to the caller's stderr, on a settled card."""

from __future__ import annotations

from tapgate.desk.drafts import ANSWERED, edited_text
from tapgate.desk.outcomes import OUTCOMES, PhoneAnswer
from tapgate.model import Answer, Card, Outcome, Phase, Ran, Request, Verdict

TAKEN_BEFORE = "the agent took an answer just before tapgate was restarted"
"""The detail of an unconfirmed answer that some earlier run passed on."""

CHANGED_SINCE = "the agent asked for it again, and by then other risks or links were found"
"""The detail of an allow that was held back from a caller whose call is not the one that was shown."""

SKIPS = frozenset({"Skip", "Skip and stop", "Skip all", "Skip all and stop"})
"""A question is not denied but skipped, whatever the agent's own word for it is."""


def asks(request: Request) -> str:
    """What an agent does without an opinion. Headless it has no terminal, and it does not always say whether it has."""
    return "asks at the terminal" + ("" if request.caller.attended else ", if it has one")


def ended(card: Card) -> str:
    """How it ended, as a sentence without a full stop."""
    if card.outcome is None:
        return "It is open"
    row = OUTCOMES[card.outcome]
    sentence = row.sentence
    if card.outcome is Outcome.TERMINAL_ALLOWED and card.request.form is not None:
        sentence = "Answered at the terminal"
    answer = card.answer
    if answer is not None and row.answer is PhoneAnswer.TAKEN:
        sentence += f" by {answer.person}"
        if answer.choice_key == ANSWERED:  # first: an option may be called “Skip”, too
            sentence = f"Answered “{answer.label}” by {answer.person}"
        elif answer.label in SKIPS:
            sentence = f"Skipped by {answer.person}"
        elif edited_text(card.request, answer.decision) is not None:
            sentence += ", with a changed text"
        if card.from_journal:
            sentence += ", as the journal says"
    if answer is not None and card.outcome is Outcome.NOT_TAKEN:
        sentence = f"{answer.person} said {_said(answer)}, but the agent was no longer waiting"
    if answer is not None and card.outcome is Outcome.UNCONFIRMED:
        sentence = f"{answer.person} said {_said(answer)}"
        if card.from_journal:
            sentence = f"The journal says that {sentence}"
        if card.detail != TAKEN_BEFORE:
            sentence += "; it is not known whether the agent took it"
    if card.ran is Ran.AGAINST:
        sentence += ", but the terminal was first, and it ran as allowed there"
    elif row.answer is PhoneAnswer.UNSURE and card.ran is not Ran.UNKNOWN:
        sentence += ", and it ran"
    if card.detail:
        sentence += f" ({card.detail})"
    return sentence


def too_late(card: Card) -> str:
    """For somebody who answers a request that is not open."""
    match card.phase:
        case Phase.SENDING if card.answer is not None:
            return f"{card.answer.person} was first: {card.answer.label}."
        case Phase.LEAVING:
            return "The agent has just stopped waiting. Your answer changed nothing."
        case _:
            return f"{ended(card)}. Your answer changed nothing."


def sending(answer: Answer) -> str:
    return f"{answer.label}: sending…"


def _said(answer: Answer) -> str:
    return "allow" if answer.decision.verdict is Verdict.ALLOW else "deny"
