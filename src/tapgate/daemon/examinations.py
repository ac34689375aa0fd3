"""Looks at questions in threads, so many at once, and waits for each only so long.

The agent chooses what is looked at, and a thread cannot be ended. So at most `MOST_AT_ONCE` run, whoever waits for a
turn gives up when its time is over, and a thread that is given up keeps its turn until it comes back. The process does
not stay for any of them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token

MOST_AT_ONCE = 2  # all of it is Python: more would only keep the event loop waiting for the interpreter
MOST_S = 10.0  # that an agent without a prompt of its own waits until its question has been looked at

ResultT = TypeVar("ResultT")


@dataclass(slots=True, eq=False)
class _Turn:
    """Somebody who waits to begin."""

    party: Hashable
    may_begin: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True)
class _Job(Generic[ResultT]):
    done: anyio.Event = field(default_factory=anyio.Event)
    result: list[ResultT] = field(default_factory=list)
    error: BaseException | None = None


class Examinations:
    """Turns go round among the parties that wait, and for each party in the order in which it asked."""

    def __init__(self, most_at_once: int = MOST_AT_ONCE) -> None:
        self._free = most_at_once
        self._waiting: list[_Turn] = []
        self._last: dict[Hashable, int] = {}  # the number of each waiting party's last turn
        self._turns = 0

    async def run(self, job: Callable[[], ResultT], *, party: Hashable, most_s: float = math.inf) -> ResultT:
        """The job's result. Raises TimeoutError after `most_s`, the wait for a turn included."""
        with anyio.fail_after(most_s):
            await self._begin(party)
            return await self._in_thread(job, self._end)

    async def run_at_once(self, job: Callable[[], ResultT], *, most_s: float) -> ResultT:
        """The same without waiting for a turn: for what a person caused."""
        with anyio.fail_after(most_s):
            return await self._in_thread(job, lambda: None)

    async def _begin(self, party: Hashable) -> None:
        turn = _Turn(party)
        self._waiting.append(turn)
        self._call_next()
        try:
            await turn.may_begin.wait()
        except BaseException:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:  # it was its turn at the same moment
                self._end()
            raise

    def _end(self) -> None:
        self._free += 1
        self._call_next()

    def _call_next(self) -> None:
        while self._free and self._waiting:
            turn = min(self._waiting, key=lambda one: self._last.get(one.party, 0))
            self._waiting.remove(turn)
            self._turns += 1
            self._last[turn.party] = self._turns
            self._free -= 1
            turn.may_begin.set()
        parties = {turn.party for turn in self._waiting}
        self._last = {party: number for party, number in self._last.items() if party in parties}

    async def _in_thread(self, job: Callable[[], ResultT], ended: Callable[[], None]) -> ResultT:
        running: _Job[ResultT] = _Job()
        token = current_token()

        def finish() -> None:
            ended()
            running.done.set()

        def work() -> None:
            try:
                running.result.append(job())
            except BaseException as error:
                running.error = error
            _in_loop(token, finish)

        threading.Thread(target=work, name="examination", daemon=True).start()
        await running.done.wait()
        if running.error is not None:
            raise running.error
        return running.result[0]


def _in_loop(token: EventLoopToken, call: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended: nobody waits any more
        from_thread.run_sync(call, token=token)
