"""`tapgate demo` as a newcomer runs it: an empty home, no account, no config."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tapgate.cli.demo import USER_ID
from tapgate.cli.samples import samples
from tests.e2e.world import PATIENCE_S

LONG_S = 90.0


class Demo:
    """The demo in a session of its own, so that whatever it leaves behind can be found by its group."""

    def __init__(self, home: Path, *words: str) -> None:
        self.home = home
        temporary = home / "tmp"
        temporary.mkdir()
        self.temporary = temporary
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tapgate", "demo", *words],
            env={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "TMPDIR": str(temporary),
                "LANG": "C.UTF-8",
                "PYTHONUNBUFFERED": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.printed = ""

    def read_until(self, words: str) -> str:
        """What it printed so far, as soon as that holds the words."""
        assert self.process.stdout is not None
        end = time.monotonic() + LONG_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while words not in self.printed:
                assert selector.select(max(0.0, end - time.monotonic())), f"{words!r} did not come: {self.printed}"
                chunk = os.read(self.process.stdout.fileno(), 65536)
                assert chunk, f"it ended before {words!r}: {self.printed}"
                self.printed += chunk.decode()
        return self.printed

    def finish(self) -> tuple[str, str, int]:
        output, errors = self.process.communicate(timeout=LONG_S)
        return self.printed + output.decode(), errors.decode(), self.process.returncode

    def leftovers(self) -> list[list[str]]:
        """The processes of its group that still run. One that has ended and waits to be collected does not."""
        words = ["ps", "-A", "-o", "pgid=,stat=,args="]
        lines = subprocess.run(words, capture_output=True, check=True, text=True).stdout.splitlines()
        found = [line.split(None, 2) for line in lines]
        return [args for group, state, *args in found if group == str(self.process.pid) and state[0] != "Z"]


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tg-", dir="/tmp") as name:  # short: the demo's socket lies below
        yield Path(name)


@contextlib.contextmanager
def running_demo(home: Path, *words: str) -> Iterator[Demo]:
    demo = Demo(home, *words)
    try:
        yield demo
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(demo.process.pid, signal.SIGKILL)
        demo.process.communicate()


def decisions(output: str) -> list[dict[str, Any]]:
    """The decisions that were printed, in order."""
    found = [line[line.index("{") :] for line in output.splitlines() if "hookSpecificOutput" in line]
    return [json.loads(line)["hookSpecificOutput"]["decision"] for line in found]


def check_clean(demo: Demo) -> None:
    """No process and no file is left; the home is as empty as it was."""
    end = time.monotonic() + PATIENCE_S
    while demo.leftovers() and time.monotonic() < end:
        time.sleep(0.05)  # what got the signal at the same moment may take one more
    assert demo.leftovers() == []
    assert [path for path in demo.home.rglob("*") if path != demo.temporary] == []


def test_the_script_prints_five_decisions_and_exits_with_0(home: Path) -> None:
    with running_demo(home, "--script") as demo:
        output, errors, code = demo.finish()
        assert code == 0, (output, errors)
        assert decisions(output) == [dict(sample.decision) for sample in samples("")]
        kinds = [(decision["behavior"], sorted(decision)) for decision in decisions(output)]
        assert kinds == [
            ("allow", ["behavior"]),
            ("allow", ["behavior", "updatedPermissions"]),
            ("deny", ["behavior", "interrupt", "message"]),
            ("allow", ["behavior", "updatedInput"]),
            ("allow", ["behavior", "updatedInput", "updatedPermissions"]),
        ]
        answers = decisions(output)[3]["updatedInput"]["answers"]
        assert list(answers.values()) == ["SQLite", "Search, Coupons"]
        assert "Every decision came back as tapped." in output
        assert "Traceback" not in output + errors
        check_clean(demo)


def phone_of(printed: str) -> httpx.Client:
    """The phone behind the address that was printed."""
    [address] = [word for word in printed.split() if word.startswith("http://127.0.0.1:")]
    return httpx.Client(base_url=address, timeout=PATIENCE_S, trust_env=False)


def wait_for_card(phone: httpx.Client, containing: str) -> dict[str, Any]:
    """The open card, as soon as there is one."""
    end = time.monotonic() + PATIENCE_S
    while True:
        seq = phone.get("/control/state").json()["seq"]
        messages = phone.get(f"/control/chats/{USER_ID}/messages").json()["messages"]
        for message in messages:
            if message["buttons"] and not message["deleted"] and containing in message["text"]:
                return dict(message)
        assert time.monotonic() < end, messages
        phone.get("/control/wait", params={"since": seq, "wait_s": 1})


def test_a_tap_prints_the_decision_and_ctrl_c_ends_it_cleanly(home: Path) -> None:
    with running_demo(home, "--no-browser") as demo:
        with phone_of(demo.read_until("The agent asks to run the tests")) as phone:
            assert "tapgate" in phone.get("/").text
            card = wait_for_card(phone, "npm test")
            body = {"user_id": USER_ID, "chat_id": USER_ID, "message_id": card["message_id"], "label": "Allow"}
            assert phone.post("/control/tap", json=body).status_code == 200
            demo.read_until("The agent asks to edit a file")
            wait_for_card(phone, "cart.py")
        assert decisions(demo.printed) == [{"behavior": "allow"}]
        os.killpg(demo.process.pid, signal.SIGINT)  # the terminal sends it to the whole group
        output, errors, code = demo.finish()
        assert code == 0, (output, errors)
        assert "The demo has ended." in output
        assert "Traceback" not in output + errors
        check_clean(demo)


def test_an_interrupt_while_it_starts_ends_it_cleanly(home: Path) -> None:
    with running_demo(home, "--no-browser") as demo:
        demo.read_until("Starting the simulator")
        demo.process.send_signal(signal.SIGINT)
        output, errors, code = demo.finish()
        assert code == 0, (output, errors)
        assert "Traceback" not in output + errors
        check_clean(demo)
