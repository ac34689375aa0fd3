"""The Bot API client: python-telegram-bot's ExtBot with raw updates, and its errors mapped to what they mean here."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import httpx
from telegram import BotCommandScopeChat
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from tapgate.errors import FrontError

ALLOWED_UPDATES = ["message", "callback_query"]  # on every poll: left out, Telegram keeps the last setting
READ_S = 15.0
os.environ.setdefault("PTB_TIMEDELTA", "1")  # without it the library warns on stderr at each 429
Result = TypeVar("Result")


class BusyError(FrontError):
    """429: try again, but not before."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"Telegram asks to wait {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class OutageError(FrontError):
    """The network, the server or the token is out of order. Trying again later may help."""

    def __init__(self, sentence: str, *, slow: bool = False, unsure: bool = False) -> None:
        super().__init__(sentence)
        self.slow = slow  # not worth a try every second
        self.unsure = unsure  # the call may have taken effect all the same


class RefusedError(FrontError):
    """Telegram will never take this call."""


class BarredError(RefusedError):
    """403: the bot may not write there. A person can block it and let it in again."""


class ConflictError(OutageError):
    """409: somebody else polls with the same token."""


class Api(ExtBot[None]):
    """One bot. It keeps two connection pools, so that calls never wait behind the long poll."""

    def __init__(self, *, token: str, base_url: str, proxy: str | None, read_s: float = READ_S) -> None:
        self._read_s = read_s
        self._calls = _request(proxy, pool=8, read_s=read_s)
        self._polls = _request(proxy, pool=2, read_s=read_s)
        base = base_url.rstrip("/")
        super().__init__(
            token=token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=self._calls,
            get_updates_request=self._polls,
        )

    async def start(self) -> None:
        """Open the pools. Unlike ExtBot.initialize this asks Telegram nothing, so it works offline."""
        await self._calls.initialize()
        await self._polls.initialize()

    async def stop(self) -> None:
        await self._calls.shutdown()
        await self._polls.shutdown()

    async def rebuild_polls(self) -> None:
        """A pool behind a broken proxy can wedge for good (httpcore issue 1023): begin with a fresh one."""
        try:
            await self._polls.shutdown()
        finally:
            await self._polls.initialize()

    async def fetch(self, *, offset: int | None, timeout_s: int) -> list[dict[str, Any]]:
        """Updates as Telegram sent them. Each is parsed by itself, so that a strange one does not hide the others."""
        result = await self._post(
            "getUpdates",
            {"offset": offset, "timeout": timeout_s, "allowed_updates": ALLOWED_UPDATES},
            read_timeout=timeout_s + self._read_s,
        )
        if not isinstance(result, list):
            raise OutageError("Telegram's answer makes no sense")
        return [update for update in result if isinstance(update, dict)]

    async def set_menu(self, chat_id: int, commands: Sequence[tuple[str, str]]) -> None:
        """The commands that this chat's menu offers: names and descriptions."""
        await calling(self.set_my_commands(commands, scope=BotCommandScopeChat(chat_id)))


async def calling(call: Awaitable[Result]) -> Result:
    """Await a Bot API call; whatever it raises becomes one of the errors above. None of them holds the token."""
    try:
        return await call
    except RetryAfter as error:
        after = error.retry_after
        raise BusyError(after if isinstance(after, int | float) else after.total_seconds()) from None
    except Conflict:
        raise ConflictError(
            "another program polls with this bot's token; stop it, or use a bot of its own", slow=True
        ) from None
    except InvalidToken:
        raise OutageError(
            "Telegram does not accept the bot token (401 or 404); check [telegram] token", slow=True
        ) from None
    except Forbidden as error:
        raise BarredError(error.message) from None
    except (BadRequest, ChatMigrated) as error:
        raise RefusedError(error.message) from None
    except TimedOut as error:
        unsent = isinstance(error.__cause__, httpx.PoolTimeout | httpx.ConnectTimeout)
        raise OutageError("Telegram did not answer in time", unsure=not unsent) from None
    except NetworkError as error:
        if isinstance(error.__cause__, ValueError):  # what we wanted to send cannot be encoded, today or tomorrow
            raise RefusedError(f"this cannot be sent ({type(error.__cause__).__name__})") from None
        unsent = isinstance(error.__cause__, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol)
        name = type(error.__cause__).__name__ if error.__cause__ else error.message
        raise OutageError(f"Telegram cannot be reached ({name})", unsure=not unsent) from None
    except TelegramError as error:
        raise OutageError(f"Telegram's answer makes no sense ({error.message[:80]})", unsure=True) from None


def _request(proxy: str | None, *, pool: int, read_s: float) -> HTTPXRequest:
    return HTTPXRequest(
        connection_pool_size=pool,
        connect_timeout=10.0,
        read_timeout=read_s,
        write_timeout=read_s,
        pool_timeout=5.0,
        media_write_timeout=60.0,
        proxy=proxy,
        httpx_kwargs={"trust_env": False},  # a *_PROXY variable must not decide where the token goes
    )
