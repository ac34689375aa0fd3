"""A seal ties a button to what it says and does: an old button never means something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapgate.core.seals import sealed
from tapgate.model import Act, Choice, Decision, Verdict

from .captures import CLAUDE, ask, event, hear

ENTRY = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
CHOICE = Choice("s0", "Always allow `Bash`", Act.DECIDE, Decision(Verdict.ALLOW, "m", updates=(ENTRY,)))


def seal(choice: Choice) -> str:
    return sealed([choice])[0].seal


@pytest.mark.parametrize(
    "other",
    [
        replace(CHOICE, key="s1"),
        replace(CHOICE, label="Always allow `Bash` "),
        replace(CHOICE, act=Act.ASK_REASON),
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
    assert seal(CHOICE) == "ftY53uf5"


def test_every_button_of_every_card_is_sealed() -> None:
    for path in CLAUDE:
        for choice in getattr(hear(path.read_bytes()), "choices", ()):
            assert choice.seal == seal(choice)
