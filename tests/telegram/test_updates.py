"""What Telegram delivers becomes a tap, a reply, a command or nothing; what cannot be read harms nobody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.desk.events import Replied, Tapped
from tapgate.model import Copy, Tap
from tapgate.telegram.callback import Button, encode_button
from tapgate.telegram.front import parse_command, parse_update

BUTTON = Button("0123456789abcdef" * 2, "s0", "Ab-_90xy")
DATA = encode_button(BUTTON)

QUERY: dict[str, Any] = {
    "id": "4382bfdwdsb323b2d9",
    "from": {"id": 1001, "is_bot": False, "first_name": "Ada"},
    "message": {"message_id": 7, "chat": {"id": -500, "type": "group"}, "date": 1, "text": "card"},
    "chat_instance": "x",
    "data": DATA,
}
MESSAGE: dict[str, Any] = {
    "message_id": 9,
    "from": {"id": 1001, "is_bot": False, "first_name": "Ada"},
    "chat": {"id": 1001, "type": "private"},
    "date": 1,
    "text": "use pnpm",
    "reply_to_message": {"message_id": 8, "chat": {"id": 1001, "type": "private"}, "date": 1},
}


def query(**fields: Any) -> dict[str, Any]:
    return {"update_id": 1, "callback_query": {**QUERY, **fields}}


def message(**fields: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {**MESSAGE, **fields}}


def without(update: dict[str, Any], *path: str) -> dict[str, Any]:
    *parents, last = path
    copy = inner = {**update}
    for key in parents:
        inner[key] = {**inner[key]}
        inner = inner[key]
    del inner[last]
    return copy


def test_a_tap_carries_its_user_its_card_and_its_button() -> None:
    tap = Tap("4382bfdwdsb323b2d9", 1001, Copy(-500, 7), DATA)
    assert parse_update(query()) == Tapped(tap, BUTTON.request_id, "s0", "Ab-_90xy")


@pytest.mark.parametrize("data", ["", "garbage", DATA + "!", "x" * 64])
def test_a_tap_with_forged_data_belongs_to_no_request(data: str) -> None:
    assert parse_update(query(data=data)) == Tapped(Tap(QUERY["id"], 1001, Copy(-500, 7), data), "", "", "")


@pytest.mark.parametrize("data", [None, 5, ["x"], {"a": 1}])
def test_data_that_is_no_text_is_no_data(data: object) -> None:
    assert parse_update(query(data=data)) == Tapped(Tap(QUERY["id"], 1001, Copy(-500, 7), ""), "", "", "")


def test_a_game_s_button_has_no_data_at_all() -> None:
    event = parse_update(without(query(game_short_name="x"), "callback_query", "data"))
    assert isinstance(event, Tapped)
    assert event.request_id == ""


def test_a_tap_on_an_inaccessible_message_still_tells_where_it_stands() -> None:
    """Telegram then gives the chat, the number and a date of 0, and no more."""
    event = parse_update(query(message={"chat": {"id": -500, "type": "group"}, "message_id": 7, "date": 0}))
    assert isinstance(event, Tapped)
    assert event.tap.copy == Copy(-500, 7)


@pytest.mark.parametrize(
    "place",
    [
        *(None, "x", 5, [], {}, {"message_id": 7}, {"chat": {"id": -500}}, {"chat": 5, "message_id": 7}),
        *({"chat": {"id": "-500"}, "message_id": 7}, {"chat": {"id": -500}, "message_id": "7"}),
    ],
)
def test_a_tap_from_nowhere_is_a_tap_without_a_card(place: object) -> None:
    """The desk answers it and lets it change nothing."""
    event = parse_update(query(message=place))
    assert isinstance(event, Tapped)
    assert event.tap.copy is None
    assert event.request_id == BUTTON.request_id
    inline = parse_update(without(query(inline_message_id="x"), "callback_query", "message"))
    assert isinstance(inline, Tapped)
    assert inline.tap.copy is None


def test_ids_that_come_as_text_are_read() -> None:
    assert parse_update(query(**{"from": {"id": "1001"}})) == parse_update(query())
    event = parse_update(message(**{"from": {"id": "1001"}, "chat": {"id": "-500"}, "message_id": "9"}))
    assert isinstance(event, Replied)
    assert (event.user_id, event.chat_id, event.message_id) == (1001, -500, 9)


def test_a_reply_tells_whose_it_is_and_to_what() -> None:
    expected = Replied(user_id=1001, chat_id=1001, message_id=9, reply_to=8, text="use pnpm")
    assert parse_update(message()) == expected


@pytest.mark.parametrize("text", [None, 5, ["x"]])
def test_a_reply_without_a_text_has_an_empty_one(text: object) -> None:
    event = parse_update(message(text=text))
    assert isinstance(event, Replied)
    assert event.text == ""


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 1},
        without(message(), "message", "reply_to_message"),
        message(reply_to_message=None),
        message(reply_to_message=[8]),
        without(message(), "message", "from"),  # a channel's post
        {"update_id": 1, "message": None},
        {"update_id": 1, "message": "x"},
        {"update_id": 1, "callback_query": None},
        {"update_id": 1, "callback_query": [QUERY]},
        {"update_id": 1, "edited_message": MESSAGE},
        {"update_id": 1, "my_chat_member": {}},
    ],
)
def test_anything_else_is_nothing(update: dict[str, Any]) -> None:
    assert parse_update(update) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/history", "history"),
        ("/history now", "history"),
        ("/history@tapgate_bot", "history"),
        ("/history@tapgate_bot\nx", "history"),
        ("/start", "start"),
        ("/a_b", "a_b"),
        ("/a1", "a1"),
        ("history", None),
        (" /history", None),
        ("/History", None),
        ("/history!", None),
        ("/", None),
        ("/" + "a" * 33, None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_a_command_is_a_name_after_a_slash(text: object, name: str | None) -> None:
    update = without(message(text=text), "message", "reply_to_message")
    assert parse_command(update) == (None if name is None else (name, 1001, 1001, 9))


@pytest.mark.parametrize("update", [{"update_id": 1}, {"message": None}, {"message": []}, {"callback_query": QUERY}])
def test_what_is_no_message_is_no_command(update: dict[str, Any]) -> None:
    assert parse_command(update) is None
    assert parse_command(without(message(text="/history"), "message", "from")) is None


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "from", "chat", "message", "message_id", "data", "text"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "callback_query": junk
            | st.dictionaries(st.sampled_from(sorted(QUERY)), junk).map(lambda d: {**QUERY, **d}),
            "message": junk | st.dictionaries(st.sampled_from(sorted(MESSAGE)), junk).map(lambda d: {**MESSAGE, **d}),
        },
    )
)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_an_odd_update_is_read_refused_or_nothing_but_never_somebody_else_s(update: dict[str, Any]) -> None:
    """It may raise (the poller reports it and goes on); what comes out is of the right types."""
    try:
        event, command = parse_update(update), parse_command(update)
    except Exception:
        return
    assert event is None or isinstance(event, Tapped | Replied)
    if isinstance(event, Tapped):
        copy = event.tap.copy
        assert_numbers(event.tap.user_id, *([copy.chat_id, copy.message_id] if copy else []))
    if isinstance(event, Replied):
        assert_numbers(event.user_id, event.chat_id, event.reply_to, event.message_id)
    if command is not None:
        assert_numbers(*command[1:])


def assert_numbers(*found: object) -> None:
    assert all(isinstance(number, int) for number in found)
