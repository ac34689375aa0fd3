"""What agents share: reading JSON and the fields of hook events, fingerprints of calls, a common choice."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tapgate.desk.calls import identify
from tapgate.errors import InputError
from tapgate.model import Action, Choice, Json, ToolCall

DENIED = "Denied from the phone."
MOST_VALUES = 250_000  # no card shows that many; as Python values, 16 MiB of tiny ones would be half a gigabyte
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
MOST_DEPTH = 100  # agents nest a dozen levels; what is far deeper would break whoever echoes or shows it


class HookEvent(BaseModel):
    """Fields that any event may carry. Agents add fields all the time, so unknown ones are normal."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    hook_event_name: str
    session_id: str = ""
    transcript_path: str | None = None
    cwd: str = ""
    permission_mode: str | None = None
    prompt_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None


class HookToolEvent(HookEvent):
    tool_name: str
    tool_input: dict[str, Any]


HookEventT = TypeVar("HookEventT", bound=HookEvent)


def read_object(raw: bytes) -> dict[str, Json]:
    """The JSON object in `raw`. Raises InputError with a sentence that quotes none of it."""
    if not raw.strip():
        raise InputError("nothing came on stdin")
    if _is_crowded(raw):
        raise InputError(f"the JSON on stdin holds more than {MOST_VALUES} values, which no card could show")
    try:
        value = json.loads(raw, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise InputError("the JSON on stdin is nested too deeply") from None
    except (ValueError, UnicodeDecodeError) as error:
        where = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"what came on stdin is not JSON{where}") from None
    if not isinstance(value, dict):
        raise InputError("the JSON on stdin is not an object")
    if raw.count(b"[") + raw.count(b"{") > MOST_DEPTH and _is_deep(value):
        raise InputError("the JSON on stdin is nested too deeply")
    if not isinstance(value.get("hook_event_name"), str):
        raise InputError("the JSON on stdin is not a hook event: it has no hook_event_name")
    return value


def read_event(model: type[HookEventT], value: Mapping[str, Json]) -> HookEventT:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        # The name of an event that nobody knows is content, and content is not quoted.
        name = "hook" if model is HookEvent else value["hook_event_name"]
        raise InputError(f"the {name} event's {key} is not as expected: {fault['msg']}") from None


def write_json(value: Json) -> bytes:
    """Compact and ASCII only, so that no locale and no lone surrogate can spoil it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def call_of(event: HookToolEvent) -> ToolCall:
    return identify(event.tool_name, event.tool_input, session_id=event.session_id, agent_id=event.agent_id or "")


def release_choice() -> Choice:
    """For agents that show no prompt of their own while the hook waits: a person at the desk gets it back."""
    return Choice("g", "Ask at the terminal", Action.RELEASE)


def _is_crowded(raw: bytes) -> bool:
    """Whether it holds more than MOST_VALUES values, told from the bytes: parsing is what would take the memory."""
    if _marks(raw, 0, len(raw)) <= MOST_VALUES:
        return False
    count = end = 0  # once more, now without what stands in strings; it ends early where there are many
    for string in _STRING.finditer(raw):
        count += _marks(raw, end, string.start())
        end = string.end()
        if count > MOST_VALUES:
            return True
    return count + _marks(raw, end, len(raw)) > MOST_VALUES


def _marks(raw: bytes, start: int, end: int) -> int:
    """Each value but the outermost follows a comma, or is the first in a list or an object. Empty ones count double."""
    return raw.count(b",", start, end) + raw.count(b"[", start, end) + raw.count(b"{", start, end)


def _is_deep(value: Json) -> bool:
    """Whether it nests deeper than MOST_DEPTH. Level by level: recursion is what must not happen here."""
    level = [value]
    for _ in range(MOST_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")  # it could not be given back
    return value
