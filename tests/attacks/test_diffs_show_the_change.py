"""A card shows what a call changes, and nothing in the call can hide it: with the real daemon, hook and phone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tapgate.risk.assess import assess
from tests.builders import event_bytes, tool_use
from tests.e2e.world import Message, World, finish, new_world
from tests.shown_diff import apply_block, read_fragments, unspelled

VIEW = "def view(request):\n    # only for signed-in people\n    check_auth(request)\n    return page(request)\n"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with new_world() as running:
        (running.home / "shop").mkdir()
        running.start_daemon()
        yield running


def card_of(world: World, tool: str, fields: dict[str, Any]) -> Message:
    """The card for a call, which is denied then: each test leaves an empty desk behind."""
    shop = str(world.home / "shop")
    known = {message["message_id"] for message in world.cards()}
    event = event_bytes(tool=tool, tool_input=fields, cwd=shop, suggestions=())
    caller = world.ask(event, CLAUDE_PROJECT_DIR=shop)

    def find() -> Message | None:
        found = [card for card in world.cards() if card["buttons"] and card["message_id"] not in known]
        return found[-1] if found else None

    card: Message = world.until(find)
    world.tap(card, "Deny")
    decision = json.loads(finish(caller)[0])["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "deny"
    return card


def labels(card: Message) -> list[str]:
    return [button["text"] for row in card["buttons"] for button in row]


def block(card: Message) -> str:
    found = [entity for entity in card["entities"] if entity["type"] == "pre"]
    data: bytes = card["text"].encode("utf-16-le")
    start, length = found[0]["offset"] * 2, found[0]["length"] * 2
    return data[start : start + length].decode("utf-16-le")


def written(world: World, text: str) -> Path:
    path = world.home / "shop" / "view.py"
    path.write_bytes(text.encode())
    return path


def test_an_edit_that_joins_two_lines_shows_both(world: World) -> None:
    """A comment that swallows the line below it is shown as what it is: that line goes."""
    old = "    # only for signed-in people\n"
    fields = {"file_path": str(written(world, VIEW)), "old_string": old, "new_string": old.rstrip("\n")}
    card = card_of(world, "Edit", fields)
    shown = block(card)
    assert "-    # only for signed-in people\n-    check_auth(request)\n" in shown
    assert "+    # only for signed-in people    check_auth(request)\n" in shown
    assert apply_block(VIEW, unspelled(shown)) == VIEW.replace(old, old.rstrip("\n"))


def test_an_edit_with_nothing_in_its_place_shows_the_line_break_that_it_takes(world: World) -> None:
    """Claude Code removes the line break too where the new text is empty: the card shows the lines that it joins."""
    fields = {"file_path": str(written(world, VIEW)), "old_string": "-in people", "new_string": ""}
    shown = block(card_of(world, "Edit", fields))
    assert apply_block(VIEW, unspelled(shown)) == VIEW.replace("-in people\n", "")
    assert "-    check_auth(request)" in shown


def test_an_edit_of_a_file_that_is_not_looked_at_shows_the_line_break_that_goes(world: World) -> None:
    """Where the file is not known, the two texts still differ on the card, and it says that a line is joined."""
    fields = {"file_path": "/nowhere/view.py", "old_string": "# only\n", "new_string": "# only"}
    card = card_of(world, "Edit", fields)
    assert read_fragments(unspelled(block(card))) == ("# only\n", "# only")
    assert "the next line joins this one" in card["text"]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_random_edits_are_shown_as_what_they_do(world: World, ends: str) -> None:
    """Whatever is cut out of a file and put in its place, the card's own lines lead to the same file."""
    chance = random.Random(ends)
    for _ in range(6):
        start = chance.randint(0, len(VIEW) - 40)
        old = VIEW[start : start + chance.randint(20, 60)]
        new = chance.choice([old.replace("\n", ""), old[:-1], old + "\n", old.replace("  ", "\t"), "x"])
        fields = {"file_path": str(written(world, VIEW.replace("\n", ends))), "old_string": old, "new_string": new}
        card = card_of(world, "Edit", fields)
        if old == new:
            assert "changes nothing" in card["text"]
        else:
            assert apply_block(VIEW, unspelled(block(card))) == VIEW.replace(old, new, 1)


def test_every_place_of_a_replacement_is_shown_with_its_line(world: World) -> None:
    """`replace_all` of a word shows each line that holds it: what the word alone means nobody can tell."""
    fields = {
        "file_path": str(written(world, VIEW)),
        "old_string": "request",
        "new_string": "None",
        "replace_all": True,
    }
    shown = block(card_of(world, "Edit", fields))
    assert "-    check_auth(request)\n+    check_auth(None)" in shown.replace("\n-    return page(request)", "")
    assert apply_block(VIEW, unspelled(shown)) == VIEW.replace("request", "None")


def test_a_write_that_only_takes_the_last_line_break_shows_it(world: World) -> None:
    """A missing line break at the end of a file is a change, and marked."""
    fields = {"file_path": str(written(world, VIEW)), "content": VIEW.rstrip("\n")}
    shown = block(card_of(world, "Write", fields))
    assert shown.endswith("+    return page(request)\n\\ No newline at end of file")
    assert apply_block(VIEW, unspelled(shown)) == VIEW.rstrip("\n")


def test_a_deleted_cell_is_shown_and_not_the_text_that_came_with_the_call(world: World) -> None:
    """The text of a call that deletes a cell is not used: the card shows the cell that goes."""
    path = world.home / "shop" / "a.ipynb"
    cells = [{"id": "one", "cell_type": "code", "source": ["check_auth()\n", "run()"], "outputs": []}]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    fields = {"notebook_path": str(path), "cell_id": "one", "new_source": "run()", "edit_mode": "delete"}
    card = card_of(world, "NotebookEdit", fields)
    assert "-check_auth()\n-run()" in block(card)
    assert "not used: run()" in card["text"]


def test_blank_lines_do_not_push_a_command_off_the_screen(world: World) -> None:
    """1,900 blank lines are one line that says so; what stands before and behind them is on the screen."""
    card = card_of(world, "Bash", {"command": "npm test" + "\n" * 1901 + "rm -rf build"})
    assert block(card) == "npm test\n⟨1,900 blank lines⟩\nrm -rf build"
    assert "Allow" in labels(card)
    assert card["text"].count("\n") < 12


def test_blanks_do_not_push_the_end_of_a_line_off_the_screen(world: World) -> None:
    """A command behind 5,000 blanks on the same line stands next to what is before them."""
    card = card_of(world, "Bash", {"command": "npm test" + " " * 5000 + "; rm -rf build"})
    assert block(card) == "npm test⟨5,000 blanks⟩; rm -rf build"


def test_a_command_cannot_say_that_it_has_blank_lines(world: World) -> None:
    """The card's own words stand in brackets that are spelled out in any text of the agent's."""
    card = card_of(world, "Bash", {"command": "echo a\n⟨1,900 blank lines⟩\nreboot"})
    assert block(card) == "echo a\n⟨U+27E8⟩1,900 blank lines⟩\nreboot"


def test_filler_that_is_not_blank_must_be_seen_before_it_is_allowed(world: World) -> None:
    """Hundreds of short lines hide a command as well: the card does not count as showing it, so Allow comes later."""
    card = card_of(world, "Bash", {"command": "npm test\n" + "#\n" * 900 + "rm -rf build\n" + "#\n" * 50})
    assert "Allow" not in labels(card)
    assert "not shown" in card["text"]


# Letters that are drawn in another order


def says_right_to_left(tool: str, fields: dict[str, Any]) -> bool:
    risks = assess(tool_use(tool, fields), cwd="/home/dev/shop", project="/home/dev/shop", home="/home/dev")
    return any(risk.name == "look-alike" and "right-to-left" in risk.sentence for risk in risks)


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "cp אב גד"},
        {"command": "mv ./א ./ב"},
        {"command": "mv א 12"},
        {"command": "rm -rf א/ב"},
        {"command": "cp אב גד; echo 'אב גד'"},
        {"command": "echo x > א; א"},
        {"command": "cp 'אב גד"},
        {"file_path": "/home/dev/shop/א/ב", "content": "x"},
        {"url": "https://host.example/א/ב"},
    ],
    ids=str,
)
def test_letters_that_turn_the_order_of_words_around_are_named(fields: dict[str, Any]) -> None:
    """Two words of right-to-left letters with only blanks and signs between them are drawn in the other order, without
    any control character: `cp OLD NEW` reads as `cp NEW OLD`. That is named.
    """
    tool = "Bash" if "command" in fields else "WebFetch" if "url" in fields else "Write"
    assert says_right_to_left(tool, fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "git commit -m 'תיקון באג 12 בקוד'"},
        {"command": "git commit -m \"$(cat <<'EOF'\nתיקון באג\n\nעוד שורה\nEOF\n)\""},
        {"command": "cat קובץ.txt"},
        {"command": "cp קובץ.txt src/גיבוי.txt"},
        {"file_path": "/home/dev/shop/קובץ.txt", "content": "שלום עולם, 12 / 34"},
    ],
    ids=str,
)
def test_texts_in_right_to_left_letters_are_no_risk(fields: dict[str, Any]) -> None:
    tool = "Bash" if "command" in fields else "Write"
    assert not says_right_to_left(tool, fields)
