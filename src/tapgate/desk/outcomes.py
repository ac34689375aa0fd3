"""How a request can end: one row for each outcome, read by all that show, record or count one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from tapgate.model import Outcome


class PhoneAnswer(Enum):
    """What became of an answer from a phone. The journal counts an answer as taken by it."""

    NONE = auto()  # there was none, or it did not count
    TAKEN = auto()  # the agent has it
    UNSURE = auto()  # the agent did not take it, or it is not known whether it did


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    sentence: str  # on the card, to late taps and on the caller's stderr; without a full stop
    mark: str = "▫️"
    log_word: str = ""  # in a column of `tapgate log`; "": the outcome's own name
    asks_at_terminal: bool = False  # the question is still open for the agent, and it asks there
    answer: PhoneAnswer = PhoneAnswer.NONE


OUTCOMES: Mapping[Outcome, OutcomeRow] = {
    Outcome.ALLOWED: OutcomeRow("Allowed", "✅", answer=PhoneAnswer.TAKEN),
    Outcome.DENIED: OutcomeRow("Denied", "⛔️", answer=PhoneAnswer.TAKEN),
    Outcome.NOT_TAKEN: OutcomeRow("The agent was no longer waiting", "⚠️", answer=PhoneAnswer.UNSURE),
    Outcome.UNCONFIRMED: OutcomeRow(
        "Sent, but it is not known whether the agent took it", "⚠️", answer=PhoneAnswer.UNSURE
    ),
    Outcome.TERMINAL_ALLOWED: OutcomeRow("Allowed at the terminal", "🖥", "terminal yes"),
    Outcome.TERMINAL_DENIED: OutcomeRow("Denied at the terminal", "🖥", "terminal no"),
    Outcome.MOVED_ON: OutcomeRow("The session moved on"),
    Outcome.SESSION_ENDED: OutcomeRow("The session ended", log_word="session end"),
    Outcome.AGENT_DIED: OutcomeRow("The agent's process died"),
    # It asks nothing then: Codex kills its hook without a word when somebody presses Esc.
    Outcome.CALLER_LOST: OutcomeRow("The agent stopped waiting"),
    Outcome.EXPIRED: OutcomeRow("Nobody answered in time", "⌛️", asks_at_terminal=True),
    Outcome.STOPPED: OutcomeRow("tapgate was stopped", asks_at_terminal=True),
    Outcome.RELEASED: OutcomeRow("Handed back to the terminal", "🖥", asks_at_terminal=True),
    Outcome.SUPERSEDED: OutcomeRow("The agent went on to another question"),
    Outcome.NOT_SHOWN: OutcomeRow("It could not be shown on any phone", "⚠️", asks_at_terminal=True),
    # Not "could not be sent": a send that was never answered may have arrived, and then this stands on that card.
    Outcome.UNDELIVERED: OutcomeRow("Telegram did not confirm the card in time", "⚠️", asks_at_terminal=True),
    Outcome.NOT_RECORDED: OutcomeRow("It could not be recorded", "⚠️", "not saved", asks_at_terminal=True),
}


_LOG_WORDS: Mapping[str, str] = {outcome.value: row.log_word for outcome, row in OUTCOMES.items()}


def log_word(outcome: str) -> str:
    """Of a row in the journal, which another version may have written. "" where it is open."""
    return _LOG_WORDS.get(outcome) or outcome.replace("_", " ")
