"""Sends are let through at Telegram's pace; a refused one costs nothing."""

from __future__ import annotations

import pytest

from tapgate.simulator.clock import Clock
from tapgate.simulator.rates import Rates
from tapgate.simulator.refusal import RefusedError


def frozen() -> tuple[Clock, Rates]:
    """A clock that stands still until it is advanced."""
    clock = Clock(monotonic=lambda: 1000.0)
    return clock, Rates(clock)


def sent(rates: Rates, chat_ids: list[int]) -> int:
    count = 0
    for chat_id in chat_ids:
        try:
            rates.take(chat_id)
        except RefusedError:
            continue
        count += 1
    return count


def test_30_at_once_over_all_chats() -> None:
    clock, rates = frozen()
    assert sent(rates, list(range(1, 41))) == 30
    clock.advance(0.5)
    assert sent(rates, list(range(101, 141))) == 15


def test_a_private_chat_has_20_at_once_and_one_a_second() -> None:
    clock, rates = frozen()
    assert sent(rates, [7] * 25) == 20
    clock.advance(3)
    assert sent(rates, [7] * 25) == 3


def test_a_group_has_20_a_minute() -> None:
    clock, rates = frozen()
    assert sent(rates, [-7] * 25) == 20
    clock.advance(30)
    assert sent(rates, [-7] * 25) == 10


def test_waiting_for_retry_after_is_enough() -> None:
    clock, rates = frozen()
    for chat_id in (7, -7):
        assert sent(rates, [chat_id] * 21) == 20
        with pytest.raises(RefusedError) as refused:
            rates.take(chat_id)
        assert refused.value.retry_after == (1 if chat_id > 0 else 3)
        clock.advance(refused.value.retry_after)
        rates.take(chat_id)


def test_switched_off_nothing_is_refused() -> None:
    _, rates = frozen()
    rates.switch(enabled=False)
    assert sent(rates, [7] * 200) == 200
