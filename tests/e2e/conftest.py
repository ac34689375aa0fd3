"""A world for each test, with the daemon running or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.world import World, new_world


@pytest.fixture
def quiet_world() -> Iterator[World]:
    """The daemon is not running yet."""
    with new_world() as world:
        yield world


@pytest.fixture
def world(quiet_world: World) -> World:
    quiet_world.start_daemon()
    return quiet_world
