"""The listener: takes callers' frames from the socket, and gives them the frame that answers. Trusts none of them."""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream

from tapgate.agents.agent import AgentEvent, Ignored
from tapgate.agents.registry import agent_of
from tapgate.daemon.admission import Admission, CallerPlace
from tapgate.daemon.engine import WORKER_BYTES, Engine
from tapgate.daemon.sockets import peer_uid
from tapgate.desk.events import CallerConfirmed, CallerGone, Left
from tapgate.errors import FrameError, TapgateError
from tapgate.model import NO_UID, Caller, Phase, Request
from tapgate.wire import MAX_HEADER_BYTES, FrameKind, Header, decode_header, encode_frame

STALL_S = 10.0  # a whole frame must be here by then
BEAT_S = 3.0  # how often a waiting caller hears that it is held; it leaves after 10 s without
HANGS_S = 20.0  # an event that is not carried out by then never will be: the journal's disk does not answer
MOST_CALLERS = 2000
MOST_HELD_BYTES = 32 * 1024 * 1024  # of questions that wait; in memory they may take eight times as much
MOST_LATER_BYTES = 1024  # of a frame behind the question: none that makes sense has any
MOST_LATER_FRAMES = 100
HANG_UP_STALLS = 3  # so many times as long as a frame may take, a caller may stay after its answer
ACCEPT_AGAIN_S = 0.1  # after the system had no file descriptor left for one more caller
_ID = re.compile(r"[0-9a-f]{32}")
_PID = re.compile(r"[0-9]{1,9}")


class Connection:
    """One caller. Frames in, one frame out, and before that one as many `held` frames as time allows."""

    def __init__(self, stream: SocketStream, *, stall_s: float) -> None:
        self._stream = stream
        self._sock = stream.extra(SocketAttribute.raw_socket)  # noqa: S610  this is anyio's
        self.shows_own_prompt = False
        self._stall_s = stall_s
        self._rest = b""
        self._out: bytes | None = None
        self._out_ready = anyio.Event()
        self.is_unread = False  # the answer was not even handed over whole
        self.uid = NO_UID
        self.handed_over = anyio.Event()  # all is written that ever will be

    def hold(self) -> None:
        """Tell the caller that the daemon is here. Never waits: a caller that reads nothing gets no more of these."""
        if self._out is not None:
            return  # nothing may come between or behind the pieces of the answer
        frame = encode_frame(FrameKind.HELD, prompt=1) if self.shows_own_prompt else encode_frame(FrameKind.HELD)
        with suppress(OSError):  # a frame this small goes out whole or not at all
            self._sock.send(frame)

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

    async def body(self, size_bytes: int, take: Callable[[int], None] = lambda size_bytes: None) -> bytes:
        """The frame's bytes; `take` hears of each piece as it arrives."""
        chunks, have = [self._rest[:size_bytes]], min(len(self._rest), size_bytes)
        self._rest = self._rest[size_bytes:]
        take(have)
        while have < size_bytes:
            try:
                chunk = await self._stream.receive(min(size_bytes - have, 1 << 20))
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                raise FrameError(f"the frame announced {size_bytes} bytes and brought {have}") from None
            take(len(chunk))
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
        status: Callable[[int], bytes] = lambda uid: b"",
        noted: Callable[[Caller, AgentEvent], None] = lambda caller, event: None,
        caller_uids: Collection[int] = (),
        uid_of: Callable[[socket.socket], int] = peer_uid,
        most_held_bytes: int = MOST_HELD_BYTES,
        debug: Callable[[str], None] = lambda line: None,
        beat_s: float = BEAT_S,
        hangs_s: float = HANGS_S,
    ) -> None:
        self._sock = sock
        self._engine = engine
        self._report = report
        self._status = status
        self._debug = debug
        self._noted = noted
        self._uid_of = uid_of
        self._caller_uids = frozenset({os.getuid(), *caller_uids})
        self._stall_s = stall_s
        self._beat_s = beat_s
        self._hangs_s = hangs_s
        self._admission = Admission(most_callers=most_callers, most_bytes=most_held_bytes)
        self._held: set[Connection] = set()  # callers that want to hear that they are
        self._parsing = anyio.Lock()  # large questions are parsed one by one: at its height it takes the most memory
        self._accepting = anyio.CancelScope()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`, and then until the last caller is gone."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._beat)
            async with anyio.create_task_group() as callers:
                with self._accepting:
                    async with await SocketListener.from_socket(self._sock) as listener:
                        task_status.started()
                        while True:
                            callers.start_soon(self._serve, await self._accept(listener))
            group.cancel_scope.cancel()

    def stop(self) -> None:
        """Accept nobody new. Who is here is served on."""
        self._accepting.cancel()

    async def _beat(self) -> None:
        """From the event loop, and only while events are carried out: of a daemon that hangs, callers hear nothing."""
        while True:
            await anyio.sleep(self._beat_s)
            for connection in self._held:
                self._hold(connection)

    def _hold(self, connection: Connection) -> None:
        if self._engine.busy_s() < self._hangs_s:
            connection.hold()

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
                self._held.discard(connection)

    async def _talk(self, connection: Connection, stream: SocketStream) -> None:
        try:
            connection.uid = self._uid_of(stream.extra(SocketAttribute.raw_socket))  # noqa: S610  this is anyio's
            if connection.uid not in self._caller_uids:
                raise FrameError("this daemon belongs to another user")
            arriving = anyio.CancelScope()
            with self._admission.place(arriving.cancel) as place:
                header, body = await self._receive(connection, place, arriving)
                if header is not None:
                    await self._take(connection, header, body)
        except TapgateError as error:
            await self._refuse(connection, str(error))

    async def _receive(
        self, connection: Connection, place: CallerPlace, arriving: anyio.CancelScope
    ) -> tuple[Header | None, bytes]:
        """The first frame; no header where the caller hung up without one."""
        header, body = None, b""
        arriving.deadline = anyio.current_time() + self._stall_s
        with arriving:
            header = await connection.header()
            if header is not None:
                if header.kind is FrameKind.ASK and header.fields.get("beat") == "1":
                    self._held.add(connection)
                    self._hold(connection)  # before anything else: a caller that hears nothing for 2 s leaves
                body = await connection.body(
                    header.size_bytes, lambda size_bytes: self._admission.take(place, size_bytes)
                )
        if arriving.cancelled_caught and not place.gave_way:
            raise FrameError(f"no whole frame came within {self._stall_s:g} s")
        self._admission.settle(place)
        return header, body

    async def _take(self, connection: Connection, header: Header, body: bytes) -> None:
        match header.kind:
            case FrameKind.ASK:
                request_id, caller = _caller(header, connection.uid)
                await self._ask(connection, request_id, caller, body)
            case FrameKind.TAKEN:
                # The daemon was restarted between the answer and its confirmation.
                await self._engine.handle(CallerConfirmed(_request_id(header), connection.uid))
            case FrameKind.STATUS:
                connection.send_last(encode_frame(FrameKind.REPLY, self._status(connection.uid), exit=0))
                await connection.write_last()
            case _:
                raise FrameError(f"a {header.kind.value} frame cannot come first")

    async def _ask(self, connection: Connection, request_id: str, caller: Caller, body: bytes) -> None:
        agent = agent_of(caller.agent)
        if len(body) > WORKER_BYTES:
            async with self._parsing:
                event = await anyio.to_thread.run_sync(agent.parse, request_id, caller, body)
        else:
            event = agent.parse(request_id, caller, body)
        # Of the id only a part, as the whole is the caller's secret; of what it says nothing.
        self._debug(f"caller {caller.pid}, {request_id[:8]}: {type(event).__name__}, {len(body)} bytes")
        self._noted(caller, event)
        if isinstance(event, Request):
            if event.shows_own_prompt and connection in self._held:
                connection.shows_own_prompt = True
                self._hold(connection)
            await self._wait(connection, event)
            return
        if not isinstance(event, Ignored):
            # The reader of the agent's bytes does not know who sent them.
            await self._engine.handle(replace(event, uid=caller.uid))
        connection.send_last(encode_frame(FrameKind.REPLY, exit=0))
        await connection.write_last()

    async def _wait(self, connection: Connection, request: Request) -> None:
        left = Left.DROPPED
        failures: list[Exception] = []

        async def ask() -> None:
            try:
                await self._engine.ask(request, connection)
            except Exception as error:
                failures.append(error)
                group.cancel_scope.cancel()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._answer, connection, group.cancel_scope)
                group.start_soon(ask)
                # From the beginning: of one that has gone meanwhile, the question need not be looked at.
                left = await self._listen(connection, request)
                group.cancel_scope.cancel()
            if failures:
                raise failures[0]
        finally:
            if connection.is_unread:
                left = Left.LOST
            if self._engine.hang_up(request.id, connection):
                await self._engine.handle(CallerGone(request.id, left, request.caller.uid))

    async def _answer(self, connection: Connection, talk: anyio.CancelScope) -> None:
        if await connection.write_last():
            await anyio.sleep(HANG_UP_STALLS * self._stall_s)  # an answered caller confirms and goes; or we do
        talk.cancel()

    async def _listen(self, connection: Connection, request: Request) -> Left:
        """What a waiting caller still says: that it took the answer, or that it goes."""
        try:
            for _ in range(MOST_LATER_FRAMES):
                header = await connection.header()
                if header is None:
                    return Left.LOST
                if header.size_bytes > MOST_LATER_BYTES:
                    raise FrameError(f"a later frame announces {header.size_bytes} bytes")
                await connection.body(header.size_bytes)
                if header.kind is FrameKind.TAKEN:
                    await self._engine.handle(CallerConfirmed(request.id, request.caller.uid))
                    card = self._engine.desk.card(request.id)
                    if card is None or card.phase is Phase.SETTLED:
                        break  # it has all it came for, and need not keep the connection
                elif header.kind is FrameKind.GONE:
                    return _left(header)
        except FrameError as error:
            self._report(f"a caller made no sense and was dropped: {error}")
        return Left.LOST

    async def _refuse(self, connection: Connection, sentence: str) -> None:
        """Say why, then drop the caller."""
        connection.send_last(encode_frame(FrameKind.ERROR, sentence.encode("utf-8", "replace")))
        await connection.write_last()


def _request_id(header: Header) -> str:
    request_id = header.fields.get("id", "")
    if not _ID.fullmatch(request_id):
        raise FrameError("the frame's id is not 32 hexadecimal digits")
    return request_id


def _caller(header: Header, uid: int) -> tuple[str, Caller]:
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
        uid=uid,
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
