"""What no log may hold: the bot tokens of the tests, and every secret of the corpus."""

from __future__ import annotations

import re
from pathlib import Path

from tests.simulator.driver import TOKEN

_CORPUS = (Path(__file__).parent / "data" / "secrets.toml").read_text(encoding="utf-8").replace("¦", "")
TELLING = 12  # characters; shorter ones stand in other words by chance
CORPUS = tuple(sorted({found for found in re.findall("⟦([^⟧\\n\\\\]+)⟧", _CORPUS) if len(found) >= TELLING}))
TOKENS = (TOKEN.partition(":")[2],)


def found_in(text: str) -> list[str]:
    return [secret for secret in (*TOKENS, *CORPUS) if secret in text]


def assert_clean(logged: str) -> None:
    found = found_in(logged)
    assert not found, f"the log holds {found}"
