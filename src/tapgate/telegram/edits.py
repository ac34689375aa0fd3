"""Edits of messages that stand in a chat: what is tried when Telegram refuses one, and what its refusals mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum

from tapgate.telegram.api import BarredError, RefusedError, calling

_UNCHANGED = "message is not modified"  # python-telegram-bot capitalises Telegram's words
_GONE = "message to edit not found"


class EditResult(Enum):
    SHOWN = "shown"
    GONE = "gone"  # the message does not exist any more
    REFUSED = "refused"  # what stood there before still stands there
    BARRED = "barred"  # so it does, and the bot may not write to this chat at all


class EditInPlace:
    """One edit as a row of calls, each for the case that Telegram refuses the one before.

    Only two refusals mean that there is nothing left to show: the message is so already, or it does not exist. The
    outbox runs an edit again after a 429 or an outage; it then goes on with the call that it had come to.
    """

    def __init__(self, *calls: Callable[[], Awaitable[object]]) -> None:
        self._calls = deque(calls)
        self.reason = ""

    async def run(self) -> EditResult:
        while self._calls:
            try:
                await calling(self._calls[0]())
                return EditResult.SHOWN
            except RefusedError as error:
                words = str(error).lower()
                if _UNCHANGED in words:
                    return EditResult.SHOWN
                if _GONE in words:
                    return EditResult.GONE
                self.reason = str(error)
                if isinstance(error, BarredError):
                    return EditResult.BARRED
                self._calls.popleft()
        return EditResult.REFUSED
