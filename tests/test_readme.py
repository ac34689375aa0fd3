"""The README keeps up: its links lead somewhere, and no command, option group or config key is missing from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic import BaseModel

from tapgate.cli import app
from tapgate.config import Config, Hold, JournalTable, PersonEntry, PrivacyTable, Telegram
from tapgate.doctor.support import AGENTS, show_version

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_and_pictures_lead_somewhere(path: Path) -> None:
    text = path.read_text()
    links = [*re.findall(r"\]\(([^)\s]+)\)", text), *re.findall(r'src="([^"]+)"', text)]
    for link in links:
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), f"{path.name} links to {link}"
        assert not anchor or anchor in anchors(target.read_text()), f"{path.name} links to {link}"


def commands_of(command: Any) -> dict[str, Any]:
    """By name; empty for a command that has none inside. Typer's own class of click depends on its version."""
    found: dict[str, Any] = getattr(command, "commands", {})
    return {name: inner for name, inner in found.items() if not inner.hidden}


def test_every_command_stands_in_the_table() -> None:
    commands = commands_of(typer.main.get_command(app))
    assert {"doctor", "status"} <= set(commands)
    rows = [line for line in README.splitlines() if line.startswith("| `tapgate ")]
    for name, command in commands.items():
        found = [row for row in rows if f"`tapgate {name}" in row]
        assert found, f"`tapgate {name}` is not in the README's table"
        for inner in commands_of(command):
            assert re.search(rf"\b{inner}\b", " ".join(found)), f"`tapgate {name} {inner}` is not in the README's table"


@pytest.mark.parametrize("table", [Config, Telegram, PersonEntry, Hold, JournalTable, PrivacyTable])
def test_every_config_key_stands_in_the_table(table: type[BaseModel]) -> None:
    rows = [line for line in README.splitlines() if line.startswith("| `")]
    for key in table.model_fields:
        found = [row for row in rows if re.search(rf"`(\[+\w+\]+ )?{key}`|\[+{key}\]+", row)]
        assert found, f"{key} is not in the README's table"


def test_the_agents_page_names_the_versions_that_the_doctor_knows() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    for agent in AGENTS:
        assert agent.title in page and show_version(agent.tested) in page
        for limit in agent.limits:
            assert limit.until is None or show_version(limit.until) in page


def test_every_attack_in_the_security_page_has_its_test() -> None:
    """A renamed test must not leave a claim behind that nothing shows; and no file of attacks is left out."""
    page = (ROOT / "SECURITY.md").read_text()
    sections = re.findall(r"^\*\*.+\*\* \(`(test_\w+)\.py`\)\n\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert {name for name, _ in sections} == {path.stem for path in (ROOT / "tests" / "attacks").glob("test_*.py")}
    for name, table in sections:
        source = (ROOT / "tests" / "attacks" / f"{name}.py").read_text()
        named = re.findall(r"`(test_\w+)`", table)
        missing = [test for test in named if f"def {test}(" not in source]
        assert named and not missing, f"{name}.py has no {missing}"
