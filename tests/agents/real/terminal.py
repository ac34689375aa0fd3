"""A terminal to run an agent in: one private tmux server each, so that nobody's own tmux is touched."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

PATIENCE_S = 120.0
LOOK_S = 0.1
AGAIN_S = 1.0
ENDING_S = 10.0
T = TypeVar("T")


class Terminal:
    def __init__(self, socket_path: Path, words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
        self._socket_path = socket_path
        self._environ = {**environ, "TERM": "xterm-256color"}
        # Kept open after the program's end: its last words are part of what a person sees.
        command = "exec " + shlex.join(words)
        size = ("-x", "120", "-y", "50")
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), command, ";", "set", "-g", *KEPT)
        self.pid = int(self._tmux("display", "-p", "#{pane_pid}"))

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-200").replace("\u00a0", " ")

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: Enter, Escape, Up, C-c."""
        self._tmux("send-keys", *keys)

    def press_until_gone(self, key: str, words: str) -> None:
        """Answer a dialog. It takes no key in its first moments, so the key is pressed again while it stays."""
        self.shows(words)
        self._press_until(key, lambda screen: words not in screen)

    def press_until_shown(self, key: str, words: str) -> None:
        self._press_until(key, lambda screen: words in screen)

    def _press_until(self, key: str, is_done: Callable[[str], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not is_done(self.screen()):
            assert time.monotonic() < end, f"{key} does not help; the terminal shows:\n{self.screen()}"
            self.press(key)
            again = time.monotonic() + AGAIN_S
            while not is_done(self.screen()) and time.monotonic() < again:
                time.sleep(LOOK_S)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def until(self, find: Callable[[str], T], *, wait_s: float = PATIENCE_S) -> T:
        """What `find` gives for the screen, as soon as it gives something."""
        end = time.monotonic() + wait_s
        while True:
            screen = self.screen()
            found = find(screen)
            if found:
                return found
            assert time.monotonic() < end, f"waited in vain; the terminal shows:\n{screen}"
            time.sleep(LOOK_S)

    def shows(self, *words: str, wait_s: float = PATIENCE_S) -> str:
        """The screen, once all the words are on it."""
        return self.until(lambda screen: screen if all(word in screen for word in words) else "", wait_s=wait_s)

    def no_longer_shows(self, words: str, *, wait_s: float = PATIENCE_S) -> str:
        return self.until(lambda screen: screen if words not in screen else "", wait_s=wait_s)

    def ended(self, *, wait_s: float = PATIENCE_S) -> None:
        """Wait until the program in it has ended."""
        self.until(lambda _: self._tmux("display", "-p", "#{pane_dead}") == "1", wait_s=wait_s)

    def close(self) -> None:
        """As closing the window does: the program gets SIGHUP. It writes to its HOME until it has ended."""
        words = ["tmux", "-S", str(self._socket_path), "kill-server"]
        subprocess.run(words, env=self._environ, capture_output=True, timeout=PATIENCE_S)
        end = time.monotonic() + ENDING_S
        while _is_alive(self.pid):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                return
            time.sleep(LOOK_S)

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self._socket_path), *words]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()


def _is_alive(pid: int) -> bool:
    """Whether it still runs; one that has ended may wait for process 1 to notice."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


KEPT = ("remain-on-exit", "on")
