"""One daemon and one phone for each module; homes and agents for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.real.lab import Lab, lab_in
from tests.e2e.world import World, new_world


@pytest.fixture(scope="module")
def shared_world() -> Iterator[World]:
    with new_world() as world:
        world.start_daemon()
        yield world


@pytest.fixture
def lab(shared_world: World) -> Iterator[Lab]:
    """Tests that use it leave the daemon as it is."""
    with lab_in(shared_world) as lab:
        yield lab


@pytest.fixture
def own_world() -> Iterator[World]:
    """The daemon is not running yet; the test may do with it what it likes."""
    with new_world() as world:
        yield world


@pytest.fixture
def own_lab(own_world: World) -> Iterator[Lab]:
    with lab_in(own_world) as lab:
        yield lab
