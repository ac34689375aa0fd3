"""What can happen to a request, in past participles. Frozen values; the desk is their only reader."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tapgate.model import NO_CONTEXT, NO_UID, Context, Copy, Findings, Prompt, Request, Risk, Tap, ToolCall


class Left(StrEnum):
    """Why a caller is gone, as far as it could still say."""

    TERMINATED = "terminated"  # SIGTERM: "No" at the terminal, or the agent quits
    ORPHANED = "orphaned"  # its parent died
    LOST = "lost"  # the connection broke without a word
    DROPPED = "dropped"  # we hung up: whether it took what it was sent is not known


@dataclass(frozen=True, slots=True)
class Asked:
    """A caller came: with a new request, or back after a broken connection with the same one."""

    request: Request
    fits: bool = True  # the card shows all of it
    context: Context = NO_CONTEXT
    risks: tuple[Risk, ...] = ()
    waited_s: float = 0.0  # while it was looked at; the caller's time went on


@dataclass(frozen=True, slots=True)
class Posted:
    request_id: str
    copy: Copy
    version: int


@dataclass(frozen=True, slots=True)
class PostUnsure:
    """A send ended without an answer: the card may or may not be there."""

    request_id: str
    chat_id: int


@dataclass(frozen=True, slots=True)
class PostFailed:
    """A card will never reach this chat."""

    request_id: str
    chat_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class Sounded:
    """The newest message in a chat has this number."""

    copy: Copy


@dataclass(frozen=True, slots=True)
class Edited:
    """A copy now shows this version of its card."""

    request_id: str
    copy: Copy
    version: int


@dataclass(frozen=True, slots=True)
class EditRefused:
    """Telegram will not show this version there: the copy still shows what it showed before."""

    request_id: str
    copy: Copy
    version: int
    is_blocked: bool = False  # the bot may not write to this chat at all


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A message that another one has replaced has no buttons any more."""

    request_id: str
    copy: Copy


@dataclass(frozen=True, slots=True)
class CopyGone:
    """This message does not exist any more: somebody deleted it."""

    request_id: str
    copy: Copy


@dataclass(frozen=True, slots=True)
class PromptPosted:
    """The question for a text stands in the chat; a reply to it will count."""

    request_id: str
    copy: Copy
    prompt: Prompt
    findings: Findings | None = None  # about a text that came as a reply before this, see Replied


@dataclass(frozen=True, slots=True)
class WholePosted:
    """The whole content has reached this chat as a file."""

    request_id: str
    chat_id: int


@dataclass(frozen=True, slots=True)
class Tapped:
    tap: Tap
    request_id: str  # "" where the data could not be read
    choice_key: str
    seal: str


@dataclass(frozen=True, slots=True)
class Replied:
    user_id: int
    chat_id: int
    message_id: int
    reply_to: int
    text: str
    findings: Findings | None = None  # about the call with this text, where it is put in the place of another


@dataclass(frozen=True, slots=True)
class CallerConfirmed:
    """The caller has written the answer to its stdout."""

    request_id: str
    uid: int = NO_UID  # of whoever says so; here and below, it counts for requests of the same user only


@dataclass(frozen=True, slots=True)
class CallerGone:
    request_id: str
    why: Left
    uid: int = NO_UID


@dataclass(frozen=True, slots=True)
class AgentProbed:
    request_id: str
    alive: bool


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The agent reported that a tool call ran to its end."""

    call: ToolCall
    failed: bool
    duration_s: float | None
    uid: int = NO_UID


class Move(StrEnum):
    PROMPT = "a new prompt was typed"
    STOP = "the turn ended"
    RESTART = "the session was started again"


@dataclass(frozen=True, slots=True)
class SessionMoved:
    """The agent, or one of its subagents, cannot be waiting for an older question any more."""

    session_id: str
    agent_id: str
    move: Move
    prompt_id: str = ""  # of the prompt that began (PROMPT) or was worked on (STOP)
    uid: int = NO_UID


@dataclass(frozen=True, slots=True)
class SessionEnded:
    session_id: str
    reason: str
    uid: int = NO_UID


@dataclass(frozen=True, slots=True)
class PollResumed:
    """Telegram answers again after this long; taps older than 150 s are lost there."""

    away_s: float


@dataclass(frozen=True, slots=True)
class RecordFailed:
    """What was to be recorded for this request is not on disk."""

    request_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ticked:
    pass


@dataclass(frozen=True, slots=True)
class Stopped:
    """The daemon is going down and takes no further answers."""


Event = (
    Asked
    | Posted
    | PostUnsure
    | PostFailed
    | Sounded
    | Edited
    | EditRefused
    | Withdrawn
    | CopyGone
    | PromptPosted
    | WholePosted
    | Tapped
    | Replied
    | CallerConfirmed
    | CallerGone
    | AgentProbed
    | ToolEnded
    | SessionMoved
    | SessionEnded
    | PollResumed
    | RecordFailed
    | Ticked
    | Stopped
)
