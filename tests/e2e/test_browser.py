"""A person with a browser: taps on the phone page become decisions of real hook processes, and the card follows."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from tests.builders import SUGGESTION, event_bytes
from tests.e2e.browsing import ALLOW, MARKS, OpenPhone, card_on, expect_settled, press
from tests.e2e.world import World, finish

pytestmark = MARKS


def test_allow_reaches_the_agent_and_the_card_changes_live(world: World, open_phone: OpenPhone) -> None:
    phone, other = open_phone(), open_phone()
    caller = world.ask(event_bytes())
    card, twin = card_on(phone, world), card_on(other, world)
    expect(card.locator("pre code")).to_have_text("npm test")
    press(card, "Allow")
    expect(phone.locator("#toast")).to_have_text("Allow: sending…")
    assert finish(caller) == (ALLOW, b"", 0)
    expect_settled(card, "Allowed by Ada", "edited")
    expect_settled(twin, "Allowed by Ada")
    expect(other.locator("#toast")).to_be_hidden()


def test_deny_reaches_the_agent_and_the_card_changes_live(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    press(card, "Deny")
    output, errors, code = finish(caller)
    assert (errors, code) == (b"", 0)
    assert output == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":'
        b'{"behavior":"deny","message":"Denied from the phone.","interrupt":false}}}'
    )
    expect_settled(card, "Denied by Ada")


def test_a_suggestion_reaches_the_agent_unchanged_and_the_card_says_what_was_written(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    press(card, "Always allow `npm test *` in this project")
    output, errors, code = finish(caller)
    assert (errors, code) == (b"", 0)
    assert output == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow",'
        b'"updatedPermissions":[' + json.dumps(SUGGESTION, separators=(",", ":")).encode() + b"]}}}"
    )
    expect_settled(card, "Allowed by Ada", "saved to", "npm test *")


def test_a_typed_reason_reaches_the_agent(world: World, phone: Page) -> None:
    caller = world.ask(event_bytes())
    card = card_on(phone, world)
    press(card, "Deny with a reason…")
    box = phone.get_by_label("Message", exact=True)
    expect(phone.locator("#quote")).to_contain_text("Why not?")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("placeholder", "The reason for your no")
    expect(card.locator(".keyboard")).to_be_visible()  # a tap there still counts
    phone.keyboard.type('Use "pnpm", bitte – nicht npm 🙏')
    phone.keyboard.press("Enter")
    output, errors, code = finish(caller)
    assert (errors, code) == (b"", 0)
    assert json.loads(output)["hookSpecificOutput"]["decision"] == {
        "behavior": "deny",
        "message": 'Use "pnpm", bitte – nicht npm 🙏',
        "interrupt": False,
    }
    expect_settled(card, "Denied by Ada", 'Use "pnpm", bitte – nicht npm 🙏')
    expect(phone.locator("#quote")).to_be_hidden()
    expect(phone.locator(".theirs", has_text="Why not?")).to_have_count(0)


def test_a_tap_on_a_stale_button_in_another_tab_is_told_the_truth(world: World, open_phone: OpenPhone) -> None:
    """Telegram takes no edits for a while, so the other tab still shows buttons when all is decided."""
    phone, other = open_phone(), open_phone()
    caller = world.ask(event_bytes())
    card, stale = card_on(phone, world), card_on(other, world)
    world.post("faults", method="editMessageText", kind="500", times=-1)
    press(card, "Allow")
    assert finish(caller) == (ALLOW, b"", 0)
    press(stale, "Deny")
    alert = other.get_by_role("dialog")
    expect(alert).to_contain_text("Allowed by Ada. Your answer changed nothing.")
    alert.get_by_role("button", name="OK").click()
    expect(alert).to_be_hidden()
    expect(phone.get_by_role("dialog")).to_be_hidden()
    assert world.http.delete("/control/faults").status_code == 200
    expect_settled(card, "Allowed by Ada")
    expect_settled(stale, "Allowed by Ada")


def test_hostile_content_is_shown_as_text(world: World, phone: Page) -> None:
    """Everything on a card may come from a page or a file that the agent read."""
    evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script></code></pre><b>&lt;b&gt;</b>'
    turned = "echo safe # \u202egnp.exe\u2066\u200b"
    rule = {"toolName": "Bash", "ruleContent": '<a href="tg://user?id=1">npm</a> *'}
    suggestion = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    caller = world.ask(
        event_bytes(
            tool_input={"command": f"{turned}\n{evil}", "description": evil, "<b>extra</b>": evil},
            suggestions=(suggestion,),
            cwd=f"/home/dev/shop/{evil}",
            decision_reason=evil,
        ),
        CLAUDE_PROJECT_DIR="/home/dev/<i>shop",
    )
    card = card_on(phone, world, "echo safe")
    expect(card.locator("pre code")).to_have_text(f"echo safe # ⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200B⟩\n{evil}")
    expect(card).to_contain_text("<i>shop")
    expect(card).to_contain_text(f"Why it asks: {evil}")
    expect(card).to_contain_text(f"<b>extra</b>: {evil}")
    expect(card.locator(".keyboard")).to_contain_text("Always allow `<a")
    assert (
        card.locator(".text").evaluate("node => /[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(node.textContent)")
        is False
    )
    assert card.locator("img, script, a, iframe").count() == 0
    assert phone.locator("body script, img, iframe").count() == 0

    press(card, "Deny")
    assert json.loads(finish(caller)[0])["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    expect_settled(card, "Denied by Ada", "<i>shop")
    assert card.locator("img, script, a, iframe").count() == 0
    assert phone.evaluate("window.hacked") is None
