"""The gallery leaves out no tool, no risk and no ending, and Telegram would take every card in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tapgate.model import Instant, Outcome, Person
from tapgate.risk.assess import RULES
from tapgate.telegram.forms import CHANGES, FORMS
from tests.e2e.browsing import MARKS
from tests.gallery import GROUPS
from tests.gallery.exhibits import Exhibit, hang
from tests.gallery.sample import Sample
from tests.telegram.cards import clock, shown

SAMPLES = {sample.name: sample for group in GROUPS.values() for sample in group}


def hung(sample: Sample) -> Exhibit:
    return hang(sample, person=Person(101, 101, "Ada"), now=Instant(1000.0, 1_800_000_000.0), clock=clock)


@pytest.mark.parametrize("name", SAMPLES)
def test_telegram_takes_every_card_as_it_came_and_as_it_stands(name: str) -> None:
    exhibit = hung(SAMPLES[name])
    shown(exhibit.came, exhibit.setting)
    shown(exhibit.card, exhibit.setting)


def test_each_sample_has_a_name_of_its_own_that_can_be_a_file_s() -> None:
    assert len(SAMPLES) == sum(len(group) for group in GROUPS.values())
    assert [name for name in SAMPLES if not re.fullmatch(r"[a-z0-9-]+", name)] == []


def test_every_tool_that_has_a_form_is_there() -> None:
    shown_kinds = {hung(sample).card.request.tool.kind for sample in SAMPLES.values()}
    assert {*FORMS, *CHANGES} - shown_kinds == set()


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_every_risk_is_there(rule: str) -> None:
    assert rule in {risk.name for risk in hung(SAMPLES[f"risk-{rule}"]).card.risks}


def test_every_ending_is_there() -> None:
    assert {hung(sample).card.outcome for sample in SAMPLES.values()} == {None, *Outcome}


@pytest.mark.browser
@MARKS[1]
def test_pictures_are_taken_light_and_dark(tmp_path: Path) -> None:
    from tests.gallery.pictures import shoot_gallery

    told: list[str] = []
    group = {"One": (SAMPLES["too-long-seen"], SAMPLES["edit-asked"])}
    folder = tmp_path / "gallery"
    assert shoot_gallery(group, folder, zone="UTC", tell=told.append) == 4
    pictures = {path.name: path.read_bytes() for path in folder.glob("*.png")}
    assert set(pictures) == {
        f"{name}-{theme}.png" for name in ("too-long-seen", "edit-asked") for theme in ("light", "dark")
    }
    assert all(data.startswith(b"\x89PNG") for data in pictures.values())
    assert len(set(pictures.values())) == 4
    page = (folder / "index.html").read_text()
    assert all(name in page for name in pictures)
