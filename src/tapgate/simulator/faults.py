"""Faults on demand: which call fails next, and how the failure looks on the wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from .model import Json
from .refusal import RefusedError, conflict, too_many_requests

Kind = Literal["400", "401", "403", "404", "404html", "409", "429", "500", "502", "stall", "drop", "garbage", "empty"]
KINDS: Final[Sequence[Kind]] = get_args(Kind)
FOR_EVER: Final = -1

_PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body><center><h1>{0}</h1></center></body>\r\n</html>\r\n"


@dataclass(frozen=True, slots=True)
class Fault:
    method: str
    """A method's name, or * for any."""
    kind: Kind
    times: int = 1
    """How many calls it hits; FOR_EVER until cleared."""
    retry_after: int = 3
    stall_s: float = 30.0
    applied: bool = False
    """The call takes effect first, and only its answer is lost."""
    description: str = "Bad Request: message can't be edited"
    """What a 400 says."""
    only_html: bool = False
    """Calls without a parse mode go through."""
    message_id: int = 0
    """Only calls about this message; 0 for any."""

    def hits(self, method: str, params: Json) -> bool:
        if self.method != "*" and self.method.lower() != method.lower():
            return False
        if self.message_id and str(params.get("message_id")) != str(self.message_id):
            return False
        return not self.only_html or bool(params.get("parse_mode"))


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    content: bytes
    content_type: str
    description: str


class Faults:
    """Waiting faults, the oldest first."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self._waiting.append(fault)

    def clear(self) -> None:
        self._waiting.clear()

    def waiting(self) -> list[Fault]:
        return list(self._waiting)

    def take(self, method: str, params: Json) -> Fault | None:
        for index, fault in enumerate(self._waiting):
            if fault.hits(method, params):
                if fault.times == 1:
                    del self._waiting[index]
                elif fault.times != FOR_EVER:
                    self._waiting[index] = replace(fault, times=fault.times - 1)
                return fault
        return None


def render_fault(fault: Fault) -> Reply:
    """The wrong answer of a fault that answers at all."""
    match fault.kind:
        case "400":
            return render_refusal(RefusedError(400, fault.description))
        case "401":
            return render_refusal(RefusedError(401, "Unauthorized"))
        case "403":
            return render_refusal(RefusedError(403, "Forbidden: bot was blocked by the user"))
        case "404":
            return render_refusal(RefusedError(404, "Not Found"))
        case "409":
            return render_refusal(conflict())
        case "429":
            return render_refusal(too_many_requests(fault.retry_after))
        case "500":
            return render_refusal(RefusedError(500, "Internal Server Error"))
        case "404html":
            return Reply(404, _PAGE.format("404 Not Found").encode(), "text/html", "a proxy's 404 page")
        case "502":
            return Reply(502, _PAGE.format("502 Bad Gateway").encode(), "text/html", "a proxy's 502 page")
        case "garbage":
            return Reply(200, b'{"ok":true,"result":\x00\xff<', "application/json", "garbage")
        case "empty":
            return Reply(200, b"", "application/json", "an empty answer")
        case "stall" | "drop":
            raise ValueError(f"the fault {fault.kind} has no answer")


def render_refusal(error: RefusedError) -> Reply:
    value: Json = {"ok": False, "error_code": error.code, "description": error.description}
    if error.retry_after is not None:
        value["parameters"] = {"retry_after": error.retry_after}
    return Reply(error.code, json.dumps(value).encode(), "application/json", error.description)
