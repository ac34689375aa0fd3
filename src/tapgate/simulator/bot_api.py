"""The HTTP door of the Bot API: token, faults, the log of calls, and answers in Telegram's envelope."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .changes import Changes
from .clock import Clock
from .faults import Fault, Faults, Reply, render_fault, render_refusal
from .methods import Methods
from .model import Json, Progress
from .params import Params, parse_params
from .refusal import RefusedError

T = TypeVar("T")
DROP = "tapgate.drop"
"""Key in the ASGI scope's extensions: a function that cuts the connection."""
_HUNG_UP = 499
_CUT = 0
_LOG_LENGTH = 100_000


class NoAnswerError(Exception):
    """The connection ended without an answer: the caller hung up, or a fault cut it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(slots=True)
class Call:
    n: int
    method: str
    params: Json
    t: float
    status: int | None = None
    """None while the call is under way."""
    description: str | None = None
    unknown_params: tuple[str, ...] = ()


class BotApi:
    def __init__(self, *, token: str, methods: Methods, faults: Faults, clock: Clock, changes: Changes) -> None:
        self._token = token
        self._methods = methods
        self._faults = faults
        self._clock = clock
        self._changes = changes
        self.calls: deque[Call] = deque(maxlen=_LOG_LENGTH)
        self._last_call = 0

    async def answer(self, request: Request) -> Response:
        """One call. The log shows it from its start, with its outcome once there is one."""
        method = request.path_params["method"]
        call = self._record(self._methods.name(method) or method)
        try:
            reply = await self._reply(request, call)
        except NoAnswerError as error:
            call.status, call.description = error.status, error.reason
            self._changes.publish(Progress())
            return Response(status_code=_HUNG_UP)  # nobody reads it
        call.status, call.description = reply.status, reply.description or None
        self._changes.publish(Progress())
        date = {"date": formatdate(self._clock.date(), usegmt=True)}  # by which others compare their clocks
        return Response(reply.content, reply.status, headers=date, media_type=reply.content_type)

    async def _reply(self, request: Request, call: Call) -> Reply:
        if request.path_params["token"] != self._token:
            return render_refusal(RefusedError(401, "Unauthorized"))
        name = self._methods.name(call.method)
        if name is None:
            return render_refusal(RefusedError(404, "Not Found"))
        try:
            params = parse_params(
                query=request.url.query.encode(),
                content_type=request.headers.get("content-type", ""),
                body=await request.body(),
            )
        except RefusedError as error:
            return render_refusal(error)
        except ClientDisconnect:
            raise NoAnswerError(_HUNG_UP, "the caller hung up in the middle of its call") from None
        call.params = params.recorded()
        fault = self._faults.take(name, params.values)
        if fault is None:
            return await _unless_gone(request, self._perform(name, params, call))
        return await self._misbehave(request, fault, name, params, call)

    async def _misbehave(self, request: Request, fault: Fault, name: str, params: Params, call: Call) -> Reply:
        reply: Reply | None = None
        if fault.applied:
            reply = await _unless_gone(request, self._perform(name, params, call))
        if fault.kind == "drop":
            cut = request.scope.get("extensions", {}).get(DROP)
            if cut is not None:
                cut()
            raise NoAnswerError(_CUT, "connection dropped")
        if fault.kind == "stall":
            # In real time: the caller's patience is not on the virtual clock.
            await _unless_gone(request, self._stall(fault.stall_s))
            if reply is None:
                reply = await _unless_gone(request, self._perform(name, params, call))
            return reply
        return render_fault(fault)

    async def _stall(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (left_s := deadline - loop.time()) > 0 and not self._changes.closed:
            await self._changes.wait(since=self._changes.seq, timeout_s=left_s)

    async def _perform(self, name: str, params: Params, call: Call) -> Reply:
        try:
            result = await self._methods.call(name, params)
        except RefusedError as error:
            return render_refusal(error)
        call.unknown_params = tuple(params.unknown())
        return render_result(result)

    def _record(self, method: str) -> Call:
        self._last_call += 1
        call = Call(self._last_call, method, {}, self._clock.now())
        self.calls.append(call)
        return call


def render_result(result: Any) -> Reply:
    return Reply(200, json.dumps({"ok": True, "result": result}).encode(), "application/json", "")


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result; the work is cancelled when the caller hangs up."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise NoAnswerError(_HUNG_UP, "the caller hung up")
    finally:
        for pending in (task, gone):
            if not pending.done():
                pending.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
