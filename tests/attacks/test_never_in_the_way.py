"""tapgate is never in the way: a Telegram, a daemon or another caller that does not answer holds up no agent.

Real processes throughout. A caller that is held for good would stay for its deadline, ten minutes; "it leaves" means
here that it left within one minute.
"""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tapgate.wire import MAX_BODY_BYTES, FrameKind, encode_frame
from tests.builders import event_bytes, request_id
from tests.e2e.world import World, finish, new_world

Caller = subprocess.Popen[bytes]
LEAVES_S = 60.0  # of the 590 s that a caller may wait
ALLOW = b'"decision":{"behavior":"allow"}'
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens there


@pytest.fixture
def world() -> Iterator[World]:
    """The daemon is not running yet."""
    with new_world() as world:
        yield world


def ask(world: World, session: str, *, agent: str = "claude", attended: bool = False, **fields: Any) -> Caller:
    """The hook as it is registered, with none of the options that only tests use."""
    event = event_bytes(session=session, tool_input={"command": f"make {session}"}, **fields)
    return world.ask(event, agent=agent, registered=True, CLAUDE_CODE_SESSION_ATTENDED="1" if attended else "")


def without_a_prompt_of_their_own(world: World) -> dict[str, Caller]:
    """Agents that show nothing at the terminal while their hook waits."""
    return {
        "codex": ask(world, "codex", agent="codex"),
        "gate": ask(world, "gate", attended=True, event="PreToolUse"),
        "subagent": ask(world, "subagent", attended=True, agent_id="a1"),
        "headless": ask(world, "headless"),
    }


def leaves(caller: Caller) -> str:
    """It goes without an opinion, long before its deadline, and says why in one line."""
    output, errors, code = finish(caller, LEAVES_S)
    assert code == 0 and errors.count(b"\n") <= 1
    assert output == b"" or json.loads(output)["hookSpecificOutput"]["permissionDecision"] == "ask", output
    return errors.decode()


def is_waiting(caller: Caller) -> bool:
    return caller.poll() is None


def allowed(world: World, caller: Caller, command: str) -> None:
    world.tap(world.open_card(command), "Allow")
    assert ALLOW in finish(caller)[0]


# Telegram is out


def test_agents_without_a_prompt_are_let_go_when_telegram_answers_502(world: World) -> None:
    """While Telegram answers with errors, an agent that shows no prompt of its own gets its question back after 15 s,
    and no card comes afterwards. One whose prompt is open at the terminal is still asked on the phone when Telegram is
    back."""
    world.post("faults", method="sendMessage", kind="502", times=-1)
    world.start_daemon()
    beside_a_prompt = ask(world, "attended", attended=True)
    callers = without_a_prompt_of_their_own(world)
    for name, caller in callers.items():
        assert "Telegram" in leaves(caller) or name == "gate"
    assert is_waiting(beside_a_prompt)
    world.http.delete("/control/faults")
    allowed(world, beside_a_prompt, "make attended")
    assert not any(f"make {name}" in card["text"] for card in world.cards() for name in callers), (
        "no card comes for the others"
    )


@pytest.mark.parametrize("kind", ["429", "stall", "401"])
def test_agents_without_a_prompt_are_let_go_whatever_keeps_telegram(world: World, kind: str) -> None:
    """It makes no difference why no card arrives: 15 s are what an agent without a prompt of its own waits for one."""
    world.post("faults", method="sendMessage", kind=kind, times=-1, retry_after=600, stall_s=600)
    world.start_daemon()
    beside_a_prompt = ask(world, "attended", attended=True)
    for name, caller in without_a_prompt_of_their_own(world).items():
        assert "Telegram" in leaves(caller) or name == "gate"
    assert is_waiting(beside_a_prompt)


def test_agents_without_a_prompt_are_let_go_when_telegram_is_unreachable(world: World) -> None:
    """The same with no network at all."""
    world.url = NOWHERE
    world.configure()
    world.start_daemon()
    beside_a_prompt = ask(world, "attended", attended=True)
    for name, caller in without_a_prompt_of_their_own(world).items():
        assert "Telegram" in leaves(caller) or name == "gate"
    assert is_waiting(beside_a_prompt)


def test_a_card_that_was_never_confirmed_counts_for_nothing_after_the_agent_was_let_go(world: World) -> None:
    """A send that Telegram carried out but never answered is not known to be delivered. A tap on that card then changes
    nothing, and is told so."""
    world.post("faults", method="sendMessage", kind="502", times=-1, applied=True)
    world.start_daemon()
    caller = ask(world, "codex", agent="codex")
    card = world.open_card("make codex")
    leaves(caller)
    assert "Your answer changed nothing" in world.answer(world.tap(card, "Allow"))


def test_an_agent_whose_card_arrived_is_not_let_go_by_a_later_outage(world: World) -> None:
    """The card is on the phone: the agent waits for its tap for as long as it may, with Telegram's sends out or not."""
    world.start_daemon()
    caller = ask(world, "codex", agent="codex")
    world.open_card("make codex")
    world.post("faults", method="sendMessage", kind="502", times=-1)
    leaves(ask(world, "another", agent="codex"))  # asked later, and let go after its 15 s
    assert is_waiting(caller)
    allowed(world, caller, "make codex")


# The daemon is stopped, hangs or is dead


@contextmanager
def stopped(world: World) -> Iterator[None]:
    """A daemon that does nothing at all any more: SIGSTOP looks from outside like one that hangs."""
    assert world.daemon is not None
    world.daemon.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        world.daemon.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("attended", [False, True], ids=["headless", "attended"])
def test_a_caller_of_a_stopped_daemon_leaves(world: World, attended: bool) -> None:
    """A daemon that does not say "held" is left after 2 s."""
    world.start_daemon()
    with stopped(world):
        assert "does not answer" in leaves(ask(world, "late", attended=attended))
        large = event_bytes(tool="Write", tool_input={"content": "x" * 4_000_000}, suggestions=())
        caller = world.ask(large, registered=True)
        assert "does not answer" in leaves(caller), "also in the middle of its question"


def test_a_caller_that_was_held_leaves_a_daemon_that_stops(world: World) -> None:
    """A caller hears a heartbeat while it waits, and leaves 10 s after the last. The card then says so."""
    world.start_daemon()
    callers = {"attended": ask(world, "attended", attended=True), "codex": ask(world, "codex", agent="codex")}
    for session in callers:
        world.open_card(f"make {session}")
    with stopped(world):
        for caller in callers.values():
            assert "does not answer" in leaves(caller)
    world.until(lambda: all("stopped waiting" in card["text"] for card in world.cards()))


def test_a_stopped_daemon_with_a_full_queue_is_left_too(world: World) -> None:
    """More callers than the socket's queue holds cannot even connect; they leave as soon."""
    world.start_daemon()
    with stopped(world), ExitStack() as stack:
        fill_queue(world.socket_path, stack)
        assert "does not answer" in leaves(ask(world, "late"))


def fill_queue(path: Path, stack: ExitStack) -> None:
    while True:
        other = stack.enter_context(socket.socket(socket.AF_UNIX))
        other.setblocking(False)
        try:
            other.connect(str(path))
        except BlockingIOError:
            return


def test_a_caller_of_a_healthy_daemon_waits_on(world: World) -> None:
    """Nobody leaves a daemon that lives: after far more than 10 s without an answer the tap still counts."""
    world.start_daemon()
    caller = ask(world, "codex", agent="codex")
    card = world.open_card("make codex")
    with pytest.raises(subprocess.TimeoutExpired):
        caller.wait(25)
    world.tap(card, "Allow")
    assert ALLOW in finish(caller)[0]


def test_a_caller_of_a_daemon_that_died_leaves_unless_a_prompt_is_open(world: World) -> None:
    """A daemon that does not come back within 30 s is given up; beside an open prompt the caller waits on, and is
    answered when the daemon is back after all."""
    world.start_daemon()
    callers = without_a_prompt_of_their_own(world)
    beside_a_prompt = ask(world, "attended", attended=True)
    for session in (*callers, "attended"):
        world.open_card(f"make {session}")
    world.stop_daemon(signal.SIGKILL)
    for caller in callers.values():
        assert "did not come back" in leaves(caller)
    assert is_waiting(beside_a_prompt)
    world.start_daemon()
    allowed(world, beside_a_prompt, "make attended")


# Other callers


def announce(path: Path, stack: ExitStack, number: int, *, sent: int = 0) -> None:
    """A caller that announces the largest question there may be, and sends only this much of it."""
    sock = stack.enter_context(socket.socket(socket.AF_UNIX))
    sock.connect(str(path))
    header = f"tapgate/1 ask {MAX_BODY_BYTES} id={request_id(number)} agent=claude deadline_s=60 pid=0 parent=0\n"
    with suppress(ConnectionError):  # it may have to make room for the next of them
        sock.sendall(header.encode() + b" " * sent)


@pytest.mark.parametrize("sent", [0, MAX_BODY_BYTES - 1], ids=["nothing", "all but a byte"])
def test_what_others_announce_and_do_not_send_takes_no_room(world: World, sent: int) -> None:
    """Two callers that announce 16 MiB each and stall do not keep the next question from its card."""
    world.start_daemon()
    with ExitStack() as stack:
        for number in (1, 2, 3):
            announce(world.socket_path, stack, number, sent=sent)
        caller = ask(world, "real")
        allowed(world, caller, "make real")


def test_silent_connections_take_nobody_s_place(world: World) -> None:
    """As many connections as there are places, which say nothing, do not keep the next question from its card."""
    world.start_daemon()
    with ExitStack() as stack:
        for _ in range(520):
            stack.enter_context(socket.socket(socket.AF_UNIX)).connect(str(world.socket_path))
        allowed(world, ask(world, "real"), "make real")


def question(number: int, body: bytes, *, agent: str = "claude", deadline_s: float = 500.0) -> bytes:
    fields = {"id": request_id(number), "agent": agent, "deadline_s": deadline_s, "pid": 1, "parent": 1}
    return encode_frame(FrameKind.ASK, body, **fields)


def connected(stack: ExitStack, world: World) -> socket.socket:
    sock = stack.enter_context(socket.socket(socket.AF_UNIX))
    sock.connect(str(world.socket_path))
    return sock


def slow_to_examine() -> str:
    """60 KiB of shell whose every word lies in a directory with a name of thousands of characters."""
    return ("cd a;" * 500 + "x" + "case a in " * 500 + "\n") * 8


def test_questions_that_take_long_to_examine_hold_up_no_other(world: World) -> None:
    """44 questions of the slowest kind, whose callers leave at once, do not keep the next one from its card, nor the
    daemon from stopping when it is told to."""
    world.start_daemon()
    slow = event_bytes(session="slow", tool_input={"command": slow_to_examine()})
    with ExitStack() as stack:
        for number in range(1, 45):
            connected(stack, world).sendall(question(number, slow))
    caller = world.ask(event_bytes(session="real", tool_input={"command": "make real"}), agent="codex")
    allowed(world, caller, "make real")
    with ExitStack() as stack:
        for number in range(101, 145):
            connected(stack, world).sendall(question(number, slow))
        assert world.daemon is not None
        world.daemon.terminate()
        world.daemon.wait(60)


def memory_kib(world: World) -> int:
    assert world.daemon is not None
    status = Path(f"/proc/{world.daemon.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells another process's memory so")
def test_what_a_waiting_caller_sends_later_takes_no_room(world: World) -> None:
    """Behind its question a caller has nothing to say but a line. One that announces 16 MiB more is dropped, and its
    bytes are not kept."""
    world.start_daemon()
    with ExitStack() as stack:
        waiting = [connected(stack, world) for _ in range(16)]
        for number, sock in enumerate(waiting, start=1):
            sock.sendall(question(number, event_bytes(session=f"s{number}")))
        world.until(lambda: len(world.cards()) >= 16)
        before = memory_kib(world)
        rest = encode_frame(FrameKind.GONE, bytes(MAX_BODY_BYTES))[:-1]
        for sock in waiting:
            sock.settimeout(20)
            with suppress(OSError):
                sock.sendall(rest)
        world.until(lambda: all("stopped waiting" in card["text"] for card in world.cards()))
        assert memory_kib(world) - before < 64 * 1024


def test_a_session_s_directory_takes_no_room(world: World) -> None:
    """The daemon remembers which sessions it heard from, with their directory. One that is longer than any path is not
    kept whole, and `tapgate status` still answers."""
    world.start_daemon()
    before = memory_kib(world)
    for number in range(1, 13):
        event = event_bytes(session=f"s{number}", cwd="/" + "a" * 15_000_000)
        with ExitStack() as stack:
            sock = connected(stack, world)
            sock.settimeout(60)
            sock.sendall(question(number, event, deadline_s=0.0))
            assert sock.recv(4096)
    status = world.tapgate("status", "--config", str(world.config_path))
    assert b"are the most" not in finish(status)[1]
    assert memory_kib(world) - before < 128 * 1024


def test_a_caller_whose_place_another_took_is_let_go(world: World) -> None:
    """Who reads a waiting request's id and bytes in the journal can take its caller's place. That caller is then told
    so and leaves; it is not held for an answer that it will never get."""
    world.start_daemon()
    caller = ask(world, "first", agent="codex")
    world.open_card("make first")
    with closing(sqlite3.connect(world.state_dir / "journal.db")) as journal:
        name, body = journal.execute("SELECT id, input FROM requests").fetchone()
    with ExitStack() as stack:
        facts = {"project": "/home/dev/shop"}  # with others it would be another question, and refused
        fields = {"id": name, "agent": "codex", "deadline_s": 500, "pid": 1, "parent": 1, **facts}
        connected(stack, world).sendall(encode_frame(FrameKind.ASK, body, **fields))
        assert "another caller" in leaves(caller)


# One chat, one bot


def test_a_file_that_cannot_be_sent_does_not_block_its_chat(world: World) -> None:
    """Where messages get through and uploads do not, the next card comes all the same, and the chat is told that the
    file could not be sent."""
    world.post("faults", method="sendDocument", kind="502", times=-1)
    world.start_daemon()
    large = world.ask(event_bytes(session="large", tool_input={"command": "echo " + "x" * 20_000}))
    world.tap(world.open_card("echo"), "Show all of it")
    world.until(lambda: world.calls("sendDocument"))
    allowed(world, ask(world, "next"), "make next")
    world.until(lambda: [card for card in world.cards() if "The file could not be sent" in card["text"]])
    assert is_waiting(large)


def test_a_file_that_stalls_does_not_block_its_chat_and_is_dropped_with_its_request(world: World) -> None:
    """An upload may take minutes to fail. Others do not wait for it, and it is not tried again for a request that has
    ended."""
    world.post("faults", method="sendDocument", kind="stall", times=-1, stall_s=600)
    world.start_daemon()
    large = world.ask(event_bytes(session="large", tool_input={"command": "echo " + "x" * 20_000}))
    card = world.open_card("echo")
    world.tap(card, "Show all of it")
    world.until(lambda: world.calls("sendDocument"))
    allowed(world, ask(world, "next", agent="codex"), "make next")
    large.terminate()
    finish(large)
    world.says(card, "at the terminal")
    assert len(world.calls("sendDocument")) == 1


@pytest.mark.parametrize(
    "values",
    [
        {"offset": 2**31 + 7},
        {"offset": 2**31 + 7, "offset_bot": "another"},
        {"offset": -1},
        {"offset": 2**62},
        {"offset": "x", "offset_at": "y", "last_poll": "z"},
        {"offset_at": 9e99, "last_poll": 9e99, "offset": 2**31 + 7},
    ],
    ids=["ahead", "another bot", "negative", "huge", "no number", "times"],
)
def test_an_offset_that_is_not_this_bot_s_makes_the_daemon_miss_no_tap(world: World, values: dict[str, Any]) -> None:
    """Each bot numbers its updates on its own, and any process of this user can write the journal. Whatever offset
    stands in it, a tap that Telegram delivers is heard."""
    world.start_daemon()
    allowed(world, ask(world, "first"), "make first")
    world.stop_daemon(signal.SIGKILL)
    with closing(sqlite3.connect(world.state_dir / "journal.db")) as journal, journal:
        for key, value in {"offset_at": time.time(), **values}.items():
            journal.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
    world.start_daemon()
    caller = ask(world, "second")
    allowed(world, caller, "make second")
