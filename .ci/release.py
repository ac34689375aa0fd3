"""Makes a release from the changelog: `make release`. With --check it only looks whether one can be made.

The version must be the same in the package, pyproject.toml, the plugin and the changelog's newest section, whose text
becomes the tag's message. Nothing is pushed or uploaded; the last lines say how.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_SECTION = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)
_RELEASED = re.compile(r"\[?(?P<version>[0-9]+\.[0-9]+\.[0-9]+)\]?( - (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}))?")


class ReleaseError(Exception):
    pass


def newest_section(changelog: str) -> tuple[str, str]:
    """The version and the text of the changelog's newest section. Raises ReleaseError where it is not released yet."""
    sections = list(_SECTION.finditer(changelog))
    if not sections:
        raise ReleaseError('CHANGELOG.md has no section that begins with "## "')
    title = sections[0]["title"].strip()
    found = _RELEASED.fullmatch(title)
    if found is None:
        raise ReleaseError(f'the newest section of CHANGELOG.md is "{title}"; name it "## X.Y.Z - YYYY-MM-DD" first')
    end = sections[1].start() if len(sections) > 1 else len(changelog)
    text = changelog[sections[0].end() : end].strip()
    if not text:
        raise ReleaseError(f"the section {title} of CHANGELOG.md is empty")
    return found["version"], text


def versions(root: Path) -> dict[str, str]:
    """Where a version is written, and which."""
    package = (root / "src/tapgate/__init__.py").read_text()
    stated = re.search(r'^__version__ = "(.+)"$', package, re.MULTILINE)
    return {
        "src/tapgate/__init__.py": stated[1] if stated else "none",
        "pyproject.toml": str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]),
        ".claude-plugin/plugin.json": str(json.loads((root / ".claude-plugin/plugin.json").read_text())["version"]),
    }


def why_not(version: str, stated: dict[str, str], *, tags: set[str], changes: str) -> str | None:
    """Why this version cannot be released now, in one sentence."""
    other = [f"{path} says {found}" for path, found in stated.items() if found != version]
    if other:
        return f"CHANGELOG.md says {version}, but {' and '.join(other)}"
    if f"v{version}" in tags:
        return f"the tag v{version} exists already"
    if changes:
        return "there are uncommitted changes; commit or stash them first"
    return None


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main(words: list[str]) -> int:
    try:
        version, text = newest_section((ROOT / "CHANGELOG.md").read_text())
        reason = why_not(
            version, versions(ROOT), tags=set(git("tag").splitlines()), changes=git("status", "--porcelain")
        )
        if reason is not None:
            raise ReleaseError(reason)
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    if "--check" in words:
        print(f"{version} can be released")
        return 0
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--clean"], cwd=ROOT, check=True)
    git("tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--message", f"tapgate {version}\n\n{text}\n")
    print(f"Built dist/ and made the tag v{version}. To publish: git push origin v{version}, then upload dist/*.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
