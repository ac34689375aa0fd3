"""A hand on the simulator for tests: Bot API calls on one side, the person and the controls on the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tapgate.simulator import serve

TOKEN = "12345:simulated-token"
ADA = 101
LINUS = 102


@dataclass(frozen=True, slots=True)
class Outcome:
    """A Bot API answer; body is None when it was no JSON."""

    status: int
    body: Any
    content: bytes

    @property
    def result(self) -> Any:
        assert self.body["ok"], self.body
        return self.body["result"]

    @property
    def description(self) -> str:
        assert not self.body["ok"], self.body
        assert self.body["error_code"] == self.status
        return str(self.body["description"])


class Driver:
    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.url = url
        self.client = client

    async def call(self, method: str, /, *, token: str = TOKEN, **params: Any) -> Outcome:
        response = await self.client.post(f"/bot{token}/{method}", json=params)
        try:
            body = response.json()
        except ValueError:
            body = None
        return Outcome(response.status_code, body, response.content)

    async def send(self, text: str, *, chat_id: int = ADA, **params: Any) -> Outcome:
        return await self.call("sendMessage", chat_id=chat_id, text=text, **params)

    async def card(self, *data: str, text: str = "Allow?", chat_id: int = ADA) -> int:
        """The id of a message with one button for each data."""
        keyboard = [[{"text": f"Button {item}", "callback_data": item} for item in data]]
        sent = await self.send(text, chat_id=chat_id, reply_markup={"inline_keyboard": keyboard})
        return int(sent.result["message_id"])

    async def control(self, path: str, /, **body: Any) -> Any:
        response = await self.client.post(f"/control/{path}", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    async def read(self, path: str, **query: Any) -> Any:
        response = await self.client.get(f"/control/{path}", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    async def tap(self, message_id: int, *, user_id: int = ADA, chat_id: int = ADA, **which: Any) -> str:
        body = {"user_id": user_id, "chat_id": chat_id, "message_id": message_id, **which}
        return str((await self.control("tap", **body))["callback_query_id"])

    async def say(self, text: str, *, user_id: int = ADA, chat_id: int = ADA, **more: Any) -> int:
        sent = await self.control("message", user_id=user_id, chat_id=chat_id, text=text, **more)
        return int(sent["message_id"])

    async def advance(self, seconds: float) -> None:
        await self.control("clock", advance_s=seconds)

    async def messages(self, chat_id: int = ADA) -> list[Any]:
        return list((await self.read(f"chats/{chat_id}/messages"))["messages"])

    async def updates(self, **params: Any) -> list[Any]:
        return list((await self.call("getUpdates", **params)).result)

    async def until(self, condition: Callable[[Any], bool]) -> Any:
        """The state, as soon as the condition holds for it."""
        while True:
            state = await self.read("state")
            if condition(state):
                return state
            assert (await self.read("wait", since=state["seq"], wait_s=50))["seq"] > state["seq"]


@contextmanager
def running(*, port: int = 0, token: str = TOKEN) -> Iterator[str]:
    """The base URL of a simulator in a thread of its own, so that it serves while a test blocks."""
    ready = threading.Event()
    urls: list[str] = []
    tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    async def main() -> None:
        task = asyncio.ensure_future(
            serve(port=port, token=token, users=[(ADA, "Ada"), (LINUS, "Linus")], on_ready=on_ready)
        )
        tasks.append((asyncio.get_running_loop(), task))
        await asyncio.wait([task])

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        assert ready.wait(10), "the simulator did not start"
        yield urls[0]
    finally:
        loop, task = tasks[0]
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10)
        assert not thread.is_alive(), "the simulator did not stop"
