"""Work per event does not grow with the number of other requests, open or settled.

Counted, not timed: the effects of each event, the cases that the desk read for it, and the lines that it ran.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tapgate.desk
from tapgate.desk.case import Case
from tapgate.desk.desk import Desk
from tapgate.desk.effects import Edit, Effect
from tapgate.desk.events import (
    AgentProbed,
    Asked,
    CallerConfirmed,
    CallerGone,
    CopyGone,
    Edited,
    EditRefused,
    Event,
    Left,
    Move,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    RecordFailed,
    Replied,
    SessionEnded,
    SessionMoved,
    Sounded,
    Stopped,
    Tapped,
    Ticked,
    ToolEnded,
    WholePosted,
    Withdrawn,
)
from tapgate.model import Action, Copy, Prompt, Request, Risk, Tap
from tests.builders import ADA, BOB, at, make_request

FEW, MANY, SETTLED = 10, 2000, 10_000
RISK = Risk("deletes", "It deletes files.")
DESK_FILES = str(Path(tapgate.desk.__file__).parent)
ABOUT_ALL = {PollResumed, Stopped}
"""What these say is said about every open request."""


class WatchedCase(Case):
    """Notes each time that anything of it is read."""

    __slots__ = ()
    read: set[int] = set()  # noqa: RUF012

    def __getattribute__(self, name: str) -> Any:
        WatchedCase.read.add(id(self))
        return super().__getattribute__(name)


@dataclass
class Work:
    effects: int
    cases: int
    lines: int


@dataclass
class Desks:
    """A desk with so many others around the few requests that the events are about."""

    others: int
    is_one_session: bool
    desk: Desk = field(init=False)
    count: int = 0
    messages: int = 100_000
    queries: int = 0

    def __post_init__(self) -> None:
        self.desk = Desk((ADA, BOB), hold_s=590)
        for _ in range(SETTLED):
            request = self.ask("settled")
            self.desk.handle(CallerGone(request.id, Left.ORPHANED), at(0))
            self.desk.handle(AgentProbed(request.id, alive=False), at(0))
        for number in range(self.others):
            # Of one session, they are risky ones: those are not allowed together with others.
            one = self.ask("ours", RISK) if self.is_one_session else self.ask(f"other-{number}")
            for person in (ADA, BOB):
                self.desk.handle(Posted(one.id, self.message(person.chat_id), 0), at(0))
        for case in self.desk.cases.by_id.values():
            case.__class__ = WatchedCase

    def ask(self, session: str, *risks: Risk) -> Request:
        self.count += 1
        request = make_request(
            self.count, tool="Read", tool_input={"file_path": "/srv/notes"}, suggestions=(), session=session
        )
        self.desk.handle(Asked(request, risks=risks), at(0))
        return request

    def message(self, chat_id: int = ADA.chat_id) -> Copy:
        self.messages += 1
        return Copy(chat_id, self.messages)

    def tap(self, request: Request, label: str, copy: Copy) -> Tapped:
        self.queries += 1
        case = self.desk.cases.by_id[request.id]
        choices = self.desk.cases.card(case, copy.chat_id).choices
        choice = next(choice for choice in choices if choice.label == label)
        return Tapped(Tap(f"q{self.queries}", ADA.user_id, copy, "raw"), request.id, choice.key, choice.seal)

    def reply(self, to: Copy, text: str) -> Replied:
        return Replied(ADA.user_id, ADA.chat_id, self.message().message_id, to.message_id, text)


@contextmanager
def counting_lines() -> Iterator[list[int]]:
    """How many lines of the desk are run: loops that read no case are counted, too."""
    count = [0]

    def local(frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        count[0] += event == "line"
        return local

    def trace(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        return local if frame.f_code.co_filename.startswith(DESK_FILES) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


def script(around: Desks) -> Iterator[tuple[Event, float]]:
    """Every kind of event, each with its moment, about a few requests of one session."""
    ids = [900_000 + number for number in range(20)]

    def request(number: int, session: str = "ours", **more: Any) -> Request:
        named = {"file_path": f"/srv/{number}"}
        return make_request(ids[number], tool="Read", tool_input=named, suggestions=(), session=session, **more)

    def post(one: Request) -> tuple[Posted, Posted]:
        return tuple(Posted(one.id, around.message(person.chat_id), 0) for person in (ADA, BOB))  # type: ignore[return-value]

    cards: list[Copy] = []
    for number in range(3):
        yield Asked(request(number)), 1
        for posted in post(request(number)):
            yield posted, 1
            cards += [posted.copy] if posted.copy.chat_id == ADA.chat_id else []
    one, two, three = (request(number) for number in range(3))
    yield around.tap(one, "Allow these 3…", cards[0]), 2
    yield around.tap(one, "Allow all 3", cards[0]), 2
    for done in (one, two, three):
        yield CallerConfirmed(done.id), 2
        yield ToolEnded(done.call, failed=False, duration_s=0.1), 3
    yield Edited(one.id, cards[0], 4), 3

    four = request(3)
    yield Asked(four, fits=False), 4
    posted, bobs = post(four)
    yield posted, 4
    yield bobs, 4
    yield WholePosted(four.id, ADA.chat_id), 4
    version = around.desk.cases.by_id[four.id].version
    yield EditRefused(four.id, posted.copy, version), 4
    again = Posted(four.id, around.message(), version)
    yield again, 4
    yield Withdrawn(four.id, posted.copy), 4
    prompt = Copy(ADA.chat_id, around.message().message_id)
    yield around.tap(four, "Deny with a reason…", again.copy), 5
    yield PromptPosted(four.id, prompt, Prompt(ADA.user_id, Action.ASK_REASON)), 5
    yield around.reply(prompt, "because"), 5
    yield CallerGone(four.id, Left.LOST), 5

    five = request(4)
    yield Asked(five), 6
    posted, bobs = post(five)
    yield posted, 6
    yield bobs, 6
    yield EditRefused(five.id, posted.copy, 0), 6
    yield Ticked(), 40  # tried again
    yield CopyGone(five.id, posted.copy), 40
    yield around.reply(bobs.copy, "no"), 40
    yield around.reply(Copy(ADA.chat_id, 5), "about nothing"), 40
    yield CallerGone(five.id, Left.TERMINATED), 40
    yield Asked(five), 40  # back
    yield CallerGone(five.id, Left.TERMINATED), 40
    yield AgentProbed(five.id, alive=True), 41

    six = request(5)
    yield Asked(six), 42
    yield PostUnsure(six.id, ADA.chat_id), 42
    yield PostFailed(six.id, BOB.chat_id, "blocked"), 42
    yield RecordFailed(six.id, "disk full"), 42
    yield Sounded(around.message()), 42
    yield Asked(request(6), risks=(RISK,)), 43
    yield ToolEnded(request(6).call, failed=False, duration_s=0.1), 44
    yield ToolEnded(request(7).call, failed=False, duration_s=None), 44
    if around.is_one_session:  # one of many calls that are alike
        alike = make_request(SETTLED + 1, tool="Read", tool_input={"file_path": "/srv/notes"}, session="ours")
        yield ToolEnded(alike.call, failed=False, duration_s=0.1), 44
    yield Asked(request(8, session="alone", prompt_id="p1")), 45
    yield SessionMoved("alone", "", Move.STOP, "p1"), 60
    yield Asked(request(9, session="alone", deadline_s=5.0)), 61
    yield Ticked(), 70  # expired
    yield Asked(request(10, session="alone")), 71
    yield SessionEnded("alone", "exit"), 71
    yield SessionMoved("ours", "a subagent", Move.STOP), 72
    yield PollResumed(1.0), 73


def work_of_each(around: Desks) -> list[tuple[str, Work]]:
    done = []
    for event, seconds in script(around):
        for case in around.desk.cases.by_id.values():
            case.__class__ = WatchedCase
        WatchedCase.read.clear()
        with counting_lines() as lines:
            around.desk.edited_by(event)
            effects = around.desk.handle(event, at(seconds))
            around.desk.next_deadline()
        done.append((type(event).__name__, Work(len(effects), len(WatchedCase.read), lines[0])))
    return done


@pytest.mark.parametrize("is_one_session", [False, True], ids=["other sessions", "the same session"])
def test_each_kind_of_event_costs_the_same_however_many_requests_there_are(is_one_session: bool) -> None:
    few, many = (work_of_each(Desks(others, is_one_session)) for others in (FEW, MANY))
    kinds = {name for name, _ in few}
    assert kinds >= {kind.__name__ for kind in Event.__args__} - {kind.__name__ for kind in ABOUT_ALL}
    wrong = [
        (number, name, one, other)
        for number, ((name, one), (_, other)) in enumerate(zip(few, many, strict=True))
        if (one.effects, one.cases) != (other.effects, other.cases) or other.lines > one.lines * 1.2 + 20
    ]
    assert not wrong


def test_a_card_is_edited_only_for_its_own_request_and_for_those_allowed_together_with_it() -> None:
    """Every card costs a call to Telegram, of which a chat takes about one a second."""
    around = Desks(FEW, is_one_session=False)
    edits: list[tuple[str, str]] = []
    for event, seconds in script(around):
        effects: list[Effect] = around.desk.handle(event, at(seconds))
        edited = {effect.card.request.call.session_id for effect in effects if isinstance(effect, Edit)}
        edits += [(type(event).__name__, session) for session in edited]
    assert {session for _, session in edits} <= {"ours", "alone"}
