"""The README's pictures, from the real page, the real daemon and the real demo: `python -m bench.screenshots`, by hand.

It needs Chromium, and on Debian the packages fonts-noto-color-emoji (without it emoji are empty boxes) and
fonts-roboto-unhinted (the font of most phones).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, expect, sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tapgate.cli.demo import USER_ID, Stage
from tapgate.cli.samples import Sample, samples

IMAGES = Path(__file__).parent.parent / "docs" / "images"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT_S = 30.0
THINKING_S = 7.0  # nobody answers in no time
COLUMNS = 104
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <match target="pattern">
    <test name="family"><string>system-ui</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>Roboto</string></edit>
  </match>
  <match target="pattern">
    <test name="family"><string>sans-serif</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>Roboto</string></edit>
  </match>
</fontconfig>
"""
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def main() -> None:
    if CHROMIUM is None:
        sys.exit("Chromium is not installed, and the pictures are taken with it")
    os.environ["TZ"] = zone = _morning()
    time.tzset()
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.NamedTemporaryFile("w", suffix=".conf") as fonts:
        fonts.write(FONTS)
        fonts.flush()
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu"],
            env={**os.environ, "FONTCONFIG_FILE": fonts.name},
        )
        shoot_phone(browser, zone)
        browser.close()
    draw_terminal()
    for path in sorted(IMAGES.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


def shoot_phone(browser: Browser, zone: str) -> None:
    """A card that was answered, above one that waits."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="tapgate-"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        stage = Stage(home, stack)
        address = stage.start(0)
        tests, *_, fetch = samples(str(stage.project))
        _answer(stage, fetch)
        stage.ask(tests)
        _until(lambda: [message for message in stage.messages() if message["buttons"]])
        for theme, name in (("light", "phone.png"), ("dark", "phone-dark.png")):
            context = browser.new_context(
                viewport={"width": 640, "height": 860}, device_scale_factor=2, timezone_id=zone, locale="en-GB"
            )
            page = context.new_page()
            page.goto(f"{address}?theme={theme}")
            expect(page.get_by_role("button", name="Allow", exact=True)).to_be_visible()
            # Nothing behind the phone's round corners, so that the picture stands on any page.
            page.evaluate("document.body.style.background = document.documentElement.style.background = 'none'")
            page.locator(".phone").evaluate("node => { node.style.boxShadow = 'none'; }")
            page.wait_for_timeout(1200)  # the cards' entrance
            page.locator(".phone").screenshot(path=IMAGES / name, omit_background=True)
            context.close()


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
    waiting, tapped = list(samples("")), set[int]()
    try:
        for line in process.stdout:
            printed += line
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            phone = found[0] if found else phone
            if "asks" in line and waiting:
                tapped.add(_tap_remotely(phone, waiting.pop(0), tapped))
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


def _answer(stage: Stage, sample: Sample) -> None:
    process = stage.ask(sample)
    [card] = _until(lambda: [message for message in stage.messages() if message["buttons"]])
    time.sleep(THINKING_S)
    stage.post("tap", {"user_id": USER_ID, "chat_id": USER_ID, "message_id": card["message_id"], "label": sample.tap})
    json.loads(process.communicate(timeout=WAIT_S)[0])
    _until(lambda: not any(message["buttons"] for message in stage.messages()))


def _tap_remotely(phone: str, sample: Sample, tapped: set[int]) -> int:
    """Answer the newest card; gives its id. The card before it may not have lost its buttons yet."""

    def messages() -> list[dict[str, Any]]:
        found = httpx.get(f"{phone}/control/chats/{USER_ID}/messages", trust_env=False).json()["messages"]
        return [message for message in found if not message["deleted"] and message["message_id"] not in tapped]

    def post(path: str, **body: object) -> None:
        body |= {"user_id": USER_ID, "chat_id": USER_ID}
        httpx.post(f"{phone}/control/{path}", json=body, trust_env=False).raise_for_status()

    [card] = _until(lambda: [message for message in messages() if message["buttons"]])
    post("tap", message_id=card["message_id"], label=sample.tap)
    if sample.reason:
        [prompt] = _until(lambda: [message for message in messages() if message["force_reply"]])
        post("message", text=sample.reason, reply_to_message_id=prompt["message_id"])
    return int(card["message_id"])


def _until(find: Callable[[], Any]) -> Any:
    end = time.monotonic() + WAIT_S
    while not (found := find()):
        if time.monotonic() > end:
            raise RuntimeError("waited in vain for the phone")
        time.sleep(0.05)
    return found


def _morning() -> str:
    """A time zone in which it is ten o'clock, or as near to it as there is one: so that runs give like pictures."""
    ahead = max(-12, min(14, 10 - datetime.now(UTC).hour))
    return f"Etc/GMT{-ahead:+d}"  # these names count the other way round


if __name__ == "__main__":
    main()
