"""A listener on a real socket with a real engine and desk; only the phones and the journal are stand-ins."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import SocketStream

from tapgate.daemon.engine import Engine
from tapgate.daemon.listener import BEAT_S, HANGS_S, MOST_CALLERS, MOST_HELD_BYTES, STALL_S, Listener
from tapgate.daemon.sockets import open_socket, peer_uid
from tapgate.desk.desk import Desk
from tapgate.desk.effects import Post
from tapgate.desk.memory import Remembered
from tapgate.model import Card, Instant
from tapgate.wire import FrameKind, Header, decode_header, encode_frame
from tests.builders import ADA, event_bytes, request_id, tap_on
from tests.daemon.fakes import PATIENCE_S, Diary, FakePhones, FakeRecords


class Guest:
    """Somebody at the socket, who may say anything."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._rest = b""

    async def say(self, data: bytes) -> None:
        with anyio.fail_after(PATIENCE_S):
            await self.stream.send(data)

    async def hear(self) -> tuple[Header, bytes]:
        """The next frame."""
        with anyio.fail_after(PATIENCE_S):
            while b"\n" not in self._rest:
                self._rest += await self.stream.receive()
            line, _, self._rest = self._rest.partition(b"\n")
            header = decode_header(line)
            while len(self._rest) < header.size_bytes:
                self._rest += await self.stream.receive()
        body, self._rest = self._rest[: header.size_bytes], self._rest[header.size_bytes :]
        return header, body

    async def is_dropped(self) -> bool:
        """Whether the connection ends without another byte."""
        try:
            with anyio.fail_after(PATIENCE_S):
                await self.stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True
        return False

    async def is_refused(self, words: str) -> bool:
        """Whether an error frame with these words comes, and then the end."""
        header, body = await self.hear()
        assert header.kind is FrameKind.ERROR, (header, body)
        assert words in body.decode(), body
        return await self.is_dropped()

    async def hang_up(self) -> None:
        await self.stream.aclose()


@dataclass(slots=True)
class Peer:
    """Whose processes the kernel says the next callers are."""

    uid: int


@dataclass(frozen=True, slots=True)
class Station:
    path: Path
    desk: Desk
    engine: Engine
    front: FakePhones
    records: FakeRecords
    diary: Diary
    listener: Listener
    guests: list[Guest]
    peer: Peer

    async def guest(self) -> Guest:
        guest = Guest(await anyio.connect_unix(str(self.path)))
        self.guests.append(guest)
        return guest

    async def waiting(self, number: int = 1) -> Guest:
        """A caller whose question is on the phone."""
        guest = await self.guest()
        await guest.say(ask_frame(number))
        await self.posted(number)
        return guest

    async def posted(self, number: int = 1) -> Card:
        def find() -> Card | None:
            cards = [effect.card for effect in self.diary.all(Post)]
            return next((card for card in cards if card.request.id == request_id(number)), None)

        return await self.diary.until(find)

    async def tap(self, number: int = 1, key: str = "a") -> None:
        card = self.desk.card(request_id(number))
        assert card is not None
        await self.engine.handle(tap_on(card.request, key))

    async def serves(self, number: int) -> None:
        """A new caller gets its answer, and an old one is not needed for that."""
        guest = await self.waiting(number)
        await self.tap(number, "d")
        header, body = await guest.hear()
        assert header.kind is FrameKind.REPLY and b'"deny"' in body
        await guest.hang_up()


def ask_frame(number: int = 1, body: bytes | None = None, **fields: str) -> bytes:
    """A question as the hook would send it. Each number has a session of its own, so none supersedes another."""
    words = {"id": request_id(number), "agent": "claude", "deadline_s": "60", "pid": "0", "parent": "0"}
    body = event_bytes(session=f"session-{number}") if body is None else body
    return encode_frame(FrameKind.ASK, body, **{**words, **fields})


@asynccontextmanager
async def new_station(
    *,
    stall_s: float = STALL_S,
    most_callers: int = MOST_CALLERS,
    most_held_bytes: int = MOST_HELD_BYTES,
    hold_s: float = 600.0,
    beat_s: float = BEAT_S,
    hangs_s: float = HANGS_S,
    remembered: Sequence[Remembered] = (),
    caller_uids: Collection[int] = (),
) -> AsyncIterator[Station]:
    diary, guests, peer = Diary(), list[Guest](), Peer(os.getuid())
    desk = Desk([ADA], hold_s=hold_s)
    front, records = FakePhones(diary), FakeRecords(diary)
    home = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))  # short: socket paths must stay under 104 bytes
    try:
        engine = Engine(desk, records, clock=lambda: Instant(time.monotonic(), time.time()), report=diary.report)
        engine.connect(front)
        path = home / "run" / "daemon.sock"
        listener = Listener(
            open_socket(path),
            engine,
            report=diary.report,
            stall_s=stall_s,
            most_callers=most_callers,
            most_held_bytes=most_held_bytes,
            status=lambda uid: b"for %d" % uid,
            caller_uids=caller_uids,
            uid_of=(lambda sock: peer.uid) if caller_uids else peer_uid,
            beat_s=beat_s,
            hangs_s=hangs_s,
        )
        async with anyio.create_task_group() as group:
            await group.start(engine.run)
            await engine.restore(remembered)
            await group.start(listener.run)
            station = Station(path, desk, engine, front, records, diary, listener, guests, peer)
            yield station
            group.cancel_scope.cancel()
    finally:
        for guest in guests:
            await guest.hang_up()
        shutil.rmtree(home, ignore_errors=True)
