"""Telegram's limits, each as a check that passes or refuses in Telegram's words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .html import Entity, utf16_length
from .refusal import RefusedError, bad_request

TEXT_UNITS: Final = 4096
CAPTION_UNITS: Final = 1024
ENTITIES: Final = 100
CALLBACK_DATA_BYTES: Final = 64
BUTTONS_IN_ROW: Final = 8
BUTTONS: Final = 100
BUTTON_STYLES: Final = frozenset({"danger", "success", "primary"})
CALLBACK_ANSWER_UNITS: Final = 200
PLACEHOLDER_UNITS: Final = 64
COPY_TEXT_UNITS: Final = 256
COMMANDS: Final = 100
COMMAND_NAME: Final = re.compile(r"[a-z0-9_]{1,32}")
COMMAND_DESCRIPTION_UNITS: Final = 256
DOCUMENT_BYTES: Final = 50 * 1024 * 1024

_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\u00ad\u180e"


def check_utf8(text: str) -> None:
    """A lone surrogate can come in by a JSON escape; it has no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8") from None


def is_blank(text: str) -> bool:
    return not text.strip().strip(_INVISIBLE).strip()


def check_text(text: str, entities: Sequence[Entity]) -> None:
    if is_blank(text):
        raise bad_request("message text is empty")
    if utf16_length(text) > TEXT_UNITS:
        raise bad_request("message is too long")
    check_entities(entities)


def check_caption(text: str, entities: Sequence[Entity]) -> None:
    if utf16_length(text) > CAPTION_UNITS:
        raise bad_request("message caption is too long")
    check_entities(entities)


def check_entities(entities: Sequence[Entity]) -> None:
    # Telegram silently drops the entities beyond the hundredth, which nobody notices in a test.
    # Here it is an error, so that the sender finds out.
    if len(entities) > ENTITIES:
        raise bad_request(f"too many entities ({len(entities)}; Telegram would drop those after {ENTITIES})")


def check_callback_data(data: str) -> None:
    check_utf8(data)
    if not 1 <= len(data.encode()) <= CALLBACK_DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")


def check_button_text(text: str) -> None:
    check_utf8(text)
    if is_blank(text):
        raise bad_request("BUTTON_TEXT_INVALID")


def check_button_style(style: str) -> None:
    if style not in BUTTON_STYLES:
        raise bad_request("can't parse inline keyboard button: invalid button style specified")


def check_keyboard_size(row_lengths: Sequence[int]) -> None:
    if sum(row_lengths) > BUTTONS or any(length > BUTTONS_IN_ROW for length in row_lengths):
        raise bad_request("BUTTONS_TOO_MUCH")


def check_placeholder(text: str) -> None:
    check_utf8(text)
    if utf16_length(text) > PLACEHOLDER_UNITS:
        raise bad_request("input field placeholder is too long")


def check_callback_answer(text: str) -> None:
    check_utf8(text)
    if utf16_length(text) > CALLBACK_ANSWER_UNITS:
        raise bad_request("MESSAGE_TOO_LONG")


def check_commands(commands: Sequence[tuple[object, object]]) -> None:
    """Names and descriptions of a bot's commands."""
    if len(commands) > COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for name, description in commands:
        if not isinstance(name, str) or not COMMAND_NAME.fullmatch(name):
            raise bad_request("BOT_COMMAND_INVALID")
        if not isinstance(description, str):
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        check_utf8(description)
        if is_blank(description) or utf16_length(description) > COMMAND_DESCRIPTION_UNITS:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")


def check_document(size_bytes: int) -> None:
    if size_bytes == 0:
        raise bad_request("file must be non-empty")
    if size_bytes > DOCUMENT_BYTES:
        raise RefusedError(413, "Request Entity Too Large")
