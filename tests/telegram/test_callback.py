"""What a button carries comes back as it was, and nothing else is taken for it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.desk.case import SHOW_WHOLE
from tapgate.simulator.limits import check_callback_data
from tapgate.telegram.callback import MAX_BYTES, Button, decode_button, encode_button
from tests.builders import make_request

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
BUTTON = Button("00112233445566778899aabbccddeeff", "s12", "Ab-_90xy")
DATA = "ABEiM0RVZneImaq7zN3u_w.s12.Ab-_90xy"

buttons = st.builds(
    Button,
    request_id=st.binary(min_size=16, max_size=16).map(bytes.hex),
    choice_key=st.from_regex(r"[a-z][0-9]{0,3}", fullmatch=True),
    seal=st.text(ALPHABET, min_size=1, max_size=32),
)


def test_the_form_on_the_wire_is_fixed() -> None:
    """Cards outlive the daemon: a later version must still read what this one wrote."""
    assert encode_button(BUTTON) == DATA
    assert decode_button(DATA) == BUTTON


@given(buttons)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_every_button_comes_back_as_it_went(button: Button) -> None:
    data = encode_button(button)
    assert decode_button(data) == button
    assert len(data.encode()) <= MAX_BYTES
    check_callback_data(data)


def test_the_buttons_of_a_real_request_come_back() -> None:
    request = make_request()
    for choice in (*request.choices, SHOW_WHOLE):
        button = Button(request.id, choice.key, choice.seal)
        assert decode_button(encode_button(button)) == button


@pytest.mark.parametrize(
    "data",
    [
        "",
        "a",
        "..",
        DATA + " ",
        " " + DATA,
        DATA + "\n",
        DATA[1:],
        "A" + DATA,
        DATA.replace("s12", ""),
        DATA.replace("s12", "S12"),
        DATA.replace("s12", "s1234"),
        DATA.replace("s12", "ss"),
        DATA.replace("s12", "s١٢"),
        DATA.replace("Ab-_90xy", ""),
        DATA.replace("Ab-_90xy", "x" * 33),
        DATA.replace("Ab-_90xy", "Ab+/90xy"),
        DATA.replace("Ab-_90xy", "Ab=="),
        DATA.replace("_w", "/w"),
        DATA.replace(".", ":"),
        DATA + ".x",
        "00112233445566778899aabbccddeeff.a.whole",
        "ÄBEiM0RVZneImaq7zN3u_w.a.whole",
        "\ud800",
        "x" * 10_000,
    ],
)
def test_garbage_is_no_button(data: str) -> None:
    assert decode_button(data) is None


def test_another_spelling_of_the_same_request_is_no_button() -> None:
    """22 characters hold 132 bits, an id has 128: the rest must be zero, as encode_button leaves it."""
    same_bytes = [
        letter
        for letter in ALPHABET
        if base64.urlsafe_b64decode(f"ABEiM0RVZneImaq7zN3u_{letter}==").hex() == BUTTON.request_id
    ]
    assert len(same_bytes) == 16
    taken = [letter for letter in same_bytes if decode_button(DATA.replace("_w", f"_{letter}"))]
    assert taken == ["w"]


@given(st.text(st.characters(exclude_categories=()), max_size=70) | st.text(ALPHABET + ".", max_size=64))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_anything_a_client_sends_is_read_only_if_it_was_written_so(data: str) -> None:
    button = decode_button(data)
    assert button is None or encode_button(button) == data
