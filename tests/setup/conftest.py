"""A newcomer for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.setup.terminal import Newcomer, new_newcomer


@pytest.fixture
def newcomer() -> Iterator[Newcomer]:
    with new_newcomer() as found:
        yield found
