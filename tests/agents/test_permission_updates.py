"""Each permission update is judged by itself; whatever its shape, its button names what goes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.agents.claude.permission_updates import MOST_RULES, why_careful
from tapgate.agents.claude.suggestions import choices_of
from tapgate.model import Action, Card, Draft, Phase
from tapgate.telegram.card import fits, render_card
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.keyboard import keyboard_of
from tapgate.telegram.text import units

from .captures import ask, event

PROJECT = "/home/dev/shop"
NPM = {"toolName": "Bash", "ruleContent": "npm test *"}
PLAIN = DisplayOptions(clock=lambda wall: "08:09", mask=False)


def rules(*listed: Any, kind: str = "addRules", behavior: Any = "allow", destination: Any = "localSettings") -> Any:
    return {"type": kind, "rules": list(listed), "behavior": behavior, "destination": destination}


def tool(name: str, content: str | None = None) -> dict[str, str]:
    return {"toolName": name} if content is None else {"toolName": name, "ruleContent": content}


def mode(name: Any, destination: Any = "session") -> dict[str, Any]:
    return {"type": "setMode", "mode": name, "destination": destination}


def folders(*paths: Any, destination: Any = "session", kind: str = "addDirectories") -> dict[str, Any]:
    return {"type": kind, "directories": list(paths), "destination": destination}


ONE_TAP = [
    rules(NPM),
    rules(NPM, destination="session"),
    rules(NPM, destination="projectSettings"),
    rules(tool("Bash", "npm test"), destination="userSettings"),
    rules(NPM, tool("Bash", "npm run lint")),
    rules(tool("WebFetch", "domain:example.com")),
    rules(tool("WebFetch", "domain:example.com"), destination="userSettings"),
    rules(tool("WebSearch")),
    rules(tool("mcp__demo__lookup")),
    rules(tool("Edit", "src/**")),
    rules(tool("Read", "//home/dev/other/**"), destination="session"),
    rules(tool("Bash"), behavior="deny", destination="userSettings"),
    rules(tool("Bash", "rm *"), behavior="ask"),
    rules(tool("Bash"), kind="removeRules"),
    rules(NPM, kind="replaceRules"),
    mode("default"),
    mode("plan", "userSettings"),
    mode("acceptEdits"),
    folders("/var/tmp"),
    folders("/", kind="removeDirectories"),
]
TWO_TAPS = [
    rules(tool("Bash")),
    rules(tool("Bash", "")),
    rules(tool("Bash"), destination="session"),
    rules(tool("Write")),
    rules(tool("Edit")),
    rules(tool("Read")),
    rules(tool("WebFetch")),
    rules(tool("WebFetch", "domain:*")),
    rules(tool("WebFetch", "example.com")),
    rules(tool("*")),
    rules(tool("mcp__demo")),
    rules(tool("mcp__demo__*")),
    rules(tool("mcp__demo__lookup"), destination="userSettings"),
    rules(tool("mcp__desk__run_command")),
    rules(tool("mcp__desk__executeShell")),
    rules(tool("Bash", "*")),
    rules(tool("Bash", ":*")),
    rules(tool("Bash", "sudo *"), destination="userSettings"),
    rules(NPM, destination="userSettings"),
    rules(NPM, tool("Bash", "npx *")),
    rules(NPM, NPM, tool("Edit", "~/**")),
    rules(tool("Edit", "//")),
    rules(tool("Edit", "/home/**")),
    rules(tool("Bash", "npm test` in this session, `x")),
    rules(tool("Bash", "npm te\u200bst")),
    rules(tool("Bash", "nрm test")),  # a Cyrillic letter
    rules(tool("Task", "Explore")),
    rules(tool("ToolOfTomorrow")),
    rules(tool("Bash", "prompt: anything at all")),
    rules({**NPM, "deep": True}),
    rules("Bash(npm test)"),
    rules(["Bash"]),
    rules({"toolName": None, "ruleContent": "x"}),
    rules({"toolName": "Bash", "ruleContent": ["npm test"]}),
    rules({"toolName": "Bash", "ruleContent": 0}),
    {**rules(), "rules": "Bash"},
    {**rules(), "rules": None},
    rules(*[NPM] * (MOST_RULES + 1)),
    rules(NPM, behavior=None),
    rules(NPM, behavior="always"),
    rules(NPM, behavior=["allow"]),
    rules(NPM, destination=None),
    rules(NPM, destination=""),
    rules(NPM, destination="cliArg"),
    rules(NPM, destination=["session"]),
    {"type": "addRules", "rules": [NPM], "behavior": "allow"},
    {**rules(NPM), "until": "never"},
    {**rules(NPM), "mode": "bypassPermissions"},
    rules(tool("Bash", "rm *"), kind="removeRules", behavior="deny"),
    rules(tool("Bash", "rm *"), kind="removeRules", behavior="ask"),
    rules(kind="removeRules", behavior="deny"),
    rules(tool("Bash", "rm *"), kind="replaceRules", behavior="deny"),
    rules(kind="replaceRules", behavior="ask"),
    rules(tool("Bash"), kind="replaceRules"),
    mode("bypassPermissions"),
    mode("dontAsk"),
    mode("auto"),
    mode("dreaming"),
    mode("acceptEdits", "userSettings"),
    mode("acceptEdits", "localSettings"),
    mode(["plan"]),
    mode({"plan": 1}),
    mode(None),
    mode("plan", "moon"),
    folders("/"),
    folders("/home/dev"),
    folders("/var/tmp", "/"),
    folders("/var/tmp", destination="userSettings"),
    folders(""),
    folders(3),
    {**folders(), "directories": "/var/tmp"},
    {"type": "toolAlwaysAllow", "tool": "Bash"},
    {"type": "toolAlwaysAllow", "tool": "WebSearch"},
    {"type": "grantMoon"},
    {"type": ["addRules"]},
    {"type": None},
    {},
]


def act_of(entry: Any) -> Action:
    (choice,) = (found for found in choices_of([entry], project=PROJECT) if found.key == "s0")
    return choice.action


@pytest.mark.parametrize("entry", ONE_TAP, ids=json.dumps)
def test_narrow_and_stricter_updates_take_one_tap(entry: Any) -> None:
    assert why_careful(entry, project=PROJECT) is None
    assert act_of(entry) is Action.DECIDE


@pytest.mark.parametrize("entry", TWO_TAPS, ids=lambda entry: json.dumps(entry)[:100])
def test_broad_and_unknown_updates_take_two_taps(entry: Any) -> None:
    assert why_careful(entry, project=PROJECT)
    assert act_of(entry) is Action.CONFIRM


def test_the_same_rule_for_a_session_is_judged_by_itself() -> None:
    """In all projects it takes two taps, in this session one."""
    acts = {
        choice.key: choice.action for choice in choices_of([rules(NPM, destination="userSettings")], project=PROJECT)
    }
    assert acts == {"s0": Action.CONFIRM, "n0": Action.DECIDE}


def test_a_plan_is_approved_with_its_edits_by_one_tap() -> None:
    request = ask(event(tool_name="ExitPlanMode", tool_input={"plan": "x"}))
    assert {choice.key: choice.action for choice in request.choices}["e"] is Action.DECIDE


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            rules(tool("Bash"), destination="userSettings"),
            ["every use of Bash", "~/.claude/settings.json", "/permissions"],
        ),
        (rules(tool("Bash", "npx *")), ["every command that fits `npx *`", ".claude/settings.local.json"]),
        (
            rules(tool("Bash", "rm x"), destination="projectSettings"),
            ["the command `rm x`", ".claude/settings.json of this"],
        ),
        (rules(tool("Edit", "~/**"), destination="session"), ["`Edit(~/**)`", "ends with this session"]),
        (rules(tool("Bash", "rm *"), kind="removeRules", behavior="deny"), ["no longer denied", "`rm *`"]),
        (rules(tool("Bash", "rm *"), kind="removeRules", behavior="ask"), ["no longer asked about", "`rm *`"]),
        (rules(kind="replaceRules", behavior="deny"), ["All deny rules there go, but for: none"]),
        (folders("/", destination="session"), ["all below them: /.", "ends with this session"]),
        (mode("bypassPermissions"), ["mode bypassPermissions", "asks for nothing"]),
        ({"type": "grantMoon", "x": 1}, ["tapgate does not know", '{"type":"grantMoon","x":1}']),
        ({"type": "toolAlwaysAllow", "tool": "Bash"}, ["every use of Bash", "only the agent knows"]),
    ],
)
def test_the_second_look_says_what_it_does_where_it_is_kept_and_how_it_ends(entry: Any, words: list[str]) -> None:
    request = ask(event(permission_suggestions=[entry], cwd=PROJECT))
    text = render_card(_card(request, Draft(confirming="s0")), PLAIN)
    for word in words:
        assert word in text.replace("&quot;", '"')


def _card(request: Any, draft: Draft) -> Card:
    from tapgate.desk.drafts import choices_of as buttons

    choices = buttons(request, draft, risky=False)
    return Card(request, Phase.OPEN, choices, asked_at=0.0, deadline_at=600.0, draft=draft)


# Any shape

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WORD = st.sampled_from(
    [
        *(
            "addRules",
            "replaceRules",
            "removeRules",
            "setMode",
            "addDirectories",
            "removeDirectories",
            "toolAlwaysAllow",
        ),
        *(
            "allow",
            "deny",
            "ask",
            "session",
            "userSettings",
            "Bash",
            "*",
            "acceptEdits",
            "bypassPermissions",
            "/",
            "npm *",
        ),
    ]
)
VALUE = JSON | WORD | st.lists(JSON | WORD, max_size=3)
RULE = st.dictionaries(st.sampled_from(["toolName", "ruleContent", "deep"]), VALUE, max_size=3)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "type": WORD | JSON,
        "rules": st.lists(RULE | VALUE, max_size=3) | VALUE,
        "behavior": VALUE,
        "destination": VALUE,
        "mode": VALUE,
        "directories": VALUE,
        "tool": VALUE,
        "until": VALUE,
    },
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ENTRY | VALUE, max_size=4))
def test_suggestions_of_any_shape_break_no_card(entries: list[Any]) -> None:
    request = ask(event(permission_suggestions=entries, cwd=PROJECT))
    fits(request, _card(request, Draft()).context, PLAIN)
    for draft in (Draft(), *(Draft(confirming=choice.key) for choice in request.choices)):
        card = _card(request, draft)
        for setting in (PLAIN, DisplayOptions(clock=lambda wall: "08:09")):
            assert units(render_card(card, setting)) <= 4096
        assert keyboard_of(card)


def leaves(value: Any) -> list[str]:
    """Every value that an entry holds, as a button names it."""
    if isinstance(value, dict) and value:
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list) and value:
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value] if isinstance(value, str) else [json.dumps(value)]


@settings(max_examples=300, deadline=None)
@given(ENTRY)
def test_what_goes_back_stands_on_the_button_or_is_spelled_out(entry: dict[str, Any]) -> None:
    """Known values are said in words; any other value stands there as it is."""
    for choice in choices_of([entry], project=PROJECT):
        (update,) = choice.decision.updates
        text = " ".join((choice.label, *choice.explained))
        plain = text + json.dumps(text, ensure_ascii=False)
        said = {"null", "[]", "{}", "", *SAID}
        if choice.action is Action.CONFIRM or entry.get("type") in KNOWN:
            missing = [leaf for leaf in leaves(update) if leaf not in said and leaf not in plain]
            assert not [leaf for leaf in missing if json.dumps(leaf, ensure_ascii=False)[1:-1] not in plain], text


KNOWN = ("addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories", "toolAlwaysAllow")
SAID = {
    *KNOWN,
    *("allow", "session", "localSettings", "projectSettings", "userSettings"),
    *("acceptEdits", "bypassPermissions", "plan", "default", "auto", "dontAsk", "Bash"),
}
