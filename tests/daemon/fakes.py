"""Hand-written stand-ins for what an engine talks to: the phones, the journal, a caller's line; and their diary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio

from tapgate.daemon.engine import CallerConnection, Front
from tapgate.daemon.recorder import Journal
from tapgate.desk.effects import (
    AnsweredEntry,
    AnswerTap,
    AskedEntry,
    AskText,
    Edit,
    Effect,
    Entry,
    Post,
    Retract,
    Say,
    SettledEntry,
    ShowHidden,
    ShowWhole,
    Sound,
    Sweep,
    Withdraw,
)
from tapgate.errors import JournalError
from tapgate.model import Context, Outcome, Request
from tapgate.wire import FrameKind, decode_header

PATIENCE_S = 120.0
Found = TypeVar("Found")
EffectT = TypeVar("EffectT", bound=Effect)


@dataclass(frozen=True, slots=True)
class Recorded:
    entries: tuple[Entry, ...]
    offset: int | None


@dataclass(frozen=True, slots=True)
class Sent:
    """A frame that a caller got."""

    kind: FrameKind
    body: bytes


class Diary:
    """Everything that happened, in its order. A test waits for what it wants to read there."""

    def __init__(self) -> None:
        self.items: list[object] = []
        self.reports: list[str] = []
        self._changed = anyio.Event()

    def add(self, item: object) -> None:
        self.items.append(item)
        self._wake()

    def report(self, sentence: str) -> None:
        self.reports.append(sentence)
        self._wake()

    async def until(self, find: Callable[[], Found | None], *, wait_s: float = PATIENCE_S) -> Found:
        """What `find` gives, as soon as it gives something."""
        with anyio.fail_after(wait_s):
            while not (found := find()):
                await self._changed.wait()
        return found

    def all(self, kind: type[EffectT]) -> list[EffectT]:
        return [item for item in self.items if isinstance(item, kind)]

    def entries(self) -> list[Entry]:
        return [entry for item in self.items if isinstance(item, Recorded) for entry in item.entries]

    def outcome(self, request_id: str) -> Outcome | None:
        for entry in self.entries():
            if isinstance(entry, SettledEntry) and entry.request_id == request_id:
                return entry.outcome
        return None

    def asked(self, request_id: str) -> bool:
        return any(isinstance(entry, AskedEntry) and entry.request.id == request_id for entry in self.entries())

    def answered(self, request_id: str) -> bool:
        return any(isinstance(entry, AnsweredEntry) and entry.request_id == request_id for entry in self.entries())

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class FakePhones:
    """Notes what it is asked to show. `shatter` makes it fail instead, as a front with a bug would."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        self.does_fit = True
        self.shatter: type[Exception] | None = None

    def fits(self, request: Request, context: Context) -> bool:
        if self.shatter is not None:
            raise self.shatter("the phone is broken")
        return self.does_fit

    def answer_tap(self, effect: AnswerTap) -> None:
        self._show(effect)

    def post(self, effect: Post) -> None:
        self._show(effect)

    def edit(self, effect: Edit) -> None:
        self._show(effect)

    def withdraw(self, effect: Withdraw) -> None:
        self._show(effect)

    def ask_text(self, effect: AskText) -> None:
        self._show(effect)

    def show_whole(self, effect: ShowWhole) -> None:
        self._show(effect)

    def show_hidden(self, effect: ShowHidden) -> None:
        self._show(effect)

    def retract(self, effect: Retract) -> None:
        self._show(effect)

    def say(self, effect: Say) -> None:
        self._show(effect)

    def sweep(self, effect: Sweep) -> None:
        self._show(effect)

    def sound(self, effect: Sound) -> None:
        self._show(effect)

    def _show(self, effect: Effect) -> None:
        self._diary.add(effect)
        if self.shatter is not None:
            raise self.shatter("the phone is broken")


class FakeRecords:
    """Writes to the diary: all entries of a call or none, as the journal does.

    `refuse` says why these entries cannot be recorded; while `disk` is an event, every call waits for it first.
    """

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        self.refuse: Callable[[Sequence[Entry]], str | None] = lambda entries: None
        self.disk: anyio.Event | None = None
        self.waiting = 0

    async def record(
        self, entries: Sequence[Entry], *, at: float, offset: int | None = None, patient: bool = True
    ) -> None:
        if self.disk is not None:
            self.waiting += 1
            await self.disk.wait()
            self.waiting -= 1
        reason = self.refuse(entries)
        if reason is not None:
            raise JournalError(reason)
        self._diary.add(Recorded(tuple(entries), offset))


class FakeLine:
    """A caller's connection. The first frame is the answer; a later one does not reach anybody."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        self.sent: Sent | None = None
        self.handed_over = anyio.Event()
        self.is_slow = False  # the test says when a frame was handed over

    def send_last(self, frame: bytes) -> None:
        if self.sent is None:
            line, _, body = frame.partition(b"\n")
            self.sent = Sent(decode_header(line).kind, body)
            self._diary.add(self.sent)
            if not self.is_slow:
                self.handed_over.set()


def _fit(diary: Diary) -> tuple[Front, Journal, CallerConnection]:
    """The type checker's proof that each stands where the real one stands."""
    return FakePhones(diary), FakeRecords(diary), FakeLine(diary)
