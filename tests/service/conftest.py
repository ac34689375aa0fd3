"""A home of its own with a config in it, for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TOKEN = "7000000001:AAH-a-token-that-nobody-has-0123456"
CONFIG = f"[telegram]\ntoken = '{TOKEN}'\n[[people]]\nuser_id = 1001\nname = 'Ada'\n"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Short, because sockets are in it. The environment names nothing else."""
    path = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    monkeypatch.setenv("HOME", str(path))
    runtime = path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "TAPGATE_CONFIG", "TAPGATE_TELEGRAM_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    config = path / ".config" / "tapgate" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    config.chmod(0o600)
    yield path
    shutil.rmtree(path, ignore_errors=True)
