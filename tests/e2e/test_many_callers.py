"""A thousand callers at once: none is refused, and each gets its own answer by its own tap."""

from __future__ import annotations

import json
import os
import random
import resource
import selectors
import socket
import time
from contextlib import ExitStack

from tapgate.daemon.limits import raise_file_limit
from tapgate.wire import FrameKind, decode_header, encode_frame
from tests.builders import event_bytes
from tests.e2e.world import Message, World

CALLERS = 1000
ANSWERED = 1000
SEED = 20_261
PATIENCE_S = 300.0
WORDS = {"Allow": "allow", "Deny": "deny"}


class WireCaller:
    """A hook as far as the socket can tell."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._heard = b""

    def ask(self, path: str) -> None:
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(path)
        event = event_bytes(session=f"s-{self.number}", tool_input={"command": command_of(self.number)}, suggestions=())
        self.sock.sendall(
            encode_frame(
                FrameKind.ASK,
                event,
                id=f"{self.number:032x}",
                agent="claude",
                deadline_s="600.0",
                pid=os.getpid(),
                parent=os.getpid(),
                attended=0,
                project="/home/dev/shop",
                beat=1,
            )
        )

    def hear(self) -> tuple[FrameKind, bytes] | None:
        """Take what came; gives the frame that answers once it is whole, and confirms it."""
        data = self.sock.recv(65536)
        assert data, f"caller {self.number} was dropped: {self._heard!r}"
        self._heard += data
        while b"\n" in self._heard:
            line, _, rest = self._heard.partition(b"\n")
            header = decode_header(line)
            if len(rest) < header.size_bytes:
                return None
            self._heard = rest[header.size_bytes :]
            if header.kind is not FrameKind.HELD:
                self.sock.sendall(encode_frame(FrameKind.TAKEN))
                return header.kind, rest[: header.size_bytes]
        return None


def command_of(number: int) -> str:
    return f"make part-{number:04d}"


class Crowd:
    """Callers that came at once, and what they have heard so far."""

    def __init__(self, world: World, count: int, stack: ExitStack) -> None:
        assert raise_file_limit() > count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)
        self._world = world
        self._end = time.monotonic() + PATIENCE_S
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self.held: set[int] = set()
        self.answers: dict[int, str] = {}
        for number in range(count):
            caller = WireCaller(number)
            stack.callback(caller.sock.close)
            caller.ask(str(world.socket_path))
            self._selector.register(caller.sock, selectors.EVENT_READ, caller)

    def listen(self) -> None:
        """Take what has come, or comes within a second. Only an answer of its own may end a caller's waiting."""
        assert time.monotonic() < self._end, f"waited in vain; the daemon: {self._world.errors()}"
        for key, _ in self._selector.select(1.0):
            caller = key.data
            heard = caller.hear()
            self.held.add(caller.number)
            if heard is not None:
                kind, body = heard
                assert kind is FrameKind.REPLY, heard
                self.answers[caller.number] = json.loads(body)["hookSpecificOutput"]["decision"]["behavior"]
                self._selector.unregister(key.fileobj)


def test_a_thousand_callers_at_once_are_all_taken_in(world: World) -> None:
    """Nobody who connects is refused or left in the queue: each hears that it is held."""
    with ExitStack() as stack:
        crowd = Crowd(world, CALLERS, stack)
        while len(crowd.held) < CALLERS:
            crowd.listen()
        assert crowd.answers == {}, "and nobody is answered without a tap"


def test_each_of_many_callers_gets_its_own_answer(world: World) -> None:
    """A tap answers the caller whose card it is on, and no other, whatever the order of taps."""
    chance = random.Random(SEED)
    wanted = {number: chance.choice(list(WORDS)) for number in range(ANSWERED)}
    with ExitStack() as stack:
        crowd = Crowd(world, ANSWERED, stack)
        cards: dict[int, Message] = {}
        while len(cards) < ANSWERED:
            crowd.listen()
            cards = open_cards(world)
        order = list(wanted)
        chance.shuffle(order)
        for number in order:
            world.tap(cards[number], wanted[number])
        while len(crowd.answers) < ANSWERED:
            crowd.listen()
    assert crowd.answers == {number: WORDS[label] for number, label in wanted.items()}


def open_cards(world: World) -> dict[int, Message]:
    """Those that can be tapped, by the number of their caller."""
    parts = ((card, card["text"].partition("make part-")[2]) for card in world.cards() if card["buttons"])
    return {int(rest[:4]): card for card, rest in parts if rest}
