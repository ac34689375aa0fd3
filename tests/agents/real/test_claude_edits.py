"""Claude Code changes a file exactly as the card showed it: the card's lines, done to the file, give the same bytes."""

from __future__ import annotations

import json

import pytest

from tests.agents.real import labels
from tests.agents.real.anthropic_api import Use
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE
from tests.shown_diff import apply_block, unspelled

pytestmark = needs(CLAUDE)

VIEW = "# only for signed-in people\ncheck_auth(request)\n# “quoted” café\nreturn page(request)\n"


def block(card: dict[str, object], since: str = "@@ ") -> str:
    """The card's diff: from its first mark to the last line that has a sign."""
    lines = str(card["text"]).split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith(since))
    end = start + 1
    while lines[end][:1] in (" ", "+", "-", "\\") or lines[end].startswith("@@ "):
        end += 1
    return unspelled("\n".join(lines[start:end]))


@pytest.mark.parametrize(
    ("old", "new", "every"),
    [
        ("# only for signed-in people\n", "# only for signed-in people ", False),
        ("-in people", "", False),
        ("request", "", True),
        (")", "", True),
        ('"quoted"', "\"other\" 'one'", False),
        ("caf\\u00e9", "caf\\u00e9\\u000aos.system(x)", False),
        ("return page(request)\n", "return page(request)", False),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_edit_does_what_its_card_showed(lab: Lab, old: str, new: str, every: bool, ends: str) -> None:
    home = lab.home()
    path = home.project / "view.py"
    path.write_bytes(VIEW.replace("\n", ends).encode())
    edit = {"file_path": str(path), "old_string": old, "new_string": new, "replace_all": every}
    claude = lab.claude(Use("Read", {"file_path": str(path)}), Use("Edit", edit), home=home)
    run = claude.headless()
    card = claude.phone.answer(labels.ALLOW, containing="view.py")
    run.finish()
    assert path.read_bytes().decode() == apply_block(VIEW, block(card)).replace("\n", ends)
    assert path.read_bytes().decode() != VIEW.replace("\n", ends)


@pytest.mark.parametrize(("mode", "source"), [("replace", "run(1)\n"), ("delete", "not used")])
def test_a_cell_becomes_what_its_card_showed(lab: Lab, mode: str, source: str) -> None:
    home = lab.home()
    path = home.project / "sales.ipynb"
    code: dict[str, object] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [{**code, "id": "one", "source": ["a = 1"]}, {**code, "id": "two", "source": ["check()\n", "run(1)"]}]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    call = {"notebook_path": str(path), "cell_id": "two", "new_source": source, "edit_mode": mode}
    claude = lab.claude(Use("Read", {"file_path": str(path)}), Use("NotebookEdit", call), home=home)
    run = claude.headless()
    card = claude.phone.answer(labels.ALLOW, containing="sales.ipynb")
    run.finish()
    shown = apply_block("check()\nrun(1)", block(card, "@@ cell 2 of 2 @@").partition("\n")[2])
    now = json.loads(path.read_text())["cells"]
    assert [cell["source"] for cell in now[1:]] == ([] if mode == "delete" else [shown])
    assert shown == ("" if mode == "delete" else source)
