"""Photographs the phone page in Chromium, light and dark, and makes a page of the pictures."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.gallery import GROUPS
from tests.gallery.sample import Sample
from tests.gallery.wall import Hung, hang_all, phone
from tests.simulator.driver import ADA

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
THEMES = ("light", "dark")
WIDTH = 390
TALL = 5200  # no card is as tall
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
Tell = Callable[[str], None]


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium with the font of most phones."""
    assert CHROMIUM is not None
    with sync_playwright() as playwright, tempfile.NamedTemporaryFile("w", suffix=".conf") as fonts:
        fonts.write(FONTS)
        fonts.flush()
        environ: dict[str, str | float | bool] = {**os.environ, "FONTCONFIG_FILE": fonts.name}
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, env=environ)
        yield running
        running.close()


def open_page(running: Browser, url: str, theme: str, *, width: int, height: int, zone: str, scale: float) -> Page:
    context = running.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=scale,
        timezone_id=zone,
        locale="en-GB",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{url}/?user={ADA}&theme={theme}")
    expect(page.locator("#status")).to_have_text("bot")
    return page


def shoot_gallery(groups: Mapping[str, tuple[Sample, ...]], folder: Path, *, zone: str, tell: Tell) -> int:
    """A picture of each sample in each theme, and index.html around them. Gives their number."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    samples = [sample for group in groups.values() for sample in group]
    taken = 0
    with phone() as url:
        tell(f"sending {len(samples)} cards …")
        hung = hang_all(url, samples)  # before the browser, whose event loop would be in the way
        with browser() as running:
            for theme in THEMES:
                tell(f"photographing them, {theme} …")
                page = open_page(running, url, theme, width=WIDTH, height=TALL, zone=zone, scale=2)
                for one in hung:
                    for label in _shoot(page, one, folder / f"{one.exhibit.sample.name}-{theme}.png"):
                        tell(f"  {one.exhibit.sample.name}: the phone cuts “{label}”")
                    taken += 1
                page.context.close()
    (folder / "index.html").write_text(_index(groups), encoding="utf-8")
    return taken


def _shoot(page: Page, hung: Hung, path: Path) -> list[str]:
    """The messages of one exhibit, and nothing of the others. Gives the buttons whose words the phone cannot show."""
    wanted = [str(number) for number in hung.message_ids]
    page.evaluate(
        "wanted => { for (const item of document.querySelectorAll('#log > li'))"
        " item.hidden = !wanted.includes(item.dataset.messageId); }",
        wanted,
    )
    page.locator("#log").screenshot(path=path)
    cut = "spans => spans.filter(span => span.scrollWidth > span.clientWidth).map(span => span.textContent)"
    found: list[str] = page.locator("#log > li:not([hidden]) .key > span").evaluate_all(cut)
    return found


def shoot_readme(*, zone: str) -> list[Path]:
    """Four phones: the usual card in both themes, a risky one, a question. Above the first three, an answered one."""
    scenes = {
        ("phone", "light"): ("ended-mode", "bash"),
        ("phone-dark", "dark"): ("ended-mode", "bash"),
        ("phone-risk", "light"): ("ended-reason", "risk-privilege"),
        ("phone-question", "light"): ("question-checked",),
    }
    known = {sample.name: sample for group in GROUPS.values() for sample in group}
    IMAGES.mkdir(parents=True, exist_ok=True)
    taken = []
    for (name, theme), shown in scenes.items():
        with phone() as url:
            hang_all(url, [known[one] for one in shown], age_s=45)
            with browser() as running:
                page = open_page(running, url, theme, width=640, height=900, zone=zone, scale=1.25)
                # Nothing behind the phone's round corners, so that the picture stands on any page.
                page.evaluate("document.body.style.background = document.documentElement.style.background = 'none'")
                page.locator(".phone").evaluate("node => { node.style.boxShadow = 'none'; }")
                path = IMAGES / f"{name}.png"
                page.locator(".phone").screenshot(path=path, omit_background=True)
                taken.append(path)
    return taken


def _index(groups: Mapping[str, tuple[Sample, ...]]) -> str:
    parts = [_HEAD]
    for title, group in groups.items():
        if group:
            parts.append(f"<h2>{escape(title)}</h2><div class=wall>")
        for sample in group:
            pictures = "".join(f'<img src="{sample.name}-{theme}.png" alt="{theme}" loading=lazy>' for theme in THEMES)
            caption = f"<b>{escape(sample.name)}</b> {escape(sample.about)}"
            parts.append(f'<figure id="{sample.name}"><figcaption>{caption}</figcaption>{pictures}</figure>')
        parts.append("</div>" if group else "")
    return "\n".join(parts)


_HEAD = """\
<!doctype html><meta charset=utf-8><title>tapgate: every card</title>
<style>
  body { font: 15px/1.4 system-ui, sans-serif; margin: 24px; background: #f4f5f7; color: #16191d; }
  .wall { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
  figure { margin: 0; } figcaption { max-width: 780px; padding-bottom: 6px; }
  img { width: 390px; vertical-align: top; border-radius: 8px; }
</style>
<h1>Every card, as the phone shows it</h1>
"""
