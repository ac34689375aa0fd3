"""The queue of updates a bot has not confirmed: offsets, kinds asked for, and how long each kind is kept."""

from __future__ import annotations

from collections.abc import Sequence

from .clock import Clock
from .model import CallbackQuery, Event, Membership, Update

TAP_KEPT_S = 150
MESSAGE_KEPT_S = 24 * 3600
OFFSET_SLACK = 10  # an offset further ahead than this is taken for a mistake, and read as 0
_NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


class UpdateQueue:
    def __init__(self, *, clock: Clock, first_id: int) -> None:
        self._clock = clock
        self._next_id = first_id
        self._pending: list[Update] = []
        self._allowed: frozenset[str] = frozenset()
        self.confirmed_offset = 0

    def put(self, event: Event) -> Update | None:
        """Queues what happened, unless the bot did not ask for that kind."""
        kind = "message"
        if isinstance(event, CallbackQuery):
            kind = "callback_query"
        elif isinstance(event, Membership):
            kind = "my_chat_member"
        if (kind not in self._allowed) if self._allowed else (kind in _NOT_BY_DEFAULT):
            return None
        update = Update(self._next_id, kind, event, self._clock.now())
        self._next_id += 1
        self._pending.append(update)
        return update

    def allow(self, kinds: Sequence[str]) -> None:
        """Remembered until said otherwise; an empty list means the default kinds."""
        self._allowed = frozenset(kinds)

    @property
    def allowed(self) -> list[str]:
        return sorted(self._allowed)

    def pending(self) -> list[Update]:
        now = self._clock.now()
        self._pending = [update for update in self._pending if now - update.t <= _kept_s(update)]
        return self._pending

    def fetch(self, *, offset: int, limit: int) -> list[Update]:
        """Confirms what lies before the offset and returns what follows it."""
        pending = self.pending()
        if offset < 0:
            self._pending = pending[offset:]
        elif 0 < offset <= self._next_id + OFFSET_SLACK:
            self._pending = [update for update in pending if update.update_id >= offset]
            self.confirmed_offset = max(self.confirmed_offset, offset)
        return self._pending[:limit]

    def clear(self) -> None:
        self._pending = []


def _kept_s(update: Update) -> float:
    return TAP_KEPT_S if update.kind == "callback_query" else MESSAGE_KEPT_S
