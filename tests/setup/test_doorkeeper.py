"""Waiting for Start at a queue that works as Telegram's does: what is confirmed, what is left alone, when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tapgate.cli.bot import MOST_UPDATES, PairingPoller, parse_token
from tapgate.errors import TapgateError
from tapgate.model import Instant
from tapgate.setup.pairing import LIFE_S, Pairing, PairingEnd
from tapgate.telegram.api import BusyError, ConflictError, OutageError
from tests.setup.test_pairing import CODE, MALLORY, start, tap

LISTED = {101}  # Ada


@dataclass(slots=True)
class FakeQueue:
    """Telegram's side, and the time that passes there. An empty queue waits the whole poll; then `script` goes on."""

    script: list[Callable[[], None] | Exception] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)
    now_s: float = 0.0
    rebuilt: int = 0
    polls: int = 0

    def now(self) -> Instant:
        return Instant(self.now_s, self.now_s)

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    async def rebuild_polls(self) -> None:
        self.rebuilt += 1

    async def fetch(self, *, offset: int | None, timeout_s: int) -> list[dict[str, Any]]:
        self.polls += 1
        if offset is not None:
            self.pending = [update for update in self.pending if update["update_id"] >= offset]
        if not self.pending or timeout_s == 0:
            self.now_s += timeout_s
            step = self.script.pop(0) if self.script and self.polls > 1 else None
            if isinstance(step, Exception):
                raise step
            if step is not None:
                step()
        return self.pending[:MOST_UPDATES]

    def put(self, *updates: dict[str, Any]) -> Callable[[], None]:
        return lambda: self.pending.extend(updates)


async def watch(queue: FakeQueue) -> tuple[Pairing, list[str]]:
    keeper = PairingPoller(queue, LISTED, now=queue.now, sleep=queue.sleep)
    await keeper.clear()
    told: list[str] = []
    pairing = Pairing(CODE, queue.now())
    return await keeper.wait(pairing, changed=lambda after: None, trouble=told.append), told


async def test_the_right_code_pairs_and_is_confirmed() -> None:
    queue = FakeQueue()
    queue.script = [queue.put(start(number=5, sender=MALLORY))]
    pairing, _ = await watch(queue)
    assert pairing.newcomer is not None and pairing.newcomer.user_id == MALLORY["id"]
    assert queue.pending == []


async def test_nobody_comes_and_it_ends_by_itself() -> None:
    queue = FakeQueue()
    pairing, _ = await watch(queue)
    assert pairing.end(queue.now()) is PairingEnd.EXPIRED
    assert queue.now_s == pytest.approx(LIFE_S, abs=15)


async def test_what_lay_there_before_is_neither_a_try_nor_a_pairing() -> None:
    """Not even with the code in it, which nobody can have known."""
    old = [start("/start nope", sender=MALLORY, number=number) for number in range(1, 700)]
    queue = FakeQueue(pending=[*old, start(number=700, sender=MALLORY)])
    pairing, _ = await watch(queue)
    assert (pairing.wrong, pairing.newcomer) == (0, None)
    assert queue.pending == []


async def test_a_tap_in_front_stays_and_what_comes_after_it_is_heard() -> None:
    queue = FakeQueue(pending=[tap(1), start("yes, do it", number=2)])
    queue.script = [queue.put(), queue.put(start(number=3, sender=MALLORY))]
    pairing, _ = await watch(queue)
    assert pairing.newcomer is not None
    assert [update["update_id"] for update in queue.pending] == [1, 2, 3]


async def test_behind_a_tap_it_looks_once_a_second_and_no_more() -> None:
    queue = FakeQueue(pending=[tap(1)])
    await watch(queue)
    assert queue.polls <= LIFE_S + 5


async def test_a_hundred_taps_in_front_are_told_instead_of_waiting_blindly() -> None:
    queue = FakeQueue(pending=[tap(number) for number in range(1, MOST_UPDATES + 1)])
    with pytest.raises(TapgateError, match="hide what comes after them"):
        await watch(queue)
    assert len(queue.pending) == MOST_UPDATES


async def test_outages_are_told_and_waited_out_with_fresh_connections() -> None:
    queue = FakeQueue()
    outage = OutageError("Telegram cannot be reached (ConnectError)")
    queue.script = [outage, outage, BusyError(3), queue.put(start(number=9, sender=MALLORY))]
    pairing, told = await watch(queue)
    assert pairing.newcomer is not None
    assert told == [str(outage), str(outage), ""] and queue.rebuilt == 1


@pytest.mark.parametrize("error", [ConflictError("another program polls", slow=True), OutageError("401", slow=True)])
async def test_what_waiting_does_not_mend_is_raised(error: Exception) -> None:
    queue = FakeQueue()
    queue.script = [error]
    with pytest.raises(OutageError):
        await watch(queue)


@pytest.mark.parametrize(
    ("pasted", "token"),
    [
        ("12345:abcdefgh", "12345:abcdefgh"),
        ("  12345:abcdefgh \n", "12345:abcdefgh"),
        ("Use this token to access the HTTP API: 12345:abc-DEF_gh Keep it safe", "12345:abc-DEF_gh"),
        ("12345:abcdefgh 12345:abcdefgh", "12345:abcdefgh"),
        ("12345:abcdefgh or 54321:hgfedcba", ""),
        ("hello", ""),
        ("", ""),
    ],
)
def test_the_token_is_found_in_what_was_pasted(pasted: str, token: str) -> None:
    assert parse_token(pasted) == token
