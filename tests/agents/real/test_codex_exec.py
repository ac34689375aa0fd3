"""`codex exec --approve-for-me`: commands, patches and MCP tools, allowed and denied from the phone."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.agents.real import labels
from tests.agents.real.codex import Codex
from tests.agents.real.home import Home
from tests.agents.real.lab import Lab, needs
from tests.agents.real.openai_api import CLOSING, Custom, Function
from tests.agents.real.pinned import CODEX

pytestmark = needs(CODEX)

BOTH = pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "denied"])
REVIEWED = "--approve-for-me"


def making(home: Home) -> Function:
    """A command outside its sandbox, with the question that Codex's model puts to the person."""
    return Function(
        "exec_command",
        {
            "cmd": f"touch {home.outside / 'made'} && echo it-ran",
            "sandbox_permissions": "require_escalated",
            "justification": "May I make it?",
        },
    )


def is_made(home: Home) -> bool:
    return (home.outside / "made").exists()


def finish(codex: Codex, process: subprocess.Popen[bytes]) -> list[str]:
    """The agent's messages, once it has ended."""
    output, _ = process.communicate(timeout=300)
    items = [event["item"] for event in map(json.loads, output.splitlines()) if event["type"] == "item.completed"]
    assert process.returncode == 0, (codex.home.path / "codex.err").read_text()
    return [item["text"] for item in items if item["type"] == "agent_message"]


@BOTH
def test_a_command(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    process = codex.exec(REVIEWED)
    card = codex.phone.card("touch")
    assert "May I make it?" in card["text"]
    codex.phone.tap(card, labels.ALLOW if allowed else labels.DENY)
    assert finish(codex, process) == [CLOSING]
    [result] = codex.api.results()
    assert is_made(home) == allowed
    assert ("it-ran" in result) == allowed
    assert (labels.TOLD_DENIED in result) == (not allowed)
    codex.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)
    assert codex.api.reviews == [], "the phone decided, so nobody else had to"


def test_a_typed_reason_is_what_the_model_reads(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    process = codex.exec(REVIEWED)
    card = codex.phone.answer(labels.DENY_REASON)
    codex.phone.reply("Only inside the project, please.", codex.phone.prompt(card))
    finish(codex, process)
    [result] = codex.api.results()
    assert "Only inside the project, please." in result and not is_made(home)


@BOTH
def test_a_patch(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    path = home.outside / "new.txt"
    patch = f"*** Begin Patch\n*** Add File: {path}\n+hello\n*** End Patch\n"
    codex = lab.codex(Custom("apply_patch", patch), home=home)
    process = codex.exec(REVIEWED)
    card = codex.phone.card("new.txt")
    assert "+hello" in card["text"]
    codex.phone.tap(card, labels.ALLOW if allowed else labels.DENY)
    finish(codex, process)
    [result] = codex.api.results()
    assert path.exists() == allowed
    assert (labels.TOLD_DENIED in result) == (not allowed)
    codex.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)


@BOTH
def test_an_mcp_tool(lab: Lab, allowed: bool) -> None:
    codex = lab.codex(Function("write_note", {"text": "a note"}, namespace="mcp__notes"))
    process = codex.exec(REVIEWED)
    card = codex.phone.answer(labels.ALLOW if allowed else labels.DENY, containing="write_note of MCP server notes")
    finish(codex, process)
    [result] = codex.api.results()
    assert codex.note.exists() == allowed
    assert ("the note is written" in result) == allowed
    assert (labels.TOLD_DENIED in result) == (not allowed)
    codex.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)


def test_without_an_opinion_codexs_own_reviewer_is_asked(own_lab: Lab) -> None:
    """The daemon is not running. The reviewer here decides nothing, and that is no allow."""
    home = own_lab.home()
    codex = own_lab.codex(making(home), home=home)
    finish(codex, codex.exec(REVIEWED))
    assert codex.api.reviews
    assert len(codex.api.results()) == 1 and not is_made(home)


def test_without_approve_for_me_it_does_not_ask_anybody(lab: Lab) -> None:
    home = lab.home()
    codex = lab.codex(making(home), home=home)
    finish(codex, codex.exec())
    assert codex.phone.cards() == [] and not is_made(home)
