"""The state: users, chats, messages and taps. It changes by what the bot does and what people do; no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import limits
from .clock import Clock
from .html import Entity, clean, trim, utf16_length
from .model import (
    Action,
    Answer,
    Body,
    Bot,
    Button,
    CallbackQuery,
    Change,
    Document,
    ForceReply,
    Group,
    Keyboard,
    Membership,
    Message,
    Roster,
    User,
    Version,
)
from .refusal import ControlError, bad_request, forbidden
from .updates import UpdateQueue

CALLBACK_ANSWER_WITHIN_S = 600
DELETE_WITHIN_S = 48 * 3600
_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)


class Chats:
    def __init__(self, *, bot: Bot, clock: Clock, updates: UpdateQueue, publish: Callable[[Change], None]) -> None:
        self.bot = bot
        self.users: dict[int, User] = {}
        self.groups: dict[int, Group] = {}
        self.pinned: dict[int, int] = {}
        self._clock = clock
        self._updates = updates
        self.publish = publish
        self._messages: dict[int, dict[int, Message]] = {}
        self._queries: dict[str, CallbackQuery] = {}
        self._files: dict[str, Document] = {}
        self._last_message_id = 0
        self._last_query = 0

    # What can be seen.

    def messages(self, chat_id: int) -> list[Message]:
        return list(self._messages.get(chat_id, {}).values())

    def message(self, chat_id: int, message_id: int) -> Message | None:
        return self._messages.get(chat_id, {}).get(message_id)

    def visible(self, chat_id: int, message_id: int) -> Message | None:
        message = self.message(chat_id, message_id)
        return None if message is None or message.deleted else message

    def query(self, query_id: str) -> CallbackQuery | None:
        return self._queries.get(query_id)

    def document(self, file_id: str) -> Document | None:
        return self._files.get(file_id)

    def chat_ids(self, user_id: int) -> list[int]:
        """The chats a person has: the private one and the groups."""
        groups = [group.id for group in self.groups.values() if user_id in group.members]
        return [user_id, *groups] if user_id in self.users else groups

    # The set-up.

    def add_user(self, user: User) -> None:
        known = self.users.get(user.id)
        self.users[user.id] = replace(user, blocked=known.blocked) if known else user
        self.publish(Roster())

    def add_group(self, group: Group) -> None:
        unknown = [user_id for user_id in sorted(group.members) if user_id not in self.users]
        if unknown:
            raise ControlError(404, f"no user {unknown[0]}")
        if group.id >= 0:
            raise ControlError(400, "the id of a group is negative")
        self.groups[group.id] = group
        self.publish(Roster())

    def block(self, user_id: int, *, blocked: bool) -> None:
        user = self._user(user_id)
        if user.blocked != blocked:
            self.users[user_id] = replace(user, blocked=blocked)
            self._updates.put(Membership(user, blocked, self._clock.date()))
        self.publish(Roster())

    # What the bot does.

    def check_writable(self, chat_id: int) -> None:
        """Refuses as Telegram does when the bot may not write there."""
        if user := self.users.get(chat_id):
            if user.blocked:
                raise forbidden("bot was blocked by the user")
            if not user.started:
                raise forbidden("bot can't initiate conversation with a user")
        elif group := self.groups.get(chat_id):
            if group.kicked:
                raise forbidden(f"bot was kicked from the {group.kind} chat")
        else:
            raise bad_request("chat not found")

    def post(
        self,
        chat_id: int,
        body: Body,
        *,
        keyboard: Keyboard = (),
        force_reply: ForceReply | None = None,
        reply_to: int | None = None,
        document: Document | None = None,
        silent: bool = False,
    ) -> Message:
        self.check_writable(chat_id)
        if document is not None:
            self._files[document.file_id] = document
        now = self._clock.now()
        message = Message(
            message_id=self._new_message_id(),
            chat_id=chat_id,
            sender_id=self.bot.id,
            body=body,
            t=now,
            date=self._clock.date(),
            history=(Version(body.text, keyboard, now),),
            keyboard=keyboard,
            force_reply=force_reply,
            reply_to=reply_to,
            document=document,
            silent=silent,
        )
        return self._store(message)

    def edit(
        self, chat_id: int, message_id: int, *, body: Body | None, keyboard: Keyboard, caption: bool = False
    ) -> Message:
        """A body of None leaves the text; a keyboard that is not given is removed, as at Telegram."""
        self.check_writable(chat_id)
        message = self.visible(chat_id, message_id)
        if message is None:
            raise bad_request("message to edit not found")
        if message.sender_id != self.bot.id or message.force_reply:
            raise bad_request("message can't be edited")
        if body is not None and caption and message.document is None:
            raise bad_request("there is no caption in the message to edit")
        if body is not None and not caption and message.document is not None:
            raise bad_request("there is no text in the message to edit")
        body = body or message.body
        if (body.text, body.entities, keyboard) == (
            message.body.text,
            message.body.entities,
            message.keyboard,
        ):
            raise bad_request(_NOT_MODIFIED)
        version = Version(body.text, keyboard, self._clock.now())
        return self._store(
            replace(
                message,
                body=body,
                keyboard=keyboard,
                edit_date=self._clock.date(),
                history=(*message.history, version),
            )
        )

    def delete(self, chat_id: int, message_id: int) -> None:
        self._known_chat(chat_id)
        message = self.visible(chat_id, message_id)
        if message is None:
            raise bad_request("message to delete not found")
        if self._clock.now() - message.t > DELETE_WITHIN_S:
            raise bad_request("message can't be deleted for everyone")
        if chat_id < 0 and message.sender_id != self.bot.id:
            raise bad_request("message can't be deleted")
        if self.pinned.get(chat_id) == message_id:
            del self.pinned[chat_id]
        self._store(replace(message, deleted=True))

    def react(self, chat_id: int, message_id: int, reaction: str | None) -> None:
        self._known_chat(chat_id)
        message = self.visible(chat_id, message_id)
        if message is None:
            raise bad_request("message to react not found")
        self._store(replace(message, reaction=reaction))

    def pin(self, chat_id: int, message_id: int | None) -> None:
        """None takes the pin away."""
        self._known_chat(chat_id)
        if message_id is None:
            self.pinned.pop(chat_id, None)
        elif self.visible(chat_id, message_id) is None:
            raise bad_request("message to pin not found")
        else:
            self.pinned[chat_id] = message_id
        self.publish(Roster())

    def show_action(self, chat_id: int, action: str) -> None:
        self.check_writable(chat_id)
        self.publish(Action(chat_id, action))

    def answer(self, query_id: str, answer: Answer) -> None:
        """Telegram takes a second answer too, but none for a tap that is long past."""
        query = self._queries.get(query_id)
        if query is None or self._clock.now() - query.t > CALLBACK_ANSWER_WITHIN_S:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        query = replace(query, answer=answer)
        self._queries[query_id] = query
        self.publish(query)

    # What people do.

    def say(self, user_id: int, chat_id: int, text: str, *, reply_to: int | None = None) -> Message:
        user = self._user(user_id)
        self._check_member(user_id, chat_id)
        text, _ = trim(clean(text))
        if limits.is_blank(text) or utf16_length(text) > limits.TEXT_UNITS:
            raise ControlError(400, f"a message has 1 to {limits.TEXT_UNITS} characters")
        if reply_to is not None and self.visible(chat_id, reply_to) is None:
            raise ControlError(404, f"no message {reply_to} to reply to")
        if chat_id == user_id and (user.blocked or not user.started):
            self.block(user_id, blocked=False)
            self.users[user_id] = replace(user, started=True, blocked=False)
            self.publish(Roster())
        now = self._clock.now()
        message = self._store(
            Message(
                message_id=self._new_message_id(),
                chat_id=chat_id,
                sender_id=user_id,
                body=Body(text, find_commands(text), source=text),
                t=now,
                date=self._clock.date(),
                history=(Version(text, (), now),),
                reply_to=reply_to,
            )
        )
        if self._reaches_bot(message):
            self._updates.put(message)
        return message

    def tap(
        self, user_id: int, chat_id: int, message_id: int, *, data: str | None, label: str | None, forge: bool
    ) -> CallbackQuery:
        """Presses a button. A forged tap may name any user, message and data, as a hostile client could."""
        message = self.visible(chat_id, message_id)
        user = self.users.get(user_id)
        if forge:
            data = data if data is not None else ""
            user = user or User(user_id, "Stranger")
        else:
            user = self._user(user_id)
            self._check_member(user_id, chat_id)
            button = find_button(message.keyboard if message else (), data=data, label=label)
            if button is None or button.callback_data is None:
                raise ControlError(404, f"no such button on message {message_id}")
            data = button.callback_data
        self._last_query += 1
        query = CallbackQuery(
            id=str((user_id & 0x7FFFFFFF) << 32 | self._last_query),
            user=user,
            chat_id=chat_id,
            message_id=message_id,
            message=message,
            data=data,
            t=self._clock.now(),
        )
        self._queries[query.id] = query
        self._updates.put(query)
        self.publish(query)
        return query

    def _reaches_bot(self, message: Message) -> bool:
        """In a group, a bot in privacy mode (the default) sees commands and replies to itself only."""
        group = self.groups.get(message.chat_id)
        if group is None:
            return True
        if group.kicked:
            return False
        answered = self.message(message.chat_id, message.reply_to or 0)
        return message.body.text.startswith("/") or (answered is not None and answered.sender_id == self.bot.id)

    def _user(self, user_id: int) -> User:
        try:
            return self.users[user_id]
        except KeyError:
            raise ControlError(404, f"no user {user_id}") from None

    def _check_member(self, user_id: int, chat_id: int) -> None:
        if chat_id not in self.chat_ids(user_id):
            raise ControlError(404, f"user {user_id} has no chat {chat_id}")

    def _known_chat(self, chat_id: int) -> None:
        if chat_id not in self.users and chat_id not in self.groups:
            raise bad_request("chat not found")

    def _new_message_id(self) -> int:
        self._last_message_id += 1
        return self._last_message_id

    def _store(self, message: Message) -> Message:
        self._messages.setdefault(message.chat_id, {})[message.message_id] = message
        self.publish(message)
        return message


def find_button(keyboard: Keyboard, *, data: str | None, label: str | None) -> Button | None:
    """By its data, or by its label: the whole of it before a part of it."""
    buttons = [button for row in keyboard for button in row]
    if data is not None:
        return next((button for button in buttons if button.callback_data == data), None)
    if not label:
        return None
    whole = (button for button in buttons if button.text == label)
    part = (button for button in buttons if label in button.text)
    return next(whole, None) or next(part, None)


def find_commands(text: str) -> tuple[Entity, ...]:
    """The command a message starts with, marked as Telegram marks it."""
    word = text.split(maxsplit=1)[0] if text.split() else ""
    if not word.startswith("/") or not word[1:].replace("_", "").replace("@", "").isalnum():
        return ()
    return (Entity("bot_command", 0, utf16_length(word)),)
