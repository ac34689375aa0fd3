"""The simulator's words, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .html import Entity

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bot:
    id: int
    first_name: str
    username: str


@dataclass(frozen=True, slots=True)
class User:
    id: int
    first_name: str
    started: bool = True
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    id: int
    title: str
    members: frozenset[int]
    kicked: bool = False
    """The bot was removed from it."""

    @property
    def kind(self) -> str:
        return "supergroup" if self.id <= -1_000_000_000_000 else "group"


@dataclass(frozen=True, slots=True)
class Button:
    text: str
    callback_data: str | None = None
    url: str | None = None
    copy_text: str | None = None
    style: str | None = None


Keyboard = tuple[tuple[Button, ...], ...]


@dataclass(frozen=True, slots=True)
class ForceReply:
    placeholder: str = ""
    selective: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    file_id: str
    file_name: str
    mime_type: str
    content: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True)
class Body:
    """A text or caption: what is shown, and the parameter it came from."""

    text: str
    entities: tuple[Entity, ...] = ()
    source: str = ""
    parse_mode: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """What a message showed from time t on."""

    text: str
    keyboard: Keyboard
    t: float


@dataclass(frozen=True, slots=True)
class Message:
    message_id: int
    chat_id: int
    sender_id: int
    body: Body
    t: float
    date: int
    history: tuple[Version, ...]
    keyboard: Keyboard = ()
    force_reply: ForceReply | None = None
    reply_to: int | None = None
    document: Document | None = None
    silent: bool = False
    edit_date: int | None = None
    deleted: bool = False
    reaction: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    text: str | None
    show_alert: bool


@dataclass(frozen=True, slots=True)
class CallbackQuery:
    id: str
    user: User
    chat_id: int
    message_id: int
    message: Message | None
    """None when the bot can no longer see it, or never could."""
    data: str
    t: float
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """The bot was blocked or unblocked by a person."""

    user: User
    blocked: bool
    date: int


Event = Message | CallbackQuery | Membership


@dataclass(frozen=True, slots=True)
class Update:
    update_id: int
    kind: str
    event: Event
    t: float


@dataclass(frozen=True, slots=True)
class Action:
    """ "typing" and the like, shown for a few seconds."""

    chat_id: int
    action: str


@dataclass(frozen=True, slots=True)
class Roster:
    """Users, chats, commands or pins changed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Something changed that the phone does not show: the clock, the queue, a call."""


Change = Message | CallbackQuery | Action | Roster | Progress
