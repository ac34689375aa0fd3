"""The engine: hands each event to the desk and carries out the effects, in order, one event at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from tapgate.agents import dialect_of
from tapgate.core.desk import Desk
from tapgate.core.effects import (
    AnswerTap,
    AskText,
    Edit,
    Effect,
    Entry,
    Post,
    Probe,
    Record,
    Reply,
    Retract,
    Say,
    ShowHidden,
    ShowWhole,
    Sound,
    Sweep,
)
from tapgate.core.events import AgentProbed, Asked, Event, RecordFailed, Ticked
from tapgate.core.memory import Remembered
from tapgate.core.risk import with_changed_file
from tapgate.errors import FrameError, JournalError
from tapgate.model import NO_BACKGROUND, Background, Instant, Request, Risk, Verdict
from tapgate.wire import Kind, encode_frame

WORKER_BYTES = 128 * 1024  # larger inputs are parsed in a worker thread
LOOK_S = 1.0
MOST_OWED = 1000


class Records(Protocol):
    """Where entries are written. Raises JournalError where they are not on disk."""

    async def record(self, entries: Sequence[Entry], *, at: float, offset: int | None = None) -> None: ...


class Phones(Protocol):
    """A front. Nothing here waits: what takes time is queued."""

    def fits(self, request: Request, background: Background) -> bool: ...
    def answer_tap(self, effect: AnswerTap) -> None: ...
    def post(self, effect: Post) -> None: ...
    def edit(self, effect: Edit) -> None: ...
    def ask_text(self, effect: AskText) -> None: ...
    def show_whole(self, effect: ShowWhole) -> None: ...
    def show_hidden(self, effect: ShowHidden) -> None: ...
    def retract(self, effect: Retract) -> None: ...
    def say(self, effect: Say) -> None: ...
    def sweep(self, effect: Sweep) -> None: ...
    def sound(self, effect: Sound) -> None: ...


class Line(Protocol):
    """A caller's connection."""

    def send_last(self, frame: bytes) -> None:
        """Queue the one frame that answers the caller. Never waits."""


class Engine:
    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        clock: Callable[[], Instant],
        report: Callable[[str], None],
        look: Callable[[Request], Background] = lambda request: NO_BACKGROUND,
        assess: Callable[[Request], tuple[Risk, ...]] = lambda request: (),
        masks: bool = True,
    ) -> None:
        self.desk = desk
        self._records = records
        self._clock = clock
        self._report = report
        self._look = look
        self._assess = assess
        self._masks = masks
        self._phones: Phones | None = None
        self._lines: dict[str, Line] = {}
        self._owed: list[Entry] = []
        self._lock = anyio.Lock()
        self._changed = anyio.Event()
        self._group: TaskGroup | None = None

    def connect(self, phones: Phones) -> None:
        self._phones = phones

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Wake the desk when something is due."""
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            while True:
                self._changed = anyio.Event()
                due = self.desk.next_deadline()
                wait_s = 3600.0 if due is None else max(0.0, due - self._clock().mono)
                with anyio.move_on_after(wait_s):
                    await self._changed.wait()
                    continue
                await self.handle(Ticked())

    async def restore(self, remembered: Sequence[Remembered]) -> None:
        async with self._lock:
            now = self._clock()
            await self._carry_out(self.desk.restore(remembered, now), now, None)

    async def ask(self, request: Request, line: Line) -> None:
        """A caller with a question. Its line is in place before the desk hears of it: the answer may come at once.

        Raises FrameError where the id belongs to another question.
        """
        assert self._phones is not None
        asked = await self._measure(request)
        with anyio.CancelScope(shield=True):
            async with self._lock:
                if self.desk.is_taken(request):
                    raise FrameError("this request id belongs to another question")
                self._lines[request.id] = line
                now = self._clock()
                await self._carry_out(self.desk.handle(asked, now), now, None)
        self._changed.set()

    async def _measure(self, request: Request) -> Asked:
        """Look around and find out whether a card can show it all: beside the event loop, and not for long."""
        assert self._phones is not None
        background = NO_BACKGROUND
        with anyio.move_on_after(LOOK_S):  # the files may lie on a disk that does not answer
            background = await anyio.to_thread.run_sync(self._look, request, abandon_on_cancel=True)
        fits = await anyio.to_thread.run_sync(self._phones.fits, request, background)
        risks = await anyio.to_thread.run_sync(self._assess, request)
        if self._masks:
            risks = await anyio.to_thread.run_sync(with_changed_file, risks, background)
        return Asked(request, fits=fits, background=background, risks=risks)

    def hang_up(self, request_id: str, line: Line) -> bool:
        """The line is dead. False: the caller has another one by now, or was answered without an opinion."""
        if self._lines.get(request_id) is not line:
            return False
        del self._lines[request_id]
        return True

    async def handle(self, event: Event, offset: int | None = None) -> None:
        """Returns once everything the event causes is recorded and on its way. Never half done."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                now = self._clock()
                await self._carry_out(self.desk.handle(event, now), now, offset)
        self._changed.set()

    async def _carry_out(self, effects: Sequence[Effect], now: Instant, offset: int | None) -> None:
        unrecorded = await self._record([effect for effect in effects if isinstance(effect, Record)], now, offset)
        is_barred = False  # behind a gate that could not be recorded
        for effect in effects:
            if is_barred and not (isinstance(effect, Record) and effect.gate):
                continue
            match effect:
                case Record():
                    reason = unrecorded.get(id(effect))
                    if effect.gate:
                        is_barred = reason is not None
                    if reason is not None and effect.gate:
                        follow = self.desk.handle(RecordFailed(effect.request_id, reason), now)
                        await self._carry_out(follow, now, None)
                case Reply():
                    self._reply(effect)
                case Probe():
                    if self._group is not None:
                        self._group.start_soon(self._probe, effect)
                case _:
                    try:
                        self._show(effect)
                    except Exception as error:  # a phone's fault must not keep others from what is due to them
                        self._report(f"the phones could not be told ({type(error).__name__}: {error})")

    async def _record(self, records: Sequence[Record], now: Instant, offset: int | None) -> dict[int, str]:
        """Write all in one transaction, or, where that fails, each by itself. Gives what failed, with the reason."""
        if not records and offset is None:
            return {}
        try:
            await self._records.record([record.entry for record in records], at=now.wall, offset=offset)
            await self._make_up(now)
            return {}
        except JournalError as error:
            if len(records) <= 1:
                self._report(str(error))
                self._owe(records)
                return {id(record): str(error) for record in records}
        failed = {}
        for number, record in enumerate(records, start=1):
            try:
                last = number == len(records)
                await self._records.record([record.entry], at=now.wall, offset=offset if last else None)
            except JournalError as error:
                self._report(str(error))
                self._owe([record])
                failed[id(record)] = str(error)
        return failed

    def _owe(self, records: Sequence[Record]) -> None:
        """What is no gate has happened all the same: how a request ended must not be forgotten with a full disk."""
        self._owed += [record.entry for record in records if not record.gate]
        del self._owed[:-MOST_OWED]

    async def _make_up(self, now: Instant) -> None:
        """The journal takes something again: write what it could not take before, as far as it still makes sense."""
        owed, self._owed = self._owed, []
        for entry in owed:
            try:
                await self._records.record([entry], at=now.wall)
            except JournalError as error:
                self._report(f"what could not be recorded before cannot be recorded now: {error}")

    def _reply(self, effect: Reply) -> None:
        line = self._lines.get(effect.request.id)
        if line is None:
            return
        decision = effect.decision
        if decision.verdict is Verdict.NONE:
            # No opinion is final: nothing more is expected from this caller.
            del self._lines[effect.request.id]
        try:
            output = dialect_of(effect.request.caller.agent).render(effect.request, decision)
        except Exception as error:
            self._report(f"an answer could not be written for the agent ({type(error).__name__}: {error})")
            output = b""
        if output:
            line.send_last(encode_frame(Kind.REPLY, output, exit=0))
        else:
            sentence = f"{effect.why}; no opinion" if effect.why else "no opinion"
            line.send_last(encode_frame(Kind.PASS, sentence.encode("utf-8", "replace")))

    def _show(
        self, effect: AnswerTap | Post | Edit | AskText | ShowWhole | ShowHidden | Retract | Say | Sweep | Sound
    ) -> None:
        assert self._phones is not None
        match effect:
            case AnswerTap():
                self._phones.answer_tap(effect)
            case Post():
                self._phones.post(effect)
            case Edit():
                self._phones.edit(effect)
            case AskText():
                self._phones.ask_text(effect)
            case ShowWhole():
                self._phones.show_whole(effect)
            case ShowHidden():
                self._phones.show_hidden(effect)
            case Retract():
                self._phones.retract(effect)
            case Say():
                self._phones.say(effect)
            case Sweep():
                self._phones.sweep(effect)
            case Sound():
                self._phones.sound(effect)

    async def _probe(self, effect: Probe) -> None:
        await anyio.sleep(effect.after_s)
        await self.handle(AgentProbed(effect.request_id, _is_alive(effect.pid)))


def _is_alive(pid: int) -> bool:
    """Whether a process has this id. Where that cannot be told: yes, because death is the stronger claim."""
    if pid <= 1:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether it has ended and its parent has not asked yet: in a container, process 1 may never do. Linux only."""
    try:
        # pid (name) state …: the name may hold anything, so what counts comes after the last bracket.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False
