"""A ward for each test, in a short directory: socket paths must stay under 104 bytes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.ward import Ward


@pytest.fixture
def ward(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ward]:
    monkeypatch.delenv("TAPGATE_TELEGRAM_TOKEN", raising=False)
    home = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    yield Ward(home)
    shutil.rmtree(home)
