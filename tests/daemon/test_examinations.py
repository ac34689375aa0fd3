"""Questions are looked at in threads: so many at once, in turn, and each only for so long."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import pytest

from tapgate.daemon.examinations import MOST_AT_ONCE, Examinations
from tests.daemon.fakes import PATIENCE_S

pytestmark = pytest.mark.anyio


class Gate:
    """Jobs that run until they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.open = threading.Event()

    def job(self, name: str) -> Callable[[], str]:
        def run() -> str:
            self.begun.append(name)
            self.open.wait(PATIENCE_S)
            return name

        return run

    async def until_begun(self, count: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            while len(self.begun) < count:
                await anyio.sleep(0.01)


async def test_a_job_gives_its_result_or_its_error() -> None:
    examinations = Examinations()
    assert await examinations.run(lambda: 7, party="a") == 7
    with pytest.raises(ZeroDivisionError):
        await examinations.run(lambda: 1 // 0, party="a")
    assert await examinations.run(lambda: 8, party="a", most_s=PATIENCE_S) == 8


async def test_so_many_run_at_once_and_one_that_gives_up_waiting_is_never_begun() -> None:
    examinations, gate = Examinations(), Gate()
    async with anyio.create_task_group() as group:
        for _ in range(MOST_AT_ONCE):
            group.start_soon(lambda: examinations.run(gate.job("slow"), party="a"))
        await gate.until_begun(MOST_AT_ONCE)
        with pytest.raises(TimeoutError):
            await examinations.run(gate.job("late"), party="b", most_s=0.05)
        gate.open.set()
    assert await examinations.run(lambda: "next", party="b") == "next"
    assert "late" not in gate.begun


async def test_one_that_was_given_up_keeps_its_turn_until_it_comes_back() -> None:
    examinations, gate = Examinations(1), Gate()
    with pytest.raises(TimeoutError):
        await examinations.run(gate.job("slow"), party="a", most_s=0.05)
    with pytest.raises(TimeoutError):
        await examinations.run(gate.job("next"), party="b", most_s=0.05)
    gate.open.set()
    assert await examinations.run(lambda: "done", party="b", most_s=PATIENCE_S) == "done"
    assert gate.begun == ["slow"]


async def test_a_party_that_asks_for_much_does_not_keep_another_from_its_turn() -> None:
    examinations, gate, order = Examinations(1), Gate(), list[str]()

    async def ask(party: str, name: str) -> None:
        await examinations.run(lambda: order.append(name), party=party)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: examinations.run(gate.job("first"), party="many"))
        await gate.until_begun(1)
        for number in range(5):
            group.start_soon(ask, "many", f"many{number}")
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ask, "one", "one")
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert order.index("one") <= 1


async def test_what_a_person_caused_waits_for_no_turn() -> None:
    examinations, gate = Examinations(1), Gate()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: examinations.run(gate.job("slow"), party="a"))
        await gate.until_begun(1)
        assert await examinations.run_at_once(lambda: "now", most_s=PATIENCE_S) == "now"
        with pytest.raises(TimeoutError):
            await examinations.run_at_once(gate.job("never"), most_s=0.05)
        gate.open.set()
