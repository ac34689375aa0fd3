"""Inputs of 16 MiB, of whatever shape: a card costs no more than a small one, a file is made beside the event loop."""

from __future__ import annotations

import asyncio
import functools
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import anyio
import pytest

from tapgate.model import NO_CONTEXT, Request
from tapgate.risk.assess import assess_request
from tapgate.telegram.card import fits, render_card
from tapgate.telegram.content import TooLargeError, whole_of
from tests.blocking import watched
from tests.builders import make_request

from .cards import SETTING, open_card, shown

MIB = 1 << 20
SECRET = "PASSWORD=q7w8e9r0t1y2u3i4o5p6\n"


def write(content: str) -> tuple[str, dict[str, Any]]:
    return "Write", {"file_path": "/home/dev/shop/a.py", "content": content}


SHAPES: dict[str, Callable[[int], tuple[str, dict[str, Any]]]] = {
    "a file of ordinary lines": lambda size: write("x = 1  # an ordinary line\n" * (size // 26)),
    "a file of one line": lambda size: write("x" * size),
    "a file of empty lines": lambda size: write("\n" * size),
    "a file of secrets": lambda size: write(SECRET * (size // len(SECRET))),
    "a file of letters with dots": lambda size: write("ü" * (size // 2)),
    "a file of emoji": lambda size: write("🎉" * (size // 4)),
    "a file of invisible characters": lambda size: write("\u202e" * (size // 3)),
    "a command": lambda size: ("Bash", {"command": "echo x; " * (size // 8)}),
    "a description": lambda size: ("Bash", {"command": "ls", "description": "d " * (size // 2)}),
    "an edit": lambda size: ("Edit", {"file_path": "/a", "old_string": "a\n" * (size // 4), "new_string": "b" * size}),
    "many edits": lambda size: (
        "MultiEdit",
        {"file_path": "/a", "edits": [{"old_string": f"{n}", "new_string": "x"} for n in range(size // 60)]},
    ),
    "a patch": lambda size: ("apply_patch", {"command": "*** Add File: a\n+x\n" * (size // 19)}),
    "many fields": lambda size: ("mcp__a__b", {f"field{n}": "v" for n in range(size // 20)}),
    "many unknown fields": lambda size: ("Bash", {"command": "ls", **{f"odd{n}": n for n in range(size // 20)}}),
    "a long list": lambda size: ("mcp__a__b", {"list": list(range(size // 8))}),
    "a large object in a known field": lambda size: ("Bash", {"command": "ls", "timeout": {"x": "y" * size}}),
    "many questions": lambda size: (
        "AskUserQuestion",
        {"questions": [{"question": f"{n}?", "options": [{"label": "a"}]} for n in range(size // 80)]},
    ),
    "many options": lambda size: (
        "AskUserQuestion",
        {"questions": [{"question": "?", "options": ["a"] * (size // 5)}]},
    ),
    "a plan": lambda size: ("ExitPlanMode", {"plan": "- **do** `it`\n" * (size // 14)}),
    "a prompt": lambda size: ("Task", {"prompt": "do it " * (size // 6)}),
}


def request_of(name: str, size: int) -> Request:
    tool, fields = SHAPES[name](size)
    # Not by way of JSON: reading that is another's work.
    return replace(make_request(tool=tool, tool_input={}, suggestions=()), input=fields)


def steps(work: Callable[[], object]) -> int:
    """Lines of Python that are run: a measure that no other process disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def peak_of(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SHAPES)
def test_a_card_of_a_large_input_takes_little_memory(name: str) -> None:
    request = request_of(name, 16 * MIB)
    assert peak_of(lambda: fits(request, NO_CONTEXT, SETTING)) < MIB
    card = open_card(request)
    assert peak_of(lambda: render_card(card, SETTING)) < MIB
    assert "not shown" in shown(card)


UNBOUNDED = {"many edits": "each is looked at, to tell whether it is one"}


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in UNBOUNDED])
def test_a_card_of_a_large_input_is_no_more_work_than_one_of_a_small(name: str) -> None:
    small, large = (open_card(request_of(name, size)) for size in (MIB // 8, 2 * MIB))
    assert steps(lambda: render_card(large, SETTING)) < 1.2 * steps(lambda: render_card(small, SETTING))


@pytest.mark.parametrize("name", SHAPES)
def test_the_file_of_a_large_input_takes_memory_in_proportion(name: str) -> None:
    size = MIB // 2
    request = request_of(name, size)
    data = whole_of(request, NO_CONTEXT, SETTING)[1]
    assert peak_of(lambda: whole_of(request, NO_CONTEXT, SETTING)) < 12 * max(size, len(data)) + MIB


@pytest.mark.parametrize("name", ["a file of ordinary lines", "a file of one line", "many fields"])
async def test_neither_card_nor_file_holds_up_the_event_loop(name: str) -> None:
    """Each in a worker thread, as the engine and the front do it. Held up, the loop would stand for all of the time."""
    request = request_of(name, 2 * MIB if name == "many fields" else 16 * MIB)
    card = open_card(request)
    async with watched() as pulse:
        for work in (
            functools.partial(fits, request, NO_CONTEXT, SETTING),
            functools.partial(render_card, card, SETTING),
            functools.partial(assess_request, request, home="/home/dev"),
            functools.partial(whole_of, request, NO_CONTEXT, SETTING),
        ):
            await anyio.to_thread.run_sync(work)
    assert pulse.share < 0.5, pulse


def test_what_no_file_can_hold_is_refused_before_it_is_made() -> None:
    """Spelled out, a hidden character is many times as long."""
    request = request_of("a file of one line", 0)
    flood = replace(request, input={"file_path": "/a", "content": "\x7f" * (16 * MIB)})
    with pytest.raises(TooLargeError, match="answer at the terminal, or deny here"):
        whole_of(flood, NO_CONTEXT, SETTING)


async def test_the_detector_sees_what_holds_up_the_loop() -> None:
    async with watched() as pulse:
        await asyncio.sleep(0.02)
        time.sleep(0.4)
    assert pulse.share > 0.5
