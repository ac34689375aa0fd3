"""A simulator for each test, on a free port."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from .driver import Driver, running


@pytest.fixture
async def sim() -> AsyncIterator[Driver]:
    with running() as url:
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
            yield Driver(url, client)
