"""What Claude Code says is understood: every recorded payload, and every form of older versions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tapgate.agents.agent import Ignored
from tapgate.agents.registry import agent_of, parse_request
from tapgate.desk.events import Move, SessionEnded, SessionMoved, ToolEnded
from tapgate.errors import InputError
from tapgate.model import Action, Caller, Choice, Request, Verdict

from . import forms
from .captures import CLAUDE, FOLDER, ID, ask, event, hear

SHOP = "fb67fe8a-9e5f-4b57-bb6a-bab9256e2c9b"
QUIZ = "21661f9d-e2c4-4b99-88f5-a8d2000e89bf"
SHOP_PROMPT = "98bd9025-7edd-4e6f-b16d-b39b8252940d"


def recorded(name: str) -> bytes:
    return (FOLDER / "claude-code-2.1.325" / name).read_bytes()


def heard_of(form: dict[str, Any]) -> object:
    return hear(json.dumps(form).encode())


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
def test_every_recorded_payload_becomes_the_right_thing(path: Path) -> None:
    expected = {
        "PermissionRequest": Request,
        "PreToolUse": Request,
        "PostToolUse": ToolEnded,
        "PostToolUseFailure": ToolEnded,
        "UserPromptSubmit": SessionMoved,
        "Stop": SessionMoved,
        "SubagentStop": SessionMoved,
        "SessionStart": SessionMoved,
        "SessionEnd": SessionEnded,
        "Notification": Ignored,
        "SubagentStart": Ignored,
    }
    assert type(hear(path.read_bytes())) is expected[path.name.partition(".")[0]]


def test_the_recordings_hold_every_event_that_is_told_apart() -> None:
    """Otherwise the test above would pass by having nothing to read."""
    assert {path.name.partition(".")[0] for path in CLAUDE} >= {
        *("PermissionRequest", "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"),
        *("SubagentStop", "SessionStart", "SessionEnd", "Notification"),
    }


def test_a_request_carries_all_that_a_card_and_the_desk_need() -> None:
    raw = recorded("PermissionRequest.Bash.subagent.json")
    caller = Caller(agent="claude", deadline_s=12.5, pid=7, parent_pid=6, attended=True, project="/home/dev/shop")
    request = parse_request(ID, caller, raw)
    assert request.id == ID
    assert request.caller == caller
    assert request.event == "PermissionRequest"
    assert request.call.session_id == SHOP
    assert request.call.agent_id == "a4070f207b913ceb9"
    assert request.call.tool == "Bash"
    assert request.agent_type == "general-purpose"
    assert request.prompt_id == SHOP_PROMPT
    assert request.permission_mode == "default"
    assert request.cwd == "/home/dev/shop"
    assert request.raw == raw
    assert request.input == {
        "command": "npm install --save-exact left-pad@1.3.0 && npm test",
        "timeout": 120000,
        "description": "Install and test",
    }


def test_the_mcp_server_is_known_by_its_name() -> None:
    assert ask(recorded("PermissionRequest.mcp__demo__lookup.json")).mcp_server == "demo"
    assert ask(event(mcp_server="demo")).mcp_server == "demo"
    assert ask(event()).mcp_server == ""


def test_the_digest_tells_other_bytes_apart() -> None:
    assert ask(event()).digest == ask(event()).digest
    assert ask(event()).digest != ask(event() + b" ").digest


@pytest.mark.parametrize(
    ("name", "failed", "duration_s"),
    [
        ("PostToolUse.Bash.json", False, 0.051),
        ("PostToolUse.Write.json", False, 0.022),
        ("PostToolUse.Edit.json", False, 0.009),
        ("PostToolUse.AskUserQuestion.json", False, 0.002),
        ("PostToolUseFailure.Bash.json", True, 0.049),
        ("PostToolUseFailure.Bash.subagent.json", True, 0.023),
    ],
)
def test_an_ended_tool_call_tells_how_and_how_long(name: str, failed: bool, duration_s: float) -> None:
    ended = hear(recorded(name))
    assert isinstance(ended, ToolEnded)
    assert ended.failed is failed
    assert ended.duration_s == pytest.approx(duration_s)


@pytest.mark.parametrize("tool", ["Bash", "Write", "Edit", "AskUserQuestion"])
def test_an_ended_call_is_recognised_as_the_one_that_was_asked(tool: str) -> None:
    name = "Bash.2" if tool == "Bash" else tool
    ended = hear(recorded(f"PostToolUse.{tool}.json"))
    assert isinstance(ended, ToolEnded)
    assert ended.call == ask(recorded(f"PermissionRequest.{name}.json")).call


def test_an_answered_question_is_recognised_although_the_answers_stand_in_its_input() -> None:
    asked = ask(json.dumps(forms.QUESTION).encode())
    answered = {**forms.QUESTION["tool_input"], "answers": {"Which database should we use?": "SQLite"}}
    ended = heard_of({**forms.QUESTION, "hook_event_name": "PostToolUse", "tool_input": answered})
    assert isinstance(ended, ToolEnded)
    assert ended.call == asked.call


@pytest.mark.parametrize("reported", [{}, {"plan": "# Plan"}], ids=["as seen in 2.1.325", "with a plan"])
def test_an_approved_plan_is_recognised_although_the_plan_is_not_in_its_report(reported: dict[str, Any]) -> None:
    plan = json.loads(recorded("PermissionRequest.ExitPlanMode.json"))
    assert plan["tool_input"], "the person who is asked is shown a plan"
    ended = heard_of({**plan, "hook_event_name": "PostToolUse", "tool_input": reported})
    assert isinstance(ended, ToolEnded)
    assert ended.call == ask(json.dumps(plan).encode()).call


@pytest.mark.parametrize(
    "other",
    [
        {"session_id": "another"},
        {"agent_id": "a1"},
        {"tool_name": "BashOutput"},
        {"tool_input": {"command": "npm test", "timeout": 1}},
        {"tool_input": {"command": "npm  test"}},
    ],
)
def test_another_call_has_another_fingerprint(other: dict[str, Any]) -> None:
    assert ask(event(**other)).call.fingerprint != ask(event()).call.fingerprint


def test_the_order_of_an_input_s_keys_does_not_make_another_call() -> None:
    one = ask(event(tool_input={"a": 1, "b": {"c": 2, "d": 3}}))
    other = ask(event(tool_input={"b": {"d": 3, "c": 2}, "a": 1}))
    assert one.call == other.call


def test_what_moves_a_session_is_told_with_its_prompt() -> None:
    assert hear(recorded("UserPromptSubmit.json")) == SessionMoved(SHOP, "", Move.PROMPT, SHOP_PROMPT)
    assert hear(recorded("Stop.json")) == SessionMoved(SHOP, "", Move.STOP, SHOP_PROMPT)
    assert hear(recorded("SubagentStop.subagent.json")) == SessionMoved(
        SHOP, "aae494850ab268e2d", Move.STOP, SHOP_PROMPT
    )
    assert hear(recorded("SessionStart.json")) == SessionMoved(SHOP, "", Move.RESTART)
    assert hear(recorded("SessionEnd.json")) == SessionEnded(QUIZ, "other")


def test_a_compacted_session_goes_on_and_keeps_its_questions() -> None:
    compacted = json.loads(recorded("SessionStart.json")) | {"source": "compact"}
    assert heard_of(compacted) == Ignored("SessionStart")


@pytest.mark.parametrize("form", forms.PERMISSIONS.values(), ids=forms.PERMISSIONS)
def test_every_older_permission_request_becomes_a_request(form: dict[str, Any]) -> None:
    request = ask(json.dumps(form).encode())
    assert request.input == form["tool_input"]
    assert request.decision_reason == form.get("decision_reason", "")
    assert request.blocked_path == form.get("blocked_path", "")
    assert request.call.agent_id == form.get("agent_id", "")
    assert request.permission_mode == form.get("permission_mode", "")
    offered = [choice.decision.updates for choice in request.choices if choice.key[0] == "s"]
    assert offered == [(entry,) for entry in form.get("permission_suggestions") or ()]


@pytest.mark.parametrize(("tool", "tool_input"), forms.TOOL_INPUTS.values(), ids=forms.TOOL_INPUTS)
@pytest.mark.parametrize("name", ["PermissionRequest", "PreToolUse"])
def test_every_tool_can_be_asked_about(name: str, tool: str, tool_input: dict[str, Any]) -> None:
    request = ask(event(hook_event_name=name, tool_name=tool, tool_input=tool_input))
    assert (request.event, request.call.tool, request.input) == (name, tool, tool_input)
    verdicts = {choice.decision.verdict for choice in request.choices if choice.action is Action.DECIDE}
    assert verdicts == ({Verdict.DENY} if request.form else {Verdict.ALLOW, Verdict.DENY})
    assert ("m" in {choice.key for choice in request.choices}) is bool(request.editable)


@pytest.mark.parametrize("form", forms.TOOL_ENDS.values(), ids=forms.TOOL_ENDS)
def test_older_reports_of_an_ended_call_are_understood(form: dict[str, Any]) -> None:
    ended = heard_of(form)
    assert isinstance(ended, ToolEnded)
    assert ended.duration_s is None
    asked = ask(json.dumps({**form, "hook_event_name": "PermissionRequest"}).encode())
    assert ended.call == asked.call


def test_an_ended_call_without_its_input_settles_nothing() -> None:
    """It cannot be told from another call, so nobody's card may change because of it."""
    assert heard_of(forms.TOOL_END_WITHOUT_INPUT) == Ignored("PostToolUse")


def test_older_moves_of_a_session_are_understood() -> None:
    assert heard_of(forms.PROMPT) == SessionMoved("abc123", "", Move.PROMPT)
    assert heard_of(forms.STOP) == SessionMoved("abc123", "", Move.STOP)
    for form in forms.SESSION_STARTS.values():
        assert heard_of(form) == SessionMoved("abc123", "", Move.RESTART)
    for reason, form in forms.SESSION_ENDS.items():
        assert heard_of(form) == SessionEnded("abc123", reason)


def test_a_subagent_s_stop_without_its_id_is_not_taken_for_the_main_thread_s() -> None:
    """Older versions do not say which subagent stopped; the main thread may be waiting for an answer meanwhile."""
    assert heard_of(forms.SUBAGENT_STOP) == Ignored("SubagentStop")
    assert heard_of({**forms.SUBAGENT_STOP, "agent_id": "a1"}) == SessionMoved("abc123", "a1", Move.STOP)


@pytest.mark.parametrize("form", forms.UNHEEDED.values(), ids=forms.UNHEEDED)
def test_what_calls_for_nothing_is_understood_all_the_same(form: dict[str, Any]) -> None:
    assert heard_of(form) == Ignored(form["hook_event_name"])


def _unsealed(request: Request) -> list[Choice]:
    """A seal covers the bytes as they came, so other bytes have other seals."""
    return [replace(choice, seal="") for choice in request.choices]


def test_unknown_fields_are_normal_wherever_they_stand() -> None:
    more = {"effort": {"level": "max"}, "future": [None], "\ud800": "\udfff"}
    for path in CLAUDE:
        value = json.loads(path.read_bytes())
        plain, extended = hear(json.dumps(value).encode()), hear(json.dumps({**value, **more}).encode())
        if isinstance(plain, Request) and isinstance(extended, Request):
            assert (_unsealed(plain), plain.call) == (_unsealed(extended), extended.call)
        else:
            assert plain == extended


def test_a_permission_request_offers_allow_three_ways_to_deny_and_its_suggestions() -> None:
    request = ask(recorded("PermissionRequest.Bash.1.json"))
    assert [(choice.key, choice.label, choice.action) for choice in request.choices] == [
        ("a", "Allow", Action.DECIDE),
        ("d", "Deny", Action.DECIDE),
        ("m", "Edit…", Action.ASK_EDIT),
        ("r", "Deny with a reason…", Action.ASK_REASON),
        ("x", "Deny and stop", Action.DECIDE),
        # Any package may be fetched by it, and its scripts run: that takes a second tap.
        ("s0", "Always allow `npm install *`, `npm test *` in this project", Action.CONFIRM),
        ("n0", "Always allow `npm install *`, `npm test *` in this session", Action.CONFIRM),
    ]


def test_a_gate_offers_no_standing_permission_and_no_stop() -> None:
    """PreToolUse has no way to say either."""
    suggestion = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    request = ask(event(hook_event_name="PreToolUse", permission_suggestions=[suggestion]))
    assert [choice.key for choice in request.choices] == ["a", "d", "m", "r", "g"]


def test_keys_are_unique_on_every_card() -> None:
    for path in CLAUDE:
        heard = hear(path.read_bytes())
        if isinstance(heard, Request):
            keys = [choice.key for choice in heard.choices]
            assert len(keys) == len(set(keys))


def test_an_unknown_agent_is_named_together_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'emacs'; it knows claude, codex"):
        agent_of("emacs")


def test_only_a_question_can_be_read_back_as_a_question() -> None:
    with pytest.raises(InputError, match="not a question"):
        parse_request(ID, Caller(agent="claude", deadline_s=1.0), recorded("Stop.json"))


@pytest.mark.parametrize(
    ("recording", "attended", "mode", "expected"),
    [
        ("PermissionRequest.Bash.1.json", True, "default", True),
        ("PermissionRequest.Bash.1.json", False, "default", False),
        ("PermissionRequest.Bash.1.json", True, "dontAsk", False),
        ("PermissionRequest.Bash.subagent.json", True, "default", False),
        ("PermissionRequest.Bash.subagent.json", False, "default", False),
        ("PreToolUse.Bash.json", True, "default", False),
    ],
)
def test_only_the_main_thread_of_an_attended_session_shows_a_prompt_of_its_own(
    recording: str, attended: bool, mode: str, expected: bool
) -> None:
    raw = json.dumps({**json.loads(recorded(recording)), "permission_mode": mode}).encode()
    request = parse_request(ID, Caller(agent="claude", deadline_s=60, attended=attended), raw)
    assert request.shows_own_prompt is expected
