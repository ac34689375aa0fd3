"""A suggestion's button says in words exactly which rule it writes, and how far that reaches."""

from __future__ import annotations

from typing import Any

import pytest

from tapgate.agents.claude.suggestions import MOST_JUDGED, MOST_SUGGESTIONS, TOO_MANY, words_of
from tapgate.model import Action

from .captures import ask, event

RULE = [{"toolName": "Bash", "ruleContent": "npm test *"}]
TWO = [*RULE, {"toolName": "Read", "ruleContent": "//etc/**"}]


def rules(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "rules": RULE, "behavior": "allow", "destination": "localSettings", **fields}


@pytest.mark.parametrize(
    ("entry", "label", "saved"),
    [
        # The issue's own words
        (
            rules("addRules"),
            "Always allow `npm test *` in this project",
            "rule `npm test *` saved to this project's local settings",
        ),
        (
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            "Accept edits in this session",
            "mode acceptEdits, for this session only",
        ),
        (
            {"type": "addDirectories", "directories": ["/var/tmp"], "destination": "session"},
            "Allow /var/tmp for this session",
            "/var/tmp added, for this session only",
        ),
        # Rules: destinations
        (
            rules("addRules", destination="session"),
            "Always allow `npm test *` in this session",
            "rule `npm test *` for this session only",
        ),
        (
            rules("addRules", destination="projectSettings"),
            "Always allow `npm test *` in this project, for everyone",
            "rule `npm test *` saved to this project's shared settings",
        ),
        (
            rules("addRules", destination="userSettings"),
            "Always allow `npm test *` in all projects",
            "rule `npm test *` saved to your user settings",
        ),
        (
            rules("addRules", destination="cliArg"),
            "Always allow `npm test *` in cliArg",
            "rule `npm test *` saved to cliArg",
        ),
        (
            {"type": "addRules", "rules": RULE, "behavior": "allow"},
            "Always allow `npm test *` from now on",
            "rule `npm test *` kept by the agent",
        ),
        # Rules: behaviours
        (
            rules("addRules", behavior="deny"),
            "Allow once, but always deny `npm test *` in this project",
            "deny rule `npm test *` saved to this project's local settings",
        ),
        (
            rules("addRules", behavior="ask", destination="session"),
            "Allow once, but always ask `npm test *` in this session",
            "ask rule `npm test *` for this session only",
        ),
        # Rules: what they name
        (
            rules("addRules", rules=TWO),
            "Always allow `npm test *`, `Read(//etc/**)` in this project",
            "rules `npm test *`, `Read(//etc/**)` saved to this project's local settings",
        ),
        (
            rules("addRules", rules=[{"toolName": "WebSearch"}]),
            "Always allow `WebSearch` in this project",
            "rule `WebSearch` saved to this project's local settings",
        ),
        (
            rules("addRules", rules=[{"toolName": "WebFetch", "ruleContent": "domain:example.com"}]),
            "Always allow `WebFetch(domain:example.com)` in this project",
            "rule `WebFetch(domain:example.com)` saved to this project's local settings",
        ),
        (
            rules("addRules", rules=[{"toolName": "Bash"}], destination="userSettings"),
            "Always allow `Bash` in all projects",
            "rule `Bash` saved to your user settings",
        ),
        # Rules: the other two verbs
        (
            rules("replaceRules", rules=TWO, destination="userSettings"),
            "Allow, and make `npm test *`, `Read(//etc/**)` the only allow rules in all projects",
            "allow rules replaced by `npm test *`, `Read(//etc/**)`, saved to your user settings",
        ),
        (
            rules("replaceRules", behavior="deny", destination="session"),
            "Allow, and make `npm test *` the only deny rule in this session",
            "deny rules replaced by `npm test *`, for this session only",
        ),
        (
            rules("removeRules"),
            "Allow, and drop the allow rule `npm test *` in this project",
            "rule `npm test *` removed, saved to this project's local settings",
        ),
        (
            rules("removeRules", rules=TWO, behavior="deny", destination="projectSettings"),
            "Allow, and drop the deny rules `npm test *`, `Read(//etc/**)` in this project, for everyone",
            "rules `npm test *`, `Read(//etc/**)` removed, saved to this project's shared settings",
        ),
        # Modes
        (
            {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
            "Stop asking for anything in this session",
            "mode bypassPermissions, for this session only",
        ),
        (
            {"type": "setMode", "mode": "plan", "destination": "localSettings"},
            "Switch to plan mode in this project",
            "mode plan, saved to this project's local settings",
        ),
        (
            {"type": "setMode", "mode": "default", "destination": "userSettings"},
            "Ask for everything in all projects",
            "mode default, saved to your user settings",
        ),
        (
            {"type": "setMode", "mode": "auto", "destination": "session"},
            "Switch to auto mode in this session",
            "mode auto, for this session only",
        ),
        (
            {"type": "setMode", "mode": "dontAsk", "destination": "projectSettings"},
            "Switch to the mode that never asks in this project, for everyone",
            "mode dontAsk, saved to this project's shared settings",
        ),
        (
            {"type": "setMode", "mode": "dreaming", "destination": "session"},
            "Switch to mode dreaming in this session",
            "mode dreaming, for this session only",
        ),
        # Directories
        (
            {"type": "addDirectories", "directories": ["/a", "/b c"], "destination": "localSettings"},
            "Allow /a, /b c for this project",
            "/a, /b c added, saved to this project's local settings",
        ),
        (
            {"type": "addDirectories", "directories": ["/inn"], "destination": "userSettings"},
            "Allow /inn for all projects",
            "/inn added, saved to your user settings",
        ),
        (
            {"type": "addDirectories", "directories": ["/a"], "destination": "projectSettings"},
            "Allow /a for this project, for everyone",
            "/a added, saved to this project's shared settings",
        ),
        (
            {"type": "removeDirectories", "directories": ["/var/tmp"], "destination": "session"},
            "Allow, and close /var/tmp for this session",
            "/var/tmp removed, for this session only",
        ),
        # The first form, and forms to come
        (
            {"type": "toolAlwaysAllow", "tool": "Bash"},
            "Always allow `Bash`",
            "every `Bash` call, kept by the agent",
        ),
        (
            {"type": "grantMoon", "phase": "full"},
            "(phase: full) Allow with “grantMoon”",
            "(phase: full) “grantMoon” as the agent suggested it",
        ),
    ],
)
def test_the_words_are_exact(entry: dict[str, Any], label: str, saved: str) -> None:
    assert words_of(entry) == (label, saved)
    (choice,) = (found for found in ask(event(permission_suggestions=[entry])).choices if found.key == "s0")
    assert (choice.label, choice.saved) == (label, saved)


@pytest.mark.parametrize(
    ("destination", "scope"),
    [
        ("session", "in this session"),
        ("localSettings", "in this project"),
        ("projectSettings", "in this project, for everyone"),
        ("userSettings", "in all projects"),
        ("aPlaceOfTomorrow", "in aPlaceOfTomorrow"),
    ],
)
@pytest.mark.parametrize("behavior", ["allow", "deny", "ask"])
def test_every_kind_says_how_far_it_reaches(destination: str, scope: str, behavior: str) -> None:
    for kind in ("addRules", "replaceRules", "removeRules", "setMode"):
        label, _ = words_of({**rules(kind, destination=destination, behavior=behavior), "mode": "plan"})
        assert label.endswith(f" {scope}")
    for kind in ("addDirectories", "removeDirectories"):
        label, _ = words_of({"type": kind, "directories": ["/inn/in"], "destination": destination})
        assert label.endswith(f" /inn/in for{scope.removeprefix('in')}")
    for kind in ("addRules", "replaceRules", "removeRules"):
        label, _ = words_of(rules(kind, destination=destination, behavior=behavior))
        assert f" {behavior} " in label
        assert label.startswith("Always allow `") is (kind == "addRules" and behavior == "allow")


def test_a_rule_of_an_unknown_shape_is_on_its_button_too() -> None:
    """The entry goes back whole, so nothing of its rules and directories may be missing from the words."""
    label, _ = words_of(rules("addRules", rules=["Bash(*)", *RULE, {"ruleContent": "x", "toolName": None}]))
    assert label == "Always allow `Bash(*)`, `npm test *`, `null(x)` in this project"
    assert words_of(rules("addRules", rules="Bash(*)"))[0] == "Always allow `Bash(*)` in this project"
    assert words_of(rules("addRules", rules=[["Bash"]]))[0] == 'Always allow `["Bash"]` in this project'
    folders = {"type": "addDirectories", "directories": "/etc", "destination": "session"}
    assert words_of(folders)[0] == "Allow /etc for this session"
    assert words_of({**folders, "directories": [{"path": "/etc"}]})[0] == 'Allow {"path": "/etc"} for this session'


@pytest.mark.parametrize("nothing", [{}, {"rules": []}, {"rules": None}])
def test_a_suggestion_of_no_rules_says_so(nothing: dict[str, Any]) -> None:
    entry = {"type": "addRules", "behavior": "allow", "destination": "session", **nothing}
    assert words_of(entry)[0] == "Always allow no rule in this session"
    folders = {"type": "addDirectories", "destination": "session", "directories": nothing.get("rules")}
    assert words_of(folders)[0] == "Allow no directory for this session"


def test_fields_that_nobody_knows_are_on_the_button_too() -> None:
    """The entry goes back whole: what it may do one day must not be allowed unseen today."""
    entry = rules("addRules", rules=[{"toolName": "Bash", "ruleContent": "npm test *", "deep": True}], until="never")
    (choice,) = (found for found in ask(event(permission_suggestions=[entry])).choices if found.key == "s0")
    assert choice.label == "(until: never) Always allow `npm test *, deep: true` in this project"
    assert choice.saved == "(until: never) rule `npm test *, deep: true` saved to this project's local settings"


def test_suggestions_that_are_no_objects_get_no_button() -> None:
    request = ask(event(permission_suggestions=["addRules", None, 3, ["x"], {"type": "toolAlwaysAllow", "tool": "A"}]))
    assert [choice.label for choice in request.choices if choice.saved] == ["Always allow `A`"]


def test_a_flood_of_suggestions_is_cut() -> None:
    entries = [{"type": "toolAlwaysAllow", "tool": f"T{number}"} for number in range(1000)]
    request = ask(event(permission_suggestions=entries))
    saving = [choice for choice in request.choices if choice.saved]
    assert len(saving) == MOST_SUGGESTIONS
    assert [choice.decision.updates[0] for choice in saving] == entries[:MOST_SUGGESTIONS]


def test_more_rules_than_can_be_checked_take_a_second_tap() -> None:
    """Small requests are read in the event loop, so the work for one is bounded; what is not judged is not narrow."""
    entries = [rules("addRules", rules=[{"toolName": "Bash", "ruleContent": f"npm run t{n}"}] * 5) for n in range(20)]
    choices = [choice for choice in ask(event(permission_suggestions=entries)).choices if choice.saved]
    acts = [choice.action for choice in choices if choice.key.startswith("s")]
    judged = MOST_JUDGED // 5
    assert acts == [Action.DECIDE] * judged + [Action.CONFIRM] * (20 - judged)
    assert TOO_MANY + "." in choices[-1].explained
