"""The engine: hands each event to the desk and carries out the effects, in order, one event at a time."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from tapgate.agents.registry import agent_of, described
from tapgate.daemon.examinations import MOST_S, Examinations
from tapgate.daemon.recorder import Journal, Recorder
from tapgate.desk.desk import Desk
from tapgate.desk.effects import (
    AnswerTap,
    AskText,
    Edit,
    Effect,
    KeepUpdate,
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
    Withdraw,
)
from tapgate.desk.events import AgentProbed, Asked, Event, PromptPosted, RecordFailed, Replied, Ticked
from tapgate.desk.memory import Remembered
from tapgate.errors import FrameError
from tapgate.model import NO_CONTEXT, NO_OPINION, Context, Findings, Instant, Phase, Request, Risk, Verdict
from tapgate.risk.assess import sentence_of, with_changed_file
from tapgate.wire import FrameKind, encode_frame

WORKER_BYTES = 128 * 1024  # larger inputs are parsed in a worker thread
LOOK_S = 1.0
RESTORE_S = 5.0  # for all open requests of an earlier run together: nobody is heard before
CATCH_UP_S = 2.0  # after the journal took something not, how long until it is tried again by itself

REPLACED = "another caller has come with the same request"
TOO_SLOW = "it took too long to find out what this would do"
UNCHECKED = Findings((Risk("too-long-to-check", sentence_of("too-long-to-check"), asks_twice=True),))
"""Of a call that could not be looked at in time."""

Handover = Callable[[], Awaitable[None]]
"""Waits until an answer was written to its caller's connection, or never will be."""


class Front(Protocol):
    """A front. Nothing here waits: what takes time is queued."""

    def fits(self, request: Request, context: Context) -> bool: ...
    def answer_tap(self, effect: AnswerTap) -> None: ...
    def post(self, effect: Post) -> None: ...
    def edit(self, effect: Edit) -> None: ...
    def withdraw(self, effect: Withdraw) -> None: ...
    def ask_text(self, effect: AskText) -> None: ...
    def show_whole(self, effect: ShowWhole) -> None: ...
    def show_hidden(self, effect: ShowHidden) -> None: ...
    def retract(self, effect: Retract) -> None: ...
    def say(self, effect: Say) -> None: ...
    def sweep(self, effect: Sweep) -> None: ...
    def sound(self, effect: Sound) -> None: ...


class CallerConnection(Protocol):
    """A caller's connection."""

    @property
    def handed_over(self) -> anyio.Event:
        """Set once the frame has been written, or cannot be written any more."""

    def send_last(self, frame: bytes) -> None:
        """Queue the one frame that answers the caller. Never waits."""


class Turn:
    """A lock that knows for how long it has been held."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._since: float | None = None

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._since = anyio.current_time()

    async def __aexit__(self, *_: object) -> None:
        self._since = None
        self._lock.release()

    def held_s(self) -> float:
        return 0.0 if self._since is None else anyio.current_time() - self._since


class Engine:
    def __init__(
        self,
        desk: Desk,
        records: Journal,
        *,
        clock: Callable[[], Instant],
        report: Callable[[str], None],
        look: Callable[[Request], Context] = lambda request: NO_CONTEXT,
        examine: Callable[[Request], Findings] = lambda request: Findings(),
        masks: bool = True,
        examine_s: float = MOST_S,
    ) -> None:
        self.desk = desk
        self._recorder = Recorder(records, report=report)
        self._clock = clock
        self._report = report
        self._look = look
        self._examine = examine
        self._masks = masks
        self._examine_s = examine_s
        self._front: Front | None = None
        self._connections: dict[str, CallerConnection] = {}
        self._lock = Turn()
        self._examinations = Examinations()
        self._kept: dict[str, anyio.Event] = {}  # requests that were tapped before their caller was back
        self._changed = anyio.Event()
        self._group: TaskGroup | None = None

    def connect(self, front: Front) -> None:
        self._front = front

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Wake the desk when something is due."""
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._catch_up_later)
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
        known = [replace(memory, request=described(memory.request)) for memory in remembered]
        with anyio.move_on_after(RESTORE_S):
            async with anyio.create_task_group() as group:
                for index, memory in enumerate(known):
                    if memory.outcome is None:
                        known[index] = replace(memory, findings=UNCHECKED)
                        group.start_soon(self._recall, known, index)
        async with self._lock:
            now = self._clock()
            await self._carry_out(self.desk.restore(known, now), now, None)

    async def _recall(self, known: list[Remembered], index: int) -> None:
        """Examine an open request of an earlier run anew."""
        memory = known[index]
        examined = await self._examinations.run(lambda: self._examine(memory.request), party=_party(memory.request))
        known[index] = replace(memory, findings=examined)

    async def ask(self, request: Request, connection: CallerConnection) -> None:
        """A caller with a question. Its line is in place before the desk hears of it: the answer may come at once.

        Where it takes too long to look at it, the caller is let go without an opinion. Until the desk has heard of it,
        this can be cancelled and then nothing has happened. Raises FrameError where the id belongs to another question.
        """
        try:
            asked = await self._measure(request)
        except TimeoutError:
            connection.send_last(self._answer_frame(Reply(request, NO_OPINION, TOO_SLOW)))
            return
        with anyio.CancelScope(shield=True):
            async with self._lock:
                if self.desk.is_taken(request):
                    raise FrameError("this request id belongs to another question")
                before = self._connections.get(request.id)
                if before is not None and before is not connection:  # broken off, or of somebody who reads the journal
                    before.send_last(self._answer_frame(Reply(request, NO_OPINION, REPLACED)))
                self._connections[request.id] = connection
                now = self._clock()
                await self._carry_out(self.desk.handle(asked, now), now, None)
        self._changed.set()

    async def _measure(self, request: Request) -> Asked:
        """Look around and find out whether a card can show it all: beside the event loop, and not for long.

        Raises TimeoutError where it is not done in time.
        """
        since = anyio.current_time()
        context = NO_CONTEXT
        with anyio.move_on_after(LOOK_S):  # the files may lie on a disk that does not answer
            context = await anyio.to_thread.run_sync(self._look, request, abandon_on_cancel=True)
        left_s = request.caller.deadline_s
        most_s = left_s if request.shows_own_prompt and left_s > self._examine_s else self._examine_s
        asked = await self._examinations.run(
            lambda: self._examine_all(request, context), party=_party(request), most_s=most_s
        )
        return replace(asked, waited_s=anyio.current_time() - since)

    def _examine_all(self, request: Request, context: Context) -> Asked:
        assert self._front is not None
        findings = self._examine(request)
        context = replace(context, links=findings.links)
        risks = with_changed_file(findings.risks, context) if self._masks else findings.risks
        return Asked(request, fits=self._front.fits(request, context), context=context, risks=risks)

    async def _with_findings(self, event: Event) -> Event:
        """An edited text is examined like a new request, before the desk offers to allow it."""
        if not isinstance(event, Replied | PromptPosted):
            return event
        edited = self.desk.edited_by(event)
        if edited is None:
            return event
        try:
            findings = await self._examinations.run_at_once(lambda: self._examine(edited), most_s=self._examine_s)
        except TimeoutError:
            findings = UNCHECKED
        return replace(event, findings=findings)

    def busy_s(self) -> float:
        """For how long the present event has been carried out: long where the journal's disk does not answer."""
        return self._lock.held_s()

    def hang_up(self, request_id: str, connection: CallerConnection) -> bool:
        """The line is dead. False: the caller has another one by now, or was answered without an opinion."""
        if self._connections.get(request_id) is not connection:
            return False
        del self._connections[request_id]
        return True

    async def handle(self, event: Event, offset: int | None = None) -> Handover | None:
        """Returns once everything the event causes is recorded and on its way. Never half done.

        `offset` confirms the update that brought the event, and is recorded with what the event causes. Not so where
        the event answers somebody: the journal proves no answer, so after a crash Telegram has to deliver the update
        again. What is returned then has to be waited for before the update is confirmed and the offset recorded.
        """
        with anyio.CancelScope(shield=True):
            event = await self._with_findings(event)  # not in the lock: others need not wait for that
            async with self._lock:
                now = self._clock()
                effects = self.desk.handle(event, now)
                handover = self._handover(effects)
                await self._carry_out(effects, now, offset if handover is None else None)
        self._changed.set()
        return handover

    def _handover(self, effects: Sequence[Effect]) -> Handover | None:
        answered = [
            effect.request.id
            for effect in effects
            if isinstance(effect, Reply) and effect.decision.verdict is not Verdict.NONE
        ]
        kept = [effect.request_id for effect in effects if isinstance(effect, KeepUpdate)]
        if not answered and not kept:
            return None
        returned = [self._kept.setdefault(request_id, anyio.Event()) for request_id in kept]

        async def wait() -> None:
            for event in returned:
                await event.wait()
            for request_id in (*kept, *answered):
                connection, card = self._connections.get(request_id), self.desk.card(request_id)
                if connection is not None and card is not None and card.phase is Phase.SENDING:
                    await connection.handed_over.wait()

        return wait

    async def catch_up(self) -> None:
        """Write what the journal has not taken yet, if it takes it now."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._recorder.catch_up(at=self._clock().wall)

    async def _catch_up_later(self) -> None:
        while True:
            await self._recorder.is_behind.wait()
            await anyio.sleep(CATCH_UP_S)
            await self.catch_up()

    async def _carry_out(self, effects: Sequence[Effect], now: Instant, offset: int | None) -> None:
        records = [effect for effect in effects if isinstance(effect, Record)]
        unrecorded = await self._recorder.record(records, at=now.wall, offset=offset)
        is_blocked = False  # behind a required record that could not be written
        for effect in effects:
            if is_blocked and not (isinstance(effect, Record) and effect.required):
                continue
            match effect:
                case Record():
                    reason = unrecorded.get(id(effect))
                    if effect.required:
                        is_blocked = reason is not None
                    if reason is not None and effect.required:
                        follow = self.desk.handle(RecordFailed(effect.request_id, reason), now)
                        await self._carry_out(follow, now, None)
                case Reply():
                    self._reply(effect)
                case KeepUpdate():
                    pass  # see _handover
                case Probe():
                    if self._group is not None:
                        self._group.start_soon(self._probe, effect)
                case _:
                    try:
                        self._show(effect)
                    except Exception as error:  # a phone's fault must not keep others from what is due to them
                        self._report(f"the phones could not be told ({type(error).__name__}: {error})")
        for request_id in [one for one in self._kept if not self.desk.awaits_caller(one)]:
            self._kept.pop(request_id).set()

    def _reply(self, effect: Reply) -> None:
        connection = self._connections.get(effect.request.id)
        if connection is None:
            return
        if effect.decision.verdict is Verdict.NONE:
            # No opinion is final: nothing more is expected from this caller.
            del self._connections[effect.request.id]
        connection.send_last(self._answer_frame(effect))

    def _answer_frame(self, effect: Reply) -> bytes:
        try:
            output = agent_of(effect.request.caller.agent).render(effect.request, effect.decision)
        except Exception as error:
            self._report(f"an answer could not be written for the agent ({type(error).__name__}: {error})")
            output = b""
        if output:
            return encode_frame(FrameKind.REPLY, output, exit=0)
        sentence = f"{effect.why}; no opinion" if effect.why else "no opinion"
        return encode_frame(FrameKind.PASS, sentence.encode("utf-8", "replace"))

    def _show(
        self,
        effect: AnswerTap | Post | Edit | Withdraw | AskText | ShowWhole | ShowHidden | Retract | Say | Sweep | Sound,
    ) -> None:
        assert self._front is not None
        match effect:
            case AnswerTap():
                self._front.answer_tap(effect)
            case Post():
                self._front.post(effect)
            case Edit():
                self._front.edit(effect)
            case Withdraw():
                self._front.withdraw(effect)
            case AskText():
                self._front.ask_text(effect)
            case ShowWhole():
                self._front.show_whole(effect)
            case ShowHidden():
                self._front.show_hidden(effect)
            case Retract():
                self._front.retract(effect)
            case Say():
                self._front.say(effect)
            case Sweep():
                self._front.sweep(effect)
            case Sound():
                self._front.sound(effect)

    async def _probe(self, effect: Probe) -> None:
        await anyio.sleep(effect.after_s)
        await self.handle(AgentProbed(effect.request_id, _is_alive(effect.pid)))


def _party(request: Request) -> tuple[int, str]:
    """Whose turn it is: each user's sessions are looked at in turn."""
    return request.caller.uid, request.call.session_id


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
