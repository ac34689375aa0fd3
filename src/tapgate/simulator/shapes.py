"""Values rendered as JSON: as the Bot API shapes them, and as the phone and the control side do. Pure."""

from __future__ import annotations

from .chats import Chats
from .html import Entity
from .model import Bot, Button, CallbackQuery, Document, Json, Keyboard, Membership, Message, Update, User


def render_bot(bot: Bot) -> Json:
    return {"id": bot.id, "is_bot": True, "first_name": bot.first_name, "username": bot.username}


def render_me(bot: Bot) -> Json:
    return {
        **render_bot(bot),
        "can_join_groups": True,
        "can_read_all_group_messages": False,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def render_user(user: User) -> Json:
    return {"id": user.id, "is_bot": False, "first_name": user.first_name, "language_code": "en"}


def render_chat(chats: Chats, chat_id: int) -> Json:
    if group := chats.groups.get(chat_id):
        return {"id": chat_id, "type": group.kind, "title": group.title}
    user = chats.users.get(chat_id)
    return {"id": chat_id, "type": "private", "first_name": user.first_name if user else "Stranger"}


def render_full_chat(chats: Chats, chat_id: int) -> Json:
    chat = {
        **render_chat(chats, chat_id),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": False,
            "limited_gifts": False,
            "unique_gifts": False,
            "premium_subscription": False,
            "gifts_from_channels": False,
        },
    }
    pinned = chats.visible(chat_id, chats.pinned.get(chat_id, 0))
    if pinned is not None:
        chat["pinned_message"] = render_message(chats, pinned)
    return chat


def render_entity(entity: Entity) -> Json:
    value: Json = {"type": entity.kind, "offset": entity.offset, "length": entity.length}
    if entity.url is not None:
        value["url"] = entity.url
    if entity.language is not None:
        value["language"] = entity.language
    return value


def render_button(button: Button) -> Json:
    value: Json = {"text": button.text}
    if button.callback_data is not None:
        value["callback_data"] = button.callback_data
    if button.url is not None:
        value["url"] = button.url
    if button.copy_text is not None:
        value["copy_text"] = {"text": button.copy_text}
    if button.style is not None:
        value["style"] = button.style
    return value


def render_keyboard(keyboard: Keyboard) -> list[list[Json]]:
    return [[render_button(button) for button in row] for row in keyboard]


def render_document(document: Document) -> Json:
    return {
        "file_id": document.file_id,
        "file_unique_id": document.file_id.rpartition("-")[2],
        "file_name": document.file_name,
        "mime_type": document.mime_type,
        "file_size": document.size_bytes,
    }


def render_message(chats: Chats, message: Message, *, with_reply: bool = True) -> Json:
    value: Json = {
        "message_id": message.message_id,
        "from": _render_sender(chats, message.sender_id),
        "chat": render_chat(chats, message.chat_id),
        "date": message.date,
    }
    if message.edit_date is not None:
        value["edit_date"] = message.edit_date
    replied = chats.visible(message.chat_id, message.reply_to or 0)
    if replied is not None and with_reply:
        value["reply_to_message"] = render_message(chats, replied, with_reply=False)
    if message.document is not None:
        value["document"] = render_document(message.document)
    text, entities = ("caption", "caption_entities") if message.document else ("text", "entities")
    if message.body.text:
        value[text] = message.body.text
    if message.body.entities:
        value[entities] = [render_entity(entity) for entity in message.body.entities]
    if message.keyboard:
        value["reply_markup"] = {"inline_keyboard": render_keyboard(message.keyboard)}
    return value


def render_update(chats: Chats, update: Update) -> Json:
    event = update.event
    if isinstance(event, CallbackQuery):
        value = _render_query(chats, event)
    elif isinstance(event, Membership):
        value = _render_membership(chats, event)
    else:
        value = render_message(chats, event)
    return {"update_id": update.update_id, update.kind: value}


def _render_query(chats: Chats, query: CallbackQuery) -> Json:
    inaccessible: Json = {
        "chat": render_chat(chats, query.chat_id),
        "message_id": query.message_id,
        "date": 0,
    }
    return {
        "id": query.id,
        "from": render_user(query.user),
        "message": render_message(chats, query.message) if query.message else inaccessible,
        "chat_instance": str(query.chat_id * 7919),
        "data": query.data,
    }


def _render_membership(chats: Chats, event: Membership) -> Json:
    member: Json = {"user": render_bot(chats.bot), "status": "member"}
    kicked: Json = {"user": render_bot(chats.bot), "status": "kicked", "until_date": 0}
    return {
        "chat": render_chat(chats, event.user.id),
        "from": render_user(event.user),
        "date": event.date,
        "old_chat_member": member if event.blocked else kicked,
        "new_chat_member": kicked if event.blocked else member,
    }


def _render_sender(chats: Chats, sender_id: int) -> Json:
    if sender_id == chats.bot.id:
        return render_bot(chats.bot)
    return render_user(chats.users.get(sender_id) or User(sender_id, "Stranger"))


def render_bubble(chats: Chats, message: Message) -> Json:
    """A message as the phone page draws it and as tests read it."""
    document = message.document
    return {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "from": "bot" if message.sender_id == chats.bot.id else message.sender_id,
        "text": message.body.text,
        "html": message.body.source,
        "parse_mode": message.body.parse_mode,
        "entities": [render_entity(entity) for entity in message.body.entities],
        "buttons": render_keyboard(message.keyboard),
        "edits": len(message.history) - 1,
        "history": [
            {"text": version.text, "buttons": render_keyboard(version.keyboard), "t": version.t}
            for version in message.history
        ],
        "reply_to": message.reply_to,
        "force_reply": message.force_reply is not None,
        "placeholder": message.force_reply.placeholder if message.force_reply else None,
        "document": {
            "file_name": document.file_name,
            "size": document.size_bytes,
            "url": f"/phone/files/{document.file_id}",
        }
        if document
        else None,
        "silent": message.silent,
        "deleted": message.deleted,
        "reaction": message.reaction,
        "date": message.date,
        "t": message.t,
    }
