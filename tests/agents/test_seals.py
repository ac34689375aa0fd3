"""A seal ties a button to what it says and does: an old button never means something else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Any

import pytest

from tapgate.agents.registry import parse_request
from tapgate.desk.seals import sealed
from tapgate.model import Action, Choice, Decision, Request, Verdict

from .captures import CLAUDE, ask, event, hear

ENTRY = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
CHOICE = Choice("s0", "Always allow `Bash`", Action.DECIDE, Decision(Verdict.ALLOW, "m", updates=(ENTRY,)))


def seal(choice: Choice) -> str:
    return sealed([choice])[0].seal


@pytest.mark.parametrize(
    "other",
    [
        replace(CHOICE, key="s1"),
        replace(CHOICE, label="Always allow `Bash` "),
        replace(CHOICE, action=Action.ASK_REASON),
        replace(CHOICE, decision=replace(CHOICE.decision, verdict=Verdict.DENY)),
        replace(CHOICE, decision=replace(CHOICE.decision, message="n")),
        replace(CHOICE, decision=replace(CHOICE.decision, interrupt=True)),
        replace(CHOICE, decision=replace(CHOICE.decision, updates=())),
        replace(CHOICE, decision=replace(CHOICE.decision, updates=({**ENTRY, "destination": "userSettings"},))),
        replace(CHOICE, decision=replace(CHOICE.decision, updated_input={})),
        replace(CHOICE, decision=replace(CHOICE.decision, updated_input={"command": "ls"})),
    ],
)
def test_a_button_that_says_or_does_something_else_has_another_seal(other: Choice) -> None:
    assert seal(other) != seal(CHOICE)


def test_the_same_button_has_the_same_seal() -> None:
    again = replace(CHOICE, decision=replace(CHOICE.decision, updates=(dict(reversed(ENTRY.items())),)))
    assert seal(again) == seal(CHOICE)
    assert ask(event()).choices == ask(event()).choices


def test_a_seal_survives_a_restart() -> None:
    """It must not depend on the process (hash seeds, ids): the button was sent by the run before."""
    assert seal(CHOICE) == "ftY53uf55fCG0fnOHyhqiuXH9Ei3IPT_"


def test_every_button_of_every_card_is_sealed() -> None:
    for path in CLAUDE:
        request = hear(path.read_bytes())
        if not isinstance(request, Request):
            continue
        for choice in request.choices:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            assert choice.seal == sealed([choice], digest, *request.caller.facts)[0].seal


def test_the_same_button_of_another_request_has_another_seal() -> None:
    """A tap that comes after a restart thereby says which bytes its card showed."""
    first, second = (ask(event(tool_input={"command": command})) for command in ("make", "make clean"))
    assert [choice.key for choice in first.choices] == [choice.key for choice in second.choices]
    assert not {choice.seal for choice in first.choices} & {choice.seal for choice in second.choices}


@pytest.mark.parametrize("other", [{"project": "/srv"}, {"attended": True}, {"uid": 4711}], ids=str)
def test_the_same_button_for_a_call_that_is_judged_by_other_facts_has_another_seal(other: dict[str, Any]) -> None:
    request = ask(event())
    again = parse_request(request.id, replace(request.caller, **other), event())
    assert (again.digest, again.caller) != (request.digest, request.caller) and again.digest == request.digest
    assert not {choice.seal for choice in request.choices} & {choice.seal for choice in again.choices}


def test_a_seal_is_long_enough_against_somebody_who_chooses_both_requests() -> None:
    assert len(base64.urlsafe_b64decode(seal(CHOICE))) >= 24
