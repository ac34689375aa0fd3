"""Hangs exhibits on a phone: the real front sends them to a real simulator, which refuses what Telegram would."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import anyio
import httpx
from anyio.streams.memory import MemoryObjectReceiveStream

from tapgate.desk.effects import Edit, Post
from tapgate.desk.events import Edited, Event, Posted, PromptPosted, WholePosted
from tapgate.model import Instant, Person
from tapgate.telegram.api import Api
from tapgate.telegram.front import TelegramFront
from tests.gallery.exhibits import Exhibit, hang
from tests.gallery.sample import Sample
from tests.simulator.driver import ADA, TOKEN, running

PERSON = Person(ADA, ADA, "Ada")
PATIENCE_S = 120.0
Heard = TypeVar("Heard", Posted, Edited, PromptPosted, WholePosted)


@dataclass(frozen=True, slots=True)
class Hung:
    """An exhibit, and the messages on the phone that belong to it: the card first."""

    exhibit: Exhibit
    message_ids: tuple[int, ...]


def clock(wall: float) -> str:
    return time.strftime("%H:%M", time.localtime(wall))


@contextmanager
def phone() -> Iterator[str]:
    """The address of a simulator that takes messages as fast as they come."""
    with running() as url:
        httpx.post(f"{url}/control/limits", json={"enabled": False}, trust_env=False).raise_for_status()
        yield url


def hang_all(url: str, samples: Iterable[Sample], *, age_s: float = 0.0) -> list[Hung]:
    """`age_s` is how long ago they were asked."""
    now = Instant(1000.0, time.time() - age_s)
    exhibits = [
        hang(sample, person=PERSON, now=now, clock=clock, number=number)
        for number, sample in enumerate(samples, start=1)
    ]
    return anyio.run(_send_all, url, exhibits)


async def _send_all(url: str, exhibits: list[Exhibit]) -> list[Hung]:
    return [await _send(url, exhibit) for exhibit in exhibits]


async def _send(url: str, exhibit: Exhibit) -> Hung:
    """First as it came, then as it stands: so the phone says “edited” where it would."""
    tell, heard = anyio.create_memory_object_stream[Event](1000)
    faults: list[str] = []

    async def emit(event: Event, offset: int | None) -> None:
        await tell.send(event)

    async def command(name: str, user_id: int, chat_id: int) -> None:
        raise AssertionError("nobody writes here")

    front = TelegramFront(
        Api(token=TOKEN, base_url=url, proxy=None),
        emit=emit,
        command=command,
        setting=exhibit.setting,
        per_chat_s=0.0,
        offset=None,
        last_poll=None,
        wall=time.time,
        mono=time.monotonic,
        report=faults.append,
    )
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group, tell, heard:
            await group.start(front.run)
            front.post(Post(exhibit.came, (ADA,)))
            copy = (await _next(heard, Posted)).copy
            for file in exhibit.files:
                front.show_whole(replace(file, copies=(copy,)))
                await _next(heard, WholePosted)
            if exhibit.card != exhibit.came:
                front.edit(Edit(exhibit.card, (copy,)))
                await _next(heard, Edited)
            for asked in exhibit.asked:
                front.ask_text(replace(asked, chat_id=ADA, reply_to=copy.message_id))
                await _next(heard, PromptPosted)
            group.cancel_scope.cancel()
    assert not faults, (exhibit.sample.name, faults)
    messages = httpx.get(f"{url}/control/chats/{ADA}/messages", trust_env=False).json()["messages"]
    return Hung(exhibit, tuple(one["message_id"] for one in messages if one["message_id"] >= copy.message_id))


async def _next(heard: MemoryObjectReceiveStream[Event], wanted: type[Heard]) -> Heard:
    async for event in heard:
        if isinstance(event, wanted):
            return event
    raise AssertionError("the front has ended")
