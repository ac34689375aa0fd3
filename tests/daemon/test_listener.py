"""The listener at a real socket: whatever one caller does, it is told why and dropped, and nobody else notices."""

from __future__ import annotations

import os
import resource
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import pytest
from anyio.abc import SocketAttribute, UNIXSocketStream

from tapgate.desk.desk import Desk
from tapgate.desk.effects import Post, Record
from tapgate.desk.events import AgentProbed, Asked, SessionEnded
from tapgate.desk.memory import Remembered
from tapgate.model import Instant, Outcome, Phase
from tapgate.wire import MAX_BODY_BYTES, MAX_HEADER_BYTES, VERSION, FrameKind, encode_frame
from tests.builders import ADA, event_bytes, make_request, request_id, tap_on
from tests.daemon.fakes import PATIENCE_S
from tests.daemon.station import Guest, Station, ask_frame, new_station
from tests.desk.ledger import Ledger

NOBODY_UID = 65534
ALICE, EVE = 4001, 4002


# What is refused


@dataclass(frozen=True, slots=True)
class Nonsense:
    data: bytes
    words: str


def announcing(size_bytes: int) -> bytes:
    """A question whose header lies about its size."""
    line, _, body = ask_frame().partition(b"\n")
    return line.replace(b" ask %d " % len(body), b" ask %d " % size_bytes) + b"\n" + body


NONSENSE = {
    "garbage": Nonsense(b"\x00\xff\xfe rubbish\n", "not a tapgate frame"),
    "http": Nonsense(b"GET / HTTP/1.1\r\nHost: daemon\r\n\r\n", "not a tapgate frame"),
    "empty line": Nonsense(b"\n", "not a tapgate frame"),
    "older version": Nonsense(b"tapgate/0 ask 0\n", f"speaks version {VERSION}"),
    "newer version": Nonsense(b"tapgate/2 ask 0\n", f"speaks version {VERSION}"),
    "odd version": Nonsense(b"tapgate/01 ask 0\n", f"speaks version {VERSION}"),
    "short header": Nonsense(b"tapgate/1 ask\n", "too short"),
    "unknown kind": Nonsense(b"tapgate/1 approve 0\n", "unknown kind"),
    "binary kind": Nonsense(b"tapgate/1 \xff\xff 0\n", "unknown kind"),
    "negative size": Nonsense(b"tapgate/1 ask -1\n", "size is not a number"),
    "size in words": Nonsense(b"tapgate/1 ask many\n", "size is not a number"),
    "absurd size": Nonsense(b"tapgate/1 ask " + b"9" * 5000 + b"\n", "size is not a number"),
    "one byte over 16 MiB": Nonsense(b"tapgate/1 ask %d\n" % (MAX_BODY_BYTES + 1), f"{MAX_BODY_BYTES} are the most"),
    "a word that is no field": Nonsense(b"tapgate/1 ask 0 what\n", "not key=value"),
    "a name that is no text": Nonsense(b"tapgate/1 ask 0 \xff=1\n", "not key=value"),
    "endless header": Nonsense(b"tapgate/1 ask 0 x=" + b"a" * MAX_HEADER_BYTES, "does not end"),
    "gone first": Nonsense(encode_frame(FrameKind.GONE, why="terminated"), "gone frame cannot come first"),
    "held first": Nonsense(encode_frame(FrameKind.HELD), "held frame cannot come first"),
    "reply first": Nonsense(encode_frame(FrameKind.REPLY, b"{}", exit=0), "reply frame cannot come first"),
    "pass first": Nonsense(encode_frame(FrameKind.PASS), "pass frame cannot come first"),
    "error first": Nonsense(encode_frame(FrameKind.ERROR), "error frame cannot come first"),
    "no id": Nonsense(encode_frame(FrameKind.ASK, b"{}", deadline_s=1), "32 hexadecimal digits"),
    "short id": Nonsense(ask_frame(id="abc"), "32 hexadecimal digits"),
    "id in capitals": Nonsense(ask_frame(id="A" * 32), "32 hexadecimal digits"),
    "id with a line end": Nonsense(ask_frame(id=request_id(7) + "\n"), "32 hexadecimal digits"),
    "taken without id": Nonsense(encode_frame(FrameKind.TAKEN), "32 hexadecimal digits"),
    "no deadline": Nonsense(encode_frame(FrameKind.ASK, b"{}", id=request_id(7)), "deadline_s is not a number"),
    "deadline in words": Nonsense(ask_frame(deadline_s="soon"), "deadline_s is not a number"),
    "NaN deadline": Nonsense(ask_frame(deadline_s="nan"), "deadline_s is not a number"),
    "endless deadline": Nonsense(ask_frame(deadline_s="inf"), "deadline_s is not a number"),
    "a deadline beyond floats": Nonsense(ask_frame(deadline_s="1e999"), "deadline_s is not a number"),
    "a pid in words": Nonsense(ask_frame(pid="me"), "pid is not a process id"),
    "a pid beyond integers": Nonsense(ask_frame(parent="9" * 30), "parent is not a process id"),
    "a negative pid": Nonsense(ask_frame(parent="-1"), "parent is not a process id"),
    "unknown agent": Nonsense(ask_frame(agent="hal9000"), "does not know the agent 'hal9000'"),
    "no agent": Nonsense(ask_frame(agent=""), "does not know the agent"),
    "a body that is no JSON": Nonsense(ask_frame(body=b"\xff" * 64), "not JSON"),
    "an empty body": Nonsense(ask_frame(body=b""), "nothing came on stdin"),
    "a body that is no event": Nonsense(ask_frame(body=b"{}"), "no hook_event_name"),
    "a large body that is no JSON": Nonsense(ask_frame(body=b"x" * 1_000_000), "not JSON"),
    "fewer bytes announced than sent": Nonsense(announcing(20), "not JSON"),
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_is_answered_with_an_error_and_dropped_and_nobody_else_notices(nonsense: Nonsense) -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        guest = await station.guest()
        await guest.say(nonsense.data)
        assert await guest.is_refused(nonsense.words)
        assert len(station.diary.all(Post)) == 1, "no card but the waiting caller's"
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]
        assert station.diary.reports == []


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"tapg",
        b"tapgate/1 ask 100",
        ask_frame()[:-1],
        encode_frame(FrameKind.TAKEN, b"x" * 10, id=request_id(1))[:-1],
    ],
    ids=["nothing", "a few letters", "half a header", "all but one byte", "half a confirmation"],
)
async def test_a_caller_that_stalls_is_told_so_and_dropped_and_nobody_else_notices(beginning: bytes) -> None:
    async with new_station(stall_s=0.2) as station:
        waiting = await station.waiting(1)
        guest = await station.guest()
        await guest.say(beginning) if beginning else None
        assert await guest.is_refused("no whole frame came within 0.2 s")
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1], "who waits longer than that has stalled nothing"


async def test_a_slow_caller_is_not_a_stalling_one() -> None:
    """The frame comes byte by byte, and is whole before the time is over."""
    async with new_station() as station:
        guest = await station.guest()
        for byte in ask_frame():
            await guest.say(bytes([byte]))
        await station.posted()


async def test_the_largest_question_that_is_allowed_is_taken() -> None:
    around = event_bytes(tool="Write", tool_input={"content": ""}, suggestions=())
    body = around.replace(b'"content": ""', b'"content": "%s"' % (b"x" * (MAX_BODY_BYTES - len(around))))
    assert len(body) == MAX_BODY_BYTES
    async with new_station() as station:
        guest = await station.guest()
        with anyio.fail_after(20):
            await guest.stream.send(ask_frame(body=body))
        await station.posted()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"tapgate/1 ask 5000 id=", "ends in its header"),
        (ask_frame()[:-10], "bytes and brought"),
        (b"", ""),
    ],
    ids=["in the header", "in the body", "before the first byte"],
)
async def test_a_caller_that_hangs_up_midway_is_noticed_by_nobody(data: bytes, words: str) -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        polite, rude = await station.guest(), await station.guest()
        for guest in (polite, rude):
            await guest.say(data) if data else None
        await rude.hang_up()
        await polite.stream.send_eof()
        assert await (polite.is_refused(words) if words else polite.is_dropped())
        await station.serves(2)
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]
        assert station.diary.reports == []


async def test_garbage_after_the_question_ends_that_request_and_no_other() -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        guest = await station.waiting(2)
        await guest.say(b"and another thing\n")
        assert await guest.is_dropped()
        await station.engine.handle(AgentProbed(request_id(2), alive=True))
        assert station.diary.outcome(request_id(2)) is Outcome.CALLER_LOST
        assert any("made no sense" in report for report in station.diary.reports)
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]


async def test_a_whole_frame_of_no_use_after_the_question_changes_nothing() -> None:
    async with new_station() as station:
        guest = await station.waiting(1)
        await guest.say(ask_frame(2) + encode_frame(FrameKind.REPLY, b"{}", exit=0) + encode_frame(FrameKind.PASS))
        await station.tap(1)
        assert b'"behavior":"allow"' in (await guest.hear())[1]
        assert not station.diary.asked(request_id(2)), "one question a connection"


async def test_one_caller_more_than_there_is_room_for_is_refused_until_there_is() -> None:
    async with new_station(most_callers=3) as station:
        waiting = [await station.waiting(number) for number in (1, 2, 3)]
        for _ in range(3):
            guest = await station.guest()
            assert await guest.is_refused("more than 3 callers are waiting")
        await station.tap(1)
        await waiting[0].hear()
        await waiting[0].say(encode_frame(FrameKind.TAKEN))
        await waiting[0].hang_up()
        await station.diary.until(lambda: station.diary.outcome(request_id(1)))
        await _while_refused(station)
        await station.tap(2)
        assert b'"behavior":"allow"' in (await waiting[1].hear())[1]


async def _while_refused(station: Station) -> None:
    """The place is free a moment after the hang-up; until then a caller is told to go."""
    with anyio.fail_after(5):
        while True:
            guest = await station.guest()
            await guest.say(encode_frame(FrameKind.PASS))
            _, body = await guest.hear()
            if b"cannot come first" in body:
                return


async def _until(condition: Callable[[], bool]) -> None:
    """For what leaves no trace in the diary."""
    with anyio.fail_after(PATIENCE_S):
        while not condition():
            await anyio.lowlevel.checkpoint()


@contextmanager
def no_descriptors() -> Iterator[None]:
    """As in a process that has used up all of its file descriptors."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_callers_wait_while_there_is_no_file_descriptor_for_them() -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        late = socket.socket(socket.AF_UNIX)
        late.setblocking(False)
        with no_descriptors():
            late.connect(str(station.path))
            await station.diary.until(lambda: station.diary.reports)
            await station.tap(1)
            assert b'"behavior":"allow"' in (await waiting.hear())[1]
        guest = Guest(await UNIXSocketStream.from_socket(late))
        station.guests.append(guest)
        await guest.say(ask_frame(2))
        await station.posted(2)
        assert len(station.diary.reports) == 1 and "no more callers" in station.diary.reports[0]


# What has not arrived takes no room


async def test_a_question_that_is_announced_and_not_sent_takes_no_room() -> None:
    big = event_bytes(tool_input={"command": "x" * 3000})
    async with new_station(most_held_bytes=len(big) + 100) as station:
        for number in (1, 2, 3):
            await (await station.guest()).say(ask_frame(number, big).partition(b"\n")[0] + b"\n")
        await _is_read(station)
        whole = await station.guest()
        await whole.say(ask_frame(4, big))
        await station.posted(4)


async def test_a_question_that_stalls_gives_way_to_one_that_arrives_and_is_told_so() -> None:
    big = event_bytes(tool_input={"command": "x" * 3000})
    async with new_station(most_held_bytes=int(len(big) * 1.5)) as station:
        stalling = await station.guest()
        await stalling.say(ask_frame(1, big)[:-1])
        await _is_read(station)
        whole = await station.guest()
        await whole.say(ask_frame(2, big))
        await station.posted(2)
        assert await stalling.is_refused("its place was needed")
        late = await station.guest()
        await late.say(ask_frame(3, big))
        assert await late.is_refused("take all the memory there is for them"), "who waits with a whole one stays"
        await station.tap(2)
        assert b'"behavior":"allow"' in (await whole.hear())[1]


async def test_a_silent_caller_gives_way_when_there_are_too_many() -> None:
    async with new_station(most_callers=3) as station:
        waiting = await station.waiting(1)
        silent = [await station.guest() for _ in range(2)]
        await anyio.wait_all_tasks_blocked()
        await station.waiting(2)
        assert await silent[0].is_refused("its place was needed"), "the one that has been silent for longest"
        await station.waiting(3)
        assert await silent[1].is_refused("its place was needed")
        assert await (await station.guest()).is_refused("more than 3 callers are waiting")
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]


# Signs of life


def beating(frame: bytes) -> bytes:
    """The question of a caller that wants to hear that it is held."""
    line, _, body = frame.partition(b"\n")
    return line + b" beat=1\n" + body


async def hears_held(guest: Guest, *, prompt: bool = False) -> bool:
    header, body = await guest.hear()
    assert (header.kind, body) == (FrameKind.HELD, b""), (header, body)
    return dict(header.fields) == ({"prompt": "1"} if prompt else {})


async def test_a_caller_hears_that_it_is_held_before_its_question_is_whole() -> None:
    async with new_station() as station:
        guest = await station.guest()
        frame = beating(ask_frame(1))
        await guest.say(frame[:-10])
        assert await hears_held(guest)
        assert not station.diary.asked(request_id(1))
        await guest.say(frame[-10:])
        await station.posted(1)


async def test_a_waiting_caller_hears_again_and_again_that_it_is_held_and_then_its_answer() -> None:
    async with new_station(beat_s=0.05) as station:
        guest = await station.guest()
        await guest.say(beating(ask_frame(1)))
        for _ in range(5):
            assert await hears_held(guest)
        await station.posted(1)
        await station.tap(1)
        while (heard := await guest.hear())[0].kind is FrameKind.HELD:
            pass
        assert heard[0].kind is FrameKind.REPLY and b'"behavior":"allow"' in heard[1]
        await guest.say(encode_frame(FrameKind.TAKEN, id=request_id(1)))
        assert await guest.is_dropped(), "nothing comes behind the answer"


async def test_a_caller_hears_that_it_is_held_while_the_disk_is_slow() -> None:
    async with new_station(beat_s=0.05) as station:
        station.records.disk = anyio.Event()
        guest = await station.guest()
        await guest.say(beating(ask_frame(1)))
        await _until(lambda: station.records.waiting > 0)
        for _ in range(5):
            assert await hears_held(guest)
        station.records.disk.set()
        await station.posted(1)


async def test_a_caller_hears_nothing_more_where_the_disk_does_not_answer_at_all() -> None:
    """The event loop lives, but nothing that is asked comes to an end any more."""
    async with new_station(beat_s=0.05, hangs_s=0.5) as station:
        waiting = await station.guest()
        await waiting.say(beating(ask_frame(1)))
        await station.posted(1)
        station.records.disk = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(station.engine.handle, SessionEnded("another", ""), 7)
            await _until(lambda: station.engine.busy_s() > 0.5)
            with anyio.move_on_after(0.5):
                while True:  # what was said before
                    await waiting.stream.receive()
            with anyio.move_on_after(1) as silence:
                await waiting.stream.receive()
            assert silence.cancelled_caught
            station.records.disk.set()
        assert await hears_held(waiting)


async def test_a_caller_that_does_not_ask_for_it_hears_its_answer_and_nothing_else() -> None:
    """As one of an older version, which would take anything else for its answer."""
    async with new_station(beat_s=0.05) as station:
        other = await station.guest()
        await other.say(beating(ask_frame(2)))
        guest = await station.waiting(1)
        for _ in range(5):
            await hears_held(other)
        await station.tap(1)
        header, body = await guest.hear()
        assert header.kind is FrameKind.REPLY and b'"behavior":"allow"' in body


@pytest.mark.parametrize(
    ("attended", "fields", "prompt"),
    [("1", {}, True), ("0", {}, False), ("1", {"agent_id": "a1"}, False), ("1", {"event": "PreToolUse"}, False)],
    ids=["main thread", "headless", "subagent", "gate"],
)
async def test_a_caller_is_told_whether_its_agent_shows_a_prompt_of_its_own(
    attended: str, fields: dict[str, str], prompt: bool
) -> None:
    body = event_bytes(**fields)  # type: ignore[arg-type]
    async with new_station(beat_s=0.05) as station:
        guest = await station.guest()
        await guest.say(beating(ask_frame(1, body, attended=attended)))
        assert await hears_held(guest), "at first nothing is known of it"
        await station.posted(1)
        for _ in range(3):
            await guest.hear()  # what may have been on its way
        for _ in range(3):
            assert await hears_held(guest, prompt=prompt)


async def test_signs_of_life_that_nobody_reads_delay_nobody() -> None:
    async with new_station(beat_s=0.0005) as station:
        deaf = await station.guest()
        raw = deaf.stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        await deaf.say(beating(ask_frame(1)))
        await station.posted(1)
        for number in range(2, 6):
            await station.serves(number)
        await station.tap(1)
        while (heard := await deaf.hear())[0].kind is FrameKind.HELD:
            pass
        assert b'"behavior":"allow"' in heard[1], "what was said to it is whole, and its answer comes last"


async def test_an_event_that_asks_nothing_is_held_and_answered() -> None:
    async with new_station() as station:
        guest = await station.guest()
        await guest.say(beating(ask_frame(body=event_bytes(event="PostToolUse", suggestions=()))))
        assert await hears_held(guest)
        assert (await guest.hear())[0].kind is FrameKind.REPLY
        assert await guest.is_dropped()


# The answer


async def test_a_caller_that_does_not_read_its_answer_is_dropped_and_delays_nobody() -> None:
    """The answer is larger than any socket buffer; its request ends as one that the agent did not take."""
    plan = event_bytes(tool="ExitPlanMode", tool_input={"plan": "x" * 4_000_000}, suggestions=())
    async with new_station(stall_s=1.0) as station:
        deaf = await station.guest()
        await deaf.say(ask_frame(1, plan))
        await station.posted(1)
        await station.tap(1)
        await station.serves(2)
        assert station.diary.outcome(request_id(1)) is None, "it had not even stalled when the next was answered"
        assert await station.diary.until(lambda: station.diary.outcome(request_id(1))) is Outcome.NOT_TAKEN
        assert station.diary.reports == []


async def test_a_caller_that_left_without_a_word_before_its_answer_is_no_fault() -> None:
    async with new_station() as station:
        guest = await station.waiting(1)
        station.records.disk = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(station.tap)
            await _until(lambda: station.records.waiting > 0)
            await guest.hang_up()  # after the tap, before the answer
            station.records.disk.set()
        assert await station.diary.until(lambda: station.diary.outcome(request_id(1))) is Outcome.NOT_TAKEN
        assert station.diary.reports == []


async def test_a_caller_that_leaves_in_the_middle_of_its_answer_is_no_fault() -> None:
    plan = event_bytes(tool="ExitPlanMode", tool_input={"plan": "x" * 4_000_000}, suggestions=())
    async with new_station() as station:
        guest = await station.guest()
        await guest.say(ask_frame(1, plan))
        await station.posted(1)
        await station.tap(1)
        await guest.stream.receive(1)
        await guest.hang_up()
        assert await station.diary.until(lambda: station.diary.outcome(request_id(1))) is Outcome.NOT_TAKEN
        assert station.diary.reports == []
        await station.serves(2)


async def test_an_event_that_asks_nothing_is_answered_at_once_and_empty() -> None:
    async with new_station() as station:
        guest = await station.guest()
        await guest.say(ask_frame(body=event_bytes(event="PostToolUse", suggestions=())))
        header, body = await guest.hear()
        assert (header.kind, header.fields["exit"], body) == (FrameKind.REPLY, "0", b"")
        assert await guest.is_dropped()
        assert station.diary.items == []


async def test_a_fault_in_the_daemon_is_no_opinion_and_is_reported() -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        station.front.shatter = ZeroDivisionError
        guest = await station.guest()
        await guest.say(ask_frame(2))
        assert await guest.is_refused("something went wrong in the daemon")
        assert "ZeroDivisionError" in station.diary.reports[0]
        station.front.shatter = None
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]


@pytest.mark.parametrize(
    ("why", "outcome"),
    [
        ("terminated", Outcome.TERMINAL_DENIED),
        ("orphaned", Outcome.AGENT_DIED),
        ("of thirst", Outcome.CALLER_LOST),
    ],
)
async def test_a_caller_says_why_it_goes(why: str, outcome: Outcome) -> None:
    async with new_station() as station:
        guest = await station.waiting(1)
        await guest.say(encode_frame(FrameKind.GONE, why=why))
        assert await guest.is_dropped()
        await station.engine.handle(AgentProbed(request_id(1), alive=True))
        assert station.diary.outcome(request_id(1)) is outcome


async def test_a_listener_that_stops_takes_nobody_new_and_serves_who_is_there() -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        station.listener.stop()
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]
        with pytest.raises(OSError):
            await station.guest()


# Who may call


async def test_the_socket_is_for_its_user_only() -> None:
    async with new_station() as station:
        assert stat.S_IMODE(station.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(station.path.parent.stat().st_mode) == 0o700


CALL_AS = """
import os, socket, sys
data = sys.stdin.buffer.read()
os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
caller = socket.socket(socket.AF_UNIX)
try:
    caller.connect(sys.argv[2])
except PermissionError:
    sys.exit("not let in")
try:
    caller.sendall(data)
    caller.shutdown(socket.SHUT_WR)
except OSError:
    pass  # hung up on already; what was said before that can be read
while chunk := caller.recv(65536):
    sys.stdout.buffer.write(chunk)
"""


async def call_as(uid: int, station: Station, data: bytes) -> tuple[bytes, bytes]:
    with anyio.fail_after(20):
        ended = await anyio.run_process(
            [sys.executable, "-I", "-c", CALL_AS, str(uid), str(station.path)], input=data, check=False
        )
    return ended.stdout, ended.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_refused_even_where_the_directory_lets_them_in() -> None:
    async with new_station() as station:
        waiting = await station.waiting(1)
        assert await call_as(NOBODY_UID, station, ask_frame(2)) == (b"", b"not let in\n")
        station.path.parent.parent.chmod(0o755)
        station.path.parent.chmod(0o755)
        station.path.chmod(0o666)
        output, _ = await call_as(NOBODY_UID, station, ask_frame(2))
        assert output == encode_frame(FrameKind.ERROR, b"this daemon belongs to another user")
        output, _ = await call_as(NOBODY_UID, station, encode_frame(FrameKind.TAKEN, id=request_id(1)))
        assert output == encode_frame(FrameKind.ERROR, b"this daemon belongs to another user")
        assert not station.diary.asked(request_id(2))
        output, _ = await call_as(os.getuid(), station, ask_frame(3, agent="hal9000"))
        assert b"does not know the agent" in output, "and its own user is heard"
        await station.tap(1)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]


# One id, one question


async def test_the_same_id_with_other_bytes_is_refused_and_the_first_is_unharmed() -> None:
    async with new_station() as station:
        first = await station.waiting(1)
        for body, agent in ((event_bytes(tool="Write", session="session-1"), "claude"), (None, "codex")):
            second = await station.guest()
            await second.say(ask_frame(1, body, agent=agent))
            assert await second.is_refused("belongs to another question")
        assert len(station.diary.all(Post)) == 1
        await station.tap(1)
        assert b'"behavior":"allow"' in (await first.hear())[1]
        await first.say(encode_frame(FrameKind.TAKEN))
        assert await station.diary.until(lambda: station.diary.outcome(request_id(1))) is Outcome.ALLOWED


async def test_of_two_at_once_with_the_same_id_only_the_second_is_refused() -> None:
    """Both are there before the first is recorded: the disk is slow."""
    async with new_station() as station:
        station.records.disk = anyio.Event()
        first, second = await station.guest(), await station.guest()
        await first.say(ask_frame(1))
        await _until(lambda: station.records.waiting > 0)
        await second.say(ask_frame(1, event_bytes(tool="Write")))
        await _is_read(station)
        station.records.disk.set()
        assert await second.is_refused("belongs to another question")
        await station.posted(1)
        await station.tap(1)
        assert b'"behavior":"allow"' in (await first.hear())[1]


async def _is_read(station: Station) -> None:
    """Callers are read in the order in which they come: when a later one has been answered, the earlier were read."""
    guest = await station.guest()
    await guest.say(encode_frame(FrameKind.PASS))
    await guest.hear()


async def _take_over(station: Station) -> Guest:
    """The question of request 1 once more. Its card is not known to be posted yet, so it is posted again."""
    guest = await station.guest()
    await guest.say(ask_frame(1))
    await station.diary.until(lambda: len(station.diary.all(Post)) == 2)
    return guest


async def test_the_same_question_from_a_second_connection_takes_over() -> None:
    """As after a broken connection that the daemon has not noticed yet: its end must not end the request."""
    async with new_station() as station:
        first = await station.waiting(1)
        second = await _take_over(station)
        await first.hang_up()
        await station.serves(2)
        card = station.desk.card(request_id(1))
        assert card is not None and card.phase is Phase.OPEN
        await station.tap(1)
        assert b'"behavior":"allow"' in (await second.hear())[1]
        await second.say(encode_frame(FrameKind.TAKEN))
        await second.hang_up()
        assert await station.diary.until(lambda: station.diary.outcome(request_id(1))) is Outcome.ALLOWED


async def test_a_last_word_on_the_old_connection_does_not_end_a_request_that_was_taken_over() -> None:
    async with new_station() as station:
        first = await station.waiting(1)
        second = await _take_over(station)
        header, body = await first.hear()
        assert header.kind is FrameKind.PASS and b"another caller" in body
        await first.say(encode_frame(FrameKind.GONE, why="terminated"))
        assert await first.is_dropped()
        card = station.desk.card(request_id(1))
        assert card is not None and card.phase is Phase.OPEN
        await station.tap(1)
        assert b'"behavior":"allow"' in (await second.hear())[1]


# A confirmation that comes first


def remembered(*, answered: bool) -> list[Remembered]:
    """What a daemon that died left behind: request 1, allowed on the phone already or not."""
    ledger, now = Ledger(), Instant(time.monotonic(), time.time())
    desk, request = Desk([ADA], hold_s=600), make_request(1, uid=os.getuid())
    for event in (Asked(request), tap_on(request))[: 1 + answered]:
        for effect in desk.handle(event, now):
            if isinstance(effect, Record):
                ledger.write(effect.entry)
    return list(ledger.rows.values())


async def test_a_confirmation_as_the_first_frame_is_heard_after_a_restart_and_proves_no_answer() -> None:
    async with new_station(remembered=remembered(answered=True)) as station:
        guest = await station.guest()
        await guest.say(encode_frame(FrameKind.TAKEN, id=request_id(1)))
        assert await guest.is_dropped()
        assert station.diary.outcome(request_id(1)) is Outcome.UNCONFIRMED


async def test_with_the_same_tap_delivered_again_a_confirmation_settles_it_as_answered() -> None:
    async with new_station(remembered=remembered(answered=True)) as station:
        await station.tap(1)
        guest = await station.guest()
        await guest.say(encode_frame(FrameKind.TAKEN, id=request_id(1)))
        assert await guest.is_dropped()
        assert station.diary.outcome(request_id(1)) is Outcome.ALLOWED


# Several users


async def test_what_another_user_says_counts_for_that_users_own_requests_only() -> None:
    """Two users share a daemon. The second knows the first one's session, call and even request id: neither a report
    nor a confirmation nor the same question once more touches the first one's request."""
    async with new_station(remembered=remembered(answered=True), caller_uids=(ALICE, EVE)) as station:
        station.peer.uid = ALICE
        waiting = await station.waiting(2)
        station.peer.uid = EVE
        for event in ("PostToolUse", "Stop", "UserPromptSubmit", "SessionEnd"):
            guest = await station.guest()
            await guest.say(ask_frame(9, event_bytes(event=event, prompt="x", reason="exit")))
            assert (await guest.hear())[0].kind is FrameKind.REPLY
        for frame in (encode_frame(FrameKind.TAKEN, id=request_id(number)) for number in (1, 2)):
            guest = await station.guest()
            await guest.say(frame)
            assert await guest.is_dropped()
        guest = await station.guest()
        await guest.say(ask_frame(2))
        assert await guest.is_refused("belongs to another question")
        assert [station.diary.outcome(request_id(number)) for number in (1, 2)] == [None, None]
        await station.tap(2)
        assert b'"behavior":"allow"' in (await waiting.hear())[1]


async def test_a_caller_comes_back_under_its_own_user_only() -> None:
    async with new_station(caller_uids=(ALICE, EVE)) as station:
        station.peer.uid = ALICE
        first = await station.waiting(1)
        await first.hang_up()
        case = station.desk.cases.by_id[request_id(1)]
        await _until(lambda: case.phase is Phase.LEAVING)
        station.peer.uid = EVE
        thief = await station.guest()
        await thief.say(ask_frame(1))
        assert await thief.is_refused("belongs to another question")
        station.peer.uid = ALICE
        again = await station.guest()
        await again.say(ask_frame(1))
        await _until(lambda: case.phase is Phase.OPEN)
        await station.tap(1)
        assert b'"behavior":"allow"' in (await again.hear())[1]


async def test_status_is_asked_for_the_user_who_asks() -> None:
    async with new_station(caller_uids=(ALICE, EVE)) as station:
        for uid in (ALICE, EVE):
            station.peer.uid = uid
            guest = await station.guest()
            await guest.say(encode_frame(FrameKind.STATUS))
            assert (await guest.hear())[1] == b"for %d" % uid


async def test_a_confirmation_never_approves() -> None:
    async with new_station(remembered=remembered(answered=False)) as station:
        waiting = await station.waiting(2)
        for number in (1, 2, 3):  # open from an earlier run, open from this one, never heard of
            guest = await station.guest()
            await guest.say(encode_frame(FrameKind.TAKEN, b'{"decision":"allow"}', id=request_id(number), exit=0))
            assert await guest.is_dropped()
            assert station.diary.outcome(request_id(number)) is None
            assert not station.diary.answered(request_id(number))
        await waiting.say(encode_frame(FrameKind.TAKEN))
        await _is_read(station)
        assert station.diary.outcome(request_id(2)) is None
        await station.tap(2, "d")
        assert b'"behavior":"deny"' in (await waiting.hear())[1]
