"""The errors a call can end with, worded as the Bot API words them."""

from __future__ import annotations


class RefusedError(Exception):
    """A Bot API call that Telegram would refuse."""

    def __init__(self, code: int, description: str, *, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.retry_after = retry_after


class ControlError(Exception):
    """A request to the phone or control side that cannot be met."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def bad_request(reason: str) -> RefusedError:
    return RefusedError(400, f"Bad Request: {reason}")


def forbidden(reason: str) -> RefusedError:
    return RefusedError(403, f"Forbidden: {reason}")


def conflict() -> RefusedError:
    return RefusedError(
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    )


def too_many_requests(retry_after: int) -> RefusedError:
    return RefusedError(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
