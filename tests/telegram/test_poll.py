"""The poller: hears everything once, confirms nothing too early, and goes on whatever Telegram does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import pytest
from telegram.error import (
    BadRequest,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from tapgate.telegram.api import READ_S
from tapgate.telegram.poll import (
    LONGEST_BACKOFF_S,
    MOST_FETCHED,
    MOST_HELD_S,
    REPEAT_S,
    SLACK_S,
    TIMEOUT_S,
    Handover,
    Poller,
)

from . import timelapse

WALL = 1_800_000_000.0


@pytest.fixture(autouse=True)
def _timedelta(monkeypatch: pytest.MonkeyPatch) -> None:
    """What python-telegram-bot warns about unless it is asked for."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


def update(number: int, **more: Any) -> dict[str, Any]:
    return {"update_id": number, **more}


class FakeTelegram:
    """Answers each poll with the next line of its script: updates, or an error to raise. Remembers what was asked."""

    def __init__(
        self, *script: list[dict[str, Any]] | Exception | Callable[[], Awaitable[list[dict[str, Any]]]]
    ) -> None:
        self.script = list(script)
        self.asked: list[tuple[int | None, int]] = []
        self.rebuilt = 0
        self.rebuild: Callable[[], Awaitable[None]] | None = None

    async def fetch(self, *, offset: int | None, timeout_s: int) -> list[dict[str, Any]]:
        self.asked.append((offset, timeout_s))
        if len(self.asked) > len(self.script):
            raise AssertionError("this poll was not expected")
        line = self.script[len(self.asked) - 1]
        if isinstance(line, Exception):
            raise line
        if callable(line):
            return await line()
        return line

    async def rebuild_polls(self) -> None:
        self.rebuilt += 1
        if self.rebuild is not None:
            await self.rebuild()


class Ear:
    """A poller, and everything that it did."""

    def __init__(
        self,
        telegram: FakeTelegram,
        *,
        offset: int | None = None,
        offset_at: float | None = None,
        last_success: float | None = None,
    ) -> None:
        self.telegram = telegram
        self.delivered: list[tuple[int, int | None]] = []
        self.confirmed: list[int] = []
        self.handovers: dict[int, anyio.Event] = {}  # of updates that answer somebody
        self.slept: list[float] = []
        self.reports: list[str] = []
        self.resumptions: list[float] = []
        self.wall = WALL
        self.deliver: Callable[[dict[str, Any]], Awaitable[None]] | None = None
        self.resume: Callable[[], Awaitable[None]] | None = None
        self.poller = Poller(
            telegram,
            offset=offset,
            offset_at=offset_at,
            last_success=last_success,
            deliver=self._deliver,
            confirm=self._confirm,
            resumed=self._resumed,
            wall=lambda: self.wall,
            sleep=self._sleep,
            report=self.reports.append,
        )

    async def _deliver(self, found: dict[str, Any], offset: int | None) -> Handover | None:
        self.delivered.append((found["update_id"], offset))
        if self.deliver is not None:
            await self.deliver(found)
        handover = self.handovers.get(found["update_id"])
        return None if handover is None else handover.wait

    async def _confirm(self, offset: int) -> None:
        self.confirmed.append(offset)

    async def _resumed(self, away_s: float) -> None:
        self.resumptions.append(away_s)
        if self.resume is not None:
            await self.resume()

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.wall += seconds

    async def listen(self) -> None:
        """One poll for each line of the script."""
        for _ in self.telegram.script:
            await self.poller.poll_once()


def heard(*script: Any, **state: Any) -> Ear:
    ear = Ear(FakeTelegram(*script), **state)
    timelapse.run(ear.listen)
    return ear


# Updates


def test_each_update_is_delivered_with_the_offset_that_confirms_it() -> None:
    ear = heard([update(5), update(6)], [update(7)], [])
    assert ear.delivered == [(5, 6), (6, 7), (7, 8)]
    assert [offset for offset, _ in ear.telegram.asked] == [None, 7, 8]
    assert ear.reports == []


def test_an_update_is_confirmed_only_after_delivery_has_returned() -> None:
    """A crash in between must find it again."""
    telegram = FakeTelegram([update(5), update(6)], [])
    ear = Ear(telegram)

    async def main() -> None:
        recorded = anyio.Event()

        async def slowly(found: dict[str, Any]) -> None:
            await recorded.wait()

        ear.deliver = slowly
        async with anyio.create_task_group() as group:
            group.start_soon(ear.listen)
            await anyio.sleep(1000)
            assert telegram.asked == [(None, 0)]
            assert ear.delivered == [(5, 6)]
            recorded.set()
        assert [offset for offset, _ in telegram.asked] == [None, 7]

    timelapse.run(main)


def test_a_delivery_cut_short_confirms_nothing() -> None:
    telegram = FakeTelegram([update(5), update(6)], [])
    ear = Ear(telegram)

    async def main() -> None:
        async def stuck(found: dict[str, Any]) -> None:
            if found["update_id"] == 6:
                await anyio.sleep_forever()

        ear.deliver = stuck
        with anyio.move_on_after(10):
            await ear.listen()
        ear.deliver = None
        await ear.poller.poll_once()
        assert telegram.asked[-1][0] == 6

    timelapse.run(main)


def holding(*script: Any, held: tuple[int, ...], **state: Any) -> Ear:
    ear = Ear(FakeTelegram(*script), **state)
    ear.handovers = {number: anyio.Event() for number in held}
    return ear


def test_an_update_that_answers_is_confirmed_once_the_answer_is_handed_over() -> None:
    ear = holding([update(5)], [], held=(5,))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(ear.listen)
            await anyio.sleep(0.1)
            assert ear.telegram.asked == [(None, 0)], "an answer takes milliseconds, so it is waited for a little"
            ear.handovers[5].set()
        assert ear.delivered == [(5, 6)]
        assert ear.confirmed == [6]
        assert [offset for offset, _ in ear.telegram.asked] == [None, 6]

    timelapse.run(main)


def test_while_an_answer_is_not_handed_over_others_are_heard_and_nothing_is_confirmed() -> None:
    """The older update stays with Telegram, which sends it with every poll; it is delivered once."""
    ear = holding([update(5)], [update(5), update(6)], [update(5), update(6)], [update(7)], held=(5,))

    async def main() -> None:
        for _ in range(3):
            await ear.poller.poll_once()
        assert ear.delivered == [(5, 6), (6, None)]
        assert ear.confirmed == [5], "recorded with the time, as what comes next"
        assert [offset for offset, _ in ear.telegram.asked] == [None, 5, 5]
        ear.handovers[5].set()
        await ear.poller.poll_once()
        assert ear.confirmed == [5, 8], "and then everything that was heard meanwhile"
        assert ear.delivered[-1] == (7, None)

    timelapse.run(main)


def test_the_oldest_answer_that_is_not_handed_over_holds_the_offset() -> None:
    ear = holding([update(5), update(6)], [update(6)], [update(6)], held=(5, 6))

    async def main() -> None:
        ear.handovers[5].set()
        await ear.poller.poll_once()
        assert ear.confirmed == [6]
        await ear.poller.poll_once()
        assert ear.telegram.asked[-1][0] == 6
        ear.handovers[6].set()
        await ear.poller.poll_once()
        assert ear.confirmed == [6, 7]

    timelapse.run(main)


def test_a_held_update_does_not_make_it_poll_in_a_tight_loop() -> None:
    ear = holding(*[[update(5)]] * 6, held=(5,))

    async def main() -> None:
        began = anyio.current_time()
        await ear.listen()
        assert anyio.current_time() - began >= 5 * REPEAT_S

    timelapse.run(main)


def test_a_handover_that_never_comes_holds_the_offset_for_a_while_only() -> None:
    ear = holding(*[[update(5)]] * int(MOST_HELD_S / REPEAT_S + 3), held=(5,))

    async def main() -> None:
        ear.poller._mono = anyio.current_time
        await ear.listen()
        assert ear.confirmed == [5, 6]

    timelapse.run(main)


@pytest.mark.parametrize(("ago_s", "polls_until"), [(MOST_HELD_S + 1, 1), (MOST_HELD_S - 3, 4)])
def test_a_restart_gives_a_held_update_no_more_time(ago_s: float, polls_until: int) -> None:
    """A daemon that is killed every few seconds would never confirm anything, and be told everything again."""
    ear = holding(*[[update(5), update(6)]] * 8, held=(5, 6), offset=5, offset_at=WALL - ago_s)

    async def main() -> None:
        ear.poller._mono = anyio.current_time
        for _ in range(polls_until + 2):
            await ear.poller.poll_once()
        assert ear.confirmed == [7], "and its time does not begin anew, nor that of those behind it"

    timelapse.run(main)


def test_what_came_after_the_start_is_held_for_its_whole_time() -> None:
    """However long ago the last update was."""
    ear = holding([], *[[update(5)]] * 5, held=(5,), offset=5, offset_at=WALL - 3600)

    async def main() -> None:
        ear.poller._mono = anyio.current_time
        await ear.listen()
        assert ear.confirmed == [5]

    timelapse.run(main)


def test_a_held_update_does_not_keep_newer_ones_from_being_fetched() -> None:
    """Telegram gives a hundred at once: with all of those heard and none confirmed, a newer one would never come."""
    full = [update(number) for number in range(5, 5 + MOST_FETCHED)]
    ear = holding(full, full, [update(105)], held=(5,))

    async def main() -> None:
        await ear.listen()
        assert ear.confirmed == [5, 5 + MOST_FETCHED]
        assert ear.delivered[-1] == (105, 106)
        assert [offset for offset, _ in ear.telegram.asked] == [None, 5, 105]

    timelapse.run(main)


def test_an_offset_that_cannot_be_recorded_does_not_stop_the_polling() -> None:
    ear = holding([update(5)], [update(6)], held=(5,))

    async def fail(offset: int) -> None:
        raise OSError("disk full")

    async def main() -> None:
        ear.poller._confirm = fail
        ear.handovers[5].set()
        await ear.listen()
        assert [number for number, _ in ear.delivered] == [5, 6]
        assert len(ear.reports) == 1

    timelapse.run(main)


def test_one_update_that_cannot_be_taken_does_not_block_the_later_ones() -> None:
    telegram = FakeTelegram([update(5), update(6), update(7)], [])
    ear = Ear(telegram)

    async def picky(found: dict[str, Any]) -> None:
        if found["update_id"] == 6:
            raise KeyError("from")

    ear.deliver = picky
    timelapse.run(ear.listen)
    assert ear.delivered == [(5, 6), (6, 7), (7, 8)]
    assert telegram.asked[-1][0] == 8
    assert ear.reports == ["update 6 could not be taken (KeyError: 'from')"]


def test_an_update_that_comes_twice_is_delivered_once() -> None:
    ear = heard([update(5), update(6)], [update(5), update(6), update(7)], [])
    assert ear.delivered == [(5, 6), (6, 7), (7, 8)]


def test_an_earlier_run_s_offset_is_what_telegram_is_asked_for_until_something_comes() -> None:
    ear = heard([], [], [update(42)], [], offset=42)
    assert [offset for offset, _ in ear.telegram.asked] == [42, 42, 42, 43]
    assert ear.delivered == [(42, 43)] and ear.confirmed == []


def test_what_telegram_delivers_is_heard_whatever_offset_an_earlier_run_recorded() -> None:
    """The number may be of another bot, or made up. What was confirmed, Telegram would not deliver."""
    ear = heard([], [update(5), update(6)], [update(5), update(6), update(7)], [], offset=2**31)
    assert ear.delivered == [(5, 6), (6, 7), (7, 8)]
    assert [offset for offset, _ in ear.telegram.asked] == [2**31, 2**31, 7, 8]


def test_updates_that_are_numbered_anew_are_heard() -> None:
    """After a week without updates Telegram goes on with a random number, also while the daemon runs."""
    ear = heard([update(9000)], [update(17)], [update(17), update(18)], [])
    assert ear.delivered == [(9000, 9001), (17, 18), (18, 19)]
    assert [offset for offset, _ in ear.telegram.asked] == [None, 9001, 18, 19]


def test_an_update_without_a_number_is_passed_over() -> None:
    odd: list[dict[str, Any]] = [{}, {"update_id": None}, {"update_id": "6"}, update(7)]
    assert heard(odd).delivered == [(7, 8)]


def test_a_server_that_repeats_itself_is_not_asked_without_a_pause() -> None:
    """It answers at once each time; without a pause the loop would eat a whole processor."""
    ear = heard([update(5)], [update(5)], [{}], [])
    assert ear.delivered == [(5, 6)]
    assert ear.slept == [1.0, 1.0]


# How long a poll may wait


def test_the_first_poll_does_not_wait_and_later_ones_do() -> None:
    assert heard([], [], []).telegram.asked == [(None, 0), (None, TIMEOUT_S), (None, TIMEOUT_S)]


def test_the_first_poll_after_a_failure_does_not_wait_either() -> None:
    ear = heard([], NetworkError("down"), [], [])
    assert [timeout for _, timeout in ear.telegram.asked] == [0, TIMEOUT_S, 0, TIMEOUT_S]


@pytest.mark.parametrize(("known", "limit_s"), [(0, READ_S + SLACK_S), (1, TIMEOUT_S + READ_S + SLACK_S)])
def test_a_poll_that_hangs_is_given_up(known: int, limit_s: float) -> None:
    async def hang() -> list[dict[str, Any]]:
        await anyio.sleep_forever()
        return []

    ear = Ear(FakeTelegram(*[[]] * known, hang))

    async def main() -> None:
        await ear.listen()
        assert timelapse.now() == limit_s

    timelapse.run(main)
    assert ear.poller.trouble == "Telegram did not answer in time"
    assert ear.slept == [1.0]


# Trouble

TROUBLES: dict[str, tuple[Exception, str, float]] = {
    "401": (
        InvalidToken("Unauthorized"),
        "Telegram does not accept the bot token (401 or 404); check [telegram] token",
        30.0,
    ),
    "409": (
        Conflict("terminated by other getUpdates request"),
        "another program polls with this bot's token; stop it, or use a bot of its own",
        30.0,
    ),
    "timeout": (TimedOut(), "Telegram did not answer in time", 1.0),
    "python's own timeout": (TimeoutError(), "Telegram did not answer in time", 1.0),
    "network": (NetworkError("Bad Gateway"), "Telegram cannot be reached (Bad Gateway)", 1.0),
    "garbage": (
        TelegramError("Invalid server response"),
        "Telegram's answer makes no sense (Invalid server response)",
        1.0,
    ),
    "403": (Forbidden("bot was kicked"), "bot was kicked", 1.0),
    "400": (BadRequest("offset is odd"), "offset is odd", 1.0),
    "a bug": (ZeroDivisionError("secret"), "polling failed unexpectedly (ZeroDivisionError)", 1.0),
}


@pytest.mark.parametrize(("error", "sentence", "pause_s"), TROUBLES.values(), ids=TROUBLES)
def test_it_says_what_is_wrong_once_and_goes_on(error: Exception, sentence: str, pause_s: float) -> None:
    ear = Ear(FakeTelegram(error, error, [update(5)]))

    async def main() -> None:
        await ear.poller.poll_once()
        assert ear.poller.trouble == sentence
        assert ear.reports == [sentence]
        assert ear.slept == [pause_s]
        await ear.poller.poll_once()
        assert ear.reports == [sentence]
        await ear.poller.poll_once()

    timelapse.run(main)
    assert ear.delivered == [(5, 6)]
    assert ear.poller.trouble == ""
    assert ear.reports == [sentence, "Telegram answers again"]


def test_another_trouble_is_said_as_well() -> None:
    ear = heard(NetworkError("down"), NetworkError("down"), InvalidToken("x"), InvalidToken("x"), [], [])
    assert ear.reports == [
        "Telegram cannot be reached (down)",
        "Telegram does not accept the bot token (401 or 404); check [telegram] token",
        "Telegram answers again",
    ]


def test_a_good_start_is_nothing_to_report() -> None:
    assert heard([], []).reports == []


def test_the_pauses_grow_to_thirty_seconds_and_begin_anew_after_a_success() -> None:
    down = [NetworkError("down")] * 8
    ear = heard(*down, [], *down[:3])
    assert ear.slept == [1, 2, 4, 8, 16, 30, 30, 30, 1, 2, 4]
    assert max(ear.slept) == LONGEST_BACKOFF_S


def test_a_flood_of_failures_never_overflows_the_pause() -> None:
    assert heard(*[NetworkError("down")] * 2000).slept[-1] == LONGEST_BACKOFF_S


def test_after_two_failures_the_connections_are_made_anew() -> None:
    """Behind a broken proxy a pool can wedge for good: every later poll would time out waiting for it."""
    wedged = TimedOut("Pool timeout")
    wedged.__cause__ = httpx.PoolTimeout("")
    ear = Ear(FakeTelegram(wedged, wedged, [update(5)]))

    async def main() -> None:
        await ear.poller.poll_once()
        assert ear.telegram.rebuilt == 0
        await ear.poller.poll_once()
        assert ear.telegram.rebuilt == 1
        await ear.poller.poll_once()

    timelapse.run(main)
    assert ear.delivered == [(5, 6)]
    assert heard(wedged, [], wedged, []).telegram.rebuilt == 0


async def _raise() -> None:
    raise RuntimeError("the pool cannot be closed")


@pytest.mark.parametrize("broken", [_raise, anyio.sleep_forever])
def test_a_pool_that_cannot_be_closed_does_not_stop_the_polling(broken: Callable[[], Awaitable[None]]) -> None:
    telegram = FakeTelegram(NetworkError("down"), NetworkError("down"), NetworkError("down"), [update(5)])
    telegram.rebuild = broken
    ear = Ear(telegram)
    timelapse.run(ear.listen)
    assert telegram.rebuilt == 2
    assert ear.delivered == [(5, 6)]


def test_telegram_s_own_wait_is_kept_to_and_is_no_trouble() -> None:
    ear = heard(RetryAfter(7), [update(5)])
    assert ear.slept == [7]
    assert ear.poller.trouble == ""
    assert ear.telegram.rebuilt == 0
    assert ear.delivered == [(5, 6)]


# Health


def test_the_last_success_is_when_a_poll_was_answered() -> None:
    ear = Ear(FakeTelegram([], NetworkError("down"), []))

    seen = [ear.poller.last_success]

    async def main() -> None:
        for moment in (WALL, WALL + 50, WALL + 90):
            ear.wall = moment
            await ear.poller.poll_once()
            seen.append(ear.poller.last_success)

    timelapse.run(main)
    assert seen == [None, WALL, WALL, WALL + 90]


def test_after_a_gap_it_tells_how_long_it_was_away() -> None:
    """Taps wait for 150 s only: whoever hears this can have the cards tapped again."""
    ear = Ear(FakeTelegram([], *[NetworkError("down")] * 3, []), last_success=WALL - 400)

    async def main() -> None:
        await ear.poller.poll_once()
        assert ear.resumptions == [400]
        for _ in range(4):
            ear.wall += 100
            await ear.poller.poll_once()

    timelapse.run(main)
    assert ear.resumptions == [400, 400 + 1 + 2 + 4]


def test_a_first_run_was_never_away() -> None:
    assert heard([]).resumptions == [0]


def test_updates_are_delivered_before_the_return_is_told() -> None:
    """A tap that waited must count before its card is called stale."""
    ear = Ear(FakeTelegram([update(5)]), last_success=WALL - 400)
    order: list[str] = []

    async def note(found: dict[str, Any]) -> None:
        order.append("tap")

    async def back() -> None:
        order.append("back")

    ear.deliver, ear.resume = note, back
    timelapse.run(ear.listen)
    assert order == ["tap", "back"]


def test_a_listener_that_fails_does_not_stop_the_polling() -> None:
    """Where its return cannot be noted (a full disk), the poller must still hear the next tap."""
    ear = Ear(FakeTelegram([], [update(5)]))

    async def broken() -> None:
        raise OSError("no space left on device")

    ear.resume = broken
    timelapse.run(ear.listen)
    assert ear.delivered == [(5, 6)]
    assert len(ear.reports) == 2
    assert "no space left on device" in ear.reports[0]


def test_it_runs_until_it_is_stopped() -> None:
    ear = Ear(FakeTelegram())

    async def quiet() -> list[dict[str, Any]]:
        await anyio.sleep(TIMEOUT_S)
        return []

    ear.telegram.script = [quiet] * 1000

    async def main() -> None:
        with anyio.move_on_after(100 * TIMEOUT_S + 1):
            await ear.poller.run()
        assert len(ear.telegram.asked) == 101

    timelapse.run(main)
