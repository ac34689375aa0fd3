"""The listener: takes callers' frames from the socket, and gives them the frame that answers. Trusts none of them."""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream

from tapgate.agents import dialect_of
from tapgate.agents.dialect import Heard, Nothing
from tapgate.core.events import CallerConfirmed, CallerGone, Left
from tapgate.daemon.engine import WORKER_BYTES, Engine
from tapgate.daemon.sockets import peer_uid
from tapgate.errors import FrameError, TapgateError
from tapgate.model import Caller, Phase, Request
from tapgate.wire import MAX_HEADER_BYTES, Header, Kind, decode_header, encode_frame

STALL_S = 10.0  # a whole frame must be here by then
MOST_CALLERS = 500
MOST_HELD_BYTES = 32 * 1024 * 1024  # of questions that wait; in memory they may take eight times as much
HANG_UP_STALLS = 3  # so many times as long as a frame may take, a caller may stay after its answer
ACCEPT_AGAIN_S = 0.1  # after the system had no file descriptor left for one more caller
_ID = re.compile(r"[0-9a-f]{32}")
_PID = re.compile(r"[0-9]{1,9}")


class Connection:
    """One caller. Frames in, one frame out."""

    def __init__(self, stream: SocketStream, *, stall_s: float) -> None:
        self._stream = stream
        self._stall_s = stall_s
        self._rest = b""
        self._out: bytes | None = None
        self._out_ready = anyio.Event()
        self.is_unread = False  # the answer was not even handed over whole
        self.handed_over = anyio.Event()  # all is written that ever will be

    def send_last(self, frame: bytes) -> None:
        if self._out is None:
            self._out = frame
            self._out_ready.set()

    async def write_last(self) -> bool:
        """Wait for the frame and send it, once. False: the caller is there and does not read it."""
        try:
            await self._out_ready.wait()
            frame, self._out = self._out or b"", b""
            self.is_unread = True
            # A caller that is gone is noticed where its frames are read, together with its last word.
            with anyio.move_on_after(self._stall_s) as patience, suppress(anyio.BrokenResourceError):
                await self._stream.send(frame)
                self.is_unread = False
            return not patience.cancelled_caught
        finally:
            self.handed_over.set()

    async def header(self) -> Header | None:
        """The next frame's header; None where the caller hung up between frames."""
        while b"\n" not in self._rest:
            if len(self._rest) > MAX_HEADER_BYTES:
                raise FrameError("the frame's header does not end")
            try:
                self._rest += await self._stream.receive(65536)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                if self._rest:
                    raise FrameError("the frame ends in its header") from None
                return None
        line, _, self._rest = self._rest.partition(b"\n")
        return decode_header(line)

    async def body(self, size_bytes: int) -> bytes:
        chunks, have = [self._rest[:size_bytes]], min(len(self._rest), size_bytes)
        self._rest = self._rest[size_bytes:]
        while have < size_bytes:
            try:
                chunk = await self._stream.receive(min(size_bytes - have, 1 << 20))
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                raise FrameError(f"the frame announced {size_bytes} bytes and brought {have}") from None
            chunks.append(chunk)
            have += len(chunk)
        return b"".join(chunks)


class Listener:
    def __init__(
        self,
        sock: socket.socket,
        engine: Engine,
        *,
        report: Callable[[str], None],
        stall_s: float = STALL_S,
        most_callers: int = MOST_CALLERS,
        status: Callable[[], bytes] = bytes,
        noted: Callable[[Caller, Heard], None] = lambda caller, heard: None,
        caller_uids: Collection[int] = (),
        most_held_bytes: int = MOST_HELD_BYTES,
        debug: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._sock = sock
        self._engine = engine
        self._report = report
        self._status = status
        self._debug = debug
        self._noted = noted
        self._caller_uids = frozenset({os.getuid(), *caller_uids})
        self._stall_s = stall_s
        self._most_callers = most_callers
        self._most_held_bytes = most_held_bytes
        self._held_bytes = 0
        self._parsing = anyio.Lock()  # large questions are parsed one by one: at its height it takes the most memory
        self._callers = 0
        self._accepting = anyio.CancelScope()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`, and then until the last caller is gone."""
        async with anyio.create_task_group() as callers:
            with self._accepting:
                async with await SocketListener.from_socket(self._sock) as listener:
                    task_status.started()
                    while True:
                        callers.start_soon(self._serve, await self._accept(listener))

    def stop(self) -> None:
        """Accept nobody new. Who is here is served on."""
        self._accepting.cancel()

    async def _accept(self, listener: SocketListener) -> SocketStream:
        """The next caller. Where there is no file descriptor left for it, it waits until one is free again."""
        told = False
        while True:
            try:
                return await listener.accept()
            except anyio.BrokenResourceError as error:
                if not told:
                    self._report(f"no more callers can be taken for now ({error.__cause__})")
                    told = True
                await anyio.sleep(ACCEPT_AGAIN_S)

    async def _serve(self, stream: SocketStream) -> None:
        """One caller, whatever it does, must not be noticed by the others."""
        self._callers += 1
        try:
            async with stream:
                connection = Connection(stream, stall_s=self._stall_s)
                try:
                    await self._talk(connection, stream)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                    pass
                except Exception as error:
                    self._report(f"a caller was dropped ({type(error).__name__}: {error})")
                    # Without a word it would take this for a restart, and come back with the same.
                    await self._refuse(connection, "something went wrong in the daemon; its log says what")
        finally:
            self._callers -= 1

    async def _talk(self, connection: Connection, stream: SocketStream) -> None:
        try:
            uid = peer_uid(stream.extra(SocketAttribute.raw_socket))  # noqa: S610  this is anyio's
            if uid not in self._caller_uids:
                raise FrameError("this daemon belongs to another user")
            if self._callers > self._most_callers:
                raise FrameError(f"more than {self._most_callers} callers are waiting")
            with anyio.fail_after(self._stall_s):
                header = await connection.header()
                if header is None:
                    return
                held = header.size_bytes
                if self._held_bytes + held > self._most_held_bytes:
                    raise FrameError("the questions that wait already take all the memory there is for them")
                self._held_bytes += held
                try:
                    body = await connection.body(header.size_bytes)
                except BaseException:
                    self._held_bytes -= held
                    raise
            try:
                await self._take(connection, header, body)
            finally:
                self._held_bytes -= held
        except TimeoutError:
            await self._refuse(connection, f"no whole frame came within {self._stall_s:g} s")
        except TapgateError as error:
            await self._refuse(connection, str(error))

    async def _take(self, connection: Connection, header: Header, body: bytes) -> None:
        match header.kind:
            case Kind.ASK:
                request_id, caller = _caller(header)
                await self._ask(connection, request_id, caller, body)
            case Kind.TAKEN:
                # The daemon was restarted between the answer and its confirmation.
                await self._engine.handle(CallerConfirmed(_request_id(header)))
            case Kind.STATUS:
                connection.send_last(encode_frame(Kind.REPLY, self._status(), exit=0))
                await connection.write_last()
            case _:
                raise FrameError(f"a {header.kind.value} frame cannot come first")

    async def _ask(self, connection: Connection, request_id: str, caller: Caller, body: bytes) -> None:
        dialect = dialect_of(caller.agent)
        if len(body) > WORKER_BYTES:
            async with self._parsing:
                heard = await anyio.to_thread.run_sync(dialect.parse, request_id, caller, body)
        else:
            heard = dialect.parse(request_id, caller, body)
        # Of the id only a part, as the whole is the caller's secret; of what it says nothing.
        self._debug(f"caller {caller.pid}, {request_id[:8]}: {type(heard).__name__}, {len(body)} bytes")
        self._noted(caller, heard)
        if isinstance(heard, Request):
            await self._wait(connection, heard)
            return
        if not isinstance(heard, Nothing):
            await self._engine.handle(heard)
        connection.send_last(encode_frame(Kind.REPLY, exit=0))
        await connection.write_last()

    async def _wait(self, connection: Connection, request: Request) -> None:
        left = Left.DROPPED
        try:
            await self._engine.ask(request, connection)
            async with anyio.create_task_group() as group:
                group.start_soon(self._answer, connection, group.cancel_scope)
                left = await self._listen(connection, request)
                group.cancel_scope.cancel()
        finally:
            if connection.is_unread:
                left = Left.LOST
            if self._engine.hang_up(request.id, connection):
                await self._engine.handle(CallerGone(request.id, left))

    async def _answer(self, connection: Connection, talk: anyio.CancelScope) -> None:
        if await connection.write_last():
            await anyio.sleep(HANG_UP_STALLS * self._stall_s)  # an answered caller confirms and goes; or we do
        talk.cancel()

    async def _listen(self, connection: Connection, request: Request) -> Left:
        """What a waiting caller still says: that it took the answer, or that it goes."""
        try:
            while (header := await connection.header()) is not None:
                await connection.body(header.size_bytes)
                if header.kind is Kind.TAKEN:
                    await self._engine.handle(CallerConfirmed(request.id))
                    card = self._engine.desk.card(request.id)
                    if card is None or card.phase is Phase.SETTLED:
                        break  # it has all it came for, and need not keep the connection
                elif header.kind is Kind.GONE:
                    return _left(header)
        except FrameError as error:
            self._report(f"a caller made no sense and was dropped: {error}")
        return Left.LOST

    async def _refuse(self, connection: Connection, sentence: str) -> None:
        """Say why, then drop the caller."""
        connection.send_last(encode_frame(Kind.ERROR, sentence.encode("utf-8", "replace")))
        await connection.write_last()


def _request_id(header: Header) -> str:
    request_id = header.fields.get("id", "")
    if not _ID.fullmatch(request_id):
        raise FrameError("the frame's id is not 32 hexadecimal digits")
    return request_id


def _caller(header: Header) -> tuple[str, Caller]:
    fields = header.fields
    try:
        deadline_s = float(fields.get("deadline_s", ""))
    except ValueError:
        deadline_s = math.nan
    if not math.isfinite(deadline_s):
        raise FrameError("the frame's deadline_s is not a number")
    return _request_id(header), Caller(
        agent=fields.get("agent", ""),
        deadline_s=deadline_s,
        pid=_pid(fields, "pid"),
        parent_pid=_pid(fields, "parent"),
        attended=fields.get("attended") == "1",
        project=fields.get("project", ""),
    )


def _pid(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "0")
    if not _PID.fullmatch(text):
        raise FrameError(f"the frame's {name} is not a process id")
    return int(text)


def _left(header: Header) -> Left:
    try:
        left = Left(header.fields.get("why", ""))
    except ValueError:
        return Left.LOST
    return Left.LOST if left is Left.DROPPED else left
