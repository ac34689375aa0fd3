"""Who pairs, who does not, and when it is over. Both sides of each rule at the top of setup/pairing.py."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapgate.model import Instant
from tapgate.setup.pairing import (
    CODE_BYTES,
    CODE_SHAPE,
    LIFE_S,
    TRIES,
    Newcomer,
    Pairing,
    PairingEnd,
    confirmable,
    link,
    unheard,
)

CODE = "kQ8b-1fZ_0aV5xY7Lm2NpQ"
BEGUN = Instant(mono=100.0, wall=1_700_000_000.0)
SOON = Instant(mono=101.0, wall=1_700_000_001.0)
ADA = {"id": 101, "is_bot": False, "first_name": "Ada", "last_name": "Lovelace", "username": "ada"}
MALLORY = {"id": 666, "is_bot": False, "first_name": "Mallory"}


def start(
    text: str = f"/start {CODE}", *, sender: Any = ADA, chat: Any = None, number: int = 1, **more: Any
) -> dict[str, Any]:
    chat = chat if chat is not None else {"id": sender["id"], "type": "private"}
    return {"update_id": number, "message": {"message_id": 7, "from": sender, "chat": chat, "text": text, **more}}


def tap(number: int = 1) -> dict[str, Any]:
    return {"update_id": number, "callback_query": {"id": "1", "from": ADA, "data": "x"}}


def pairing(**more: Any) -> Pairing:
    return Pairing(CODE, BEGUN, **more)


# The code pairs


def test_the_code_in_a_private_chat_pairs_whoever_sent_it() -> None:
    after = pairing().hear(start(), SOON)
    assert after.newcomer == Newcomer(101, 101, "Ada Lovelace", "ada")
    assert after.end(SOON) is PairingEnd.PAIRED


def test_a_code_typed_by_hand_with_the_bots_name_counts_too() -> None:
    assert pairing().hear(start(f"/start@tapgate_bot  {CODE} \n"), SOON).newcomer is not None


def test_a_code_is_used_once() -> None:
    used = pairing().hear(start(), SOON)
    again = used.hear(start(sender=MALLORY), SOON)
    assert again is used and again.newcomer is not None and again.newcomer.user_id == 101


def test_codes_are_what_telegram_takes_in_a_link() -> None:
    for _ in range(200):
        code = secrets.token_urlsafe(CODE_BYTES)
        assert CODE_SHAPE.fullmatch(code)
        Pairing(code, BEGUN)
    assert link("shop_bot", CODE) == f"https://t.me/shop_bot?start={CODE}"
    assert link("shop_bot", CODE, in_group=True) == f"https://t.me/shop_bot?startgroup={CODE}"


@pytest.mark.parametrize("code", ["", "with space", "ünï", "x" * 65])
def test_a_code_that_telegram_would_not_carry_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        Pairing(code, BEGUN)


def test_the_code_does_not_show_where_a_pairing_is_printed() -> None:
    assert CODE not in repr(pairing())


# Nothing else does


@pytest.mark.parametrize(
    "update",
    [
        start("/start"),
        start("hello"),
        start(CODE),
        start(f"/start{CODE}"),
        start(f"/stop {CODE}"),
        start(f"/start {CODE} {CODE}"),
        start(f"/START {CODE}"),
        start(sender={**ADA, "is_bot": True}),
        start(sender={"id": 101, "first_name": "No word about being a bot"}),
        start(sender={**ADA, "id": True}),
        start(sender={**ADA, "id": "101"}, chat={"id": "101", "type": "private"}),
        start(chat={"id": 102, "type": "private"}),
        start(chat={"id": -100, "type": "channel", "title": "News"}),
        start(sender_chat={"id": -100, "type": "channel"}),
        tap(),
        {"update_id": 1, "edited_message": start()["message"]},
        {"update_id": 1, "message": None},
        {"update_id": 1, "message": {"text": f"/start {CODE}"}},
        {"update_id": 1},
        {},
    ],
)
def test_what_is_not_a_persons_start_in_private_neither_pairs_nor_is_a_try(update: dict[str, Any]) -> None:
    before = pairing()
    assert before.hear(update, SOON) is before


@pytest.mark.parametrize("wrong", [CODE.lower(), CODE[:-1], CODE + "x", "x", CODE[::-1], "é" * 20, "\ud800"])
def test_a_code_that_is_almost_right_is_wrong(wrong: str) -> None:
    after = pairing().hear(start(f"/start {wrong}"), SOON)
    assert (after.newcomer, after.wrong) == (None, 1)


def test_three_wrong_codes_end_it_and_the_right_one_is_too_late_then() -> None:
    state = pairing()
    for number in range(TRIES):
        assert state.end(SOON) is None
        state = state.hear(start(f"/start guess{number}", sender=MALLORY), SOON)
    assert state.end(SOON) is PairingEnd.TRIED
    assert state.hear(start(), SOON).newcomer is None


def test_two_wrong_codes_do_not_keep_the_right_one_out() -> None:
    state = pairing()
    for _ in range(TRIES - 1):
        state = state.hear(start("/start nope"), SOON)
    assert state.hear(start(), SOON).end(SOON) is PairingEnd.PAIRED


def test_a_thousand_wrong_codes_pair_nobody() -> None:
    """Each against a fresh pairing as well, so that it is not only the limit that holds."""
    state = pairing()
    for number in range(1000):
        guess = start(f"/start {secrets.token_urlsafe(CODE_BYTES)}", sender={**MALLORY, "id": 1000 + number})
        state = state.hear(guess, SOON)
        fresh = Pairing(secrets.token_urlsafe(CODE_BYTES), BEGUN).hear(guess, SOON)
        assert fresh.newcomer is None and fresh.wrong == 1
    assert state.newcomer is None and state.end(SOON) is PairingEnd.TRIED


@given(text=st.text(), kind=st.sampled_from(["private", "group", "supergroup", "channel", ""]))
def test_no_text_but_the_code_pairs(text: str, kind: str) -> None:
    after = pairing().hear(start(f"/start {text}", chat={"id": 101, "type": kind}), SOON)
    assert after.newcomer is None or (kind == "private" and text.strip() == CODE)


# Time


@pytest.mark.parametrize(
    "now",
    [
        Instant(BEGUN.mono + LIFE_S, BEGUN.wall + LIFE_S),
        Instant(BEGUN.mono + 1, BEGUN.wall + LIFE_S),  # the laptop slept: one of the clocks stood still
        Instant(BEGUN.mono + LIFE_S, BEGUN.wall - 3600),  # somebody set the clock back
    ],
)
def test_after_ten_minutes_on_either_clock_the_code_is_nothing(now: Instant) -> None:
    state = pairing()
    assert state.end(now) is PairingEnd.EXPIRED and state.left_s(now) == 0
    assert state.hear(start(), now).newcomer is None


def test_just_before_that_it_still_counts() -> None:
    now = Instant(BEGUN.mono + LIFE_S - 0.1, BEGUN.wall + LIFE_S - 0.1)
    assert pairing().hear(start(), now).end(now) is PairingEnd.PAIRED


# Groups

GROUP = {"id": -700, "type": "supergroup", "title": "The team"}


def test_a_group_pairs_where_a_group_was_asked_for() -> None:
    after = pairing(in_group=True).hear(start(f"/start@tapgate_bot {CODE}", chat=GROUP), SOON)
    assert after.newcomer == Newcomer(101, -700, "Ada Lovelace", "ada", "The team")


def test_a_group_does_not_pair_otherwise_and_a_code_that_others_could_read_ends_it() -> None:
    after = pairing().hear(start(chat=GROUP), SOON)
    assert after.newcomer is None and after.end(SOON) is PairingEnd.SPILT
    assert after.hear(start(sender=MALLORY), SOON).newcomer is None


def test_wrong_codes_in_some_group_are_no_tries_of_a_private_pairing() -> None:
    before = pairing()
    assert before.hear(start("/start nope", chat=GROUP), SOON) is before


def test_a_private_chat_does_not_pair_where_a_group_was_asked_for() -> None:
    before = pairing(in_group=True)
    assert before.hear(start(), SOON) is before


# What may be forgotten


def test_strangers_messages_may_be_confirmed_and_what_the_daemon_needs_may_not() -> None:
    stranger, listed = start(sender=MALLORY, number=10), start("yes, do it", number=11)
    assert confirmable([stranger], {101}) == 11
    assert confirmable([stranger, listed, start(sender=MALLORY, number=12)], {101}) == 11
    assert confirmable([tap(10), stranger], {101}) is None
    assert confirmable([], {101}) is None


def test_the_start_of_somebody_listed_may_be_confirmed_once_it_has_paired() -> None:
    assert confirmable([start(number=10)], {101}) is None
    assert confirmable([start(number=10)], {101}, CODE) == 11
    assert confirmable([start("/history", number=10)], {101}, CODE) is None


def test_an_update_without_a_number_is_never_confirmed() -> None:
    assert confirmable([{"message": {}}], ()) is None


def test_what_was_looked_at_is_not_looked_at_again() -> None:
    updates = [start(number=4), start(number=5), {"message": {}}]
    assert [update["update_id"] for update in unheard(updates, None)] == [4, 5]
    assert [update["update_id"] for update in unheard(updates, 4)] == [5]
