"""A front, an engine and a desk in the test's own event loop, at a real simulator, with waits that are shorter by far.

Telegram's slow faults (a refused token, a stalled server) are waited out for half a minute and more; here the sleep is
a parameter, so that each of them can be tried on each method. The real processes are in world.py.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import httpx

from tapgate.daemon.engine import Engine
from tapgate.desk.desk import Desk
from tapgate.desk.events import CallerConfirmed, Event
from tapgate.model import Instant, Person, Request
from tapgate.telegram.api import Api
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.front import TelegramFront
from tapgate.wire import FrameKind
from tests.builders import make_request
from tests.daemon.fakes import PATIENCE_S, Diary, FakeLine, FakeRecords, Sent
from tests.simulator.driver import ADA, TOKEN, Driver, running

FASTER = 300
Message = dict[str, Any]
Found = TypeVar("Found")
PEOPLE = (Person(ADA, ADA, "Ada"),)


async def briefly(seconds: float) -> None:
    await anyio.sleep(seconds / FASTER)


@dataclass(slots=True)
class Office:
    driver: Driver
    engine: Engine
    front: TelegramFront
    diary: Diary

    async def ask(self, request: Request) -> FakeLine:
        line = FakeLine(self.diary)
        await self.engine.ask(request, line)
        return line

    async def answer(self, line: FakeLine) -> Sent:
        """What the caller got, once it got something."""
        return await self.diary.until(lambda: line.sent)

    async def confirm(self, request: Request) -> None:
        """The caller's word that it has the answer."""
        await self.engine.handle(CallerConfirmed(request.id))

    async def fault(self, method: str, kind: str, **more: Any) -> None:
        await self.driver.control("faults", method=method, kind=kind, **more)

    async def clear(self) -> None:
        assert (await self.driver.client.delete("/control/faults")).status_code == 200

    async def cards(self, chat_id: int = ADA) -> list[Message]:
        messages = await self.driver.messages(chat_id)
        return [message for message in messages if message["from"] == "bot" and not message["deleted"]]

    async def tappable(self, chat_id: int = ADA) -> list[Message]:
        return [card for card in await self.cards(chat_id) if card["buttons"]]

    async def calls(self, method: str = "") -> list[Message]:
        calls = list((await self.driver.read("calls"))["calls"])
        return [call for call in calls if not method or call["method"] == method]

    async def until(self, find: Callable[[], Awaitable[Found | None]]) -> Found:
        """What `find` gives, as soon as it gives something; looked at whenever the simulator's state changes."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                seq = (await self.driver.read("state"))["seq"]
                found = await find()
                if found:
                    return found
                await self.driver.read("wait", since=seq, wait_s=0.2)

    async def open_card(self) -> Message:
        return (await self.until(self.tappable))[-1]

    async def all_say(self, words: str) -> list[Message]:
        """The cards, once all of them say this and none has a button."""

        async def find() -> list[Message] | None:
            cards = await self.cards()
            return cards if all(words in card["text"] and not card["buttons"] for card in cards) else None

        return await self.until(find)

    async def tap(self, card: Message, label: str = "Allow") -> str:
        return await self.driver.tap(card["message_id"], label=label)

    async def allow(self, number: int = 1) -> None:
        """The whole way of a request: asked, shown, tapped, answered, confirmed, said so."""
        request = make_request(number, session=f"session-{number}")
        line = await self.ask(request)
        await self.tap(await self.open_card())
        sent = await self.answer(line)
        assert sent.kind is FrameKind.REPLY and b'"behavior":"allow"' in sent.body
        await self.confirm(request)

        async def settled() -> bool:
            return not await self.tappable() and "Allowed by Ada" in (await self.cards())[-1]["text"]

        await self.until(settled)


@asynccontextmanager
async def new_office(
    url: str,
    *,
    per_chat_s: float = 0.0,
    read_s: float = PATIENCE_S,
    sleep: Callable[[float], Awaitable[None]] = briefly,
    mono: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Office]:
    """Not at work yet: `opened` does that. An answer from Telegram is waited for `read_s`."""
    diary = Diary()
    engine = Engine(
        Desk(PEOPLE, hold_s=600),
        FakeRecords(diary),
        clock=lambda: Instant(time.monotonic(), time.time()),
        report=diary.report,
    )

    async def emit(event: Event, offset: int | None) -> None:
        diary.add(event)
        await engine.handle(event, offset)

    async def command(name: str, user_id: int, chat_id: int) -> None:
        pass

    front = TelegramFront(
        Api(token=TOKEN, base_url=url, proxy=None, read_s=read_s),
        emit=emit,
        command=command,
        setting=DisplayOptions(clock=lambda wall: time.strftime("%H:%M", time.localtime(wall))),
        per_chat_s=per_chat_s,
        offset=None,
        last_poll=None,
        wall=time.time,
        mono=mono,
        report=diary.report,
        sleep=sleep,
    )
    engine.connect(front)
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:
        office = Office(Driver(url, client), engine, front, diary)
        await office.driver.control("limits", enabled=False)
        yield office


@asynccontextmanager
async def opened(office: Office) -> AsyncIterator[Office]:
    """The engine and the front at work. An end of either before the test's end fails the test."""
    async with anyio.create_task_group() as group:
        await group.start(office.engine.run)
        await group.start(office.front.run)
        yield office
        group.cancel_scope.cancel()
    assert all(TOKEN not in report for report in office.diary.reports), office.diary.reports


__all__ = ["ADA", "FASTER", "TOKEN", "Message", "Office", "briefly", "new_office", "opened", "running"]
