"""Real processes in a home of their own: the daemon, the hook, and the simulator's phone."""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tapgate.config import load_config
from tapgate.hooks.command import hook_command
from tests.secrets import assert_clean
from tests.simulator.driver import ADA, LINUS, TOKEN, running

PATIENCE_S = 120.0
GROUP = -700
MALLORY = 666
DEBUG = ("--log-level", "debug")  # so that whatever could be logged is, and is searched for secrets at the end
PATIENT = ("--silence-s", "60", "--beat-s", "60")  # for a machine that is busy
Message = dict[str, Any]


class World:
    """What a test needs to play agent, person and saboteur."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self.home = home
        self.config_path = home / "config.toml"
        self.socket_path = home / "run" / "daemon.sock"
        self.state_dir = home / "state"
        self.http = httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.daemon: subprocess.Popen[bytes] | None = None
        self.daemon_words: tuple[str, ...] = ()
        self.environ = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONUNBUFFERED": "1",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(home / "runtime"),  # the locks that go by the bot lie there
        }
        (home / "runtime").mkdir(mode=0o700)
        self.configure()

    # Setting up

    def configure(
        self,
        people: str = f"[[people]]\nuser_id = {ADA}\nname = 'Ada'\n",
        *,
        timeout_s: int = 600,
        per_chat_s: float = 0.0,
        more: str = "",
    ) -> None:
        self.config_path.write_text(
            f"timeout_s = {timeout_s}\nsocket_path = '{self.socket_path}'\nstate_dir = '{self.state_dir}'\n{more}\n"
            f"[telegram]\ntoken = '{TOKEN}'\nbase_url = '{self.url}'\nper_chat_s = {per_chat_s}\n{people}"
        )
        self.config_path.chmod(0o600)

    def tapgate(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tapgate", *words],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self.processes.append(process)
        return process

    def start_daemon(self, *, ready: bool = True) -> subprocess.Popen[bytes]:
        """Start it and wait for its line, which goes to the log in other forms than the human one."""
        errors = (self.home / "daemon.err").open("ab")
        self.daemon = subprocess.Popen(
            [sys.executable, "-m", "tapgate", "daemon", "--config", str(self.config_path), *self.daemon_words, *DEBUG],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        errors.close()
        self.processes.append(self.daemon)
        if not ready:
            return self.daemon
        line = read_line(self.daemon)
        assert line.startswith("tapgate is ready"), (line, self.errors())
        assert line.rstrip().endswith(f"listening at {self.socket_path}"), "and says where"
        return self.daemon

    def errors(self) -> str:
        """What the daemon said on stderr so far."""
        path = self.home / "daemon.err"
        return path.read_text() if path.exists() else ""

    def stop_daemon(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self.daemon is not None
        self.daemon.send_signal(how)
        return self.daemon.wait(PATIENCE_S)

    # The agent's side

    def hook_words(
        self, *, agent: str = "claude", deadline_s: float | None = None, registered: bool = False
    ) -> list[str]:
        """The command, word by word.

        Unless it is to be just as `registered`, it does not mind a daemon that is slow because the machine is busy.
        """
        config = load_config(self.config_path)
        words = shlex.split(hook_command(config, agent=agent, deadline_s=deadline_s or config.deadline_s))[1:]
        return words if registered else [*words, *PATIENT]

    def ask(
        self,
        event: bytes,
        *,
        agent: str = "claude",
        deadline_s: float | None = None,
        registered: bool = False,
        **environ: str,
    ) -> subprocess.Popen[bytes]:
        """Run the real hook with the event on its stdin; it waits until somebody answers."""
        process = subprocess.Popen(
            self.hook_words(agent=agent, deadline_s=deadline_s, registered=registered),
            env={**self.environ, "CLAUDE_PROJECT_DIR": "/home/dev/shop", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.processes.append(process)
        assert process.stdin is not None
        try:
            process.stdin.write(event)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        return process

    def tell(self, event: bytes) -> None:
        """An event that is only told, as the async handlers do."""
        output, errors, code = finish(self.ask(event, deadline_s=5))
        assert (output, errors, code) == (b"", b"", 0)

    # The person's side

    def post(self, path: str, **body: Any) -> Any:
        response = self.http.post(f"/control/{path}", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    def get(self, path: str, **query: Any) -> Any:
        response = self.http.get(f"/control/{path}", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    def messages(self, chat_id: int = ADA) -> list[Message]:
        return [message for message in self.get(f"chats/{chat_id}/messages")["messages"] if not message["deleted"]]

    def cards(self, chat_id: int = ADA) -> list[Message]:
        return [message for message in self.messages(chat_id) if message["from"] == "bot"]

    def until(self, find: Callable[[], Any], *, wait_s: float = PATIENCE_S) -> Any:
        """What `find` gives, as soon as it gives something; looked at again whenever the simulator's state changes."""
        end = time.monotonic() + wait_s
        while True:
            seq = self.get("state")["seq"]
            found = find()
            if found:
                return found
            assert time.monotonic() < end, f"waited in vain; the chat: {self.messages()}; the daemon: {self.errors()}"
            self.get("wait", since=seq, wait_s=0.3)

    def open_card(self, containing: str = "", *, chat_id: int = ADA) -> Message:
        """The newest card that can be tapped."""

        def find() -> Message | None:
            found = [card for card in self.cards(chat_id) if card["buttons"] and containing in card["text"]]
            return found[-1] if found else None

        card: Message = self.until(find)
        return card

    def says(self, card: Message, words: str, *, chat_id: int = ADA) -> Message:
        """The card, once it says this."""

        def find() -> Message | None:
            for message in self.cards(chat_id):
                if message["message_id"] == card["message_id"] and words in message["text"]:
                    return message
            return None

        found: Message = self.until(find)
        return found

    def tap(
        self,
        card: Message,
        label: str = "",
        *,
        user_id: int = ADA,
        chat_id: int = ADA,
        data: str = "",
        forge: bool = False,
    ) -> str:
        """Press a button; gives the id with which the answer can be read."""
        which = {"data": data} if data else {"label": label}
        body = {"user_id": user_id, "chat_id": chat_id, "message_id": card["message_id"], "forge": forge, **which}
        return str(self.post("tap", **body)["callback_query_id"])

    def answer(self, query_id: str) -> str:
        answer = self.get(f"answers/{query_id}", wait_s=PATIENCE_S)
        assert answer["answered"], answer
        return str(answer["text"])

    def reply(self, text: str, to: Message, *, user_id: int = ADA, chat_id: int = ADA) -> None:
        self.post("message", user_id=user_id, chat_id=chat_id, text=text, reply_to_message_id=to["message_id"])

    def prompt(self, chat_id: int = ADA) -> Message:
        def find() -> Message | None:
            found = [message for message in self.cards(chat_id) if message["force_reply"]]
            return found[-1] if found else None

        found: Message = self.until(find)
        return found

    def calls(self, method: str) -> list[dict[str, Any]]:
        return [call for call in self.get("calls")["calls"] if call["method"].lower() == method.lower()]


def read_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        assert selector.select(PATIENCE_S), "no line came"
    return process.stdout.readline().decode()


def finish(process: subprocess.Popen[bytes], wait_s: float = PATIENCE_S) -> tuple[bytes, bytes, int]:
    """What it wrote to stdout and stderr, and its exit code."""
    output, errors = process.communicate(timeout=wait_s)
    return output, errors, process.returncode


@contextmanager
def new_world() -> Iterator[World]:
    home = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))  # short: socket paths must stay under 104 bytes
    with running() as url:
        world = World(url, home)
        world.post("limits", enabled=False)  # a test asks faster than any agent would; test_pace.py has them on
        try:
            yield world
        finally:
            for process in reversed(world.processes):
                if process.poll() is None:
                    process.kill()
                process.communicate()
            world.http.close()
            logged = world.errors()
            shutil.rmtree(home, ignore_errors=True)
    assert_clean(logged)  # in every test that runs a daemon, and at DEBUG


__all__ = ["ADA", "GROUP", "LINUS", "MALLORY", "Message", "World", "finish", "new_world", "read_line"]
