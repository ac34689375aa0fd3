"""The web application: wires the parts together and keeps strangers' pages away from them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .bot_api import BotApi
from .changes import Changes
from .chats import Chats
from .clock import Clock
from .control import Control
from .faults import Faults
from .methods import Methods
from .model import Bot, User
from .phone import Phone
from .polling import Polling
from .rates import Rates
from .refusal import ControlError
from .updates import UpdateQueue

_HOSTS = frozenset({"127.0.0.1", "localhost"})
_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Simulator:
    app: Starlette
    chats: Chats
    changes: Changes
    clock: Clock


def build(*, token: str, users: Sequence[tuple[int, str]], bot_username: str, clock: Clock | None = None) -> Simulator:
    clock = clock or Clock()
    changes = Changes()
    bot_id = int(token.partition(":")[0]) if token.partition(":")[0].isdigit() else 1_000_000
    # Ids grow with the wall clock, so that an offset kept from an earlier run does not hide new updates.
    updates = UpdateQueue(clock=clock, first_id=int(time.time()) % 2**31)
    name = bot_username.removesuffix("_bot").removesuffix("bot") or bot_username
    chats = Chats(bot=Bot(bot_id, name, bot_username), clock=clock, updates=updates, publish=changes.publish)
    for user_id, first_name in users:
        chats.add_user(User(user_id, first_name))
    rates, faults = Rates(clock), Faults()
    polling = Polling(clock=clock, changes=changes, updates=updates)
    methods = Methods(chats=chats, polling=polling, updates=updates, rates=rates)
    bot_api = BotApi(token=token, methods=methods, faults=faults, clock=clock, changes=changes)
    control = Control(
        chats=chats,
        clock=clock,
        changes=changes,
        updates=updates,
        polling=polling,
        rates=rates,
        faults=faults,
        bot_api=bot_api,
    )
    phone = Phone(chats=chats, changes=changes, methods=methods, control=control)
    app = Starlette(
        routes=[
            Route("/bot{token}/{method}", bot_api.answer, methods=["GET", "POST"]),
            *control.routes(),
            *phone.routes(),
        ],
        middleware=[Middleware(_Guard)],
        exception_handlers={ControlError: _refuse},
    )
    return Simulator(app, chats, changes, clock)


class _Guard:
    """Lets in only what names this machine, and changes only from pages of this server.

    Without it any web page could tap buttons here: by a cross-origin POST, or by a host name that resolves
    to the loopback address.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (reason := _reason_to_refuse(Request(scope))):
            await JSONResponse({"error": reason}, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _reason_to_refuse(request: Request) -> str | None:
    host = request.headers.get("host", "")
    if host.partition(":")[0].lower() not in _HOSTS:
        return "the Host header is not this machine"
    if request.method in _UNSAFE and request.url.path.startswith(("/phone", "/control")):
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "cross-origin request"
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "cross-site request"
    return None


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ControlError)
    return JSONResponse({"error": error.reason}, error.status)
