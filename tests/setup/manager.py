"""A stand-in for systemctl that really starts and stops the daemon of a unit. Run as a command, from a test's own PATH.

It knows the few words that tapgate says to systemd. What the units mean to the real one is tests' business elsewhere.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(os.environ["HOME"])
UNITS = HOME / ".config" / "systemd" / "user"
PID = HOME / "manager.pid"
CALLS = HOME / "manager.calls"
SERVICE = "tapgate.service"


def pid() -> int | None:
    try:
        number = int(PID.read_text())
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return None
    return None if state == "Z" else number


def start() -> int:
    if pid() is not None:
        return 0
    [command] = [
        line.partition("=")[2] for line in (UNITS / SERVICE).read_text().splitlines() if line.startswith("ExecStart=")
    ]
    with (HOME / "manager.err").open("ab") as errors:
        process = subprocess.Popen(
            shlex.split(command.replace("%%", "%")),
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    PID.write_text(str(process.pid))
    assert process.stdout is not None
    return 0 if process.stdout.readline() else 1


def stop() -> int:
    number = pid()
    if number is not None:
        os.kill(number, signal.SIGTERM)
        while pid() is not None:
            time.sleep(0.02)
    return 0


def main(words: list[str]) -> int:
    with CALLS.open("a") as calls:
        calls.write(" ".join(words) + "\n")
    words = [word for word in words if word != "--user"]
    match words:
        case ["show", properties] if "UnitPath" in properties:
            sys.stdout.write(f"Version=255\nUnitPath={UNITS}\n")
        case ["show", unit, *_]:
            known = (UNITS / unit).exists()
            sys.stdout.write(f"LoadState={'loaded' if known else 'not-found'}\n")
            sys.stdout.write(f"ActiveState={'active' if pid() else 'inactive'}\n")
            sys.stdout.write(
                f"SubState={'running' if pid() else 'dead'}\nUnitFileState=enabled\nMainPID={pid() or 0}\n"
            )
        case ["is-active", *_]:
            return 0 if pid() else 3
        case [("start" | "restart" | "stop") as what, *units] if SERVICE in units:
            if what in ("restart", "stop"):
                stop()
            return start() if what != "stop" else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
