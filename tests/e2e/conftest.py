"""A world for each test, with the daemon running or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browsing import OpenPhone, phones, running_browser
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ended with its module: while it runs, its event loop would be in the way of asynchronous tests."""
    with running_browser() as running:
        yield running


@pytest.fixture
def open_phone(browser: Browser, world: World) -> Iterator[OpenPhone]:
    with phones(browser, world) as open_one:
        yield open_one


@pytest.fixture
def phone(open_phone: OpenPhone) -> Page:
    return open_phone()
