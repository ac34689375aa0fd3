"""The phone page in a real browser: it taps, replies, follows edits, and no content can script it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, async_playwright, expect

from .driver import ADA, LINUS, Driver, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
GROUP = -4001

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("TAPGATE_REQUIRE_BROWSER") != "1",
        reason="Chromium is not installed; set TAPGATE_REQUIRE_BROWSER=1 to fail instead",
    ),
]


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A phone-sized page; an error in its script fails the test."""
    assert CHROMIUM is not None, "Chromium is not installed, and TAPGATE_REQUIRE_BROWSER=1 asks for it"
    errors: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page(viewport={"width": 390, "height": 760})
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        await browser.close()
    assert errors == []


def bubble(page: Page, message_id: int) -> str:
    return f'[data-message-id="{message_id}"]'


async def test_a_tap_reaches_the_bot_and_its_answer_and_edit_come_back(sim: Driver, page: Page) -> None:
    await page.goto(sim.url)
    message_id = await sim.card("allow:1", "deny:1", text="Run the tests?")
    card = page.locator(bubble(page, message_id))
    await expect(card).to_contain_text("Run the tests?")
    button = card.locator('button[data-callback-data="allow:1"]')
    await button.click()
    await expect(button).to_have_attribute("aria-busy", "true")

    [update] = await sim.updates(timeout=50)
    query = update["callback_query"]
    assert (query["data"], query["from"]["id"]) == ("allow:1", ADA)
    await sim.call("answerCallbackQuery", callback_query_id=query["id"], text="Allowed")
    await expect(page.locator("#toast")).to_have_text("Allowed")
    await expect(button).not_to_have_attribute("aria-busy", "true")

    edit: dict[str, Any] = {
        "chat_id": ADA,
        "message_id": message_id,
        "text": "<b>Allowed</b> by Ada",
        "parse_mode": "HTML",
    }
    assert (await sim.call("editMessageText", **edit)).status == 200
    await expect(card.locator("strong")).to_have_text("Allowed")
    await expect(card).to_contain_text("edited")
    await expect(card.locator(".keyboard")).to_have_count(0)
    await sim.call("deleteMessage", chat_id=ADA, message_id=message_id)
    await expect(card).to_have_count(0)


async def test_an_alert_waits_to_be_read(sim: Driver, page: Page) -> None:
    await page.goto(sim.url)
    message_id = await sim.card("a")
    await page.locator(f"{bubble(page, message_id)} button", has_text="Button a").click()
    [update] = await sim.updates(timeout=50)
    await sim.call(
        "answerCallbackQuery",
        callback_query_id=update["callback_query"]["id"],
        text="Too late",
        show_alert=True,
    )
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Too late")
    await dialog.get_by_role("button", name="OK").click()
    await expect(dialog).to_be_hidden()


async def test_a_forced_reply_opens_the_reply_box(sim: Driver, page: Page) -> None:
    await page.goto(sim.url)
    markup = {"force_reply": True, "input_field_placeholder": "Reason for the agent"}
    prompt = (await sim.send("Why not?", reply_markup=markup)).result["message_id"]
    composer = page.get_by_label("Message", exact=True)
    await expect(page.locator("#quote")).to_contain_text("Why not?")
    await expect(composer).to_have_attribute("placeholder", "Reason for the agent")
    await expect(composer).to_be_focused()
    await page.keyboard.type("Too risky")
    await page.keyboard.press("Enter")
    [update] = await sim.updates(timeout=50)
    assert update["message"]["text"] == "Too risky"
    assert update["message"]["reply_to_message"]["message_id"] == prompt
    await expect(page.locator("#quote")).to_be_hidden()
    await expect(composer).to_have_attribute("placeholder", "Message")
    await expect(page.locator(".own .in-reply")).to_contain_text("Why not?")


async def test_any_message_can_be_replied_to(sim: Driver, page: Page) -> None:
    first = await sim.card("a", text="one")
    await sim.card("b", text="two")
    await page.goto(sim.url)
    await page.locator(bubble(page, first)).hover()
    await page.locator(bubble(page, first)).get_by_role("button", name="Reply").click()
    await page.get_by_label("Message", exact=True).fill("about the first")
    await page.get_by_role("button", name="Send").click()
    [update] = await sim.updates(timeout=50)
    assert update["message"]["reply_to_message"]["message_id"] == first


async def test_entities_are_drawn(sim: Driver, page: Page) -> None:
    source = (
        '<b>bold <i>both</i></b> <code>x</code> <tg-spoiler>secret</tg-spoiler> <a href="https://example.org">l</a>\n'
        '<pre><code class="language-diff">@@ 1\n-a\n+b</code></pre>\n'
        "<blockquote expandable>" + "line\n" * 9 + "last</blockquote>"
    )
    message_id = (await sim.send(source, parse_mode="HTML")).result["message_id"]
    await page.goto(sim.url)
    card = page.locator(bubble(page, message_id))
    await expect(card.locator("strong em")).to_have_text("both")
    await expect(card.get_by_role("link", name="l")).to_have_attribute("href", "https://example.org/")
    await expect(card.locator(".code-bar span")).to_have_text("diff")
    assert await card.locator("pre code").text_content() == "@@ 1\n-a\n+b"
    await expect(card.locator("pre .added")).to_have_text("+b")
    quote = card.locator("blockquote .fold")
    folded = await quote.evaluate("node => node.clientHeight")
    await card.get_by_role("button", name="Show more").click()
    assert await quote.evaluate("node => node.clientHeight") > folded
    await card.get_by_role("button", name="Hidden text, press to show").click()
    await expect(card.locator(".spoiler")).to_have_class(re.compile("shown"))


async def test_no_content_can_script_the_page(sim: Driver, page: Page) -> None:
    """Names, texts, labels, titles and files come from what an agent was fed: they stay text."""
    evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    escaped = evil.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    await sim.control("users", id=LINUS, first_name=evil)
    await sim.control("chats", id=GROUP, title=evil, members=[ADA, LINUS])
    markup = {"inline_keyboard": [[{"text": evil, "callback_data": '"><b>x'}]]}
    await sim.send(evil, chat_id=GROUP, reply_markup=markup)
    code = f'<pre><code class="language-{escaped.replace(chr(34), "&quot;")}">{escaped}</code></pre>'
    sent = await sim.send(code, chat_id=GROUP, parse_mode="HTML")
    link = await sim.send('<a href="javascript:window.hacked=1">press</a>', chat_id=GROUP, parse_mode="HTML")
    assert (sent.status, link.status) == (200, 200)
    assert "entities" not in link.result
    said = await sim.say(evil, user_id=LINUS, chat_id=GROUP)
    await sim.send("re", chat_id=GROUP, reply_parameters={"message_id": said})
    await sim.client.post(
        "/bot12345:simulated-token/sendDocument",
        data={"chat_id": str(GROUP), "caption": evil},
        files={"document": (evil.replace('"', "'"), b"<script>window.hacked=1</script>", "text/html")},
    )
    await sim.call("pinChatMessage", chat_id=GROUP, message_id=said)
    await sim.call("setMyCommands", commands=[{"command": "x", "description": evil}])

    await page.goto(f"{sim.url}/?chat={GROUP}")
    await expect(page.locator(".message")).to_have_count(6)
    await page.get_by_role("button", name="Menu").click()
    await expect(page.locator("#menu")).to_contain_text("onerror")
    await page.keyboard.press("Escape")
    tap = page.locator("button[data-callback-data]")
    assert await tap.get_attribute("data-callback-data") == '"><b>x'
    await tap.click()
    [update] = [u for u in await sim.updates(timeout=50) if "callback_query" in u]
    query_id = update["callback_query"]["id"]
    await sim.call("answerCallbackQuery", callback_query_id=query_id, text=evil)
    await expect(page.locator("#toast")).to_contain_text("onerror")
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("img, body script, iframe").count() == 0
    await expect(page.locator("#title")).to_have_text(evil)


async def test_the_page_comes_back_after_a_restart(page: Page) -> None:
    with running() as url:
        await page.goto(url)
        await expect(page.locator("#status")).to_have_text("bot")
    await expect(page.locator("#status")).to_have_text("connecting…")
    with running(port=int(url.rpartition(":")[2])) as url:
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            await Driver(url, client).send("back again")
        await expect(page.locator("#log")).to_contain_text("back again", timeout=60_000)
        await expect(page.locator("#status")).to_have_text("bot")


async def test_the_newest_message_is_shown_unless_the_reader_scrolled_up(sim: Driver, page: Page) -> None:
    await sim.control("limits", enabled=False)
    for number in range(30):
        await sim.send(f"message {number}\n\n.")
    await page.goto(sim.url)
    await expect(page.get_by_text("message 29")).to_be_in_viewport()
    await sim.send("the newest")
    await expect(page.get_by_text("the newest")).to_be_in_viewport()
    await page.locator("#scroll").evaluate("node => { node.scrollTop = 0; }")
    await expect(page.locator("#newest")).to_be_visible()
    await sim.send("unseen")
    await expect(page.locator("#unread")).to_have_text("1")
    await expect(page.get_by_text("unseen")).not_to_be_in_viewport()
    await page.locator("#newest").click()
    await expect(page.get_by_text("unseen")).to_be_in_viewport()
    await expect(page.locator("#newest")).to_be_hidden()


async def test_another_person_and_another_chat(sim: Driver, page: Page) -> None:
    await sim.control("chats", id=GROUP, title="Team", members=[ADA, LINUS])
    await sim.send("for Linus", chat_id=LINUS)
    await sim.card("a", text="for all", chat_id=GROUP)
    await page.goto(f"{sim.url}/?user={LINUS}")
    await expect(page.locator("#log")).to_contain_text("for Linus")
    await page.get_by_role("button", name="Menu").click()
    await page.locator("#menu").get_by_role("button", name="Team").click()
    await expect(page.locator("#status")).to_have_text("3 members")
    await page.get_by_role("button", name="Button a").click()
    [update] = await sim.updates(timeout=50)
    assert update["callback_query"]["from"]["id"] == LINUS
    assert page.url.endswith(f"/?user={LINUS}&chat={GROUP}")


async def test_a_person_starts_the_bot_by_its_link(sim: Driver, page: Page) -> None:
    await sim.control("users", id=103, first_name="Eve", started=False)
    await page.goto(f"{sim.url}/?user=103&start=pair-7")
    await page.get_by_role("button", name="Start").click()
    [update] = await sim.updates(timeout=50)
    assert update["message"]["text"] == "/start pair-7"
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()


async def test_code_is_shown_to_its_last_line_as_telegram_does(sim: Driver, page: Page) -> None:
    """A block that scrolls in itself would make a card look shorter than it is."""
    await page.goto(sim.url)
    code = "\n".join(f"line {number}" for number in range(60))
    message_id = (await sim.send(f"<pre>{code}</pre>", parse_mode="HTML")).result["message_id"]
    block = page.locator(f"{bubble(page, message_id)} pre")
    await expect(block).to_contain_text("line 59")
    assert await block.evaluate("node => node.scrollHeight <= node.clientHeight")
