"""What goes out to Telegram, chat by chat: pacing, 429, retries, and newer edits in the place of older ones.

Callback answers do not come through here: they never wait. The clock and the sleep are parameters.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from tapgate.telegram.api import BusyError, OutageError, RefusedError

BURST = 3  # messages a chat takes at once before the pace counts
GROUP_S = 3.0  # Telegram allows 20 messages a minute in a group
OVERALL_S = 1 / 25  # of 30 messages a second over all chats
LONGEST_BACKOFF_S = 30.0
MOST_STRANGE = 3  # tries of a call that fails for no known reason
MOST_FILE_TRIES = 3  # of a file: where messages get through and uploads do not, it would be tried for ever


@dataclass(frozen=True, slots=True)
class Job:
    """One call. A later job with the same key takes its place while it waits."""

    chat_id: int
    key: Hashable
    call: Callable[[], Awaitable[None]]
    failed: Callable[[str], Awaitable[None]] | None = None  # Telegram refused it for good
    unsure: Callable[[], Awaitable[None]] | None = None  # it may have arrived, and will be tried again
    idle: bool = False  # only when nothing else waits for this chat
    is_file: bool = False  # takes long and may never get through: nothing else in the chat waits for it


@dataclass(slots=True)
class _Lane:
    waiting: OrderedDict[Hashable, Job] = field(default_factory=OrderedDict)
    idle: OrderedDict[Hashable, Job] = field(default_factory=OrderedDict)
    due: float = -math.inf  # when, at the agreed pace, the next message would be due
    busy: bool = False  # its worker runs
    doing: bool = False  # the worker is in the middle of a job that counts


class Outbox:
    def __init__(
        self,
        *,
        per_chat_s: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        report: Callable[[str], None],
    ) -> None:
        self._per_chat_s = per_chat_s
        self._clock = clock
        self._sleep = sleep
        self._report = report
        self._lanes: dict[tuple[int, bool], _Lane] = {}  # of a chat, one for messages and one for files
        self._overall_due = 0.0
        self._group: TaskGroup | None = None
        self._idle = anyio.Event()
        self._idle.set()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with anyio.create_task_group() as group:
            self._group = group
            for (chat_id, _), lane in self._lanes.items():
                self._wake(chat_id, lane)
            task_status.started()
            await anyio.sleep_forever()

    def put(self, job: Job) -> None:
        lane = self._lanes.setdefault((job.chat_id, job.is_file), _Lane())
        # A newer job takes the place of an older one, idle or not: what it says must not be said over later.
        if job.idle and job.key in lane.waiting:
            lane.waiting[job.key] = replace(job, idle=False)
        else:
            lane.idle.pop(job.key, None)
            (lane.idle if job.idle else lane.waiting)[job.key] = job
        if not job.idle and self._idle.is_set():
            self._idle = anyio.Event()
        self._wake(job.chat_id, lane)

    def cancel(self, chat_id: int, key: Hashable) -> bool:
        """Take back what has not been begun. False: it is not waiting any more."""
        lanes = [self._lanes.get((chat_id, is_file)) for is_file in (False, True)]
        taken = [lane.waiting.pop(key, None) for lane in lanes if lane is not None]
        self._settle_idle()
        return any(job is not None for job in taken)

    def chats(self) -> tuple[int, ...]:
        return tuple({chat_id for chat_id, _ in self._lanes})

    def hurry(self) -> None:
        """The last moments: keep to what Telegram says (429), but no longer to the pace."""
        self._per_chat_s = 0.0

    async def drain(self) -> None:
        """Wait until nothing is left to send, idle work aside."""
        await self._idle.wait()

    def _wake(self, chat_id: int, lane: _Lane) -> None:
        if self._group is not None and not lane.busy:
            lane.busy = True
            self._group.start_soon(self._work, chat_id, lane)

    async def _work(self, chat_id: int, lane: _Lane) -> None:
        try:
            while lane.waiting or lane.idle:
                await self._keep_pace(chat_id, lane)
                queue = lane.waiting or lane.idle
                if queue:  # it may have been taken back meanwhile
                    _, job = queue.popitem(last=False)
                    lane.doing = not job.idle
                    await self._do(job, lane)
                    lane.doing = False
                self._settle_idle()
        finally:
            lane.busy = lane.doing = False
            self._settle_idle()

    def _settle_idle(self) -> None:
        if not any(lane.waiting or lane.doing for lane in self._lanes.values()):
            self._idle.set()

    async def _keep_pace(self, chat_id: int, lane: _Lane) -> None:
        per_chat_s = max(self._per_chat_s, GROUP_S if self._per_chat_s else 0.0) if chat_id < 0 else self._per_chat_s
        now = self._clock()
        lane.due = max(lane.due, now - BURST * per_chat_s) + per_chat_s
        overall = max(self._overall_due, now)
        self._overall_due = overall + (OVERALL_S if self._per_chat_s else 0.0)
        wait_s = max(lane.due, overall) - now
        if wait_s > 0:
            await self._sleep(wait_s)

    async def _do(self, job: Job, lane: _Lane) -> None:
        """Make the call, again and again where that may help, unless a newer job with its key came meanwhile."""
        backoff_s = 0.5
        strange = tries = 0
        while True:
            tries += 1
            try:
                await job.call()
                return
            except BusyError as error:
                wait_s = error.retry_after_s
                self._report(f"{error} before the next message in a chat")
            except OutageError as error:
                if error.unsure and job.unsure is not None:
                    await self._tell(job.unsure())
                wait_s = LONGEST_BACKOFF_S if error.slow else backoff_s
                backoff_s = min(backoff_s * 2, LONGEST_BACKOFF_S)
                self._report(str(error))
                if job.idle:
                    return
                if job.is_file and tries == MOST_FILE_TRIES:
                    await self._give_up(job, str(error))
                    return
            except RefusedError as error:
                await self._give_up(job, str(error))
                return
            except Exception as error:  # an answer that nobody could foresee: not for ever, the chat waits
                strange += 1
                sentence = f"a call to Telegram failed unexpectedly ({type(error).__name__})"
                self._report(sentence)
                if strange == MOST_STRANGE or job.idle:
                    await self._give_up(job, sentence)
                    return
                if job.unsure is not None:
                    await self._tell(job.unsure())
                wait_s = backoff_s
            if job.idle and job.key in lane.waiting:
                return  # what it would say is out of date
            # Back into the queue, at its head, so that it can be replaced or taken back while we wait.
            queue = lane.idle if job.idle else lane.waiting
            queue.setdefault(job.key, job)
            queue.move_to_end(job.key, last=False)
            await self._sleep(wait_s)
            if job.idle or job.key not in lane.waiting:
                return
            job = lane.waiting.pop(job.key)

    async def _give_up(self, job: Job, reason: str) -> None:
        if job.failed is not None:
            await self._tell(job.failed(reason))
        else:
            self._report(f"Telegram refused: {reason}")

    async def _tell(self, told: Awaitable[None]) -> None:
        """Whoever is told may fail; the messages behind this one must go out all the same."""
        try:
            await told
        except Exception as error:
            self._report(f"the outcome of a message could not be handled ({type(error).__name__}: {error})")
