"""Every card as it looks on the simulator's phone page, light and dark: `python -m bench.gallery [FOLDER]`.

It needs Chromium, and the fonts that bench/screenshots.py names. The cards are those of the golden files.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import httpx
from playwright.sync_api import Browser, sync_playwright

from bench.screenshots import CHROMIUM, FONTS
from tapgate.model import Card
from tapgate.telegram.keyboard import keyboard_of
from tapgate.telegram.setting import Setting
from tests.simulator.driver import ADA, TOKEN, running
from tests.telegram.cards import render_card
from tests.telegram.gallery import gallery

FOLDER = Path("build/gallery")
A_PAGE = 5  # cards on one picture


def main() -> None:
    if CHROMIUM is None:
        sys.exit("Chromium is not installed, and the pictures are taken with it")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.NamedTemporaryFile("w", suffix=".conf") as fonts:
        fonts.write(FONTS)
        fonts.flush()
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu"],
            env={**os.environ, "FONTCONFIG_FILE": fonts.name},
        )
        for name, cards in _pages():
            _shoot(browser, folder, name, cards)
            print(f"{folder / name}: {len(cards)} cards")
        browser.close()


def _pages() -> Iterator[tuple[str, list[tuple[Card, Setting]]]]:
    for kind, group in groupby(gallery(), key=lambda entry: entry[0].partition("/")[0]):
        cards = [(card, setting) for _, card, setting in group]
        for start in range(0, len(cards), A_PAGE):
            yield f"{kind}-{start // A_PAGE + 1}", cards[start : start + A_PAGE]


def _shoot(browser: Browser, folder: Path, name: str, cards: list[tuple[Card, Setting]]) -> None:
    with running() as url, httpx.Client(base_url=url, trust_env=False) as client:
        client.post("/control/limits", json={"enabled": False})
        for card, setting in cards:
            keys = [
                [{"text": k.text, "callback_data": k.data, **({"style": k.style} if k.style else {})} for k in row]
                for row in keyboard_of(card)
            ]
            body = {"chat_id": ADA, "text": render_card(card, setting), "parse_mode": "HTML"}
            markup = {"reply_markup": {"inline_keyboard": keys}} if keys else {}
            client.post(f"/bot{TOKEN}/sendMessage", json={**body, **markup}).raise_for_status()
        for theme in ("light", "dark"):
            context = browser.new_context(viewport={"width": 460, "height": 2300}, device_scale_factor=1.5)
            page = context.new_page()
            page.goto(f"{url}?theme={theme}")
            page.wait_for_timeout(1500)
            page.locator(".phone").screenshot(path=folder / f"{name}-{theme}.png")
            context.close()


if __name__ == "__main__":
    main()
