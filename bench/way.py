"""`python -m bench.way`: the way of one request through the daemon's files, as traced.

A real daemon in a process of its own is asked by the real hook, against the simulator; one tap allows it. From the
hook's start to the settled card every call and return in tapgate's own code is noted: which files were entered, in the
order in which each was entered first, and how often the file changed from one event to the next in the same thread.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

import tapgate
from tapgate.config import load_config, read_token
from tapgate.daemon import app
from tests.e2e.world import finish, new_world, read_line

SOURCES = str(Path(tapgate.__file__).parent) + "/"


class Trace:
    """What was entered, per thread and all together. Only tapgate's own files count."""

    def __init__(self) -> None:
        self.is_on = False
        self.order: dict[str, None] = {}
        self.changes = 0
        self.calls = 0
        self._last = threading.local()

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self.is_on or event not in ("call", "return"):
            return
        name = frame.f_code.co_filename
        if not name.startswith(SOURCES):
            return
        file = name[len(SOURCES) :]
        if event == "call":
            self.calls += 1
            self.order.setdefault(file)
        last = getattr(self._last, "file", None)
        if file != last:
            self._last.file = file
            self.changes += last is not None

    def result(self) -> dict[str, Any]:
        return {"files": list(self.order), "changes": self.changes, "calls": self.calls}


def run_daemon(config_path: str, result_path: str) -> None:
    """Begin to note at SIGUSR1, write what was noted at SIGUSR2."""
    trace = Trace()
    threading.setprofile(trace.note)
    sys.setprofile(trace.note)
    signal.signal(signal.SIGUSR1, lambda *_: setattr(trace, "is_on", True))

    def write(*_: object) -> None:
        trace.is_on = False
        path = Path(result_path)
        path.with_suffix(".part").write_text(json.dumps(trace.result()))
        path.with_suffix(".part").rename(path)

    signal.signal(signal.SIGUSR2, write)
    config = load_config(Path(config_path))

    async def run() -> None:
        daemon = app.Daemon(config, read_token(config), report=lambda line: print(line, file=sys.stderr))
        await daemon.run(lambda line: print(line, flush=True))

    anyio.run(run)


def measure() -> dict[str, Any]:
    with new_world() as world:
        result_path = world.home / "way.json"
        daemon = subprocess.Popen(
            [sys.executable, "-m", "bench.way", "--daemon", str(world.config_path), str(result_path)],
            env=world.environ,
            stdout=subprocess.PIPE,
        )
        world.processes.append(daemon)
        assert read_line(daemon).startswith("tapgate is ready")
        daemon.send_signal(signal.SIGUSR1)
        hook = world.ask(EVENT)
        card = world.open_card("npm test")
        world.tap(card, "Allow")
        assert b'"allow"' in finish(hook)[0]
        world.says(card, "Allowed")
        daemon.send_signal(signal.SIGUSR2)
        world.until(result_path.exists)
        return dict(json.loads(result_path.read_text()))


EVENT = json.dumps(
    {
        "session_id": "5a1c6a7e-0000-4000-8000-000000000001",
        "transcript_path": "/nonexistent",
        "cwd": "/nonexistent",
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": {"command": "npm test", "description": "Run the tests"},
    }
).encode()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.way", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--daemon", nargs=2, metavar=("CONFIG", "RESULT"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the list")
    given = parser.parse_args()
    if given.daemon:
        run_daemon(*given.daemon)
        return
    result = measure()
    if given.json:
        print(json.dumps(result, indent=2))
        return
    for number, file in enumerate(result["files"], start=1):
        print(f"{number:3}  {file}")
    print(f"\n{len(result['files'])} files, {result['changes']} changes of file, {result['calls']} calls")


if __name__ == "__main__":
    main()
