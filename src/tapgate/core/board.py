"""What stands on the phones: every request's card in every chat, and what has to be sent to keep it true. Pure.

Only desk.py changes a request's state; here is what the phones are told of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from tapgate.core import batches
from tapgate.core.case import Case
from tapgate.core.effects import CopyEntry, Edit, Effect, Post, Record, Sound
from tapgate.core.roster import Roster
from tapgate.core.soundings import Soundings
from tapgate.model import NO_OPINION, Card, Choice, Copy, Phase

MOST_COPIES = 50
SETTLED_KEPT = 500  # so that late taps on them can be told the truth
Key = TypeVar("Key", int, Copy)


class Board:
    def __init__(self, roster: Roster) -> None:
        self.cases: dict[str, Case] = {}
        self.roster = roster
        self.soundings = Soundings()

    def card(self, found: Case, chat_id: int | None = None) -> Card:
        """The card in this chat; without one, where the most of it was shown."""
        if chat_id is None:
            chat_id = next(iter(found.seen_in), found.chats[0] if found.chats else 0)
        listed = tuple(self.cases[one].request for one in found.draft.listed if one in self.cases)
        return found.card(chat_id, several=len(self.together(found, chat_id)), listed=listed)

    def together(self, found: Case, chat_id: int) -> list[Case]:
        return batches.allowable_together(found, self.cases.values(), chat_id)

    def of_session(self, session_id: str) -> list[Case]:
        """The requests of a session that somebody other than the phone can still end. No session id: none."""
        return [
            found
            for found in self.cases.values()
            if session_id and found.request.call.session_id == session_id and found.is_open()
        ]

    def add(self, found: Case) -> None:
        """A new request, the last in the row. Of those that are over, the oldest are forgotten."""
        self.cases[found.request.id] = found
        self.forget()
        waiting = sum(case.phase is Phase.OPEN for case in self.cases.values())
        found.place = (waiting, waiting)
        found.told = (waiting, waiting, (0,) * len(self.roster.chats))

    def forget(self) -> None:
        settled = [request_id for request_id, found in self.cases.items() if found.phase is Phase.SETTLED]
        for request_id in settled[: max(0, len(settled) - SETTLED_KEPT)]:
            del self.cases[request_id]

    # What to send

    def post(self, found: Case, chats: Iterable[int]) -> list[Effect]:
        cards = {chat_id: self.card(found, chat_id) for chat_id in chats}
        return [Post(card, tuple(group)) for card, group in _grouped(cards)]

    def edit(self, found: Case, *, idle: bool = False) -> list[Effect]:
        """Bring all copies up to date. Where not everything was shown, or less is allowed, they have other buttons."""
        cards = {copy: self.card(found, copy.chat_id) for copy in found.copies}
        return [Edit(card, tuple(copies), idle) for card, copies in _grouped(cards)]

    def mend(self, found: Case, copy: Copy) -> list[Effect]:
        """Bring one copy up to date, where it shows an older version."""
        behind = found.copies.get(copy, found.version) < found.version
        return [Edit(self.card(found, copy.chat_id), (copy,))] if behind else []

    def show_again(self, found: Case, copy: Copy) -> list[Effect]:
        """Somebody tapped what the card no longer offers: it may have been left behind by a restart."""
        return [Edit(self.card(found, copy.chat_id), (copy,), idle=True)] if copy in found.copies else []

    def tell_places(self) -> list[Effect]:
        """Each card says which of how many it is, and how many go together. That can wait for quieter moments."""
        waiting = [case for case in self.cases.values() if case.phase is Phase.OPEN]
        together = {chat_id: batches.sizes(waiting, chat_id) for chat_id in self.roster.chats}
        effects: list[Effect] = []
        for number, found in enumerate(waiting, start=1):
            session_id = found.request.call.session_id
            several = tuple(sizes.get(session_id, 0) for sizes in together.values())
            if found.told is None and not found.caller_here:
                continue  # of an earlier run: what stands around it is known again when its caller is back
            if found.copies and found.told != (number, len(waiting), several):
                found.told = (number, len(waiting), several)
                found.place = (number, len(waiting))
                effects += self.edit(found, idle=True)
        return effects

    # Messages that nobody told us of

    def learn(self, found: Case, copy: Copy) -> list[Effect]:
        """A tap on a message we did not know of: a send that timed out had arrived. It is a copy from now on."""
        if copy in found.copies or copy.message_id <= 0 or len(found.copies) >= MOST_COPIES:
            return []
        if any(copy in other.copies or copy in other.prompts for other in self.cases.values()):
            return []  # a made-up tap that names another request's card must not change that card
        found.copies[copy] = 0
        self.soundings.note(copy)
        return [Record(found.request.id, CopyEntry(found.request.id, copy, 0))]

    def take_from_others(self, found: Case, copy: Copy) -> None:
        """A message of this run shows this request alone, whatever the journal of an earlier run says about it."""
        for other in self.cases.values():
            if other is not found:
                other.copies.pop(copy, None)
                other.prompts.pop(copy, None)

    def sweep(self, newest: Copy) -> list[Effect]:
        known = (copy for case in self.cases.values() for copy in (*case.copies, *case.prompts))
        return list(self.soundings.sweep(newest, known))

    def sound(self, found: Case) -> list[Sound]:
        """The request is over, but a copy of its card may stand where we do not know of it."""
        return self.soundings.sound(found.pending)


def _grouped(cards: Mapping[Key, Card]) -> list[tuple[Card, list[Key]]]:
    """Places whose cards have the same buttons, with that card."""
    groups: dict[tuple[Choice, ...], tuple[Card, list[Key]]] = {}
    for place, card in cards.items():
        key = tuple(replace(choice, decision=NO_OPINION) for choice in card.choices)  # the seal stands for it
        groups.setdefault(key, (card, []))[1].append(place)
    return list(groups.values())
