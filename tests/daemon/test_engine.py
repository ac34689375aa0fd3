"""The engine carries out what the desk decides: recorded first, the caller next, the phones last, and never half."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import pytest

from tapgate.daemon.engine import TOO_SLOW, Engine
from tapgate.daemon.examinations import MOST_S
from tapgate.desk.case import ADOPT_S
from tapgate.desk.desk import Desk
from tapgate.desk.effects import AnsweredEntry, AnswerTap, AskedEntry, CopyEntry, Edit, Entry, Post, SettledEntry
from tapgate.desk.events import CallerGone, Left, Posted, PromptPosted, Replied, SessionEnded, Ticked
from tapgate.desk.memory import Remembered
from tapgate.errors import FrameError
from tapgate.model import (
    UNKNOWN_TOOL,
    Action,
    Card,
    Copy,
    Decision,
    Findings,
    Instant,
    Link,
    Outcome,
    Prompt,
    Request,
    Risk,
    Verdict,
)
from tapgate.wire import FrameKind
from tests.builders import ADA, make_request, tap_on
from tests.daemon.fakes import PATIENCE_S, Diary, FakeLine, FakePhones, FakeRecords, Recorded, Sent
from tests.telegram import timelapse

COPY = Copy(ADA.chat_id, 10)
Examine = Callable[[Request], Findings]
Refusal = Callable[[Sequence[Entry]], str | None]


class Room:
    """An engine with a desk, and stand-ins for all around it. Its clock runs on, and can be set forward."""

    def __init__(
        self, *, hold_s: float = 600, examine: Examine = lambda request: Findings(), examine_s: float = MOST_S
    ) -> None:
        self.diary = Diary()
        self.forward_s = 0.0
        self.desk = Desk([ADA], hold_s=hold_s)
        self.front, self.records = FakePhones(self.diary), FakeRecords(self.diary)
        self.engine = Engine(
            self.desk, self.records, clock=self.now, report=self.diary.report, examine=examine, examine_s=examine_s
        )
        self.engine.connect(self.front)

    def now(self) -> Instant:
        mono = anyio.current_time() + self.forward_s
        return Instant(mono, 1_800_000_000.0 + mono)

    async def ask(self, request: Request) -> FakeLine:
        line = FakeLine(self.diary)
        await self.engine.ask(request, line)
        return line

    def steps(self) -> list[str]:
        """What happened, in a word each, in its order."""
        words = []
        for item in self.diary.items:
            if isinstance(item, Recorded):
                words += [f"record {type(entry).__name__}" for entry in item.entries]
            elif isinstance(item, Sent):
                words.append(f"send {item.kind}")
            else:
                words.append(type(item).__name__)
        return words


def refuse(*kinds: type[Entry], reason: str = "the disk is full") -> Refusal:
    """For FakeRecords.refuse: entries of these kinds are not recorded, alone or together with others."""

    def look(entries: Sequence[Entry]) -> str | None:
        return reason if any(isinstance(entry, kinds) for entry in entries) else None

    return look


# The order


async def test_a_question_is_recorded_before_anybody_sees_it() -> None:
    room = Room()
    await room.ask(make_request())
    assert room.steps() == ["record AskedEntry", "Post"]


async def test_a_tap_is_recorded_then_the_caller_is_answered_then_the_phone() -> None:
    room, request = Room(), make_request()
    line = await room.ask(request)
    await room.engine.handle(Posted(request.id, COPY, 0))
    room.diary.items.clear()
    await room.engine.handle(tap_on(request))
    assert room.steps() == ["record AnsweredEntry", "send reply", "AnswerTap", "Edit"]
    assert line.sent is not None and b'"behavior":"allow"' in line.sent.body


async def test_the_caller_has_nothing_while_the_disk_has_not() -> None:
    room, request = Room(), make_request()
    line = await room.ask(request)
    room.records.disk = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(room.engine.handle, tap_on(request))
        with anyio.fail_after(5):
            while not room.records.waiting:
                await anyio.lowlevel.checkpoint()
        assert line.sent is None
        assert room.diary.all(AnswerTap) == []
        room.records.disk.set()
    assert line.sent is not None and line.sent.kind is FrameKind.REPLY


async def test_an_update_is_confirmed_together_with_what_it_causes() -> None:
    room, request = Room(), make_request()
    await room.ask(request)
    assert await room.engine.handle(tap_on(request, "x", seal="AAAA"), 77) is None
    await room.engine.handle(Posted(request.id, Copy(ADA.chat_id, 5), 0), 78)
    recorded = [item for item in room.diary.items if isinstance(item, Recorded)]
    assert [one.offset for one in recorded[-2:]] == [77, 78] and isinstance(recorded[-1].entries[-1], CopyEntry)


async def test_an_update_that_answers_is_not_confirmed_before_the_answer_is_handed_over() -> None:
    """After a crash in between Telegram has to deliver it again: the journal proves no answer."""
    room, request = Room(), make_request()
    line = await room.ask(request)
    line.is_slow = True
    handover = await room.engine.handle(tap_on(request), 77)
    recorded = [item for item in room.diary.items if isinstance(item, Recorded)][-1]
    assert recorded.offset is None and isinstance(recorded.entries[-1], AnsweredEntry)
    assert handover is not None
    with anyio.move_on_after(0.05) as patience:
        await handover()
    assert patience.cancelled_caught, "it waits for the line"
    line.handed_over.set()
    with anyio.fail_after(PATIENCE_S):
        await handover()


async def test_a_tap_before_the_caller_is_back_is_confirmed_after_its_answer_was_handed_over() -> None:
    room, request = Room(), make_request()
    await room.engine.restore([Remembered(request, asked_at=1.8e9, deadline_at=1.9e9, chats=(ADA.chat_id,))])
    handover = await room.engine.handle(tap_on(request), 77)
    assert handover is not None and not room.diary.items, "nothing is recorded, not even the offset"
    line = await room.ask(request)
    assert line.sent is not None and line.sent.kind is FrameKind.REPLY
    with anyio.fail_after(PATIENCE_S):
        await handover()


async def test_a_tap_whose_caller_never_comes_back_is_confirmed_when_the_request_is_over() -> None:
    room, request = Room(), make_request()
    await room.engine.restore([Remembered(request, asked_at=1.8e9, deadline_at=1.9e9, chats=(ADA.chat_id,))])
    handover = await room.engine.handle(tap_on(request), 77)
    assert handover is not None
    room.forward_s = ADOPT_S + 1
    await room.engine.handle(Ticked())
    with anyio.fail_after(PATIENCE_S):
        await handover()


async def test_an_update_that_causes_nothing_is_confirmed_too() -> None:
    room = Room()
    await room.engine.handle(Ticked(), 78)
    assert room.diary.items == [Recorded((), 78)]
    room.diary.items.clear()
    await room.engine.handle(Ticked())
    assert room.diary.items == [], "and without an update there is nothing to write"


async def test_phones_that_fail_keep_nobody_from_an_answer() -> None:
    """One event ends three requests, and the phones break at the first of them."""
    room = Room()
    lines = [await room.ask(make_request(number, session=f"s{number}", deadline_s=50)) for number in (1, 2, 3)]
    room.front.shatter = RuntimeError
    room.forward_s = 51
    await room.engine.handle(Ticked())
    assert [line.sent is not None and line.sent.kind for line in lines] == [FrameKind.PASS] * 3
    assert any("the phone is broken" in report for report in room.diary.reports)


# A journal that fails


@pytest.mark.parametrize("kind", [AskedEntry, AnsweredEntry])
async def test_what_cannot_be_recorded_gets_no_opinion_and_a_clear_report(kind: type[Entry]) -> None:
    room, request = Room(), make_request()
    room.records.refuse = refuse(kind, SettledEntry)
    line = await room.ask(request)
    await room.engine.handle(tap_on(request))
    assert line.sent is not None and line.sent.kind is FrameKind.PASS
    assert b"could not be recorded (the disk is full)" in line.sent.body
    assert "the disk is full" in room.diary.reports
    card = room.desk.card(request.id)
    assert card is not None and card.outcome is Outcome.NOT_RECORDED
    cards = [effect.card for effect in room.diary.all(Post)] + [effect.card for effect in room.diary.all(Edit)]
    assert cards[-1].outcome is Outcome.NOT_RECORDED, "and the phone is told"


async def test_a_tap_that_could_not_be_recorded_is_told_so() -> None:
    room, request = Room(), make_request()
    await room.ask(request)
    room.records.refuse = refuse(AnsweredEntry)
    await room.engine.handle(tap_on(request))
    assert "does not count" in room.diary.all(AnswerTap)[0].text
    assert "send reply" not in room.steps()


async def test_where_not_all_can_be_recorded_at_once_each_is_recorded_alone() -> None:
    """Three requests end at the same time and one of the records is bad: the others are not lost with it."""
    room, requests = Room(), [make_request(number, session=f"s{number}", deadline_s=50) for number in (1, 2, 3)]
    lines = [await room.ask(request) for request in requests]

    def bad(entries: Sequence[Entry]) -> str | None:
        settled = [entry.request_id for entry in entries if isinstance(entry, SettledEntry)]
        return "bad entry" if requests[1].id in settled else None

    room.records.refuse = bad
    room.forward_s = 51
    await room.engine.handle(Ticked(), 90)
    assert [room.diary.outcome(request.id) for request in requests] == [Outcome.EXPIRED, None, Outcome.EXPIRED]
    assert room.diary.reports == ["bad entry"]
    assert all(line.sent is not None and line.sent.kind is FrameKind.PASS for line in lines), (
        "and each caller is let go"
    )
    assert [item.offset for item in room.diary.items if isinstance(item, Recorded)][-1] == 90


async def test_a_record_that_is_no_gate_keeps_nobody_from_an_answer() -> None:
    """Where a card stands could not be recorded; that is reported, and the card can be tapped all the same."""
    room, request = Room(), make_request()
    line = await room.ask(request)
    room.records.refuse = refuse(CopyEntry)
    await room.engine.handle(Posted(request.id, COPY, 0))
    assert room.diary.reports == ["the disk is full"]
    await room.engine.handle(tap_on(request))
    assert line.sent is not None and line.sent.kind is FrameKind.REPLY


async def test_how_a_request_ended_is_written_down_when_the_disk_has_room_again() -> None:
    """Otherwise the next run would tell of it as if it were open."""
    room, request = Room(), make_request()
    await room.ask(request)
    room.records.refuse = refuse(SettledEntry)
    await room.engine.handle(SessionEnded(request.call.session_id, "exit"))
    assert room.diary.outcome(request.id) is None
    room.records.refuse = lambda entries: None
    await room.ask(make_request(2, session="session-2"))
    assert room.diary.outcome(request.id) is Outcome.SESSION_ENDED


async def test_one_answer_that_cannot_be_recorded_keeps_no_other_from_its_caller() -> None:
    """One tap may allow several requests: where one of them is refused by the disk, that one has no opinion."""
    room = Room()
    requests = [make_request(n, tool="Read", tool_input={"file_path": f"/srv/{n}"}, suggestions=()) for n in (1, 2, 3)]
    lines = [await room.ask(request) for request in requests]
    for number, request in enumerate(requests, start=10):
        await room.engine.handle(Posted(request.id, Copy(COPY.chat_id, number), 0))
    await room.engine.handle(tap_on(requests[0], "b", seal="several"))
    (yes,) = (choice for choice in room.engine.desk.card(requests[0].id).choices if choice.key == "y")  # type: ignore[union-attr]

    def refuse_second(entries: Sequence[Entry]) -> str | None:
        second = [entry for entry in entries if isinstance(entry, AnsweredEntry)]
        return "the disk is full" if any(entry.request_id == requests[1].id for entry in second) else None

    room.records.refuse = refuse_second
    await room.engine.handle(tap_on(requests[0], "y", seal=yes.seal))
    assert [line.sent.kind if line.sent else None for line in lines] == [
        FrameKind.REPLY,
        FrameKind.PASS,
        FrameKind.REPLY,
    ]


# An answer that cannot be written


async def test_an_answer_that_cannot_be_rendered_is_no_opinion() -> None:
    """A value that JSON cannot hold got into a choice; the agent gets nothing rather than half of it."""
    room, request = Room(), make_request()
    bad = Decision(Verdict.ALLOW, updates=(object(),))
    choices = tuple(replace(choice, decision=bad) if choice.key == "a" else choice for choice in request.choices)
    request = replace(request, choices=choices)
    line = await room.ask(request)
    await room.engine.handle(tap_on(request))
    assert line.sent == Sent(FrameKind.PASS, b"no opinion")
    assert any("an answer could not be written" in report for report in room.diary.reports)


async def test_an_answer_for_an_agent_that_nobody_knows_any_more_is_no_opinion() -> None:
    """The request was journaled by a version that knew it."""
    room, request = Room(), make_request()
    request = replace(request, caller=replace(request.caller, agent="hal9000"))
    line = await room.ask(request)
    await room.engine.handle(tap_on(request))
    assert line.sent is not None and line.sent.kind is FrameKind.PASS


# One caller after the other


async def test_an_id_that_belongs_to_another_question_is_refused() -> None:
    room, request = Room(), make_request()
    line = await room.ask(request)
    with pytest.raises(FrameError, match="another question"):
        await room.ask(make_request(tool="Write"))
    await room.engine.handle(tap_on(request))
    assert line.sent is not None and line.sent.kind is FrameKind.REPLY


async def test_only_the_last_line_counts_for_a_hang_up() -> None:
    room, request = Room(), make_request()
    first, second = await room.ask(request), await room.ask(request)
    assert not room.engine.hang_up(request.id, first)
    await room.engine.handle(tap_on(request))
    assert first.sent is not None and first.sent.kind is FrameKind.PASS, "its place was taken: it need not wait"
    assert second.sent is not None and second.sent.kind is FrameKind.REPLY
    assert room.engine.hang_up(request.id, second)
    assert not room.engine.hang_up(request.id, second)


async def test_after_no_opinion_a_hang_up_is_no_news() -> None:
    room, request = Room(), make_request(deadline_s=0)
    line = await room.ask(request)
    assert line.sent is not None and line.sent.kind is FrameKind.PASS
    assert not room.engine.hang_up(request.id, line)


async def test_a_cancelled_caller_leaves_nothing_half_done() -> None:
    """The connection ends while the disk is writing: what was begun is finished, for the phone and for the desk."""
    room, request = Room(), make_request()
    line = await room.ask(request)
    room.records.disk = anyio.Event()
    ended = anyio.Event()

    async def tap() -> None:
        try:
            await room.engine.handle(tap_on(request))
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(tap)
        with anyio.fail_after(5):
            while not room.records.waiting:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            assert not ended.is_set(), "it holds out against the cancellation"
            room.records.disk.set()
    assert room.diary.answered(request.id)
    assert line.sent is not None and line.sent.kind is FrameKind.REPLY
    assert len(room.diary.all(AnswerTap)) == 1


async def test_events_are_taken_one_at_a_time_and_in_their_order() -> None:
    room, request = Room(), make_request()
    line = await room.ask(request)
    room.records.disk = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(room.engine.handle, tap_on(request, "d", query_id="first"))
        with anyio.fail_after(5):
            while not room.records.waiting:
                await anyio.lowlevel.checkpoint()
        group.start_soon(room.engine.handle, tap_on(request, "a", query_id="second"))
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        assert room.records.waiting == 1
        room.records.disk.set()
    assert line.sent is not None and b'"deny"' in line.sent.body
    assert [tap.query_id for tap in room.diary.all(AnswerTap)] == ["first", "second"]


# Time


async def test_a_request_ends_at_its_deadline_and_not_before() -> None:
    """The later one ends with the daemon's own limit, whatever its caller says. Both wake a sleeping engine."""
    room = Room(hold_s=0.7)
    early, late = make_request(1, session="s1", deadline_s=0.3), make_request(2, session="s2", deadline_s=3000)
    async with anyio.create_task_group() as group:
        await group.start(room.engine.run)
        came = {late.id: room.now().wall}  # the time in which a question is examined counts as well
        lines = [await room.ask(late)]
        came[early.id] = room.now().wall
        lines.append(await room.ask(early))
        await room.diary.until(lambda: all(line.sent is not None for line in lines))
        group.cancel_scope.cancel()
    ended = {entry.request_id: entry.ended_at for entry in room.diary.entries() if isinstance(entry, SettledEntry)}
    assert list(ended) == [early.id, late.id]
    assert ended[early.id] - came[early.id] >= 0.3
    assert ended[late.id] - came[late.id] >= 0.7
    assert {room.diary.outcome(early.id), room.diary.outcome(late.id)} == {Outcome.EXPIRED}


def test_an_engine_with_nothing_to_do_does_nothing() -> None:
    async def main() -> None:
        room = Room()
        async with anyio.create_task_group() as group:
            await group.start(room.engine.run)
            await anyio.sleep(100_000)
            assert room.diary.items == []
            group.cancel_scope.cancel()

    timelapse.run(main)


NOBODY = 2**31 - 1
LEAVING: tuple[tuple[str | int, Left, Outcome], ...] = (
    ("self", Left.TERMINATED, Outcome.TERMINAL_DENIED),
    ("dead", Left.TERMINATED, Outcome.SESSION_ENDED),
    ("self", Left.LOST, Outcome.CALLER_LOST),
    ("dead", Left.LOST, Outcome.AGENT_DIED),
    (NOBODY, Left.LOST, Outcome.AGENT_DIED),
    (0, Left.LOST, Outcome.CALLER_LOST),  # where the pid tells nothing, death is not claimed
    (1, Left.LOST, Outcome.CALLER_LOST),
    (2**40, Left.LOST, Outcome.CALLER_LOST),
)


async def test_a_caller_that_left_is_explained_by_whether_its_agent_lives() -> None:
    room, pids = Room(), {"self": os.getpid(), "dead": dead_pid()}
    requests = []
    async with anyio.create_task_group() as group:
        await group.start(room.engine.run)
        for number, (who, why, _) in enumerate(LEAVING, start=1):
            request = make_request(number, session=f"s{number}")
            pid = pids[who] if isinstance(who, str) else who
            request = replace(request, caller=replace(request.caller, parent_pid=pid))
            requests.append(request)
            assert room.engine.hang_up(request.id, await room.ask(request))
            await room.engine.handle(CallerGone(request.id, why))
        await room.diary.until(lambda: all(room.diary.outcome(request.id) for request in requests))
        group.cancel_scope.cancel()
    for request, (who, why, outcome) in zip(requests, LEAVING, strict=True):
        assert room.diary.outcome(request.id) is outcome, (who, why)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells in /proc what has ended and was not waited for")
async def test_an_agent_that_has_ended_and_was_not_waited_for_does_not_live() -> None:
    """Process 1 of a container may wait late, or never: that is no answer at the terminal."""
    room = Room()
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    request = make_request(1)
    request = replace(request, caller=replace(request.caller, parent_pid=child.pid))
    async with anyio.create_task_group() as group:
        await group.start(room.engine.run)
        assert room.engine.hang_up(request.id, await room.ask(request))
        await room.engine.handle(CallerGone(request.id, Left.TERMINATED))
        await room.diary.until(lambda: room.diary.outcome(request.id) is not None)
        group.cancel_scope.cancel()
    child.wait()
    assert room.diary.outcome(request.id) is Outcome.SESSION_ENDED


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    child.wait()
    return child.pid


# What is found out about a call


LINKED = Findings((Risk("credentials-written", "Changes keys"),), (Link("docs/x", "a link to ~/.ssh/x"),))


def linked(request: Request) -> Findings:
    return LINKED if "docs" in str(request.input) else Findings()


def findings(card: Card | None) -> Findings:
    assert card is not None
    return Findings(card.risks, card.context.links)


async def test_what_was_found_out_is_on_the_card_and_a_part_of_what_must_fit() -> None:
    room = Room(examine=linked)
    request = make_request(tool_input={"command": "cp k docs/x"})
    await room.ask(request)
    assert findings(room.desk.card(request.id)) == LINKED


async def test_a_request_of_an_earlier_run_is_examined_anew() -> None:
    """Not on the event loop, where a disk that hangs would hold up everybody."""
    room = Room(examine=linked)
    request = make_request(1, tool_input={"command": "cp k docs/x"})
    await room.engine.restore(
        [Remembered(request, asked_at=1e9, deadline_at=1e9 + 600, chats=(ADA.chat_id,), copies=((COPY, 0),))]
    )
    assert findings(room.desk.card(request.id)) == LINKED


async def test_a_restored_request_without_its_input_is_still_named_as_before() -> None:
    """The journal may have dropped the input, and knows no agent's tools."""
    room = Room()
    request = replace(
        make_request(tool="ExitPlanMode"), input={}, choices=(), raw=b"", tool=UNKNOWN_TOOL, agent_title=""
    )
    memory = Remembered(*(request, 1e9, 1e9 + 600), chats=(ADA.chat_id,), outcome=Outcome.EXPIRED, ended_at=1e9 + 600)
    await room.engine.restore([memory])
    card = room.desk.card(request.id)
    assert card is not None
    assert (card.request.tool.title, card.request.agent_title) == ("Plan", "Claude Code")


@pytest.mark.parametrize("is_early", [False, True], ids=["after its prompt is known", "before"])
async def test_an_edited_text_is_examined_before_it_is_offered(is_early: bool) -> None:
    room = Room(examine=linked)
    request = make_request()
    await room.ask(request)
    await room.engine.handle(Posted(request.id, COPY, 0))
    await room.engine.handle(tap_on(request, "m"))
    prompt = PromptPosted(request.id, Copy(ADA.chat_id, 11), Prompt(ADA.user_id, Action.ASK_EDIT))
    reply = Replied(ADA.user_id, ADA.chat_id, 12, 11, "cp k docs/x")
    for event in (reply, prompt) if is_early else (prompt, reply):
        await room.engine.handle(event)
    card = room.desk.card(request.id)
    assert card is not None
    assert card.draft.text == "cp k docs/x"
    assert findings(card) == LINKED
    await room.engine.handle(replace(tap_on(request, "z"), seal="back"))
    assert findings(room.desk.card(request.id)) == Findings(), "the text that was asked for has none of that"


async def test_an_edited_text_that_takes_long_to_examine_holds_up_no_other_event() -> None:
    """The person who edits waits for it; whoever taps another card does not."""
    go_on, begun = threading.Event(), threading.Event()

    def examine(request: Request) -> Findings:
        if request.input.get("command") == "slow":
            begun.set()
            go_on.wait(PATIENCE_S)
        return Findings()

    room = Room(examine=examine)
    one, other = make_request(1, session="s1"), make_request(2, session="s2")
    lines = [await room.ask(request) for request in (one, other)]
    prompt = Copy(ADA.chat_id, 13)
    for number, request in ((11, one), (12, other)):
        await room.engine.handle(Posted(request.id, Copy(ADA.chat_id, number), 0))
    await room.engine.handle(PromptPosted(one.id, prompt, Prompt(ADA.user_id, Action.ASK_EDIT, 0)))
    async with anyio.create_task_group() as group:
        group.start_soon(room.engine.handle, Replied(ADA.user_id, ADA.chat_id, 14, prompt.message_id, "slow"))
        await anyio.to_thread.run_sync(begun.wait, PATIENCE_S)
        try:
            await room.engine.handle(tap_on(other, "d"))
            assert lines[1].sent is not None and b'"deny"' in lines[1].sent.body
        finally:
            go_on.set()
    card = room.desk.card(one.id)
    assert card is not None and card.draft.text == "slow"


async def test_a_question_that_is_not_examined_in_time_is_let_go() -> None:
    """Nobody else could answer an agent that shows no prompt of its own, and no card is on its way yet."""
    go_on = threading.Event()

    def examine(request: Request) -> Findings:
        go_on.wait(PATIENCE_S)
        return Findings()

    room, request = Room(examine=examine, examine_s=0.05), replace(make_request(), shows_own_prompt=False)
    try:
        line = await room.ask(request)
        assert line.sent is not None and line.sent.kind is FrameKind.PASS and TOO_SLOW.encode() in line.sent.body
        assert room.desk.card(request.id) is None
    finally:
        go_on.set()


async def test_an_earlier_run_s_requests_that_take_long_to_examine_do_not_keep_the_daemon_from_starting() -> None:
    """They are said to be unchecked; their callers bring them again."""
    go_on = threading.Event()

    def examine(request: Request) -> Findings:
        go_on.wait(PATIENCE_S)
        return Findings()

    room = Room(examine=examine)
    now, requests = room.now().wall, [make_request(number, session=f"s{number}") for number in range(1, 9)]
    try:
        await room.engine.restore([Remembered(one, now - 1, now + 500, (ADA.chat_id,)) for one in requests])
        cards = [room.desk.card(one.id) for one in requests]
        assert all(card is not None and any(risk.asks_twice for risk in card.risks) for card in cards)
    finally:
        go_on.set()
