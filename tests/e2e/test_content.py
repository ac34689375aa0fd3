"""What a card shows, with real processes: the machine's name, the file on disk, no secrets, no more than is wanted."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders import event_bytes
from tests.e2e.world import World, finish

SECRET = "gh" + "p_notARealToken0123456789abcdefABCDEF1"


def project(world: World) -> Path:
    shop = world.home / "shop"
    shop.mkdir()
    (shop / "cart.py").write_text("one\ntwo\nthree\n")
    (shop / ".env").write_text("ZEBRA=giraffe\n")
    return shop


def configured(world: World, more: str) -> World:
    world.configure(more=more)
    world.start_daemon()
    return world


def test_a_write_is_shown_against_the_file_as_it_stands(quiet_world: World) -> None:
    world = quiet_world
    shop = project(configured(world, 'machine = "studio"'))
    fields = {"file_path": str(shop / "cart.py"), "content": "one\n2\nthree\n"}
    event = event_bytes(tool="Write", tool_input=fields, cwd=str(shop), suggestions=())
    caller = world.ask(event, CLAUDE_PROJECT_DIR=str(shop))
    card = world.open_card("cart.py")
    assert "shop · Claude Code · studio" in card["text"]
    assert " one\n-two\n+2\n three" in card["text"]
    assert "+1 −1 lines, as it was at " in card["text"]
    world.tap(card, "Deny")
    finish(caller)


def test_nothing_of_a_hidden_file_leaves_the_machine(quiet_world: World) -> None:
    world = quiet_world
    shop = project(configured(world, ""))
    fields = {"file_path": str(shop / ".env"), "old_string": "ZEBRA", "new_string": "X"}
    event = event_bytes(tool="Edit", tool_input=fields, cwd=str(shop), suggestions=())
    caller = world.ask(event, CLAUDE_PROJECT_DIR=str(shop))
    card = world.open_card("Edit")
    assert "giraffe" not in card["text"]
    world.tap(card, "Deny")
    finish(caller)


def test_a_secret_is_masked_on_the_phone_and_whole_for_the_agent(quiet_world: World) -> None:
    world = quiet_world
    configured(world, "")
    plan = f"Use {SECRET} for the upload."
    event = event_bytes(tool="ExitPlanMode", tool_input={"plan": plan}, suggestions=())
    caller = world.ask(event)
    card = world.open_card("Plan")
    assert SECRET not in card["text"]
    assert "GitHub token, 40 chars›" in card["text"]
    world.tap(card, "Approve the plan")
    output = json.loads(finish(caller)[0])
    assert output["hookSpecificOutput"]["decision"]["updatedInput"]["plan"] == plan


def test_a_summary_sends_nothing_of_the_content(quiet_world: World) -> None:
    world = quiet_world
    configured(world, '[privacy]\ndetail = "summary"\n')
    caller = world.ask(event_bytes(tool_input={"command": "npm publish --tag zebra"}, suggestions=()))
    card = world.open_card("Bash npm")
    assert "what you allow here, you have not seen" in card["text"]
    world.tap(card, "Allow")
    finish(caller)
    world.says(card, "Allowed by Ada")
    assert all("zebra" not in json.dumps(call) for call in world.get("calls")["calls"])
