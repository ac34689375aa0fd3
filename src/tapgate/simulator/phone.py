"""The phone's side: the page, its files, and the stream of what changes in the chats of one person."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from .changes import Changes
from .chats import Chats
from .control import Control
from .methods import Methods
from .model import Action, CallbackQuery, Change, Json, Message, Roster
from .refusal import ControlError
from .shapes import render_bubble

_HEARTBEAT_S = 15.0
_PAGE = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "bubble.js": "text/javascript; charset=utf-8",
    "entities.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_HEADERS = {
    # Cards show what an agent was fed: even if the page had a hole, no script but its own would run.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Phone:
    def __init__(self, *, chats: Chats, changes: Changes, methods: Methods, control: Control) -> None:
        self._chats = chats
        self._changes = changes
        self._methods = methods
        self._control = control

    def routes(self) -> list[Route]:
        return [
            Route("/", self._page),
            Route("/page/{name}", self._page),
            Route("/phone/events", self._events),
            Route("/phone/files/{file_id}", self._file),
            Route("/phone/tap", self._control.tap, methods=["POST"]),
            Route("/phone/message", self._control.say, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in _PAGE:
            raise ControlError(404, f"no file {name}")
        content = files(__package__).joinpath("page", name).read_bytes()
        return Response(content, headers={**_HEADERS, "Content-Type": _PAGE[name]})

    async def _file(self, request: Request) -> Response:
        document = self._chats.document(request.path_params["file_id"])
        if document is None:
            raise ControlError(404, "no such file")
        plain = re.sub(r'[^ -~]|["\\]', "_", document.file_name)
        return Response(
            document.content,
            headers={
                **_HEADERS,
                "Content-Type": "application/octet-stream",
                "Content-Disposition": f'attachment; filename="{plain}"',
            },
        )

    async def _events(self, request: Request) -> Response:
        users = self._chats.users
        try:
            user_id = int(request.query_params.get("user") or next(iter(users)))
        except (ValueError, StopIteration):
            raise ControlError(404, "no such user") from None
        if user_id not in users:
            raise ControlError(404, f"no user {user_id}")
        return StreamingResponse(
            self._stream(user_id), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def _stream(self, user_id: int) -> AsyncIterator[bytes]:
        """First everything, then what changes; a stream that was cut starts over with everything."""
        with self._changes.follow() as queue:
            yield b"retry: 500\n\n" + self._encode("state", self._render_state(user_id))
            while True:
                try:
                    change = await asyncio.wait_for(queue.get(), _HEARTBEAT_S)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if change is None:
                    return
                event = self._render_change(user_id, change)
                if event is not None:
                    yield self._encode(*event)

    def _encode(self, name: str, value: Json) -> bytes:
        return f"id: {self._changes.seq}\nevent: {name}\ndata: {json.dumps(value)}\n\n".encode()

    def _render_state(self, user_id: int) -> Json:
        chats = self._chats
        bot, user = chats.bot, chats.users[user_id]
        shown = [{"id": user_id, "title": bot.first_name, "type": "private"}] + [
            {"id": group.id, "title": group.title, "type": "group", "members": len(group.members) + 1}
            for group in chats.groups.values()
            if user_id in group.members
        ]
        return {
            "bot": {"name": bot.first_name, "username": bot.username},
            "user": {"id": user_id, "started": user.started, "blocked": user.blocked},
            "users": [{"id": other.id, "name": other.first_name} for other in chats.users.values()],
            "commands": self._methods.commands,
            "chats": [{**chat, "pinned": chats.pinned.get(int(str(chat["id"])))} for chat in shown],
            "messages": [
                render_bubble(chats, message)
                for chat in chats.chat_ids(user_id)
                for message in chats.messages(chat)
                if not message.deleted
            ],
        }

    def _render_change(self, user_id: int, change: Change) -> tuple[str, Json] | None:
        if isinstance(change, Roster):
            return "state", self._render_state(user_id)
        if isinstance(change, Message) and change.chat_id in self._chats.chat_ids(user_id):
            return "message", render_bubble(self._chats, change)
        if isinstance(change, Action) and change.chat_id in self._chats.chat_ids(user_id):
            return "action", {"chat_id": change.chat_id, "action": change.action}
        if isinstance(change, CallbackQuery) and change.user.id == user_id and change.answer:
            return "answer", {
                "callback_query_id": change.id,
                "text": change.answer.text,
                "show_alert": change.answer.show_alert,
            }
        return None
