"""What goes back to Claude Code, byte for byte as the hook contract lists it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tapgate.agents.claude.events import ACCEPT_EDITS
from tapgate.agents.registry import BUILT_IN
from tapgate.desk.drafts import answer_of, with_pick
from tapgate.model import NO_OPINION, Action, Decision, Draft, Request, Verdict

from . import forms
from .captures import CLAUDE, answer, ask, event, hear, press

ALLOW = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'

ENTRIES: dict[str, dict[str, Any]] = {
    "addRules": {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}, {"toolName": "WebSearch"}],
        "behavior": "allow",
        "destination": "localSettings",
    },
    "addRules in another order": {
        "type": "addRules",
        "destination": "localSettings",
        "rules": [{"toolName": "WebFetch", "ruleContent": "domain:example.com"}],
        "behavior": "allow",
    },
    "replaceRules": {
        "type": "replaceRules",
        "rules": [{"toolName": "Bash"}],
        "behavior": "deny",
        "destination": "userSettings",
    },
    "removeRules": {
        "type": "removeRules",
        "rules": [{"toolName": "Bash"}],
        "behavior": "allow",
        "destination": "session",
    },
    "setMode": {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    "addDirectories": {"type": "addDirectories", "directories": ["/var/tmp"], "destination": "session"},
    "removeDirectories": {"type": "removeDirectories", "directories": ["/var/tmp"], "destination": "session"},
    "toolAlwaysAllow": {"type": "toolAlwaysAllow", "tool": "Bash"},
    "a type of tomorrow": {"type": "grantMoon", "phase": {"full": True, "nights": [1, 2, 3]}, "until": None},
    "no type": {"oddly": "shaped"},
    "unicode": {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "echo 'Grüße 🎉' \u2028"}]},
    "lone surrogates": {"type": "addDirectories", "directories": ["/tmp/\udcff", "\ud83d"], "\udc00": "\ud800"},
    "unknown keys deep inside": {"type": "setMode", "mode": "plan", "more": {"of": [{"what": [{"nobody": "knows"}]}]}},
    "big and small numbers": {"type": "grantMoon", "far": 10**40, "near": -1, "half": 0.5, "tiny": 5e-324, "no": 0},
    "wrong types": {"type": "addRules", "rules": "all", "behavior": 3, "destination": ["session"]},
}


def rendered(raw: bytes, decision: Decision) -> bytes:
    return BUILT_IN["claude"].render(ask(raw), decision)


def test_allow_is_as_the_contract_lists_it() -> None:
    assert answer(ask(event()), "a") == ALLOW


def test_deny_is_as_the_contract_lists_it() -> None:
    assert rendered(event(), Decision(Verdict.DENY, "shown to Claude")) == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
        b'"decision":{"behavior":"deny","message":"shown to Claude","interrupt":false}}}'
    )


def test_deny_with_interrupt() -> None:
    assert rendered(event(), Decision(Verdict.DENY, "Stop that.", interrupt=True)) == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
        b'"decision":{"behavior":"deny","message":"Stop that.","interrupt":true}}}'
    )


def test_the_deny_buttons_have_words_for_claude() -> None:
    """Without a message Claude would see a generic text only."""
    request = ask(event())
    deny = b'{"behavior":"deny","message":"Denied from the phone.","interrupt":%s}}}'
    head = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":'
    assert answer(request, "d") == head + deny % b"false"
    assert answer(request, "x") == head + deny % b"true"
    assert answer(request, "r") == head + deny % b"false"  # where a reason has none, after all


def test_a_typed_reason_reaches_claude_whatever_its_letters() -> None:
    output = rendered(event(), Decision(Verdict.DENY, 'use "pnpm"\n– ✅ \ud800'))
    assert output == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny",'
        b'"message":"use \\"pnpm\\"\\n\\u2013 \\u2705 \\ud800","interrupt":false}}}'
    )


def test_allow_with_updated_input_and_permissions_is_as_the_contract_lists_it() -> None:
    listed = (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
        b'"decision":{"behavior":"allow","updatedInput":{},"updatedPermissions":[]}}}'
    )
    entry = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    filled = b'[{"type":"setMode","mode":"acceptEdits","destination":"session"}]'
    both = Decision(Verdict.ALLOW, updated_input={}, updates=(entry,))
    assert rendered(event(), both) == listed.replace(b"[]", filled)


def test_allow_with_updated_input_alone() -> None:
    decision = Decision(Verdict.ALLOW, updated_input={"command": "echo changed", "timeout": 5})
    assert rendered(event(), decision) == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
        b'"decision":{"behavior":"allow","updatedInput":{"command":"echo changed","timeout":5}}}}'
    )


def test_no_opinion_is_empty() -> None:
    assert rendered(event(), NO_OPINION) == b""


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_chosen_suggestion_is_echoed_unchanged(entry: dict[str, Any]) -> None:
    request = ask(event(permission_suggestions=[entry]))
    echoed = json.dumps(entry, separators=(",", ":")).encode("ascii")
    assert answer(request, "s0") == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
        b'"decision":{"behavior":"allow","updatedPermissions":[' + echoed + b"]}}}"
    )


def test_one_suggestion_of_several_is_sent_alone() -> None:
    request = ask(event(permission_suggestions=list(ENTRIES.values())))
    for number, entry in enumerate(ENTRIES.values()):
        decision = json.loads(answer(request, f"s{number}"))["hookSpecificOutput"]["decision"]
        assert decision == {"behavior": "allow", "updatedPermissions": [entry]}


def test_only_what_was_suggested_can_be_granted() -> None:
    """toolAlwaysAllow voids the whole output where it was not received, and nobody may invent a rule."""
    found = 0
    for path in CLAUDE:
        heard = hear(path.read_bytes())
        if not isinstance(heard, Request):
            continue
        received = json.loads(heard.raw).get("permission_suggestions", [])
        if heard.call.tool == "ExitPlanMode":
            received = [ACCEPT_EDITS]  # the one thing that a plan's approval may switch, as its own dialog does
        for choice in heard.choices:
            if choice.action not in (Action.DECIDE, Action.CONFIRM):
                continue
            output = json.loads(BUILT_IN["claude"].render(heard, choice.decision))["hookSpecificOutput"]
            granted = output.get("decision", {}).get("updatedPermissions", [])
            if choice.key.startswith("n"):  # the same rule, for this session only
                assert granted == [{**received[int(choice.key[1:])], "destination": "session"}]
                continue
            assert all(entry in received for entry in granted)
            found += len(granted)
    assert found > 10


def test_nothing_but_a_suggestion_button_grants_anything() -> None:
    request = ask(event(permission_suggestions=list(ENTRIES.values())))
    for choice in request.choices:
        assert bool(choice.decision.updates) is (choice.key[0] in "sn")
        assert bool(choice.saved) is (choice.key[0] in "sn")


def test_a_deny_grants_nothing_even_with_updates_in_hand() -> None:
    decision = Decision(Verdict.DENY, "no", updates=({"type": "setMode"},), updated_input={"command": "x"})
    assert rendered(event(), decision) == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
        b'"decision":{"behavior":"deny","message":"no","interrupt":false}}}'
    )


# PreToolUse


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision(Verdict.ALLOW), ("allow", "Allowed from the phone.")),
        (Decision(Verdict.ALLOW, "go on"), ("allow", "go on")),
        (Decision(Verdict.DENY), ("deny", "Denied from the phone.")),
        (Decision(Verdict.DENY, "use pnpm", interrupt=True), ("deny", "use pnpm")),
        (NO_OPINION, ("ask", "No answer from the phone.")),
    ],
)
def test_a_gate_says_allow_deny_or_ask_with_its_reason(decision: Decision, expected: tuple[str, str]) -> None:
    word, reason = (part.encode() for part in expected)
    assert rendered(json.dumps(forms.PRE_TOOL_USE).encode(), decision) == (
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s",'
        b'"permissionDecisionReason":"%s"}}' % (word, reason)
    )


def test_a_gate_passes_an_updated_input_on() -> None:
    decision = Decision(Verdict.ALLOW, updated_input={"command": "npm install --save-exact"})
    assert rendered(json.dumps(forms.PRE_TOOL_USE).encode(), decision) == (
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",'
        b'"permissionDecisionReason":"Allowed from the phone.","updatedInput":{"command":"npm install --save-exact"}}}'
    )


def test_a_gate_that_denies_changes_no_input_and_grants_nothing() -> None:
    decision = Decision(Verdict.DENY, "no", updates=({"type": "setMode"},), updated_input={"command": "x"})
    assert rendered(json.dumps(forms.PRE_TOOL_USE).encode(), decision) == (
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
        b'"permissionDecisionReason":"no"}}'
    )


# Plans and questions


def test_an_approved_plan_gives_its_input_back() -> None:
    """A plain allow is ignored there, and the dialog stays."""
    tool_input = {"plan": "# Plan\n\n1. Write a.py\n", "planFilePath": "/home/dev/.claude/plans/p.md", "new": [1.5]}
    request = ask(event(tool_name="ExitPlanMode", tool_input=tool_input))
    assert press(request, "a").label == "Approve the plan"
    assert answer(request, "a") == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":'
        b'{"plan":"# Plan\\n\\n1. Write a.py\\n","planFilePath":"/home/dev/.claude/plans/p.md","new":[1.5]}}}}'
    )


def test_an_approved_plan_can_switch_to_accepting_edits() -> None:
    tool_input = {"plan": "1. Write a.py"}
    request = ask(event(tool_name="ExitPlanMode", tool_input=tool_input))
    assert [choice.label for choice in request.choices] == [
        "Approve the plan",
        "Approve, and accept edits",
        "Reject",
        "Revise…",
    ]
    assert answer(request, "e") == (
        b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow",'
        b'"updatedInput":{"plan":"1. Write a.py"},'
        b'"updatedPermissions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}}}'
    )


def test_a_question_is_answered_inside_its_input() -> None:
    request = ask(json.dumps(forms.QUESTION).encode())
    assert request.form is not None
    picked = answer_of(request, with_pick(request.form, Draft(), 1))
    output = BUILT_IN["claude"].render(request, picked.decision)
    assert json.loads(output)["hookSpecificOutput"]["decision"] == {
        "behavior": "allow",
        "updatedInput": {**forms.QUESTION["tool_input"], "answers": {"Which database should we use?": "SQLite"}},
    }
    assert b'"multiSelect":false}],"answers":{"Which database should we use?":"SQLite"}}}}}' in output


def test_every_way_to_allow_a_question_or_a_plan_carries_its_input() -> None:
    """Otherwise the tap would be lost: Claude Code ignores a plain allow for these two."""
    plan = ask(event(tool_name="ExitPlanMode", tool_input={"plan": "x"}))
    allowing = [choice for choice in plan.choices if choice.decision.verdict is Verdict.ALLOW]
    assert len(allowing) == 2 and all(choice.decision.updated_input == {"plan": "x"} for choice in allowing)
    question = ask(json.dumps(forms.QUESTION).encode())
    assert not [choice for choice in question.choices if choice.decision.verdict is Verdict.ALLOW]


def _question(**fields: Any) -> dict[str, Any]:
    return {**forms.QUESTION["tool_input"]["questions"][0], **fields}


@pytest.mark.parametrize(
    "questions",
    [
        [_question(), _question()],  # the answers could not be told apart
        [_question(), "And which cache?"],
        [_question(options="none")],
        [_question(options=[{"label": " "}])],
        [_question(options=[{"description": "no label"}, "text", None])],
        [_question(question=None)],
        [_question(question=" ")],
        [_question(question=f"Which {number}?") for number in range(11)],
        [_question(options=[{"label": f"Option {number}"} for number in range(21)])],
        [],
        ["Which one?"],
        "Which one?",
        None,
    ],
)
def test_questions_that_cannot_be_put_on_a_card_can_only_be_skipped_here(questions: object) -> None:
    request = ask(event(tool_name="AskUserQuestion", tool_input={"questions": questions}))
    assert request.form is None
    assert [choice.key for choice in request.choices] == ["d", "x"]
    assert "answer them at the terminal" in request.note
