"""The reply_markup parameter: inline keyboards and ForceReply, checked as Telegram checks them. Pure."""

from __future__ import annotations

from typing import Any

from . import limits
from .html import check_url, clean
from .model import Button, ForceReply, Json, Keyboard
from .refusal import bad_request

_OTHER_ACTIONS = (
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "callback_game",
    "pay",
)


def parse_reply_markup(value: Any) -> tuple[Keyboard, ForceReply | None]:
    """The keyboard and the ForceReply of a message; at most one of them is there."""
    if value is None or value == "" or value == {}:
        return (), None
    if not isinstance(value, dict):
        raise bad_request("object expected as reply markup")
    if "inline_keyboard" in value:
        return parse_keyboard(value["inline_keyboard"]), None
    if value.get("force_reply"):
        placeholder = value.get("input_field_placeholder") or ""
        if not isinstance(placeholder, str):
            raise bad_request('can\'t parse reply markup: field "input_field_placeholder" must be of type String')
        limits.check_placeholder(placeholder)
        return (), ForceReply(placeholder=clean(placeholder), selective=bool(value.get("selective")))
    if value.get("remove_keyboard"):
        return (), None
    if "keyboard" in value:
        raise bad_request("reply keyboards are unsupported in the simulator")
    raise bad_request("unknown reply markup type")


def parse_keyboard(rows: Any) -> Keyboard:
    if not isinstance(rows, list):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    keyboard: list[tuple[Button, ...]] = []
    for row in rows:
        if not isinstance(row, list):
            raise bad_request("can't parse inline keyboard button row: expected an Array")
        if row:
            keyboard.append(tuple(parse_button(button) for button in row))
    limits.check_keyboard_size([len(row) for row in keyboard])
    return tuple(keyboard)


def parse_button(value: Any) -> Button:
    prefix = "can't parse inline keyboard button:"
    if not isinstance(value, dict):
        raise bad_request(f"{prefix} expected an Object")
    if "text" not in value:
        raise bad_request(f'{prefix} Can\'t find field "text"')
    text = _string(value, "text")
    limits.check_button_text(text)
    style = _string(value, "style")
    if style:
        limits.check_button_style(style)
    button = Button(text=clean(text), style=style or None)
    if data := _string(value, "callback_data"):
        limits.check_callback_data(data)
        return Button(text=button.text, style=button.style, callback_data=data)
    if url := _string(value, "url"):
        address = check_url(url)
        if address is None:
            raise bad_request(f"inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")
        return Button(text=button.text, style=button.style, url=address)
    if copied := value.get("copy_text"):
        copy_text = _string(copied, "text") if isinstance(copied, dict) else ""
        if not 1 <= len(copy_text) <= limits.COPY_TEXT_UNITS:
            raise bad_request("BUTTON_COPY_TEXT_INVALID")
        return Button(text=button.text, style=button.style, copy_text=copy_text)
    for action in _OTHER_ACTIONS:
        if action in value:
            raise bad_request(f"{prefix} {action} is unsupported in the simulator")
    # An empty callback_data ends here too, as it does at Telegram.
    raise bad_request(f"{prefix} Text buttons are unallowed in the inline keyboard")


def _string(value: Json, name: str) -> str:
    field = value.get(name)
    if field is None:
        return ""
    if not isinstance(field, str):
        raise bad_request(f'can\'t parse inline keyboard button: Field "{name}" must be of type String')
    limits.check_utf8(field)
    return field
