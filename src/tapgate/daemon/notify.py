"""What the daemon tells systemd: ready, stopping, how it is; and the watchdog, fed by the poll loop's health.

The protocol is a datagram of `NAME=value` lines to the socket in NOTIFY_SOCKET (sd_notify). Nobody there to tell is
normal, and a failure to tell is never a failure of the daemon.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import anyio

from tapgate.errors import redact

BEATS = 3  # in the time after which systemd loses its patience
QUIET_S = 30.0  # how often the status is told where nobody watches
MOST_STATUS = 400


class Notifier:
    """Tells whoever started us, if that is systemd."""

    def __init__(self, address: str = "", *, watchdog_s: float | None = None) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = watchdog_s

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, pid: int) -> Notifier:
        address = environ.get("NOTIFY_SOCKET", "")
        if not address.startswith(("/", "@")):  # others (vsock:…) are for virtual machines
            return cls()
        usec, whose = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", str(pid))
        watched = usec.isdecimal() and int(usec) > 0 and whose == str(pid)
        return cls(address, watchdog_s=int(usec) / 1_000_000 if watched else None)

    def ready(self, status: str) -> None:
        self._send("READY=1", _status(status))

    def alive(self, status: str) -> None:
        self._send("WATCHDOG=1", _status(status))

    def status(self, status: str) -> None:
        self._send(_status(status))

    def stopping(self, status: str) -> None:
        self._send("STOPPING=1", _status(status))

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        # Without waiting: a manager that does not read must not hold up an answer.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)


class Watchdog:
    """Says "alive" as long as the poll loop is not overdue. It runs in the loop that it speaks for: a blocked event
    loop is silent by itself."""

    def __init__(
        self,
        notifier: Notifier,
        *,
        overdue_s: Callable[[], float],
        status: Callable[[], str],
        report: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._notifier = notifier
        self._overdue_s = overdue_s
        self._status = status
        self._report = report
        self._sleep = sleep
        self._told = False

    async def run(self) -> None:
        watchdog_s = self._notifier.watchdog_s
        while True:
            self.beat()
            await self._sleep(QUIET_S if watchdog_s is None else watchdog_s / BEATS)

    def beat(self) -> None:
        late_s = self._overdue_s()
        if late_s <= 0:
            if self._told:
                self._told = False
                self._report("the poll loop moves again")
            self._notifier.alive(self._status())
            return
        if not self._told:
            self._told = True
            self._report(f"the poll loop is stuck: its next step is {late_s:.0f} s late")
        self._notifier.status(f"the poll loop is stuck for {late_s:.0f} s; {self._status()}")


def _status(text: str) -> str:
    """In one line: a line break would begin another assignment, and some of the words come from outside."""
    return "STATUS=" + redact(" ".join(text.split()))[:MOST_STATUS]
