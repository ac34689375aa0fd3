"""Runs the simulator: binds the loopback address, says when it is ready, and leaves at once when told to."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import anyio
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .bot_api import DROP
from .server import Simulator, build

_LOOPBACK = frozenset({"127.0.0.1", "localhost"})
_GRACE_S = 0.5


async def serve(
    *,
    port: int,
    token: str,
    users: Sequence[tuple[int, str]],
    bot_username: str = "tapgate_bot",
    on_ready: Callable[[str], None],
    host: str = "127.0.0.1",
    handle_signals: bool = True,
) -> None:
    """Serves until SIGTERM, SIGINT or cancellation. Port 0 picks a free one; on_ready gets the base URL.

    Signals are handled only in the main thread. A port in use raises OSError before anything else happens.
    """
    if host not in _LOOPBACK:
        raise ValueError(f"the simulator listens on the loopback address only, not on {host}")
    simulator = build(token=token, users=users, bot_username=bot_username)
    with _bind(port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = _Server(simulator, on_started=lambda: on_ready(url))
        with _signals(server.leave, wanted=handle_signals):
            task = asyncio.ensure_future(server.serve(sockets=[listener]))
            try:
                await asyncio.shield(task)
            finally:
                server.leave()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([task])


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling, which would raise the signal again after the shutdown."""

    def __init__(self, simulator: Simulator, on_started: Callable[[], None]) -> None:
        config = uvicorn.Config(
            simulator.app,
            http=_CuttableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
        )
        super().__init__(config)
        self._simulator = simulator
        self._on_started = on_started
        self._left = asyncio.Event()

    def leave(self) -> None:
        """Ends the long polls and the streams too; nobody waits for them to run out."""
        self.should_exit = True
        self._left.set()
        self._simulator.changes.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_started()

    async def main_loop(self) -> None:
        """Waits to be told, where uvicorn looks ten times a second."""
        await self._left.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, without its fixed pauses."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                # uvicorn has no event for it
                while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
        for task in self.server_state.tasks:
            task.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _CuttableProtocol(H11Protocol):
    """Gives the application a way to cut the connection without an answer, which ASGI lacks."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        app = self.app

        async def cuttable(scope: Scope, receive: Receive, send: Send) -> None:
            scope["extensions"] = {**scope.get("extensions", {}), DROP: transport.abort}
            await app(scope, receive, send)

        self.app = cuttable


def _bind(port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only where the protocol is named; without it every answer takes 40 ms longer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _signals(leave: Callable[[], None], *, wanted: bool) -> Iterator[None]:
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, leave)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
