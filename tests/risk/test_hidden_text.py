"""Hidden text at the desk: what a card with that risk offers, to whom, and what its buttons take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapgate.desk.answers import CHANGED
from tapgate.desk.case import SHOW_HIDDEN
from tapgate.desk.effects import ShowHidden
from tapgate.desk.people import NOT_SHOWN
from tapgate.masking.mask import hidden_finds, mask_text
from tapgate.model import Action, Context, OnDisk, Phase, Risk, Role, Verdict
from tapgate.risk.assess import assess, hidden_texts, with_changed_file, without_masks
from tests.builders import ADA, BOB, SUGGESTION, make_request, tool_use
from tests.desk.test_answers import Table, decided, replies, said, told
from tests.masking.test_masking import HIDDEN, KEY, block

HIDDEN_RISK = Risk("runs-hidden", "Runs text that is hidden here", asks_twice=True)
REVEALING = Risk("hidden-text", "Runs text that is hidden here, or may run it", asks_twice=True, reveals=True)
APPROVER = replace(BOB, role=Role.APPROVER)


def test_one_tap_allows_nothing_and_the_second_does() -> None:
    table = Table()
    request = table.open(make_request(), risks=(HIDDEN_RISK,))
    acts = {choice.label: choice.action for choice in table.card(request).choices}
    assert acts["Allow…"] is Action.CONFIRM
    assert not any(
        choice.action is Action.DECIDE and choice.decision.verdict is Verdict.ALLOW
        for choice in table.card(request).choices
    )
    assert not replies(table.tap(request, "Allow…"))
    assert table.labels(request)[:2] == ["Yes: Allow", "Back"]
    assert decided(table.tap(request, "Yes: Allow")).verdict is Verdict.ALLOW


def test_the_same_button_twice_is_no_second_tap() -> None:
    table = Table()
    request = table.open(make_request(), risks=(HIDDEN_RISK,))
    first = table.choice(request, "Allow…")
    table.press(request, first)
    effects = table.press(request, first)
    assert not replies(effects) and told(effects) == CHANGED


def test_a_button_from_before_the_risk_was_known_allows_nothing() -> None:
    """The seal tells a button that takes one tap from one that takes two, in both directions."""
    table = Table()
    plain = table.choice(table.open(make_request(1)), "Allow")
    careful = table.choice(table.open(make_request(2), risks=(HIDDEN_RISK,), message=20), "Allow…")
    assert plain.key == careful.key and plain.seal != careful.seal
    assert not replies(table.press(make_request(2), plain, message=20))


def test_a_yes_from_a_watch_is_not_enough() -> None:
    table = Table()
    request = table.open(make_request(), risks=(HIDDEN_RISK,))
    assert "A yes is not enough here" in said(table.reply("y"))
    assert table.card(request).phase is Phase.OPEN


def test_what_lasts_takes_a_second_tap_too() -> None:
    table = Table()
    request = table.open(make_request(), risks=(HIDDEN_RISK,))
    assert not replies(table.tap(request, "Always allow `npm test *` in this project…"))
    assert decided(table.tap(request, table.labels(request)[0])).updates == (SUGGESTION,)


def test_an_edited_text_with_that_risk_takes_a_second_tap_and_back_leads_to_it() -> None:
    table = Table()
    table.desk.state.assess = lambda request: (HIDDEN_RISK,) if "hidden" in str(request.input) else ()
    request = table.open(make_request())
    table.prompt(request, table.tap(request, "Edit…"))
    table.reply("run hidden", to=30)
    assert not replies(table.tap(request, "Run it as edited…"))
    assert table.card(request).draft.text == "run hidden"
    table.tap(request, "Back")
    assert "Run it as edited…" in table.labels(request)
    table.tap(request, "Run it as edited…")
    decision = decided(table.tap(request, "Yes: Run it as edited"))
    assert decision.updated_input == {"command": "run hidden"}


def test_show_hidden_is_an_owner_s_and_only_where_there_is_something_to_show() -> None:
    table = Table(ADA, APPROVER)
    request = table.open(make_request(), risks=(REVEALING,))
    assert "Show hidden" in table.labels(request)
    assert "Show hidden" not in table.labels(request, BOB.chat_id)
    effects = table.press(request, SHOW_HIDDEN, person=APPROVER, message=11)
    assert told(effects) == NOT_SHOWN and not any(isinstance(effect, ShowHidden) for effect in effects)
    (shown,) = (effect for effect in table.tap(request, "Show hidden") if isinstance(effect, ShowHidden))
    assert shown.copy.chat_id == ADA.chat_id
    assert table.card(request).phase is Phase.OPEN
    other = table.open(make_request(2), risks=(HIDDEN_RISK,), message=20)
    assert "Show hidden" not in table.labels(other)
    effects = table.press(other, SHOW_HIDDEN, message=20)
    assert not any(isinstance(effect, ShowHidden) for effect in effects)


def test_what_does_not_fit_can_be_revealed_but_not_allowed() -> None:
    table = Table()
    request = table.open(make_request(), risks=(REVEALING,), fits=False)
    assert table.labels(request)[:2] == ["Show all of it", "Show hidden"]
    assert not any(label.startswith("Allow") for label in table.labels(request))


# What is hidden


@pytest.mark.parametrize("entry", HIDDEN, ids=lambda entry: entry.text[:60])
def test_the_finds_are_what_the_mask_hides(entry: object) -> None:
    """Risks are named by the same finds by which cards are masked."""
    text = getattr(entry, "text", "")
    finds = hidden_finds(text)
    assert tuple(text[find.start : find.end] for find in finds) == getattr(entry, "secrets", ())
    assert tuple(dict.fromkeys(find.kind.said for find in finds)) == mask_text(text).kinds


def test_finds_of_a_long_text_are_in_their_places() -> None:
    lines = [f"ordinary line number {number}" for number in range(6000)]
    lines[5::997] = ["DB_PASSWORD=Qx9zKp2mW7"] * len(lines[5::997])
    text = "\n".join(lines)
    found = [text[find.start : find.end] for find in hidden_finds(text)]
    assert found == ["Qx9zKp2mW7"] * len(lines[5::997])


def test_only_what_is_more_than_one_token_can_be_shown() -> None:
    assert hidden_texts(tool_use("Bash", {"command": "DB_PASSWORD=hunter22 ls"})) == ()
    (hidden,) = hidden_texts(tool_use("Bash", {"command": "sshpass -p 'hunter two' ssh h"}))
    assert (hidden.text, hidden.kind) == ("hunter two", "a password")
    (hidden,) = hidden_texts(tool_use("Write", {"file_path": "/k", "content": block("PRIVATE KEY", KEY, KEY)}))
    assert hidden.text == f"{KEY}\n{KEY}"


def test_without_masks_no_such_risk_is_left() -> None:
    other = Risk("deletes", "It deletes files.")
    assert without_masks((HIDDEN_RISK, REVEALING, other)) == (other,)


def test_a_changed_file_is_looked_at_once() -> None:
    seen = OnDisk(0.0, blocks=("-password = 'x'\n+password = 'Qx9zKp2mW7'\n exec(password)",))
    context = Context(on_disk=seen)
    (risk,) = with_changed_file((), context)
    assert risk.asks_twice
    assert with_changed_file((risk,), context) == (risk,)
    assert with_changed_file((), Context(on_disk=OnDisk(0.0, blocks=("+password = 'Qx9zKp2mW7'",)))) == ()


@pytest.mark.parametrize(
    "text",
    [
        "password = 'Qx9zKp2mW7'\n" * 40_000,
        "password = 'Qx9zKp2mW7'; f(password)\n" * 40_000,
        "exec(password)\n" * 60_000,
        "$API_TOKEN API_TOKEN=Qx9zKp2mW7 " * 30_000,
        "-----BEGIN PRIVATE KEY-----\n" * 30_000,
        "'\"" * 400_000,
    ],
)
def test_long_hostile_texts_end(text: str) -> None:
    """Bounded work, whatever the text: this would take hours where it is not."""
    assess(tool_use("Write", {"file_path": "/a", "content": text}), cwd="/a", project="/a", home="/h")
    assess(tool_use("Bash", {"command": text}), cwd="/a", project="/a", home="/h")
