"""Claude Code headless: each kind of tool, allowed and denied from the phone, is done or not done, and told so."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.agents.real import labels
from tests.agents.real.anthropic_api import Use
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE

pytestmark = needs(CLAUDE)

BOTH = pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "denied"])


def label_of(allowed: bool) -> str:
    return labels.ALLOW if allowed else labels.DENY


def words_of(allowed: bool) -> str:
    return labels.ALLOWED if allowed else labels.DENIED


@BOTH
def test_bash(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    made = home.project / "made"
    claude = lab.claude(
        Use("Bash", {"command": f"touch {made} && echo it-ran", "description": "Make it"}, says="The build needs it."),
        home=home,
    )
    run = claude.headless()
    card = claude.phone.card("touch")
    assert "The build needs it." in card["text"]
    claude.phone.tap(card, label_of(allowed))
    outcome = run.finish()
    [result] = claude.api.results()
    assert made.exists() == allowed
    assert result.text == ("it-ran" if allowed else labels.TOLD_DENIED)
    assert result.is_error == (not allowed)
    assert [denial["tool_name"] for denial in outcome["permission_denials"]] == ([] if allowed else ["Bash"])
    claude.phone.says(card, words_of(allowed))


@BOTH
def test_write(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    path = home.project / "new.txt"
    claude = lab.claude(Use("Write", {"file_path": str(path), "content": "hello\n"}), home=home)
    run = claude.headless()
    card = claude.phone.answer(label_of(allowed), containing="new.txt")
    run.finish()
    [result] = claude.api.results()
    assert path.exists() == allowed
    assert (result.text == labels.TOLD_DENIED) == (not allowed)
    claude.phone.says(card, words_of(allowed))


@BOTH
def test_edit(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    path = home.project / "old.txt"
    path.write_text("one\n")
    edit = {"file_path": str(path), "old_string": "one", "new_string": "two", "replace_all": False}
    claude = lab.claude(Use("Read", {"file_path": str(path)}), Use("Edit", edit), home=home)
    run = claude.headless()
    card = claude.phone.answer(label_of(allowed), containing="old.txt")
    run.finish()
    _, result = claude.api.results()
    assert path.read_text() == ("two\n" if allowed else "one\n")
    assert (result.text == labels.TOLD_DENIED) == (not allowed)
    claude.phone.says(card, words_of(allowed))


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def was_called(listener: socket.socket) -> bool:
    try:
        connection, _ = listener.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True


@BOTH
def test_web_fetch(lab: Lab, allowed: bool) -> None:
    """That the fetch goes out is what is looked at; there is no TLS at the other end, so it fails there."""
    with listening() as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/page"
        claude = lab.claude(Use("WebFetch", {"url": url, "prompt": "Summarise"}))
        run = claude.headless("--settings", '{"skipWebFetchPreflight": true}')
        card = claude.phone.answer(label_of(allowed), containing="/page")
        if allowed:
            claude.phone.says(card, labels.ALLOWED)
            listener.setblocking(True)
            listener.settimeout(30)
            connection, _ = listener.accept()
            connection.close()
        listener.setblocking(False)
        run.finish()
        [result] = claude.api.results()
        assert not was_called(listener) or allowed
        assert (result.text == labels.TOLD_DENIED) == (not allowed)
        claude.phone.says(card, words_of(allowed))


@BOTH
def test_mcp_tool(lab: Lab, allowed: bool) -> None:
    claude = lab.claude(Use("mcp__notes__write_note", {"text": "a note"}))
    run = claude.headless(*claude.mcp())
    card = claude.phone.answer(label_of(allowed), containing="write_note of MCP server notes")
    run.finish()
    [result] = claude.api.results()
    assert claude.note.exists() == allowed
    assert result.text == ("the note is written" if allowed else labels.TOLD_DENIED)
    claude.phone.says(card, words_of(allowed))


@BOTH
def test_subagent(lab: Lab, allowed: bool) -> None:
    home = lab.home()
    made = home.project / "made"
    call = Use("Bash", {"command": f"touch {made} && echo it-ran", "description": "Make it"})
    claude = lab.claude(
        Use("Agent", {"description": "Help", "prompt": "HELPER: make it", "subagent_type": "general-purpose"}),
        others={"HELPER": [call]},
        home=home,
    )
    run = claude.headless()
    card = claude.phone.card("touch")
    assert "subagent general-purpose" in card["text"]
    claude.phone.tap(card, label_of(allowed))
    run.finish()
    [result] = claude.api.results("HELPER")
    assert made.exists() == allowed
    assert result.text == ("it-ran" if allowed else labels.TOLD_DENIED)
    claude.phone.says(card, words_of(allowed))
