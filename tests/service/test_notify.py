"""What systemd hears: ready, alive, stopping; from a real datagram socket. And when the watchdog must go hungry."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tapgate.daemon.notify import Notifier, Watchdog
from tapgate.telegram.api import READ_S, BusyError, OutageError
from tapgate.telegram.poll import LONGEST_BACKOFF_S, SLACK_S, STEP_S, TIMEOUT_S, Poller
from tests.e2e.world import PATIENCE_S, World, new_world

WATCHDOG_S = 60.0


class Manager:
    """systemd's end of the notify socket."""

    def __init__(self, address: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind("\0" + address[1:] if address.startswith("@") else address)
        self.sock.settimeout(PATIENCE_S)
        self.address = address

    def heard(self) -> dict[str, str]:
        """The next message; waits for it."""
        lines = self.sock.recv(65536).decode().split("\n")
        return dict(line.split("=", 1) for line in lines)

    def waiting(self) -> list[dict[str, str]]:
        """What has come by now."""
        found = []
        self.sock.settimeout(0)
        try:
            while True:
                found.append(self.heard())
        except BlockingIOError:
            return found
        finally:
            self.sock.settimeout(PATIENCE_S)


@pytest.fixture
def manager() -> Iterator[Manager]:
    folder = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    found = Manager(str(folder / "notify"))
    yield found
    found.sock.close()
    shutil.rmtree(folder)


def notifier_of(manager: Manager, **environ: str) -> Notifier:
    given = {"NOTIFY_SOCKET": manager.address, **environ}
    return Notifier.from_environ(given, pid=os.getpid())


# The messages


def test_each_message_is_one_datagram_in_systemds_words(manager: Manager) -> None:
    notifier = notifier_of(manager)
    notifier.ready("1 person")
    notifier.alive("1 person")
    notifier.stopping("bye")
    assert manager.waiting() == [
        {"READY": "1", "STATUS": "1 person"},
        {"WATCHDOG": "1", "STATUS": "1 person"},
        {"STOPPING": "1", "STATUS": "bye"},
    ]


def test_an_abstract_address_is_understood() -> None:
    manager = Manager(f"@tapgate-{uuid.uuid4().hex}")
    with manager.sock:
        notifier_of(manager).ready("x")
        assert manager.heard()["READY"] == "1"


def test_a_status_cannot_smuggle_in_an_assignment_or_a_token(manager: Manager) -> None:
    notifier_of(manager).ready("trouble\nMAINPID=1\rWATCHDOG=trigger 123456789:AAH-secret_secret_secret_secret")
    (message,) = manager.waiting()
    assert set(message) == {"READY", "STATUS"}
    assert message["STATUS"] == "trouble MAINPID=1 WATCHDOG=trigger <token>"


@pytest.mark.parametrize("address", ["", "vsock:2:1234", "relative", "/nowhere/at/all"])
def test_with_nobody_to_tell_nothing_happens(address: str) -> None:
    notifier = Notifier.from_environ({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "x"}, pid=1)
    notifier.ready("x")
    assert notifier.watchdog_s is None


def test_a_manager_that_does_not_read_holds_up_nobody(manager: Manager) -> None:
    notifier = notifier_of(manager)
    for _ in range(5000):  # far more than a socket's queue takes
        notifier.alive("x" * 300)
    assert 0 < len(manager.waiting()) < 5000


@pytest.mark.parametrize(
    ("environ", "expected_s"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 60.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_ours_only_where_systemd_says_so(
    manager: Manager, environ: dict[str, str], expected_s: float | None
) -> None:
    assert notifier_of(manager, **environ).watchdog_s == expected_s


# The watchdog and the poll loop, on a clock that the test moves


class Scene:
    """A poller and its watchdog. Time passes only where the loop waits."""

    def __init__(self, manager: Manager) -> None:
        self.now = 1000.0
        self.manager = manager
        self.reports: list[str] = []
        self.poller = Poller(
            self,
            offset=None,
            last_success=None,
            deliver=self.deliver,
            confirm=self.confirm,
            resumed=self.resumed,
            wall=lambda: self.now,
            sleep=self.sleep,
            report=self.reports.append,
            mono=lambda: self.now,
        )
        self.watchdog = Watchdog(
            notifier_of(manager, WATCHDOG_USEC=str(int(WATCHDOG_S * 1e6))),
            overdue_s=self.poller.overdue_s,
            status=lambda: self.poller.trouble or "fine",
            report=self.reports.append,
        )
        self.error: Exception | None = None
        self.updates: list[dict[str, Any]] = []
        self.stuck_s = 0.0  # how long recording takes
        self.longest_silence_s = 0.0
        self.last_fed = self.now

    async def fetch(self, *, offset: int | None, timeout_s: int) -> list[dict[str, Any]]:
        self.pass_time(timeout_s + (READ_S if self.error else 0.0))
        if self.error is not None:
            raise self.error
        return self.updates

    async def rebuild_polls(self) -> None:
        self.pass_time(5.0)

    async def deliver(self, update: dict[str, Any], offset: int | None) -> None:
        self.pass_time(self.stuck_s)

    async def confirm(self, offset: int) -> None:
        pass

    async def resumed(self, away_s: float) -> None:
        pass

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        """Second by second, with the watchdog's beat in between, as in the event loop."""
        for _ in range(round(seconds)):
            self.now += 1
            if self.now % (WATCHDOG_S / 3) == 0:
                self.watchdog.beat()
                if any("WATCHDOG" in message for message in self.manager.waiting()):
                    self.last_fed = self.now
            self.longest_silence_s = max(self.longest_silence_s, self.now - self.last_fed)


@pytest.mark.parametrize(
    "error",
    [
        OutageError("Telegram cannot be reached (ConnectError)"),
        OutageError("Telegram does not accept the bot token", slow=True),
        BusyError(1800.0),
        RuntimeError("anything"),
    ],
    ids=["outage", "token", "busy", "unexpected"],
)
async def test_hours_without_telegram_never_starve_the_watchdog(manager: Manager, error: Exception) -> None:
    """A restart would not bring the network back, and callers wait."""
    scene = Scene(manager)
    scene.error = error
    while scene.now < 1000 + 4 * 3600:
        await scene.poller.poll_once()
    assert scene.longest_silence_s <= WATCHDOG_S / 3
    assert not [line for line in scene.reports if "stuck" in line]


async def test_quiet_and_busy_days_never_starve_the_watchdog(manager: Manager) -> None:
    scene = Scene(manager)
    for number in range(300):
        scene.updates = [{"update_id": number}] if number % 3 else []
        scene.stuck_s = STEP_S - 1
        await scene.poller.poll_once()
    assert scene.longest_silence_s <= WATCHDOG_S / 3


async def test_a_loop_that_makes_no_attempts_starves_the_watchdog(manager: Manager) -> None:
    """Wedged where it records an update: the next attempt never comes."""
    scene = Scene(manager)
    await scene.poller.poll_once()
    scene.updates = [{"update_id": 1}]
    scene.stuck_s = STEP_S + 3 * WATCHDOG_S
    await scene.poller.poll_once()
    assert scene.longest_silence_s >= WATCHDOG_S, "systemd has killed it by now"
    assert len([line for line in scene.reports if "the poll loop is stuck" in line]) == 1


async def test_no_step_may_take_longer_than_its_own_time_and_a_beat(manager: Manager) -> None:
    """Whatever the loop last meant to do: once that is over by a beat, the watchdog gets nothing more."""
    scene = Scene(manager)
    for error in (None, OutageError("x"), OutageError("x", slow=True)):
        scene.error = error
        await scene.poller.poll_once()
        scene.now += max(TIMEOUT_S + READ_S + SLACK_S, LONGEST_BACKOFF_S, STEP_S) + 1
        manager.waiting()
        scene.watchdog.beat()
        (message,) = manager.waiting()
        assert set(message) == {"STATUS"} and "stuck" in message["STATUS"]
    scene.error = None
    await scene.poller.poll_once()
    scene.watchdog.beat()
    assert "WATCHDOG" in manager.waiting()[-1], "it moves again, and is believed"
    assert scene.reports[-1] == "the poll loop moves again"


async def test_it_is_fed_three_times_in_the_time_that_systemd_waits(manager: Manager) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await anyio.sleep(0 if len(waits) < 3 else 3600)

    watchdog = Watchdog(
        notifier_of(manager, WATCHDOG_USEC="60000000"),
        overdue_s=lambda: -1.0,
        status=lambda: "fine",
        report=lambda line: None,
        sleep=sleep,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(watchdog.run)
        while len(waits) < 3:
            await anyio.sleep(0)
        group.cancel_scope.cancel()
    assert waits == [20.0, 20.0, 20.0]
    assert len(manager.waiting()) == 3


# The real daemon


def start_under(manager: Manager, world: World, *, watchdog_s: float = 0.3) -> None:
    world.environ |= {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": str(int(watchdog_s * 1e6))}
    world.start_daemon()


def test_the_daemon_says_ready_alive_and_stopping(manager: Manager) -> None:
    with new_world() as world:
        start_under(manager, world)
        ready = manager.heard()
        assert ready["READY"] == "1" and "1 person, Telegram" in ready["STATUS"]
        assert world.tapgate("status", "--config", str(world.config_path)).wait(PATIENCE_S) == 0, "ready means ready"
        beats = [manager.heard() for _ in range(5)]
        assert all(beat["WATCHDOG"] == "1" for beat in beats)
        assert world.stop_daemon() == 0
        rest = manager.waiting()
        assert [message for message in rest if "STOPPING" in message]
        assert not [message for message in rest if "READY" in message]


def test_the_daemon_is_alive_and_says_what_is_wrong_while_telegram_is_away(manager: Manager) -> None:
    with new_world() as world:
        world.post("faults", method="getUpdates", kind="502", times=-1)
        start_under(manager, world)
        while "Telegram" not in (status := manager.heard())["STATUS"].partition("; ")[2]:
            assert "READY" in status or status["WATCHDOG"] == "1"
        assert status["WATCHDOG"] == "1"


def test_a_stopped_process_starves_its_watchdog(manager: Manager) -> None:
    with new_world() as world:
        start_under(manager, world)
        manager.heard()
        assert world.daemon is not None
        world.daemon.send_signal(signal.SIGSTOP)
        while "T" not in Path(f"/proc/{world.daemon.pid}/stat").read_text().rpartition(")")[2].split()[0]:
            pass
        manager.waiting()
        manager.sock.settimeout(1.5)  # five times as long as the watchdog waits
        with pytest.raises(TimeoutError):
            manager.heard()
        world.daemon.send_signal(signal.SIGCONT)
        manager.sock.settimeout(PATIENCE_S)
        assert manager.heard()["WATCHDOG"] == "1"
