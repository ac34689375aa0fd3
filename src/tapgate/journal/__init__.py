"""What survives a restart, on disk: open requests, their cards, answers, and the trail. Decides nothing."""

from __future__ import annotations

from tapgate.journal.journal import Journal
from tapgate.journal.trail import TrailQuery, TrailRow

__all__ = ["Journal", "TrailQuery", "TrailRow"]
