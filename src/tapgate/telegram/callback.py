"""What a button carries: the request, the choice and the choice's seal, in Telegram's 64 bytes. Pure."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

MAX_BYTES = 64  # Telegram's limit for callback_data
_SHAPE = re.compile(r"([A-Za-z0-9_-]{22})\.([a-z][0-9]{0,3})\.([A-Za-z0-9_-]{1,32})")


@dataclass(frozen=True, slots=True)
class Button:
    request_id: str
    choice_key: str
    seal: str


def encode_button(button: Button) -> str:
    packed = base64.urlsafe_b64encode(bytes.fromhex(button.request_id)).decode().rstrip("=")
    data = f"{packed}.{button.choice_key}.{button.seal}"
    assert len(data.encode()) <= MAX_BYTES
    return data


def decode_button(data: str) -> Button | None:
    """None for anything that encode_button cannot have written: the data can be whatever a client sends."""
    match = _SHAPE.fullmatch(data)
    if match is None:
        return None
    packed, choice_key, seal = match.groups()
    button = Button(base64.urlsafe_b64decode(packed + "==").hex(), choice_key, seal)
    return button if encode_button(button) == data else None
