"""What is said about a request, in plain sentences: to a late tap, to the caller's stderr, on a settled card."""

from __future__ import annotations

from tapgate.desk.drafts import ANSWERED, edited_text
from tapgate.model import Answer, Card, Outcome, Phase, Ran, Request, Verdict

_ENDED = {
    Outcome.ALLOWED: "Allowed",
    Outcome.DENIED: "Denied",
    Outcome.NOT_TAKEN: "The agent was no longer waiting",
    Outcome.UNCONFIRMED: "Sent, but it is not known whether the agent took it",
    Outcome.TERMINAL_ALLOWED: "Allowed at the terminal",
    Outcome.TERMINAL_DENIED: "Denied at the terminal",
    Outcome.MOVED_ON: "The session moved on",
    Outcome.SESSION_ENDED: "The session ended",
    Outcome.AGENT_DIED: "The agent's process died",
    Outcome.CALLER_LOST: "The agent stopped waiting",
    Outcome.EXPIRED: "Nobody answered in time",
    Outcome.STOPPED: "tapgate was stopped",
    Outcome.RELEASED: "Handed back to the terminal",
    Outcome.SUPERSEDED: "The agent went on to another question",
    Outcome.NOT_SHOWN: "It could not be shown on any phone",
    # Not "could not be sent": a send that was never answered may have arrived, and then this stands on that card.
    Outcome.UNDELIVERED: "Telegram did not confirm the card in time",
    Outcome.NOT_RECORDED: "It could not be recorded",
}

TAKEN_BEFORE = "the agent took an answer just before tapgate was restarted"
"""The detail of an unconfirmed answer that some earlier run passed on."""

CHANGED_SINCE = "the agent asked for it again, and by then other risks or links were found"
"""The detail of an allow that was held back from a caller whose call is not the one that was shown."""

SKIPS = frozenset({"Skip", "Skip and stop", "Skip all", "Skip all and stop"})
"""A question is not denied but skipped, whatever the agent's own word for it is."""

ASKS_AT_TERMINAL = frozenset(
    {
        Outcome.EXPIRED,
        Outcome.STOPPED,
        Outcome.RELEASED,
        Outcome.NOT_SHOWN,
        Outcome.UNDELIVERED,
        Outcome.NOT_RECORDED,
    }
)
"""After these the question is still open for the agent, and it asks at the terminal.

Not after CALLER_LOST: Codex kills its hook without a word when somebody presses Esc, and then asks nothing.
"""


def asks(request: Request) -> str:
    """What an agent does without an opinion. Headless it has no terminal, and it does not always say whether it has."""
    return "asks at the terminal" + ("" if request.caller.attended else ", if it has one")


def ended(card: Card) -> str:
    """How it ended, as a sentence without a full stop."""
    if card.outcome is None:
        return "It is open"
    sentence = _ENDED[card.outcome]
    if card.outcome is Outcome.TERMINAL_ALLOWED and card.request.form is not None:
        sentence = "Answered at the terminal"
    answer = card.answer
    if answer is not None and card.outcome in (Outcome.ALLOWED, Outcome.DENIED):
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
    elif card.outcome in (Outcome.NOT_TAKEN, Outcome.UNCONFIRMED) and card.ran is not Ran.UNKNOWN:
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
