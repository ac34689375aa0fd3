"""Every card, word for word, in tests/data/golden. After a wanted change: `python -m tests.telegram.test_golden`.

Then look at the difference: what stands there is what people decide by.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tapgate.model import Card, Outcome
from tapgate.risk.assess import RULES
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.forms import CHANGES, FORMS
from tapgate.telegram.keyboard import keyboard_of
from tests.telegram.cards import render_card, shown
from tests.telegram.gallery import gallery

FOLDER = Path(__file__).parent.parent / "data" / "golden"
CARDS = {name: (card, setting) for name, card, setting in gallery()}


def golden(card: Card, setting: DisplayOptions) -> str:
    """The HTML, and the words of the buttons below."""
    shown(card, setting)
    rows = [" | ".join(f"[{key.text}]" for key in row) for row in keyboard_of(card)]
    return "\n".join([render_card(card, setting), *([""] if rows else []), *rows]) + "\n"


@pytest.mark.parametrize("name", CARDS)
def test_a_card_is_as_it_was(name: str) -> None:
    path = FOLDER / f"{name}.html"
    assert path.exists(), "new: run `python -m tests.telegram.test_golden` and look at it"
    assert golden(*CARDS[name]) == path.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.html")} == set(CARDS)


def test_every_form_and_every_ending_has_a_golden_file() -> None:
    shown_kinds = {card.request.tool.kind for card, _ in CARDS.values()}
    assert {*FORMS, *CHANGES} <= shown_kinds
    assert {card.outcome for card, _ in CARDS.values()} == {*Outcome, None}
    assert {risk.name for card, _ in CARDS.values() for risk in card.risks} <= {rule.name for rule in RULES}
    assert any(card.risks for card, _ in CARDS.values())


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name, card in CARDS.items():
        path = FOLDER / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(golden(*card), encoding="utf-8")
    print(f"{len(CARDS)} cards in {FOLDER}")
