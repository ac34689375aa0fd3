"""The getUpdates loop: never dies, never confirms an update before what it causes is done. Knows no desk.

An update that answers a caller is confirmed once the answer was handed over: the journal proves no answer, so after a
crash before that Telegram has to deliver the update again. Meanwhile polling goes on with the offset of the oldest such
update, and those that were delivered already in this run are passed over.

The offset of an earlier run comes from a file that anybody may have written, or from another bot. It is only a hint to
Telegram: what Telegram delivers has not been confirmed, whatever its number is, and is heard.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from tapgate.telegram.api import READ_S, BusyError, ConflictError, OutageError, RefusedError, calling

TIMEOUT_S = 20
SLACK_S = 5.0
LONGEST_BACKOFF_S = 30.0
REPEAT_S = 1.0  # a server that answers at once with nothing new is not asked in a tight loop
BRIEFLY_S = 0.25  # an answer is with its caller within milliseconds, where the caller is there
REBUILD_S = 5.0
STEP_S = 60.0  # recording an update, however slow the disk is; longer means that nothing moves any more
OFFSET_KEPT_S = 6 * 86_400  # after a week without updates Telegram may number them anew
MOST_FETCHED = 100  # so many updates Telegram gives at once
DELIVERED_KEPT = 10 * MOST_FETCHED  # to know an update that comes again
MOST_HELD_S = 40.0  # an update is confirmed after this long, over all restarts, whatever became of the answer

Handover = Callable[[], Awaitable[None]]
"""Waits until an answer was handed over to its caller, or never will be."""


class Fetch(Protocol):
    async def fetch(self, *, offset: int | None, timeout_s: int) -> list[dict[str, Any]]: ...
    async def rebuild_polls(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Held:
    """An update that was delivered and is not confirmed yet."""

    number: int
    handover: Handover
    until: float


class Poller:
    """`deliver` gets each update with the offset that confirms it, and returns once that is recorded.

    Where it returns a Handover, the offset is not recorded: `confirm` has that done after the handover. While an older
    update waits for its own, newer ones are delivered without an offset.
    """

    def __init__(
        self,
        api: Fetch,
        *,
        offset: int | None,
        offset_at: float | None = None,
        last_success: float | None,
        deliver: Callable[[dict[str, Any], int | None], Awaitable[Handover | None]],
        confirm: Callable[[int], Awaitable[None]],
        resumed: Callable[[float], Awaitable[None]],
        wall: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        report: Callable[[str], None],
        mono: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._mono = mono
        self._offset = offset  # confirmed: what Telegram is asked for
        self._handled: int | None = None  # the update after the last one that this run delivered
        self._delivered: dict[int, None] = {}  # the numbers of the last ones
        self._recorded = offset  # what needs not be recorded once more; None: whatever it is, it does
        self._held: deque[_Held] = deque()
        self._inherited = (offset, offset_at)  # what an earlier run recorded, until the first poll is answered
        self._deliver = deliver
        self._confirm = confirm
        self._resumed = resumed
        self._wall = wall
        self._sleep = sleep
        self._report = report
        self._failures = 0
        self._told = ""
        self.last_success = last_success  # on the wall clock: the health figure
        self.trouble = ""  # in words, why the last poll failed
        self._expect(STEP_S)

    def overdue_s(self) -> float:
        """By how much the loop is late for its next step; negative while it makes attempts, whatever comes of them.

        That is what the service's watchdog looks at. A dead network is no fault of this process, and a restart would
        not help; a loop that does not even try any more is, and it does.
        """
        return self._mono() - self._due

    def _expect(self, within_s: float) -> None:
        """The next step is due by then."""
        self._due = self._mono() + within_s

    async def _rest(self, seconds: float) -> None:
        self._expect(seconds)
        await self._sleep(seconds)

    async def run(self) -> None:
        while True:
            await self.poll_once()

    async def poll_once(self) -> None:
        # The first poll, and the first after a failure, do not wait: what piled up is wanted now.
        timeout_s = 0 if self._failures or self.last_success is None or not self._told else TIMEOUT_S
        self._expect(timeout_s + READ_S + SLACK_S)
        try:
            with anyio.fail_after(timeout_s + READ_S + SLACK_S):
                updates = await calling(self._api.fetch(offset=self._offset, timeout_s=timeout_s))
        except TimeoutError:
            await self._failed("Telegram did not answer in time", slow=False)
            return
        except BusyError as error:
            self.trouble = str(error)
            await self._rest(error.retry_after_s)
            return
        except (OutageError, RefusedError) as error:
            await self._failed(str(error), slow=isinstance(error, ConflictError) or getattr(error, "slow", False))
            return
        except Exception as error:  # this loop is the only ear there is: it goes on whatever happens
            await self._failed(f"polling failed unexpectedly ({type(error).__name__})", slow=False)
            return
        is_new = [await self._take(update) for update in updates]
        self._forget_inherited()
        await self._succeeded()
        is_idle = bool(updates) and not any(is_new)
        if self._held and is_idle and len(updates) >= MOST_FETCHED:
            self._held.popleft()  # behind so many that were heard already, newer ones would never come
        if self._held or self._handled not in (None, self._offset):
            await self._wait_for_handover(REPEAT_S if is_idle else BRIEFLY_S)
        elif is_idle:
            await self._rest(REPEAT_S)

    async def _take(self, update: dict[str, Any]) -> bool:
        """Deliver an update. False: it was delivered before, or is none."""
        number = update.get("update_id")
        if not isinstance(number, int) or number in self._delivered:
            return False
        self._expect(STEP_S)
        handover = None
        try:
            handover = await self._deliver(update, None if self._held else number + 1)
        except Exception as error:  # one strange update must not block the later ones
            self._report(f"update {number} could not be taken ({type(error).__name__}: {error})")
        self._handled = number + 1
        self._delivered[number] = None
        if len(self._delivered) > DELIVERED_KEPT:
            del self._delivered[next(iter(self._delivered))]
        if handover is not None:
            self._offset = self._held[0].number if self._held else number
            self._held.append(_Held(number, handover, self._mono() + self._hold_s()))
        elif not self._held:
            self._offset = self._handled
        return True

    def _forget_inherited(self) -> None:
        """The first poll was answered: what is held from now on is held since now, and that is recorded."""
        held, _ = self._inherited
        if held is not None and not (self._held and self._held[0].number == held):
            self._recorded = None
        self._inherited = (None, None)

    def _hold_s(self) -> float:
        """How long an update may stay unconfirmed. Those that waited at the start may have been held by earlier runs,
        and get no more time by a restart: a daemon that is killed every few seconds would never confirm anything."""
        _, since = self._inherited
        return MOST_HELD_S if since is None else min(MOST_HELD_S, max(0.0, since + MOST_HELD_S - self._wall()))

    async def _wait_for_handover(self, most_s: float) -> None:
        """Wait for the held ones, oldest first, though not for long: others want to be heard. Confirm what is done."""
        self._expect(most_s + STEP_S)
        while self._held and self._mono() >= self._held[0].until:
            self._held.popleft()
        try:
            with anyio.move_on_after(most_s):
                while self._held:
                    await self._held[0].handover()
                    self._held.popleft()
            self._offset = self._held[0].number if self._held else self._handled
            if self._offset is not None and self._offset != self._recorded:
                await self._confirm(self._offset)  # with the time: where one is held, that is when it began
                self._recorded = self._offset
        except Exception as error:  # after a crash the update comes again, and finds its request over
            self._report(f"an update could not be confirmed ({type(error).__name__}: {error})")

    async def _succeeded(self) -> None:
        now = self._wall()
        away_s = 0.0 if self.last_success is None else now - self.last_success
        self.last_success = now
        self._failures = 0
        self.trouble = ""
        if self._told not in ("", "ok"):
            self._report("Telegram answers again")
        self._told = "ok"
        self._expect(STEP_S)
        try:
            await self._resumed(away_s)
        except Exception as error:  # whoever is told may fail; the next tap must be heard all the same
            self._report(f"the return of Telegram could not be handled ({type(error).__name__}: {error})")

    async def _failed(self, sentence: str, *, slow: bool) -> None:
        self._failures += 1
        self.trouble = sentence
        if sentence != self._told:
            self._told = sentence
            self._report(sentence)
        if self._failures >= 2:
            await self._rebuild()
        await self._rest(LONGEST_BACKOFF_S if slow else min(2.0 ** min(self._failures - 1, 10), LONGEST_BACKOFF_S))

    async def _rebuild(self) -> None:
        """What is wedged may refuse to be closed as well, or never come to an end of it."""
        self._expect(REBUILD_S)
        try:
            with anyio.move_on_after(REBUILD_S):
                await self._api.rebuild_polls()
        except Exception as error:
            self._report(f"the connections to Telegram could not be made anew ({type(error).__name__})")
