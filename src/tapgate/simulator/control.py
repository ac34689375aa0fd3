"""What tests and the page do to the simulator, and what they read: people, taps, faults, the clock, calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .bot_api import BotApi
from .changes import Changes
from .chats import Chats
from .clock import Clock
from .faults import Fault, Faults, Kind
from .model import Group, Json, Progress, User
from .polling import Polling
from .rates import Rates
from .refusal import ControlError
from .shapes import render_bot, render_bubble
from .updates import UpdateQueue

WAIT_CAP_S = 60.0


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class UserInput(_Input):
    id: Annotated[int, Field(gt=0)]
    first_name: str
    started: bool = True


class ChatInput(_Input):
    id: Annotated[int, Field(lt=0)]
    title: str
    members: list[int] = []
    kicked: bool = False


class BlockInput(_Input):
    user_id: int
    blocked: bool


class TapInput(_Input):
    user_id: int
    chat_id: int
    message_id: int
    data: str | None = None
    label: str | None = None
    forge: bool = False


class MessageInput(_Input):
    user_id: int
    chat_id: int
    text: str
    reply_to_message_id: int | None = None


class FaultInput(_Input):
    method: str = "*"
    kind: Kind
    times: int = 1
    retry_after: Annotated[int, Field(gt=0)] | None = None
    stall_s: Annotated[float, Field(ge=0)] | None = None
    applied: bool = False
    description: str | None = None
    only_html: bool = False
    message_id: int = 0


class ClockInput(_Input):
    advance_s: Annotated[float, Field(ge=0)]


class LimitsInput(_Input):
    enabled: bool


Input = TypeVar("Input", bound=_Input)


class Control:
    def __init__(
        self,
        *,
        chats: Chats,
        clock: Clock,
        changes: Changes,
        updates: UpdateQueue,
        polling: Polling,
        rates: Rates,
        faults: Faults,
        bot_api: BotApi,
    ) -> None:
        self._chats = chats
        self._clock = clock
        self._changes = changes
        self._updates = updates
        self._polling = polling
        self._rates = rates
        self._faults = faults
        self._bot_api = bot_api

    def routes(self) -> list[Route]:
        def post(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
            return Route(path, endpoint, methods=["POST"])

        return [
            post("/control/users", self._add_user),
            post("/control/chats", self._add_chat),
            post("/control/block", self._block),
            post("/control/tap", self.tap),
            post("/control/message", self.say),
            post("/control/clock", self._advance),
            post("/control/limits", self._limit),
            post("/control/faults", self._add_fault),
            Route("/control/faults", self._clear_faults, methods=["DELETE"]),
            Route("/control/faults", self._list_faults),
            Route("/control/answers/{query_id}", self._read_answer),
            Route("/control/chats/{chat_id}/messages", self._list_messages),
            Route("/control/wait", self._wait),
            Route("/control/calls", self._list_calls),
            Route("/control/state", self._show_state),
        ]

    async def tap(self, request: Request) -> Response:
        given = await _read(request, TapInput)
        query = self._chats.tap(
            given.user_id,
            given.chat_id,
            given.message_id,
            data=given.data,
            label=given.label,
            forge=given.forge,
        )
        return JSONResponse({"callback_query_id": query.id})

    async def say(self, request: Request) -> Response:
        given = await _read(request, MessageInput)
        message = self._chats.say(given.user_id, given.chat_id, given.text, reply_to=given.reply_to_message_id)
        return JSONResponse({"message_id": message.message_id})

    async def _add_user(self, request: Request) -> Response:
        given = await _read(request, UserInput)
        self._chats.add_user(User(given.id, given.first_name, started=given.started))
        return _done()

    async def _add_chat(self, request: Request) -> Response:
        given = await _read(request, ChatInput)
        group = Group(given.id, given.title, frozenset(given.members), kicked=given.kicked)
        self._chats.add_group(group)
        return _done()

    async def _block(self, request: Request) -> Response:
        given = await _read(request, BlockInput)
        self._chats.block(given.user_id, blocked=given.blocked)
        return _done()

    async def _advance(self, request: Request) -> Response:
        given = await _read(request, ClockInput)
        self._clock.advance(given.advance_s)
        self._changes.publish(Progress())
        return JSONResponse({"now": self._clock.now()})

    async def _limit(self, request: Request) -> Response:
        given = await _read(request, LimitsInput)
        self._rates.switch(enabled=given.enabled)
        return _done()

    async def _add_fault(self, request: Request) -> Response:
        given = await _read(request, FaultInput)
        self._faults.add(Fault(**given.model_dump(exclude_none=True)))
        return _done()

    async def _clear_faults(self, request: Request) -> Response:
        self._faults.clear()
        return _done()

    async def _list_faults(self, request: Request) -> Response:
        return JSONResponse({"faults": [asdict(fault) for fault in self._faults.waiting()]})

    async def _read_answer(self, request: Request) -> Response:
        query_id = request.path_params["query_id"]
        if self._chats.query(query_id) is None:
            raise ControlError(404, f"no tap {query_id}")

        def answered() -> bool:
            query = self._chats.query(query_id)
            return query is not None and query.answer is not None

        await self._until(answered, _number(request, "wait_s"))
        query = self._chats.query(query_id)
        answer = query.answer if query else None
        return JSONResponse(
            {
                "answered": answer is not None,
                "text": answer.text if answer else None,
                "show_alert": answer.show_alert if answer else False,
            }
        )

    async def _list_messages(self, request: Request) -> Response:
        try:
            chat_id = int(request.path_params["chat_id"])
        except ValueError:
            raise ControlError(400, "the chat id is a number") from None
        messages = self._chats.messages(chat_id)
        return JSONResponse({"messages": [render_bubble(self._chats, message) for message in messages]})

    async def _wait(self, request: Request) -> Response:
        since = int(_number(request, "since"))
        wait_s = min(_number(request, "wait_s", 5.0), WAIT_CAP_S)
        return JSONResponse({"seq": await self._changes.wait(since=since, timeout_s=wait_s)})

    async def _list_calls(self, request: Request) -> Response:
        since = int(_number(request, "since"))
        return JSONResponse({"calls": [asdict(call) for call in self._bot_api.calls if call.n > since]})

    async def _show_state(self, request: Request) -> Response:
        chats = self._chats
        state: Json = {
            "bot": render_bot(chats.bot),
            "users": [asdict(user) for user in chats.users.values()],
            "chats": [{**asdict(group), "members": sorted(group.members)} for group in chats.groups.values()],
            "pending_updates": len(self._updates.pending()),
            "offset": self._updates.confirmed_offset,
            "allowed_updates": self._updates.allowed,
            "pollers": self._polling.waiting,
            "last_poll_t": self._polling.last_poll_t,
            "now": self._clock.now(),
            "seq": self._changes.seq,
        }
        return JSONResponse(state)

    async def _until(self, condition: Callable[[], bool], wait_s: float) -> None:
        """Waits in real time, whatever the virtual clock does."""
        end = self._clock.real() + min(wait_s, WAIT_CAP_S)
        while not condition() and not self._changes.closed and (left_s := end - self._clock.real()) > 0:
            await self._changes.wait(since=self._changes.seq, timeout_s=left_s)


async def _read(request: Request, model: type[Input]) -> Input:
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise ControlError(400, f"{where}: {problem['msg']}" if where else problem["msg"]) from None


def _number(request: Request, name: str, default: float = 0.0) -> float:
    try:
        return float(request.query_params.get(name, default))
    except ValueError:
        raise ControlError(400, f"{name} is a number") from None


def _done() -> Response:
    return JSONResponse({"ok": True})
