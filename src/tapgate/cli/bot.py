"""The bot as the set-up commands meet it: who a token belongs to, and who presses Start. Knows no terminal."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio

from tapgate.config import TOKEN_SHAPE, Telegram
from tapgate.errors import TapgateError
from tapgate.model import Instant
from tapgate.setup.pairing import Pairing, PairingEnd, confirmable, unheard
from tapgate.telegram.api import READ_S, Api, BusyError, ConflictError, OutageError, calling
from tapgate.telegram.poll import REBUILD_S, SLACK_S, Fetch

POLL_S = 10
AGAIN_S = 1.0  # between polls that do not wait, because something for the daemon lies in front
MOST_UPDATES = 100  # Telegram hands out no more at once
MOST_ROUNDS = 100  # a stranger who never stops writing cannot keep a pairing from beginning


class TokenRefusedError(TapgateError):
    """Telegram says that there is no such bot."""


@dataclass(frozen=True, slots=True)
class PairingBot:
    username: str
    name: str


def parse_token(text: str) -> str:
    """The token in what was pasted, which may be the whole of BotFather's message. Empty: there is none."""
    found = TOKEN_SHAPE.findall(text)
    return str(found[0]) if len(set(found)) == 1 else ""


@asynccontextmanager
async def open_api(token: str, telegram: Telegram) -> AsyncIterator[Api]:
    api = Api(token=token, base_url=telegram.base_url, proxy=telegram.proxy)
    await api.start()
    try:
        yield api
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await api.stop()


async def who_is(token: str, telegram: Telegram) -> PairingBot:
    """Ask Telegram whose token this is. Raises TokenRefusedError, or OutageError where nothing can be said about it."""
    async with open_api(token, telegram) as api:
        try:
            me = await calling(api.get_me())
        except OutageError as error:
            if error.slow and not isinstance(error, ConflictError):
                raise TokenRefusedError("Telegram does not know this token") from None
            raise
    return PairingBot(me.username or "", me.first_name)


async def tell(token: str, telegram: Telegram, chat_id: int, text: str) -> None:
    async with open_api(token, telegram) as api:
        await calling(api.send_message(chat_id, text))


class PairingPoller:
    """Waits for somebody to press Start. Confirms to Telegram nothing that a daemon could need."""

    def __init__(
        self,
        api: Fetch,
        people: Collection[int],
        *,
        now: Callable[[], Instant] = lambda: Instant(time.monotonic(), time.time()),
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._api = api
        self._people = people
        self._now = now
        self._sleep = sleep
        self._offset: int | None = None
        self._seen: int | None = None
        self._held = False  # something lies in front that is not ours to confirm

    async def clear(self) -> None:
        """Look past all that came before the code is made: none of it can be a try."""
        for _ in range(MOST_ROUNDS):
            if not await self._fetch(timeout_s=0):
                break

    async def wait(
        self, pairing: Pairing, *, changed: Callable[[Pairing], None], trouble: Callable[[str], None]
    ) -> Pairing:
        """Until the pairing is over. Outages are told and waited out; a refused token or a second poller is raised."""
        failures = 0
        while pairing.end(self._now()) is None:
            timeout_s = 0 if self._held else min(POLL_S, int(pairing.left_s(self._now())) + 1)
            try:
                updates = await self._fetch(timeout_s=timeout_s)
            except BusyError as error:
                await self._sleep(error.retry_after_s)
                continue
            except OutageError as error:
                if error.slow:
                    raise
                trouble(str(error))
                failures += 1
                if failures > 1:
                    await self._rebuild()
                await self._sleep(AGAIN_S)
                continue
            failures = 0
            trouble("")
            for update in updates:
                after = pairing.hear(update, self._now())
                if after is not pairing:
                    pairing = after
                    changed(pairing)
            if self._held and not updates:
                await self._sleep(AGAIN_S)
        if pairing.end(self._now()) is PairingEnd.PAIRED:
            await self._forget(pairing)
        return pairing

    async def _fetch(self, *, timeout_s: int) -> list[Any]:
        try:
            with anyio.fail_after(timeout_s + READ_S + SLACK_S):
                updates = await calling(self._api.fetch(offset=self._offset, timeout_s=timeout_s))
        except TimeoutError:
            raise OutageError("Telegram did not answer in time") from None
        fresh = unheard(updates, self._seen)
        if updates:
            self._offset = confirmable(updates, self._people) or self._offset
            held = [update for update in updates if update.get("update_id", 0) >= (self._offset or 0)]
            self._held = bool(held)
            if len(held) >= MOST_UPDATES:
                raise TapgateError(
                    "more than a hundred taps and messages wait for the daemon, and hide what comes after them; "
                    "let it run for a moment (`tapgate daemon`), then try again"
                )
        else:
            self._held = False
        if fresh:
            self._seen = max(update["update_id"] for update in fresh)
        return fresh

    async def _rebuild(self) -> None:
        """A pool behind a broken proxy can wedge for good, and refuse to be closed as well."""
        with anyio.move_on_after(REBUILD_S), suppress(OSError, RuntimeError):
            await self._api.rebuild_polls()

    async def _forget(self, pairing: Pairing) -> None:
        """The Start that paired is no word for the daemon. Where this fails, the daemon greets them: no harm done."""
        assert pairing.newcomer is not None
        try:
            updates = await calling(self._api.fetch(offset=self._offset, timeout_s=0))
            offset = confirmable(updates, self._people, pairing.code)
            if offset is not None:
                await calling(self._api.fetch(offset=offset, timeout_s=0))
        except (BusyError, OutageError):
            pass
