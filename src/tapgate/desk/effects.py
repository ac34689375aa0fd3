"""What the desk wants done, in imperatives, and what it wants recorded. The engine carries them out in order."""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.model import Answer, Card, Copy, Decision, Outcome, Prompt, Ran, Request


@dataclass(frozen=True, slots=True)
class AskedEntry:
    """A request exists. Written before anybody can see its card."""

    request: Request
    asked_at: float
    deadline_at: float
    fits: bool
    chats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyEntry:
    """A message stands in a chat: a copy of the card, or (with `prompt`) a question for a text."""

    request_id: str
    copy: Copy
    version: int = 0
    prompt: Prompt | None = None


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """A copy shows this version of the card, or is of no more use: withdrawn, or deleted on the phone."""

    request_id: str
    copy: Copy
    version: int


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """The whole content reached every chat. For the trail: the next run does not go by it."""

    request_id: str


@dataclass(frozen=True, slots=True)
class AnsweredEntry:
    request_id: str
    answer: Answer
    version: int


@dataclass(frozen=True, slots=True)
class ReopenedEntry:
    """The answer of an earlier run never reached the caller, which is back: the request is unanswered again."""

    request_id: str


@dataclass(frozen=True, slots=True)
class SettledEntry:
    request_id: str
    outcome: Outcome
    ended_at: float
    detail: str
    version: int


@dataclass(frozen=True, slots=True)
class RanEntry:
    request_id: str
    ran: Ran
    at: float
    version: int


Entry = AskedEntry | CopyEntry | ShownEntry | SeenEntry | AnsweredEntry | ReopenedEntry | SettledEntry | RanEntry


@dataclass(frozen=True, slots=True)
class Record:
    """Write this down before anything that follows in the same list is done.

    A required one that cannot be written stops what follows it up to the next required one, and the desk hears
    RecordFailed. Any other that cannot be written is reported, and the rest is done all the same.
    """

    request_id: str
    entry: Entry
    required: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """Send the decision to the caller. `why` goes to its stderr where there is no opinion."""

    request: Request
    decision: Decision
    why: str = ""


@dataclass(frozen=True, slots=True)
class AnswerTap:
    query_id: str
    text: str
    alert: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    card: Card
    chats: tuple[int, ...]
    reply_to: int = 0  # the message that it replaces
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    card: Card
    copies: tuple[Copy, ...]
    idle: bool = False  # only when nothing else is to be sent there


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Another message has replaced this one: take its buttons off and say so there."""

    request_id: str
    copy: Copy


@dataclass(frozen=True, slots=True)
class AskText:
    """Ask somebody for a text, in reply to this message."""

    card: Card
    chat_id: int
    reply_to: int
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class ShowWhole:
    """Send the whole content as a file to each of these chats, as a reply to the card there."""

    card: Card
    copies: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class ShowHidden:
    """Send what the card's masks hide, where that is more than one token, to this chat as a reply to the card there."""

    card: Card
    copy: Copy


@dataclass(frozen=True, slots=True)
class Retract:
    """Delete a message that has done its work."""

    copy: Copy


@dataclass(frozen=True, slots=True)
class Say:
    """A plain line in a chat, as an answer to something a person wrote there."""

    chat_id: int
    reply_to: int
    text: str
    is_html: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """Take the buttons off cards that may stand between two known messages because a send was never answered."""

    chat_id: int
    after: int
    before: int
    known: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sound:
    """Find out how far a chat's message numbers have come, so that a card nobody told us of can be swept up."""

    chat_id: int


@dataclass(frozen=True, slots=True)
class Probe:
    """Look, a moment from now, whether the agent's process still lives."""

    request_id: str
    pid: int
    after_s: float


@dataclass(frozen=True, slots=True)
class KeepUpdate:
    """What was tapped or written is looked at once this request's caller is back. Until then its update is not
    confirmed to Telegram, so that it comes again after a crash."""

    request_id: str


Effect = (
    Record
    | Reply
    | AnswerTap
    | Post
    | Edit
    | Withdraw
    | AskText
    | ShowWhole
    | ShowHidden
    | Retract
    | Say
    | Sweep
    | Sound
    | Probe
    | KeepUpdate
)
