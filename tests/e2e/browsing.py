"""What a person does on the phone page in a real browser. The fixtures are in conftest.py."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect, sync_playwright

from tests.e2e.world import ADA, PATIENCE_S, World

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
REQUIRED = os.environ.get("TAPGATE_REQUIRE_BROWSER") == "1"
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and not REQUIRED,
        reason="Chromium is not installed; set TAPGATE_REQUIRE_BROWSER=1 to fail instead",
    ),
]

ALLOW = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
OpenPhone = Callable[[], Page]


@contextmanager
def running_browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "Chromium is not installed, and TAPGATE_REQUIRE_BROWSER=1 asks for it"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@contextmanager
def phones(browser: Browser, world: World) -> Iterator[OpenPhone]:
    """Opens one more tab with Ada's phone. A script error or a dialog of the browser in any of them fails the test."""
    context = browser.new_context(viewport={"width": 390, "height": 760})
    context.set_default_timeout(PATIENCE_S * 1000)
    expect.set_options(timeout=PATIENCE_S * 1000)
    faults: list[str] = []

    def note_dialog(dialog: Dialog) -> None:
        faults.append(f"the browser's own dialog: {dialog.message}")
        dialog.dismiss()

    def open_one() -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", note_dialog)
        page.goto(f"{world.url}/?user={ADA}")
        expect(page.locator("#status")).to_have_text("bot")
        return page

    yield open_one
    context.close()
    expect.set_options(timeout=None)
    assert faults == []


def card_on(page: Page, world: World, containing: str = "npm test") -> Locator:
    """The open card, held by its message's id, so that it is the same one after its words have changed."""
    return page.locator(f'[data-message-id="{world.open_card(containing)["message_id"]}"]')


def button(card: Locator, label: str) -> Locator:
    return card.locator(".keyboard").get_by_role("button", name=label, exact=True)


def press(card: Locator, label: str) -> None:
    """Not while it still turns from the last tap: the phone would take no second one."""
    one = button(card, label)
    expect(one).not_to_have_attribute("aria-busy", "true")
    one.click()


def labels(card: Locator) -> list[str]:
    return card.locator(".key").all_inner_texts()


def type_text(page: Page, text: str) -> None:
    """Into the box at the bottom, whatever it is for now."""
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def reply_to(page: Page, card: Locator, text: str) -> None:
    """Answer this very message, as Telegram has it."""
    card.locator(".bubble").hover()
    card.get_by_role("button", name="Reply", exact=True).click()
    expect(page.locator("#quote")).to_be_visible()
    type_text(page, text)


def expect_settled(card: Locator, *words: str) -> None:
    for text in words:
        expect(card).to_contain_text(text)
    expect(card.get_by_role("button", name="Allow")).to_have_count(0)
    expect(card.locator(".keyboard")).to_have_count(0)
