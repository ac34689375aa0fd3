"""What a question may cost in memory: very many tiny values, and many large questions at once, are refused in time."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tapgate.agents.dialect import MOST_VALUES, read_object
from tapgate.daemon.listener import MOST_HELD_BYTES
from tapgate.errors import InputError
from tapgate.wire import MAX_BODY_BYTES, FrameKind, encode_frame
from tests.builders import event_bytes, request_id
from tests.daemon.station import ask_frame, new_station
from tests.e2e.world import Message, finish, new_world

ROOT = Path(__file__).parent.parent.parent
BASELINE = 64 << 20  # about what the daemon takes before anybody asks


def event(values: bytes) -> bytes:
    return b'{"hook_event_name":"PermissionRequest","x":' + values + b"}"


def listed(piece: bytes, count: int) -> bytes:
    return b"[" + b",".join([piece] * count) + b"]"


@pytest.mark.parametrize("piece", [b"0", b"[]", b"{}", b'""', b'"a,b"', b'{"a":1}', b"[0]", b'"\\""', b"null"])
def test_a_question_of_too_many_values_is_refused(piece: bytes) -> None:
    with pytest.raises(InputError, match=f"holds more than {MOST_VALUES} values, which no card could show"):
        read_object(event(listed(piece, MOST_VALUES + 1)))


@pytest.mark.parametrize("piece", [b"0", b'"a,[{"', b'"\\\\"', b'"\\"[,"'])
def test_a_question_of_many_values_is_read(piece: bytes) -> None:
    found = read_object(event(listed(piece, MOST_VALUES - 10)))["x"]
    assert isinstance(found, list) and len(found) == MOST_VALUES - 10


def test_what_stands_in_a_text_is_not_counted() -> None:
    """A large file of brackets and commas is one value."""
    text = '[{"a": 1}, \\ "b"],\n' * MOST_VALUES
    assert read_object(event(json.dumps(text).encode()))["x"] == text


def test_a_text_that_does_not_end_is_no_json_and_not_waited_for() -> None:
    for body in (b'"' + b"," * (MOST_VALUES + 5), b'"' + b"\\," * (MOST_VALUES + 5), b'"\\' * (MOST_VALUES + 5)):
        with pytest.raises(InputError):
            read_object(event(body))


def labels(card: Message) -> list[str]:
    return [button["text"] for row in card["buttons"] for button in row]


def peak_bytes(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def memory_max() -> int:
    found = re.search(r"^MemoryMax=(\d+)G$", (ROOT / "systemd" / "tapgate.service").read_text(), flags=re.MULTILINE)
    assert found is not None
    return int(found[1]) << 30


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("piece", [b'{"a":1}', b"[]", b'"ab"'])
def test_the_daemon_stays_small_when_it_refuses_sixteen_megabytes_of_tiny_values(piece: bytes) -> None:
    """Before there was a limit, the first of these took 535 MB."""
    with new_world() as world:
        daemon = world.start_daemon()
        body = event(listed(piece, (MAX_BODY_BYTES - 100) // (len(piece) + 1)))
        output, errors, code = finish(world.ask(body))
        assert (output, code) == (b"", 0) and b"which no card could show" in errors
        assert peak_bytes(daemon.pid) < BASELINE + 6 * MAX_BODY_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_worst_that_is_let_in_stays_below_the_units_limit() -> None:
    """As many values as are allowed, in as many bytes, all wide because of one sign; and as many as may wait."""
    many = b",".join([b'{"a":1}'] * (MOST_VALUES // 3 - 10))
    wide = "\U0001f600".encode() + b"x" * (MAX_BODY_BYTES - len(many) - 1000)
    value = json.loads(event_bytes(tool="Write", tool_input={"file_path": "/p/x", "content": "HERE"}))
    body = json.dumps(value).encode().replace(b'"HERE"', b"[" + many + b',"' + wide + b'"]')
    with new_world() as world:
        daemon = world.start_daemon()
        callers = [world.ask(body) for _ in range(MOST_HELD_BYTES // MAX_BODY_BYTES)]
        cards = world.until(lambda: len(found := world.cards()) == len(callers) and found)
        _, errors, _ = finish(world.ask(body))
        assert b"take all the memory there is for them" in errors
        for card in cards:
            world.tap(card, next(text for text in labels(card) if "all of it" in text))
        world.until(lambda: len(world.calls("sendDocument")) >= len(callers))
        assert peak_bytes(daemon.pid) < memory_max()


async def test_what_waits_is_counted_and_given_back() -> None:
    big = event_bytes(tool_input={"command": "x" * 3000})
    async with new_station(most_held_bytes=int(len(big) * 1.5)) as station:
        first = await station.guest()
        await first.say(ask_frame(1, big))
        await station.posted(1)
        second = await station.guest()
        await second.say(ask_frame(2, big))
        assert await second.is_refused("the questions that wait already take all the memory there is for them")
        small = await station.guest()
        await small.say(encode_frame(FrameKind.STATUS))
        assert (await small.hear())[0].kind is FrameKind.REPLY, "what is small gets through"
        await station.tap(1, "d")
        assert (await first.hear())[0].kind is FrameKind.REPLY
        await first.say(encode_frame(FrameKind.TAKEN, id=request_id(1)))
        assert await first.is_dropped()
        third = await station.guest()
        await third.say(ask_frame(3, big))
        await station.posted(3)


async def test_a_question_that_breaks_off_is_not_counted_for_ever() -> None:
    big = event_bytes(tool_input={"command": "x" * 3000})
    async with new_station(most_held_bytes=int(len(big) * 1.5), stall_s=0.2) as station:
        for _ in range(3):
            guest = await station.guest()
            await guest.say(ask_frame(1, big)[:-50])
            assert await guest.is_refused("no whole frame came")
        whole = await station.guest()
        await whole.say(ask_frame(2, big))
        await station.posted(2)
