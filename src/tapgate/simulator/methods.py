"""The Bot API's methods: parameters in, result out, or a refusal in Telegram's words."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from . import limits
from .chats import Chats
from .html import HtmlError, clean, parse_html, trim
from .markup import parse_reply_markup
from .model import Answer, Body, Document, ForceReply, Json, Keyboard, Message, Roster
from .params import Params
from .polling import Polling
from .rates import Rates
from .refusal import RefusedError, bad_request
from .shapes import render_full_chat, render_me, render_message, render_update
from .updates import UpdateQueue

# Taken and without an effect here.
_IGNORED = frozenset(
    {
        "link_preview_options",
        "disable_web_page_preview",
        "protect_content",
        "message_effect_id",
        "disable_content_type_detection",
        "cache_time",
        "language_code",
        "is_big",
        "drop_pending_updates",
    }
)
_ACTIONS = frozenset({"typing", "upload_document", "upload_photo", "record_voice", "find_location"})
# The reactions a bot may set; anything else is refused.
_REACTIONS = (
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 "
    "🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 "
    "🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ "
    "💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"
)


class Methods:
    def __init__(self, *, chats: Chats, polling: Polling, updates: UpdateQueue, rates: Rates) -> None:
        self._chats = chats
        self._polling = polling
        self._updates = updates
        self._rates = rates
        self.commands: list[Json] = []  # as last set, for whomever: what the page offers
        self._scoped: dict[tuple[str, int], list[Json]] = {}
        self._table: dict[str, Callable[[Params], Any]] = {
            "getMe": lambda _: render_me(chats.bot),
            "sendMessage": self._send_message,
            "sendDocument": self._send_document,
            "editMessageText": self._edit_text,
            "editMessageCaption": self._edit_caption,
            "editMessageReplyMarkup": self._edit_reply_markup,
            "deleteMessage": self._delete_message,
            "answerCallbackQuery": self._answer_callback_query,
            "sendChatAction": self._send_chat_action,
            "setMyCommands": self._set_my_commands,
            "getMyCommands": self._get_my_commands,
            "getChat": self._get_chat,
            "getWebhookInfo": self._get_webhook_info,
            "deleteWebhook": self._delete_webhook,
            "setWebhook": self._set_webhook,
            "setMessageReaction": self._set_message_reaction,
            "pinChatMessage": self._pin_chat_message,
            "unpinChatMessage": self._unpin_chat_message,
        }
        self._names = {name.lower(): name for name in (*self._table, "getUpdates")}

    def name(self, method: str) -> str | None:
        """The method's proper spelling; the Bot API does not mind the case."""
        return self._names.get(method.lower())

    async def call(self, name: str, params: Params) -> Any:
        params.asked |= _IGNORED
        if name == "getUpdates":
            return await self._get_updates(params)
        return self._table[name](params)

    async def _get_updates(self, params: Params) -> list[Json]:
        kinds = params.json("allowed_updates", "allowed updates")
        if isinstance(kinds, list):
            self._updates.allow([str(kind) for kind in kinds])
        updates = await self._polling.fetch(
            offset=params.integer("offset"),
            limit=min(max(params.integer("limit", 100), 1), 100),
            timeout_s=params.integer("timeout"),
        )
        return [render_update(self._chats, update) for update in updates]

    def _send_message(self, params: Params) -> Json:
        body = _body(params, "text")
        limits.check_text(body.text, body.entities)
        return self._post(params, body, None)

    def _send_document(self, params: Params) -> Json:
        body = _body(params, "caption")
        limits.check_caption(body.text, body.entities)
        return self._post(params, body, self._document(params))

    def _post(self, params: Params, body: Body, document: Document | None) -> Json:
        keyboard, force_reply = _reply_markup(params)
        chat_id = self._chat_id(params)
        self._chats.check_writable(chat_id)
        if params.integer("message_thread_id"):
            raise bad_request("message thread not found")
        reply_to = self._reply_to(params, chat_id)
        self._rates.take(chat_id)
        message = self._chats.post(
            chat_id,
            body,
            keyboard=keyboard,
            force_reply=force_reply,
            reply_to=reply_to,
            document=document,
            silent=params.flag("disable_notification"),
        )
        return render_message(self._chats, message)

    def _edit_text(self, params: Params) -> Json:
        body = _body(params, "text")
        limits.check_text(body.text, body.entities)
        return self._edit(params, body)

    def _edit_caption(self, params: Params) -> Json:
        body = _body(params, "caption")
        limits.check_caption(body.text, body.entities)
        return self._edit(params, body, caption=True)

    def _edit_reply_markup(self, params: Params) -> Json:
        return self._edit(params, None)

    def _edit(self, params: Params, body: Body | None, *, caption: bool = False) -> Json:
        keyboard, force_reply = _reply_markup(params)
        if force_reply:
            raise bad_request("inline keyboard expected")
        if params.text("inline_message_id"):
            raise bad_request("MESSAGE_ID_INVALID")
        chat_id, message_id = self._chat_id(params), _message_id(params)
        self._chats.check_writable(chat_id)
        self._rates.take(chat_id)
        message: Message = self._chats.edit(chat_id, message_id, body=body, keyboard=keyboard, caption=caption)
        return render_message(self._chats, message)

    def _delete_message(self, params: Params) -> bool:
        self._chats.delete(self._chat_id(params), _message_id(params))
        return True

    def _answer_callback_query(self, params: Params) -> bool:
        text = params.text("text")
        limits.check_callback_answer(text)
        if params.text("url"):
            raise bad_request("URL_INVALID")
        answer = Answer(clean(text) or None, params.flag("show_alert"))
        self._chats.answer(params.text("callback_query_id"), answer)
        return True

    def _send_chat_action(self, params: Params) -> bool:
        action = params.text("action")
        if action not in _ACTIONS:
            raise bad_request("wrong parameter action in request")
        params.get("message_thread_id")
        self._chats.show_action(self._chat_id(params), action)
        return True

    def _set_my_commands(self, params: Params) -> bool:
        scope = self._scope(params)
        commands = params.json("commands", "commands")
        if not isinstance(commands, list) or not all(isinstance(command, dict) for command in commands):
            raise bad_request("can't parse commands JSON object")
        limits.check_commands([(command.get("command"), command.get("description")) for command in commands])
        self.commands = [{name: command[name] for name in ("command", "description")} for command in commands]
        self._scoped[scope] = self.commands
        self._chats.publish(Roster())
        return True

    def _get_my_commands(self, params: Params) -> list[Json]:
        return self._scoped.get(self._scope(params), [])

    def _scope(self, params: Params) -> tuple[str, int]:
        """For whom commands are: everybody, or one chat, which must be known."""
        scope = params.json("scope", "BotCommandScope")
        kind = scope.get("type") if isinstance(scope, dict) else "default" if scope is None else None
        if kind not in ("default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat"):
            raise bad_request("can't parse BotCommandScope: Unsupported type specified")
        if kind != "chat":
            return kind, 0
        chat_id = Params({"chat_id": scope.get("chat_id")})
        self._get_chat(chat_id)
        return kind, self._chat_id(chat_id)

    def _get_chat(self, params: Params) -> Json:
        chat_id = self._chat_id(params)
        if chat_id not in self._chats.users and chat_id not in self._chats.groups:
            raise bad_request("chat not found")
        return render_full_chat(self._chats, chat_id)

    def _get_webhook_info(self, params: Params) -> Json:
        return {
            "url": "",
            "has_custom_certificate": False,
            "pending_update_count": len(self._updates.pending()),
            "allowed_updates": self._updates.allowed,
        }

    def _delete_webhook(self, params: Params) -> bool:
        if params.flag("drop_pending_updates"):
            self._updates.clear()
        return True

    def _set_webhook(self, params: Params) -> bool:
        if params.text("url"):
            raise bad_request("bad webhook: webhooks are unsupported in the simulator")
        return True

    def _set_message_reaction(self, params: Params) -> bool:
        reactions = params.json("reaction", "reaction types") or []
        if not isinstance(reactions, list) or len(reactions) > 1:
            raise bad_request("REACTIONS_TOO_MANY")
        emoji = reactions[0].get("emoji") if reactions and isinstance(reactions[0], dict) else None
        if reactions and str(emoji).rstrip("\ufe0f") not in _REACTIONS.split():
            raise bad_request("REACTION_INVALID")
        self._chats.react(self._chat_id(params), _message_id(params), emoji)
        return True

    def _pin_chat_message(self, params: Params) -> bool:
        params.flag("disable_notification")
        self._chats.pin(self._chat_id(params), _message_id(params))
        return True

    def _unpin_chat_message(self, params: Params) -> bool:
        params.integer("message_id")
        self._chats.pin(self._chat_id(params), None)
        return True

    def _chat_id(self, params: Params) -> int:
        value = params.text("chat_id").strip()
        if not value:
            raise bad_request("chat_id is empty")
        try:
            return int(value)
        except ValueError:
            raise bad_request("chat not found") from None

    def _reply_to(self, params: Params, chat_id: int) -> int | None:
        wanted = params.json("reply_parameters", "reply parameters")
        message_id = params.integer("reply_to_message_id")
        optional = params.flag("allow_sending_without_reply")
        if isinstance(wanted, dict):
            message_id = int(wanted.get("message_id") or 0)
            optional = bool(wanted.get("allow_sending_without_reply"))
        if not message_id:
            return None
        if self._chats.visible(chat_id, message_id) is not None:
            return message_id
        if optional:
            return None
        raise bad_request("message to be replied not found")

    def _document(self, params: Params) -> Document:
        upload = params.upload("document")
        if upload is not None:
            limits.check_document(len(upload.content))
            file_id = f"BQACAgIAAxkBAAI{secrets.token_hex(8)}-{secrets.token_hex(6)}"
            return Document(file_id, upload.file_name, upload.mime_type, upload.content)
        known = self._chats.document(params.text("document"))
        if known is None:
            reason = "wrong file identifier/HTTP URL specified" if params.text("document") else ""
            raise bad_request(reason or "there is no document in the request")
        return known


def _body(params: Params, name: str) -> Body:
    source, parse_mode = params.text(name), params.text("parse_mode")
    limits.check_utf8(source)
    for other in ("entities", "caption_entities"):
        if params.json(other, "entities"):
            raise bad_request(f"{other} are unsupported in the simulator; use parse_mode HTML")
    if not parse_mode:
        text, entities = trim(clean(source))
    elif parse_mode.lower() == "html":
        try:
            text, entities = parse_html(source)
        except HtmlError as error:
            raise bad_request(f"can't parse entities: {error}") from None
    elif parse_mode.lower() in ("markdown", "markdownv2"):
        raise bad_request(f"parse_mode {parse_mode} is unsupported in the simulator; use HTML")
    else:
        raise bad_request("unsupported parse_mode")
    return Body(text, entities, source, parse_mode or None)


def _reply_markup(params: Params) -> tuple[Keyboard, ForceReply | None]:
    return parse_reply_markup(params.json("reply_markup", "reply keyboard markup"))


def _message_id(params: Params) -> int:
    message_id = params.integer("message_id")
    if not message_id:
        raise RefusedError(400, "Bad Request: message identifier is not specified")
    return message_id
