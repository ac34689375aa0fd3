"""The same worlds as the end-to-end tests have."""

from __future__ import annotations

from tests.e2e.conftest import quiet_world, world

__all__ = ["quiet_world", "world"]
