"""The edge to Telegram: carries the desk's effects out and brings taps and replies in as events."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup
from telegram import (
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    Message,
    ReplyParameters,
)
from telegram.constants import ParseMode

from tapgate.desk.effects import (
    AnswerTap,
    AskText,
    Edit,
    Post,
    Retract,
    Say,
    ShowHidden,
    ShowWhole,
    Sound,
    Sweep,
    Withdraw,
)
from tapgate.desk.events import (
    CopyGone,
    Edited,
    EditRefused,
    Event,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    Replied,
    Sounded,
    Tapped,
    Ticked,
    WholePosted,
    Withdrawn,
)
from tapgate.model import Card, Context, Copy, Phase, Request, Tap
from tapgate.telegram.api import Api, BarredError, OutageError, RefusedError, calling
from tapgate.telegram.callback import decode_button
from tapgate.telegram.card import fits, render_card
from tapgate.telegram.content import TooLargeError, whole_of
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.edits import EditInPlace, EditResult
from tapgate.telegram.hidden import render_hidden
from tapgate.telegram.keyboard import keyboard_of
from tapgate.telegram.outbox import Job, Outbox
from tapgate.telegram.poll import OFFSET_KEPT_S, Handover, Poller
from tapgate.telegram.prompts import render_prompt
from tapgate.telegram.text import Clipper, plain_line

Emit = Callable[[Event, int | None], Awaitable[Handover | None]]
Command = Callable[[str, int, int], Awaitable[str | None]]
"""The answer to a command of this user in this chat, as HTML; None where there is none."""
WORKER_BYTES = 4 * 1024
SWEEP_AGAIN_S = 30.0
OVER_KEPT = 1000
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_SAID_UNITS = 1000
_ANSWER_UNITS = 200  # Telegram's limit for a callback answer
_ORPHAN = "This card does not count. If its question is still open, it stands on another one."
_ABOUT_CHAT = re.compile(r"(?i)chat|user|peer|rights|topic")  # refusals that another text would meet as well


class TelegramFront:
    def __init__(
        self,
        api: Api,
        *,
        emit: Emit,
        command: Command,
        setting: DisplayOptions,
        per_chat_s: float,
        offset: tuple[int, float] | None,
        last_poll: float | None,
        wall: Callable[[], float],
        mono: Callable[[], float],
        report: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._api = api
        self._emit = emit
        self._command = command
        self._setting = setting
        self._report = report
        self._sleep = sleep
        self._group: TaskGroup | None = None
        self._over: dict[str, None] = {}  # requests that ended, so that no card is sent for them any more
        self.outbox = Outbox(per_chat_s=per_chat_s, clock=mono, sleep=sleep, report=report)
        known = offset[0] if offset is not None and 0 <= wall() - offset[1] < OFFSET_KEPT_S else None
        self.poller = Poller(
            api,
            offset=known,
            offset_at=None if offset is None else offset[1],
            last_success=last_poll,
            deliver=self._deliver,
            confirm=self._confirm,
            resumed=self._resumed,
            wall=wall,
            sleep=sleep,
            report=report,
            mono=mono,
        )

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        await self._api.start()
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                await group.start(self.outbox.run)
                group.start_soon(self.poller.run)
                task_status.started()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._api.stop()

    # Out

    def fits(self, request: Request, context: Context) -> bool:
        return fits(request, context, self._setting.of(request))

    def answer_tap(self, effect: AnswerTap) -> None:
        """At once and beside the outbox: the phone shows a spinner until then."""
        if self._group is not None:
            self._group.start_soon(self._answer_now, effect)

    def post(self, effect: Post) -> None:
        for chat_id in effect.chats:
            self.outbox.put(self._post_job(effect, chat_id))

    def edit(self, effect: Edit) -> None:
        if effect.card.phase is Phase.SETTLED:
            self._over[effect.card.request.id] = None
            if len(self._over) > OVER_KEPT:
                del self._over[next(iter(self._over))]
            for chat_id in self.outbox.chats():
                for what in ("post", "whole", "hidden"):
                    self.outbox.cancel(chat_id, (what, effect.card.request.id))
        for copy in effect.copies:
            self.outbox.put(self._edit_job(effect.card, copy, idle=effect.idle))

    def withdraw(self, effect: Withdraw) -> None:
        self.outbox.put(self._withdraw_job(effect.request_id, effect.copy))

    def ask_text(self, effect: AskText) -> None:
        request_id, prompt = effect.card.request.id, effect.prompt

        async def call() -> None:
            asking = render_prompt(
                effect.card, prompt, self._setting.of(effect.card.request), is_group=effect.chat_id < 0
            )
            message = await calling(
                self._api.send_message(
                    effect.chat_id,
                    asking.text,
                    parse_mode=ParseMode.HTML,
                    reply_markup=ForceReply(selective=True, input_field_placeholder=asking.placeholder),
                    reply_parameters=ReplyParameters(effect.reply_to, allow_sending_without_reply=True),
                    link_preview_options=_NO_PREVIEW,
                )
            )
            await self._emit(PromptPosted(request_id, Copy(effect.chat_id, message.message_id), prompt), None)

        self.outbox.put(Job(effect.chat_id, ("prompt", request_id, prompt), call))

    def show_whole(self, effect: ShowWhole) -> None:
        for copy in effect.copies:
            self.outbox.put(self._whole_job(effect.card, copy))

    def show_hidden(self, effect: ShowHidden) -> None:
        """In the clear, to the chat in which an owner asked for it. Not where the config sends a summary only."""
        chat_id, reply_to = effect.copy.chat_id, effect.copy.message_id

        async def call() -> None:
            if effect.card.request.id in self._over:
                return
            hidden = "" if self._setting.is_brief else await anyio.to_thread.run_sync(render_hidden, effect.card)
            if not hidden:
                self.say(Say(chat_id, reply_to, "Nothing more than this card shows can be sent."))
                return
            reply = ReplyParameters(reply_to, allow_sending_without_reply=True)
            if isinstance(hidden, str):
                message = self._api.send_message(
                    chat_id,
                    hidden,
                    parse_mode=ParseMode.HTML,
                    reply_parameters=reply,
                    link_preview_options=_NO_PREVIEW,
                )
                await calling(message)
            else:
                name, data = hidden
                file = InputFile(data, filename=name)
                await calling(self._api.send_document(chat_id, file, reply_parameters=reply))

        async def failed(reason: str) -> None:
            self._report(f"what is hidden could not be sent to chat {chat_id}: {reason}")
            self.say(Say(chat_id, reply_to, f"What is hidden could not be sent: {reason}."))

        self.outbox.put(Job(chat_id, ("hidden", effect.card.request.id), call, failed, is_file=True))

    def retract(self, effect: Retract) -> None:
        async def call() -> None:
            await calling(self._api.delete_message(effect.copy.chat_id, effect.copy.message_id))

        async def failed(reason: str) -> None:
            pass  # gone already, or too old to delete: either way there is nothing left to do

        self.outbox.put(Job(effect.copy.chat_id, ("retract", effect.copy.message_id), call, failed))

    def say(self, effect: Say) -> None:
        async def call() -> None:
            await calling(
                self._api.send_message(
                    effect.chat_id,
                    effect.text if effect.is_html else self._words(effect.text),
                    parse_mode=ParseMode.HTML,
                    reply_parameters=ReplyParameters(effect.reply_to, allow_sending_without_reply=True),
                    link_preview_options=_NO_PREVIEW,
                )
            )

        self.outbox.put(Job(effect.chat_id, ("say", effect.reply_to), call))

    def sweep(self, effect: Sweep) -> None:
        for message_id in range(effect.before - 1, effect.after, -1):
            if message_id not in effect.known:
                self.outbox.put(self._sweep_job(Copy(effect.chat_id, message_id)))

    def sound(self, effect: Sound) -> None:
        """A silent message, taken back at once: its number is all that is wanted."""

        async def call() -> None:
            message = await calling(
                self._api.send_message(effect.chat_id, "tapgate is tidying up …", disable_notification=True)
            )
            copy = Copy(effect.chat_id, message.message_id)
            self.retract(Retract(copy))
            await self._emit(Sounded(copy), None)

        async def failed(reason: str) -> None:
            pass  # a chat that takes no message has no card in it either

        self.outbox.put(Job(effect.chat_id, ("sound",), call, failed))

    async def drain(self, most_s: float) -> None:
        self.outbox.hurry()
        with anyio.move_on_after(most_s):
            await self.outbox.drain()

    def _words(self, text: str) -> str:
        """A sentence may quote an answer, and so whatever an agent or a person wrote."""
        return Clipper(_SAID_UNITS, mask=self._setting.mask).take(text, _SAID_UNITS)

    async def _answer_now(self, effect: AnswerTap) -> None:
        text = plain_line(effect.text, _ANSWER_UNITS, mask=self._setting.mask) or None
        for attempt in (1, 2):
            try:
                await calling(self._api.answer_callback_query(effect.query_id, text, show_alert=effect.alert))
                return
            except RefusedError:
                return  # the query is too old: the card tells the outcome
            except OutageError:
                if attempt == 1:
                    await self._sleep(1)
            except Exception as error:
                self._report(f"a tap could not be answered ({error})")
                return

    def _post_job(self, effect: Post, chat_id: int) -> Job:
        card, request_id = effect.card, effect.card.request.id
        replaced = ReplyParameters(effect.reply_to, allow_sending_without_reply=True) if effect.reply_to else None

        async def send(text: str, parse_mode: ParseMode | None) -> Message:
            return await calling(
                self._api.send_message(
                    chat_id,
                    text,
                    parse_mode=parse_mode,
                    reply_markup=_markup(card, self._setting),
                    reply_parameters=replaced,
                    disable_notification=effect.is_silent or None,
                    link_preview_options=_NO_PREVIEW,
                )
            )

        async def call() -> None:
            if card.phase is not Phase.SETTLED and request_id in self._over:
                return  # it ended while an earlier try was under way: nobody is to be woken for it
            text = await self._rendered(card)
            try:
                message = await send(text, ParseMode.HTML)
            except RefusedError as error:
                if isinstance(error, BarredError) or ("parse" not in str(error) and _ABOUT_CHAT.search(str(error))):
                    raise
                self._report(f"a card had to be sent without formatting: {error}")
                message = await send(_plain(text), None)
            await self._emit(Posted(request_id, Copy(chat_id, message.message_id), card.version), None)

        async def failed(reason: str) -> None:
            self._report(f"a card could not be sent to chat {chat_id}: {reason}")
            await self._emit(PostFailed(request_id, chat_id, reason), None)

        async def unsure() -> None:
            await self._emit(PostUnsure(request_id, chat_id), None)

        # What tells of an end is not taken back with the end: it has a key of its own.
        return Job(chat_id, ("told" if card.phase is Phase.SETTLED else "post", request_id), call, failed, unsure)

    def _edit_job(self, card: Card, copy: Copy, *, idle: bool) -> Job:
        """As it should be, else without formatting. A card that has ended loses its buttons in any case."""
        request_id, markup = card.request.id, _markup(card, self._setting)

        async def show(parse_mode: ParseMode | None) -> None:
            text = await self._rendered(card)
            await self._api.edit_message_text(
                text if parse_mode is not None else _plain(text),
                chat_id=copy.chat_id,
                message_id=copy.message_id,
                parse_mode=parse_mode,
                reply_markup=markup,
                link_preview_options=_NO_PREVIEW,
            )

        edit = EditInPlace(lambda: show(ParseMode.HTML), lambda: show(None))
        bare = EditInPlace(lambda: self._api.edit_message_reply_markup(copy.chat_id, copy.message_id))

        async def call() -> None:
            result = await edit.run()
            if result is EditResult.SHOWN:
                await self._emit(Edited(request_id, copy, card.version), None)
                return
            self._report(f"a card in chat {copy.chat_id} could not be edited: {edit.reason or 'it was deleted'}")
            if result is EditResult.REFUSED and markup is None:
                result = EditResult.GONE if await bare.run() is EditResult.GONE else result
            if result is EditResult.GONE:
                await self._emit(CopyGone(request_id, copy), None)
            else:
                await self._emit(EditRefused(request_id, copy, card.version, result is EditResult.BARRED), None)

        async def failed(reason: str) -> None:
            self._report(f"a card in chat {copy.chat_id} could not be edited: {reason}")
            await self._emit(EditRefused(request_id, copy, card.version), None)

        return Job(copy.chat_id, ("edit", copy.message_id), call, failed, idle=idle)

    def _withdraw_job(self, request_id: str, copy: Copy) -> Job:
        edit = EditInPlace(
            lambda: self._api.edit_message_text(_ORPHAN, chat_id=copy.chat_id, message_id=copy.message_id),
            lambda: self._api.edit_message_reply_markup(copy.chat_id, copy.message_id),
        )

        async def call() -> None:
            result = await edit.run()
            if result is EditResult.SHOWN:
                await self._emit(Withdrawn(request_id, copy), None)
            elif result is EditResult.GONE:
                await self._emit(CopyGone(request_id, copy), None)
            else:
                await failed(edit.reason)

        async def failed(reason: str) -> None:
            self._report(f"a replaced card in chat {copy.chat_id} keeps its buttons: {reason}")

        # With the key of its edits: one that still waits would show the card there again.
        return Job(copy.chat_id, ("edit", copy.message_id), call, failed)

    def _whole_job(self, card: Card, copy: Copy) -> Job:
        async def call() -> None:
            if card.request.id in self._over:
                return
            setting = self._setting.of(card.request)
            try:
                name, data = await anyio.to_thread.run_sync(whole_of, card.request, card.context, setting)
            except TooLargeError as error:
                self.say(Say(copy.chat_id, copy.message_id, f"This cannot be shown: {error}."))
                return
            await calling(
                self._api.send_document(
                    copy.chat_id,
                    InputFile(data, filename=name),
                    reply_parameters=ReplyParameters(copy.message_id, allow_sending_without_reply=True),
                )
            )
            await self._emit(WholePosted(card.request.id, copy.chat_id), None)

        async def failed(reason: str) -> None:
            self._report(f"a file could not be sent to chat {copy.chat_id}: {reason}")
            self.say(Say(copy.chat_id, copy.message_id, f"The file could not be sent: {reason}."))

        return Job(copy.chat_id, ("whole", card.request.id), call, failed, is_file=True)

    async def _rendered(self, card: Card) -> str:
        """All but small inputs are rendered beside the event loop: an agent chooses how long its card takes to mask."""
        setting = self._setting.of(card.request)
        if len(card.request.raw) > WORKER_BYTES:
            return await anyio.to_thread.run_sync(render_card, card, setting)
        return render_card(card, setting)

    def _sweep_job(self, copy: Copy) -> Job:
        """Only a message of ours that has buttons can lose them, so on any other message this does nothing."""

        async def tell() -> None:
            await calling(self._api.edit_message_text(_ORPHAN, chat_id=copy.chat_id, message_id=copy.message_id))

        async def call() -> None:
            try:
                await calling(self._api.edit_message_reply_markup(copy.chat_id, copy.message_id))
                self._report("a card that Telegram had not told of was withdrawn")
                self.outbox.put(Job(copy.chat_id, ("orphan", copy.message_id), tell, failed))
            except OutageError:
                # The outbox lets idle work go; but buttons that count for nothing must not stay for ever.
                if self._group is not None:
                    self._group.start_soon(self._sweep_later, copy)
                raise

        async def failed(reason: str) -> None:
            pass

        return Job(copy.chat_id, ("sweep", copy.message_id), call, failed, idle=True)

    async def _sweep_later(self, copy: Copy) -> None:
        await self._sleep(SWEEP_AGAIN_S)
        self.outbox.put(self._sweep_job(copy))

    # In

    async def _resumed(self, away_s: float) -> None:
        await self._emit(PollResumed(away_s), None)

    async def _deliver(self, update: dict[str, Any], offset: int | None) -> Handover | None:
        event = parse_update(update)
        if event is not None:
            return await self._emit(event, offset)
        command = parse_command(update)
        if command is not None:
            name, user_id, chat_id, message_id = command
            text = await self._command(name, user_id, chat_id)
            if text is not None:
                self.say(Say(chat_id, message_id, text, is_html=True))
        return await self._emit(Ticked(), offset)

    async def _confirm(self, offset: int) -> None:
        await self._emit(Ticked(), offset)


def parse_update(update: dict[str, Any]) -> Event | None:
    """The tap or reply in an update; None for anything else."""
    query, message = update.get("callback_query"), update.get("message")
    if isinstance(query, dict):
        where = query.get("message")
        copy = None
        if isinstance(where, dict) and isinstance(where.get("chat"), dict):
            chat_id, message_id = where["chat"].get("id"), where.get("message_id")
            if isinstance(chat_id, int) and isinstance(message_id, int):
                copy = Copy(chat_id, message_id)
        data = query.get("data")
        tap = Tap(str(query["id"]), int(query["from"]["id"]), copy, data if isinstance(data, str) else "")
        button = decode_button(tap.data)
        if button is None:
            return Tapped(tap, "", "", "")
        return Tapped(tap, button.request_id, button.choice_key, button.seal)
    if isinstance(message, dict) and isinstance(message.get("reply_to_message"), dict) and "from" in message:
        text = message.get("text")
        return Replied(
            user_id=int(message["from"]["id"]),
            chat_id=int(message["chat"]["id"]),
            message_id=int(message["message_id"]),
            reply_to=int(message["reply_to_message"]["message_id"]),
            text=text if isinstance(text, str) else "",
        )
    return None


def parse_command(update: dict[str, Any]) -> tuple[str, int, int, int] | None:
    """A command like /history: its name, the user, the chat and the message."""
    message = update.get("message")
    if not isinstance(message, dict) or "from" not in message:
        return None
    match = re.match(r"/([a-z0-9_]{1,32})(?:@\w+)?(?:\s|$)", str(message.get("text") or ""))
    if match is None:
        return None
    return match[1], int(message["from"]["id"]), int(message["chat"]["id"]), int(message["message_id"])


def _markup(card: Card, setting: DisplayOptions) -> InlineKeyboardMarkup | None:
    rows = [
        [InlineKeyboardButton(key.text, callback_data=key.data, style=key.style or None) for key in row]
        for row in keyboard_of(card, mask=setting.mask, is_brief=setting.is_brief)
    ]
    return InlineKeyboardMarkup(rows) if rows else None


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^<>]*>", "", text))
