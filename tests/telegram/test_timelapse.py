"""The clock that the other tests rely on."""

from __future__ import annotations

import time

import anyio
import pytest

from . import timelapse


def test_a_long_sleep_takes_no_time_and_all_of_it() -> None:
    async def main() -> None:
        begun = time.perf_counter()
        await anyio.sleep(3600)
        assert timelapse.now() == 3600
        assert time.perf_counter() - begun < 5

    timelapse.run(main)


def test_two_sleepers_wake_in_their_order() -> None:
    async def main() -> list[tuple[str, float]]:
        woken = []

        async def sleeper(name: str, seconds: float) -> None:
            await anyio.sleep(seconds)
            woken.append((name, timelapse.now()))

        async with anyio.create_task_group() as group:
            group.start_soon(sleeper, "late", 2.5)
            group.start_soon(sleeper, "early", 1)
        return woken

    assert timelapse.run(main) == [("early", 1), ("late", 2.5)]


def test_a_timeout_strikes_to_the_second() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError), anyio.fail_after(40):
            await anyio.sleep_forever()
        assert timelapse.now() == 40

    timelapse.run(main)


def test_a_deadlock_is_an_error_and_not_a_hang() -> None:
    async def main() -> None:
        await anyio.sleep_forever()

    with pytest.raises(RuntimeError, match="nothing will ever happen"):
        timelapse.run(main)
