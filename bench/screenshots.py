"""A picture of the demo in a terminal, from the real demo: `python -m bench.screenshots`, by hand.

The phone's pictures are taken by `make gallery ARGS=--readme`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tapgate.cli.demo import USER_ID, tap_through
from tapgate.cli.samples import Sample, samples

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COLUMNS = 104
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    draw_terminal()
    path = IMAGES / "demo-terminal.svg"
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


def draw_terminal() -> None:
    """What the demo prints, with the taps of its script, as an SVG without fonts from elsewhere."""
    console = {"FORCE_COLOR": "1", "TTY_INTERACTIVE": "0", "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tapgate", "demo", "--no-browser"],
        env={**os.environ, **console},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    printed, phone = "", ""
    waiting, before = list(samples("")), set[int]()
    try:
        for line in process.stdout:
            printed += line
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            phone = found[0] if found else phone
            if "asks" in line and waiting:
                before = _tap_remotely(phone, waiting.pop(0), before)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    _save_svg(printed)


def _save_svg(printed: str) -> None:
    # The port is new in every run.
    printed = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8787", printed)
    console = Console(record=True, width=COLUMNS, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.assemble(("$ ", "dim"), ("make demo", "bold")))
    for text in Text.from_ansi(printed.strip("\n")).split(allow_blank=True):
        # A terminal breaks a long line at its edge, not between words.
        for part in text.divide(range(COLUMNS, len(text), COLUMNS)):
            console.print(part)
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("Fira Code, monospace", MONOSPACE)
    console.save_svg(str(IMAGES / "demo-terminal.svg"), title="tapgate demo", code_format=form)


def _tap_remotely(phone: str, sample: Sample, before: set[int]) -> set[int]:
    """Answer the newest card, and give every message that is there then: they are passed over the next time."""

    def messages() -> list[dict[str, Any]]:
        found = httpx.get(f"{phone}/control/chats/{USER_ID}/messages", trust_env=False).json()["messages"]
        return [message for message in found if not message["deleted"]]

    def post(path: str, body: dict[str, Any]) -> None:
        httpx.post(f"{phone}/control/{path}", json=body, trust_env=False).raise_for_status()

    tap_through(sample, messages=messages, post=post, before=before)
    return {message["message_id"] for message in messages()}


if __name__ == "__main__":
    main()
