"""The outbox: keeps to the pace, waits exactly as long as Telegram says, and sends the newest of what is due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from tapgate.telegram.api import BusyError, ConflictError, OutageError, RefusedError
from tapgate.telegram.outbox import BURST, GROUP_S, LONGEST_BACKOFF_S, OVERALL_S, Job, Outbox

from . import timelapse

ADA, BOB, GROUP = 1001, 1002, -500


class Post:
    """An outbox on the test's own clock, and what it sent when."""

    def __init__(self, *, per_chat_s: float = 1.0) -> None:
        self.sent: list[tuple[str, float]] = []
        self.told: list[str] = []
        self.reports: list[str] = []
        self.errors: dict[str, list[Exception]] = {}
        self.takes_s: dict[str, float] = {}
        self.box = Outbox(
            per_chat_s=per_chat_s,
            clock=lambda: asyncio.get_running_loop().time(),
            sleep=anyio.sleep,
            report=self.reports.append,
        )

    def put(self, name: str, *, chat: int = ADA, key: object = None, idle: bool = False, tell: bool = True) -> None:
        async def call() -> None:
            await anyio.sleep(self.takes_s.get(name, 0))
            if self.errors.get(name):
                raise self.errors[name].pop(0)
            self.sent.append((name, timelapse.now()))

        async def failed(reason: str) -> None:
            self.told.append(f"{name} failed: {reason}")

        async def unsure() -> None:
            self.told.append(f"{name} unsure")

        self.box.put(Job(chat, key or name, call, failed if tell else None, unsure if tell else None, idle))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.sent]


def posting(main: Callable[[Post], Coroutine[Any, Any, None]], *, per_chat_s: float = 1.0) -> Post:
    """Run `main` beside a running outbox; then wait until nothing is left to send."""
    post = Post(per_chat_s=per_chat_s)

    async def both() -> None:
        async with anyio.create_task_group() as group:
            await group.start(post.box.run)
            await main(post)
            await post.box.drain()
            group.cancel_scope.cancel()

    timelapse.run(both)
    return post


async def for_a_while(seconds: float = 600) -> None:
    await anyio.sleep(seconds)


# The pace


def test_a_lone_message_goes_at_once() -> None:
    async def main(post: Post) -> None:
        post.put("one")

    assert posting(main).sent == [("one", 0)]


def test_a_burst_of_three_goes_at_once_and_then_one_a_second() -> None:
    async def main(post: Post) -> None:
        for number in range(7):
            post.put(str(number))

    post = posting(main)
    assert post.names == ["0", "1", "2", "3", "4", "5", "6"]
    burst = [when for _, when in post.sent[:BURST]]
    assert burst == pytest.approx([0, 0.04, 0.08])
    assert [when for _, when in post.sent[BURST:]] == pytest.approx([1, 2, 3, 4])


def test_after_a_rest_there_is_a_burst_again() -> None:
    async def main(post: Post) -> None:
        for number in range(4):
            post.put(str(number))
        await anyio.sleep(100)
        for number in range(4, 8):
            post.put(str(number))

    assert [when for _, when in posting(main).sent[4:]] == pytest.approx([100, 100.04, 100.08, 101])


def test_a_group_is_served_more_slowly() -> None:
    async def main(post: Post) -> None:
        for number in range(6):
            post.put(str(number), chat=GROUP)

    assert [when for _, when in posting(main).sent[BURST:]] == pytest.approx([GROUP_S, 2 * GROUP_S, 3 * GROUP_S])


def test_a_pace_slower_than_the_group_s_counts_there_too() -> None:
    async def main(post: Post) -> None:
        for number in range(5):
            post.put(str(number), chat=GROUP)

    assert [when for _, when in posting(main, per_chat_s=10).sent[BURST:]] == pytest.approx([10, 20])


def test_chats_do_not_wait_for_each_other() -> None:
    async def main(post: Post) -> None:
        for number in range(5):
            post.put(f"ada{number}")
            post.put(f"bob{number}", chat=BOB)

    times = dict(posting(main).sent)
    assert times["ada4"] == times["bob4"] == pytest.approx(2)


def test_over_all_chats_there_are_25_messages_a_second_at_most() -> None:
    async def main(post: Post) -> None:
        for chat in range(1, 101):
            post.put(str(chat), chat=chat)

    times = [when for _, when in posting(main).sent]
    assert times == pytest.approx([number * OVERALL_S for number in range(100)])


def test_without_a_pace_nothing_waits() -> None:
    async def main(post: Post) -> None:
        for number in range(50):
            post.put(str(number), chat=GROUP)

    assert {when for _, when in posting(main, per_chat_s=0).sent} == {0}


def test_in_a_hurry_the_pace_no_longer_counts() -> None:
    async def main(post: Post) -> None:
        for number in range(50):
            post.put(str(number))
        post.box.hurry()

    name, when = posting(main).sent[-1]
    assert name == "49"
    assert when < 0.1


# 429


def test_a_429_waits_exactly_as_long_as_it_says() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [BusyError(37)]
        post.put("one")
        post.put("two")

    post = posting(main)
    assert post.sent == [("one", 37), ("two", pytest.approx(37, abs=0.1))]
    assert post.reports == ["Telegram asks to wait 37 s before the next message in a chat"]
    assert post.told == []


def test_a_429_in_one_chat_does_not_delay_another() -> None:
    async def main(post: Post) -> None:
        post.errors["ada"] = [BusyError(37)]
        post.put("ada")
        post.put("bob", chat=BOB)
        await anyio.sleep(5)
        post.put("bob again", chat=BOB)

    assert posting(main).sent == [("bob", pytest.approx(0.04)), ("bob again", 5), ("ada", 37)]


def test_a_429_for_idle_work_is_kept_to_and_the_work_done_afterwards() -> None:
    async def main(post: Post) -> None:
        post.errors["sweep"] = [BusyError(20)]
        post.put("sweep", idle=True)
        post.put("later sweep", idle=True)
        await anyio.sleep(5)
        post.put("card")
        await for_a_while()

    post = posting(main)
    assert post.names == ["card", "sweep", "later sweep"]
    assert post.sent[0] == ("card", 20)


def test_a_429_is_kept_to_in_a_hurry_as_well() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [BusyError(6)]
        post.box.hurry()
        post.put("one")

    assert posting(main).sent == [("one", 6)]


# Newer in the place of older


def test_a_newer_edit_takes_the_older_one_s_place() -> None:
    async def main(post: Post) -> None:
        for number in range(BURST):
            post.put(str(number))
        post.put("old", key="edit")
        post.put("other")
        post.put("new", key="edit")

    assert posting(main).names == ["0", "1", "2", "new", "other"]


def test_a_newer_edit_takes_the_place_of_one_that_is_being_retried() -> None:
    async def main(post: Post) -> None:
        post.errors["old"] = [BusyError(10), BusyError(10)]
        post.put("old", key="edit")
        await anyio.sleep(5)
        post.put("new", key="edit")

    assert posting(main).sent == [("new", 10)]


def test_a_newer_edit_takes_the_place_of_one_that_fails_in_flight() -> None:
    async def main(post: Post) -> None:
        post.takes_s["old"] = 4
        post.errors["old"] = [OutageError("down"), OutageError("down")]
        post.put("old", key="edit")
        await anyio.sleep(2)
        post.put("between")
        post.put("new", key="edit")

    post = posting(main)
    assert post.names == ["new", "between"]
    assert post.sent[0][1] == 4.5


def test_an_older_edit_that_got_through_is_followed_by_the_newer_one() -> None:
    """The last word on a card must be the newest."""

    async def main(post: Post) -> None:
        post.takes_s["old"] = 4
        post.put("old", key="edit")
        await anyio.sleep(2)
        post.put("new", key="edit")

    assert posting(main).names == ["old", "new"]


def test_the_same_key_in_another_chat_is_another_message() -> None:
    async def main(post: Post) -> None:
        post.put("ada", key="edit")
        post.put("bob", key="edit", chat=BOB)

    assert posting(main).names == ["ada", "bob"]


# Taking back


def test_what_was_not_begun_can_be_taken_back() -> None:
    async def main(post: Post) -> None:
        for number in range(4):
            post.put(str(number))
        await anyio.sleep(0.5)
        assert post.box.cancel(ADA, "3") is True
        assert post.box.cancel(ADA, "3") is False
        assert post.box.cancel(ADA, "0") is False
        assert post.box.cancel(BOB, "3") is False
        await for_a_while()

    assert posting(main).names == ["0", "1", "2"]


def test_what_waits_to_be_tried_again_can_be_taken_back() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [BusyError(10)]
        post.put("one")
        await anyio.sleep(5)
        assert post.box.cancel(ADA, "one") is True
        await for_a_while()

    assert posting(main).sent == []


def test_what_is_on_its_way_cannot_be_taken_back() -> None:
    async def main(post: Post) -> None:
        post.takes_s["one"] = 10
        post.put("one")
        await anyio.sleep(5)
        assert post.box.cancel(ADA, "one") is False

    assert posting(main).sent == [("one", 10)]


def test_when_all_is_taken_back_nothing_is_left_to_wait_for() -> None:
    post = Post()

    async def main() -> None:
        post.put("one")  # the outbox does not run: it would never be sent
        with pytest.raises(TimeoutError), anyio.fail_after(5):
            await post.box.drain()
        post.box.cancel(ADA, "one")
        await post.box.drain()

    timelapse.run(main)


# Outages


def test_an_outage_is_waited_out_ever_more_slowly() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [OutageError("Telegram cannot be reached (down)") for _ in range(9)]
        post.put("one")

    post = posting(main)
    waits = [0.5, 1, 2, 4, 8, 16, LONGEST_BACKOFF_S, LONGEST_BACKOFF_S, LONGEST_BACKOFF_S]
    assert post.sent == [("one", sum(waits))]
    assert set(post.reports) == {"Telegram cannot be reached (down)"}
    assert post.told == []


@pytest.mark.parametrize("error", [OutageError("bad token", slow=True), ConflictError("another", slow=True)])
def test_what_a_second_try_will_not_mend_is_tried_slowly(error: Exception) -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [error, error]
        post.put("one")

    assert posting(main).sent == [("one", 2 * LONGEST_BACKOFF_S)]


def test_the_next_message_begins_with_a_short_wait_again() -> None:
    async def main(post: Post) -> None:
        post.errors = {name: [OutageError("down"), OutageError("down")] for name in ("one", "two")}
        post.put("one")
        post.put("two")

    assert posting(main).sent == [("one", 1.5), ("two", pytest.approx(3, abs=0.1))]


def test_a_send_that_may_have_arrived_is_told_each_time() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [OutageError("late", unsure=True), OutageError("down"), OutageError("late", unsure=True)]
        post.put("one")

    post = posting(main)
    assert post.told == ["one unsure", "one unsure"]
    assert post.names == ["one"]


# Refusals


def test_what_telegram_refuses_is_told_once_and_not_tried_again() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [RefusedError("chat not found"), RefusedError("chat not found")]
        post.put("one")
        post.put("two")
        await for_a_while()

    post = posting(main)
    assert post.told == ["one failed: chat not found"]
    assert post.names == ["two"]
    assert len(post.errors["one"]) == 1


def test_a_refusal_nobody_asked_to_hear_is_reported() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [RefusedError("chat not found")]
        post.put("one", tell=False)

    post = posting(main)
    assert post.told == []
    assert post.reports == ["Telegram refused: chat not found"]


def test_what_fails_for_no_known_reason_is_tried_a_few_times_and_given_up() -> None:
    """An answer that nobody could foresee must neither end the outbox nor hold up the chat for ever."""

    async def main(post: Post) -> None:
        post.errors["one"] = [KeyError("message_id") for _ in range(50)]
        post.put("one")
        post.put("two")
        post.put("bob", chat=BOB)
        await for_a_while()

    post = posting(main)
    assert post.names == ["bob", "two"]
    assert [line for line in post.told if "failed" in line] == [
        "one failed: a call to Telegram failed unexpectedly (KeyError)"
    ]
    assert 50 - len(post.errors["one"]) == 3


def test_what_fails_once_for_no_known_reason_gets_through_the_second_time() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [KeyError("message_id")]
        post.put("one")

    post = posting(main)
    assert post.names == ["one"]
    assert post.told == ["one unsure"]


def test_an_ear_that_fails_when_it_is_told_does_not_end_the_outbox() -> None:
    async def fails(*_: str) -> None:
        raise OSError("no space left on device")

    async def main(post: Post) -> None:
        async def refused() -> None:
            raise RefusedError("chat not found")

        calls: list[Exception] = [OutageError("late", unsure=True)]

        async def late() -> None:
            if calls:
                raise calls.pop()
            post.sent.append(("late", timelapse.now()))

        post.box.put(Job(ADA, "refused", refused, failed=fails))
        post.box.put(Job(ADA, "late", late, unsure=fails))
        post.put("two")

    post = posting(main)
    assert post.names == ["late", "two"]
    assert sum("no space left on device" in line for line in post.reports) == 2


# Idle work


def test_idle_work_is_done_only_when_nothing_else_waits() -> None:
    async def main(post: Post) -> None:
        post.put("sweep 1", idle=True)
        post.put("sweep 2", idle=True)
        for number in range(5):
            post.put(str(number))
        await for_a_while()

    assert posting(main).names == ["0", "1", "2", "3", "4", "sweep 1", "sweep 2"]


def test_idle_work_makes_way_for_what_comes_meanwhile() -> None:
    async def main(post: Post) -> None:
        for number in range(10):
            post.put(f"sweep {number}", idle=True)
        await anyio.sleep(2.5)
        post.put("card")
        await for_a_while()

    names = posting(main).names
    assert names.index("card") == 5
    assert len(names) == 11


def test_an_older_idle_edit_never_says_over_a_newer_one_that_counts() -> None:
    """ "Allow these 2…" must not come after "Allowed": the card would have its buttons back."""

    async def main(post: Post) -> None:
        for number in range(4):
            post.put(str(number))
        post.put("open", key="edit", idle=True)
        post.put("settled", key="edit")
        await for_a_while()

    assert posting(main).names == ["0", "1", "2", "3", "settled"]


def test_a_newer_idle_edit_takes_the_place_of_one_that_waits() -> None:
    async def main(post: Post) -> None:
        for number in range(4):
            post.put(str(number))
        post.put("older", key="edit")
        post.put("newer", key="edit", idle=True)
        post.put("last")
        await for_a_while()

    assert posting(main).names == ["0", "1", "2", "3", "newer", "last"]


def test_an_idle_edit_that_has_to_wait_is_not_made_after_a_newer_one() -> None:
    async def main(post: Post) -> None:
        post.errors["open"] = [BusyError(30)]
        post.takes_s["open"] = 1
        post.put("open", key="edit", idle=True)
        await anyio.sleep(0.5)
        post.put("settled", key="edit")  # while Telegram is about to say: later
        await for_a_while()

    assert posting(main).names == ["settled"]


def test_idle_work_waits_in_one_chat_only() -> None:
    async def main(post: Post) -> None:
        post.put("sweep", idle=True)
        post.takes_s["bob"] = 100
        post.put("bob", chat=BOB)

    assert posting(main).names == ["sweep", "bob"]


def test_idle_work_that_meets_an_outage_is_let_go() -> None:
    async def main(post: Post) -> None:
        post.errors["sweep"] = [OutageError("down")]
        post.put("sweep", idle=True)
        await for_a_while()

    assert posting(main).sent == []


# Draining


def test_draining_waits_for_everything_but_idle_work() -> None:
    async def main(post: Post) -> None:
        post.takes_s["slow"] = 50
        post.put("slow")
        post.put("after")
        post.put("sweep", idle=True)
        await post.box.drain()
        assert post.names == ["slow", "after"]
        assert timelapse.now() == pytest.approx(50)

    posting(main)


def test_draining_does_not_wait_for_idle_work_on_its_way() -> None:
    async def main(post: Post) -> None:
        post.takes_s["sweep"] = 50
        post.put("sweep", idle=True)
        await anyio.sleep(1)
        await post.box.drain()
        assert timelapse.now() == 1
        post.put("card", chat=BOB)
        await post.box.drain()
        assert post.sent == [("card", 1)]

    posting(main)


def test_draining_waits_for_what_is_being_retried() -> None:
    async def main(post: Post) -> None:
        post.errors["one"] = [BusyError(10)]
        post.put("one")
        await anyio.sleep(1)
        await post.box.drain()
        assert post.sent == [("one", 10)]

    posting(main)


def test_an_empty_outbox_is_drained_at_once_also_the_second_time() -> None:
    async def main(post: Post) -> None:
        await post.box.drain()
        post.put("one")
        await post.box.drain()
        assert post.names == ["one"]
        await post.box.drain()
        post.put("two")
        await post.box.drain()
        assert post.names == ["one", "two"]

    posting(main)


def test_what_was_put_in_before_it_runs_is_sent_when_it_runs() -> None:
    post = Post()

    async def main() -> None:
        post.put("early")
        post.put("bob", chat=BOB)
        assert post.box.chats() == (ADA, BOB)
        async with anyio.create_task_group() as group:
            await group.start(post.box.run)
            await post.box.drain()
            group.cancel_scope.cancel()

    timelapse.run(main)
    assert post.names == ["early", "bob"]


def test_a_hundred_messages_all_get_through_a_rough_night() -> None:
    errors: list[Callable[[], Exception]] = [
        lambda: BusyError(3),
        lambda: OutageError("down"),
        lambda: OutageError("late", unsure=True),
    ]

    async def main(post: Post) -> None:
        for number in range(100):
            post.errors[str(number)] = [errors[(number + turn) % 3]() for turn in range(number % 5)]
            post.put(str(number), chat=ADA if number % 2 else GROUP)

    names = posting(main).names
    assert sorted(names, key=int) == [str(number) for number in range(100)]
    assert [name for name in names if int(name) % 2] == [str(number) for number in range(1, 100, 2)]
