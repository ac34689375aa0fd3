"""Codex accepts a behavior and a deny's message. Nothing that its recorded table shows as failing is ever written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.agents.agent import Ignored
from tapgate.agents.registry import BUILT_IN
from tapgate.model import NO_OPINION, Decision, Request, Verdict

from .captures import CODEX, CODEX_MATRIX, answer, ask, event, hear

MATRIX: list[dict[str, Any]] = json.loads(CODEX_MATRIX.read_bytes())
TAKEN = [
    row["hook_stdout"] for row in MATRIX if not row["native_prompt_shown"] and isinstance(row["hook_stdout"], dict)
]
FAILED = [row["hook_stdout"] for row in MATRIX if row["native_prompt_shown"] and isinstance(row["hook_stdout"], dict)]

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
decisions = st.builds(
    Decision,
    verdict=st.sampled_from(Verdict),
    message=st.text(max_size=20),
    interrupt=st.booleans(),
    updates=st.lists(anything, max_size=2).map(tuple),
    updated_input=st.none() | st.dictionaries(st.text(max_size=5), anything, max_size=2),
)


def rendered(decision: Decision) -> bytes:
    return BUILT_IN["codex"].render(ask(event(), "codex"), decision)


def shape(value: object) -> object:
    """What of an output Codex looks at before it reads the words: keys, behavior, true or false."""
    if isinstance(value, dict):
        return {key: item if key in ("behavior", "hookEventName") else shape(item) for key, item in value.items()}
    return value if isinstance(value, bool) else type(value).__name__


@pytest.mark.parametrize("path", CODEX, ids=lambda path: path.stem)
def test_every_recorded_payload_is_understood(path: Path) -> None:
    heard = hear(path.read_bytes(), "codex")
    if "PermissionRequest" not in path.name:
        assert heard == Ignored("PreToolUse")
        return
    value = json.loads(path.read_bytes())
    assert isinstance(heard, Request)
    assert heard.input == value["tool_input"]
    assert heard.call.tool == value["tool_name"]
    assert heard.call.session_id == value["session_id"]
    assert heard.prompt_id == value["turn_id"]
    assert [choice.label for choice in heard.choices] == ["Allow", "Deny", "Deny with a reason…", "Ask at the terminal"]


def test_the_recordings_hold_requests() -> None:
    assert sum("PermissionRequest" in path.name for path in CODEX) >= 6


def test_the_three_answers_byte_for_byte() -> None:
    request = ask(event(), "codex")
    head = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":'
    assert answer(request, "a") == head + b'{"behavior":"allow"}}}'
    assert answer(request, "d") == head + b'{"behavior":"deny","message":"Denied from the phone."}}}'
    assert rendered(Decision(Verdict.DENY, "not today")) == head + b'{"behavior":"deny","message":"not today"}}}'
    assert rendered(NO_OPINION) == b""


@given(decisions)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_whatever_is_decided_codex_can_take_the_output(decision: Decision) -> None:
    output = rendered(decision)
    if decision.verdict is Verdict.NONE:
        assert output == b""
        return
    found = json.loads(output)
    assert shape(found) in [shape(row) for row in TAKEN]
    assert shape(found) not in [shape(row) for row in FAILED]
    answered = found["hookSpecificOutput"]["decision"]
    assert answered.pop("behavior") == decision.verdict.value
    expected = {"message": decision.message or "Denied from the phone."} if decision.verdict is Verdict.DENY else {}
    assert answered == expected


def test_the_recorded_table_tells_the_forms_apart() -> None:
    """Otherwise the comparison above would say nothing."""
    assert len(TAKEN) >= 4
    assert len(FAILED) >= 8
    assert not [row for row in FAILED if shape(row) in [shape(taken) for taken in TAKEN]]


def test_suggestions_of_another_agent_get_no_button_here() -> None:
    request = ask(event(permission_suggestions=[{"type": "toolAlwaysAllow", "tool": "Bash"}]), "codex")
    assert [choice.key for choice in request.choices] == ["a", "d", "r", "g"]


def test_while_its_hook_waits_it_shows_no_prompt_of_its_own() -> None:
    """Whatever its environment says: inside Claude Code's terminal it inherits that an attended session is there."""
    assert not ask(event(), "codex").shows_own_prompt
