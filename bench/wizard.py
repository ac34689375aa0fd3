"""The README's pictures of `tapgate setup`: the real wizard in a real terminal, `python -m bench.wizard`, by hand.

It needs tmux. The phone is the simulator's; the service manager is the tests' stand-in, which starts the real daemon.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from bench.screenshots import IMAGES, MONOSPACE
from tests.setup.terminal import LINK, Newcomer, new_newcomer
from tests.simulator.driver import TOKEN

COLUMNS, ROWS = 88, 120  # so many rows that nothing scrolls away
WAIT_S = 30.0
THINKING_S = 4.0  # nobody taps in no time
HOME = "/home/ada"
TOOL = f"{HOME}/.local/share/uv/tools/tapgate"


def main() -> None:
    if shutil.which("tmux") is None:
        sys.exit("tmux is not installed, and the wizard is shown in it")
    with new_newcomer() as newcomer:
        captured = play(newcomer)
    first, _, second = captured.partition("\x1b[1m\x1b[36m▶ 3/5")
    assert second, captured
    save(first, "setup-phone.svg", command="tapgate setup")
    save("\x1b[1m\x1b[36m▶ 3/5" + second, "setup-test.svg")
    for name in ("setup-phone.svg", "setup-test.svg"):
        print(f"{name}: {(IMAGES / name).stat().st_size / 1024:.0f} KB")


def play(newcomer: Newcomer) -> str:
    """The whole session; gives the screen at its end, with its colours."""
    newcomer.has_manager()
    newcomer.config_path.parent.mkdir(parents=True)
    newcomer.config_path.touch(mode=0o600)
    newcomer.config_path.write_text(f"[telegram]\nbase_url = '{newcomer.url}'\n")
    tmux = Tmux(newcomer)
    try:
        tmux.until("it is not shown")
        tmux.type(TOKEN)
        found = LINK.search(tmux.until("Waiting for Start"))
        assert found is not None
        newcomer.presses_start(found[1])
        tmux.until("Is that the right person")
        for question in ("Write this", "Install and start it", "Send one now"):
            tmux.type("")
            tmux.until(question)
        tmux.type("")
        tmux.until("tap a button")
        time.sleep(THINKING_S)
        newcomer.tap(newcomer.open_card("tapgate works"), "Allow")
        tmux.until("walk away")
        return tidied(tmux.capture("-e"), newcomer)
    finally:
        tmux.end()


class Tmux:
    """A terminal on a socket of its own, so that nobody's sessions are touched."""

    def __init__(self, newcomer: Newcomer) -> None:
        self._words = ("tmux", "-S", str(newcomer.home / "tmux.sock"), "-f", os.devnull)
        wizard = shlex.join([sys.executable, "-m", "tapgate", "setup"])
        settings = [f"{name}={value}" for name, value in newcomer.environ.items()]
        self._run(
            *("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(newcomer.home)),
            shlex.join(["env", "-i", *settings, "TERM=tmux-256color", "COLORTERM=truecolor"]) + f" {wizard}; sleep 600",
        )

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)
        self._run("send-keys", "Enter")

    def capture(self, *options: str) -> str:
        return self._run("capture-pane", "-p", "-J", *options)

    def until(self, words: str) -> str:
        return str(_until(lambda: (screen := self.capture()) if words in (screen := self.capture()) else ""))

    def end(self) -> None:
        self._run("kill-server")

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._words, *words], check=True, capture_output=True, text=True).stdout


def tidied(screen: str, newcomer: Newcomer) -> str:
    """As it looks in a home that is not a test's, and with Telegram itself."""
    hook = Path(__file__).parent.parent / "src" / "tapgate" / "hook.py"
    screen = screen.replace(str(hook), f"{TOOL}/lib/python3.12/site-packages/tapgate/hook.py")
    screen = screen.replace(sys.executable, f"{TOOL}/bin/python")
    screen = screen.replace(str(newcomer.home / "run"), "/run/user/1000").replace(str(newcomer.home), HOME)
    lines = [line for line in screen.rstrip().splitlines() if "simulator's phone page" not in line]
    return "\n".join(lines)


def save(captured: str, name: str, *, command: str = "") -> None:
    console = Console(record=True, width=COLUMNS, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    if command:
        console.print(Text.assemble(("$ ", "dim"), (command, "bold")))
    for text in Text.from_ansi(captured.strip("\n")).split(allow_blank=True):
        # A terminal breaks a long line at its edge, not between words.
        for part in text.divide(range(COLUMNS, len(text), COLUMNS)) or [text]:
            console.print(part, no_wrap=True, crop=False)
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("Fira Code, monospace", MONOSPACE)
    console.save_svg(str(IMAGES / name), title="tapgate setup", code_format=form, unique_id=name.partition(".")[0])


def _until(find: Callable[[], Any]) -> Any:
    end = time.monotonic() + WAIT_S
    while not (found := find()):
        if time.monotonic() > end:
            raise RuntimeError("waited in vain for the wizard")
        time.sleep(0.05)
    return found


if __name__ == "__main__":
    main()
