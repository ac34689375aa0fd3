"""A release is made from the changelog, and only where every file names the same version."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load("release")
CHANGELOG = (
    "# Changelog\n\nWords.\n\n## 1.2.3 - 2026-01-02\n\n### Fixed\n\n- A race.\n\n## 1.2.2 - 2025-01-02\n\n- Old.\n"
)
SAME = {"src/tapgate/__init__.py": "1.2.3", "pyproject.toml": "1.2.3"}


def test_the_newest_section_gives_version_and_text() -> None:
    assert release.newest_section(CHANGELOG) == ("1.2.3", "### Fixed\n\n- A race.")


@pytest.mark.parametrize(
    ("changelog", "words"),
    [
        ("# Changelog\n\n## Unreleased\n\n- A change.\n", 'is "Unreleased"'),
        ("# Changelog\n", "has no section"),
        ("# Changelog\n\n## 1.2.3\n\n## 1.2.2\n\n- Old.\n", "is empty"),
    ],
)
def test_a_changelog_that_names_no_release_makes_none(changelog: str, words: str) -> None:
    with pytest.raises(release.ReleaseError, match=words):
        release.newest_section(changelog)


def test_a_release_needs_one_version_a_new_tag_and_nothing_uncommitted() -> None:
    assert release.why_not("1.2.3", SAME, tags={"v1.2.2"}, changes="") is None
    assert "pyproject.toml says 1.2.2" in release.why_not(
        "1.2.3", {**SAME, "pyproject.toml": "1.2.2"}, tags=set(), changes=""
    )
    assert "exists already" in release.why_not("1.2.3", SAME, tags={"v1.2.3"}, changes="")
    assert "uncommitted" in release.why_not("1.2.3", SAME, tags=set(), changes=" M README.md")


def test_every_file_names_the_same_version() -> None:
    assert len(set(release.versions(ROOT).values())) == 1


def test_constraints_hold_an_exact_version_of_every_dependency() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^=\s]+", line) for line in lines)
    pinned = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines}
    project = (ROOT / "pyproject.toml").read_text()
    wanted = set(re.findall(r'^  "([a-z-]+)>=', project, re.MULTILINE))
    assert wanted and wanted <= pinned, f"not in constraints.txt: {sorted(wanted - pinned)}"


def test_the_lock_is_made_from_an_environment() -> None:
    """Only what is installed there, and neither the project itself nor the installer."""
    printed = subprocess.run(
        [sys.executable, ROOT / ".ci/lock.py", sys.executable], check=True, capture_output=True, text=True
    )
    assert re.search(r"^pytest==", printed.stdout, re.MULTILINE)
    assert not re.search(r"^(tapgate|pip)==", printed.stdout, re.MULTILINE)
