"""Telegram's menu of commands, set at start for the listed chats alone: strangers see none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio

from tapgate.telegram.api import Api, BusyError, OutageError, RefusedError

PAUSES_S = (5.0, 30.0, 120.0)


async def set_menu(
    api: Api,
    chats: Iterable[int],
    menu: Sequence[tuple[str, str]],
    *,
    report: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> None:
    """Tried a few times. A failure is reported and nothing more: commands work without a menu."""
    for chat_id in dict.fromkeys(chats):
        for pause_s in (*PAUSES_S, None):
            try:
                await api.set_menu(chat_id, menu)
                break
            except (BusyError, OutageError) as error:
                if pause_s is None:
                    report(f"the menu of commands could not be set: {error}")
                    return
                await sleep(max(pause_s, error.retry_after_s if isinstance(error, BusyError) else 0.0))
            except RefusedError as error:
                report(f"the menu of commands could not be set in chat {chat_id}: {error}")
                break
