"""What stands on the phones: every request's card in every chat, and what has to be sent to keep it true. Pure.

Only desk.py changes a request's state; here is what the phones are told of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from tapgate.core import batches
from tapgate.core.case import Case
from tapgate.core.effects import CopyEntry, Edit, Effect, Post, Record, ShownEntry, Sound, Withdraw
from tapgate.core.events import Edited, EditRefused
from tapgate.core.retries import Retries
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
        self.retries = Retries()

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
        # One that was refused and has been replaced is no longer edited, only withdrawn.
        copies = [copy for copy in found.copies if copy not in self.retries or self._is_newest(found, copy)]
        cards = {copy: self.card(found, copy.chat_id) for copy in copies}
        return [Edit(card, tuple(copies), idle) for card, copies in _grouped(cards)]

    def mend(self, found: Case, copy: Copy) -> list[Effect]:
        """Bring one copy up to date, where it shows an older version."""
        behind = found.copies.get(copy, found.version) < found.version
        return [Edit(self.card(found, copy.chat_id), (copy,))] if behind else []

    def show_again(self, found: Case, copy: Copy) -> list[Effect]:
        """Somebody tapped what the card no longer offers: it may have been left behind by a restart or a refusal."""
        if copy in found.retired:
            return [Withdraw(found.request.id, copy)]
        if copy not in found.copies:
            return []
        return [Edit(self.card(found, copy.chat_id), (copy,), idle=self.shows_current(found, copy))]

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

    # What Telegram made of it

    def shows_current(self, found: Case, copy: Copy) -> bool:
        """Whether Telegram confirmed that this copy shows the card as it stands."""
        return found.copies.get(copy, -1) >= found.version

    def is_current_in(self, found: Case, chat_id: int) -> bool:
        return any(copy.chat_id == chat_id and self.shows_current(found, copy) for copy in found.copies)

    def edited(self, event: Edited) -> list[Effect]:
        found = self.cases.get(event.request_id)
        if found is None or event.copy not in found.copies:
            return []
        found.copies[event.copy] = max(event.version, found.copies[event.copy])
        if self.shows_current(found, event.copy):
            self.retries.forget(event.copy)
        if found.phase is Phase.SETTLED and event.version == found.version:
            return [Record(found.request.id, ShownEntry(found.request.id, event.copy, event.version))]
        return []

    def refused(self, event: EditRefused, now: float) -> list[Effect]:
        """The copy stays behind and is tried again later; meanwhile a new message shows the card as it stands."""
        found = self.cases.get(event.request_id)
        if found is None or event.copy not in found.copies or event.version < found.version:
            return []  # a newer version is on its way there, and will be confirmed or refused itself
        if self.shows_current(found, event.copy):
            return []  # only its place among the others could not be told
        self.retries.note(found.request.id, event.copy, now)
        chat_id = event.copy.chat_id
        is_first = found.replacing.get(chat_id) != found.version
        if event.is_barred or not is_first or not self._may_replace(found, event.copy):
            return []
        found.replacing[chat_id] = found.version
        is_open = found.phase is Phase.OPEN
        if is_open:
            found.pending.add(chat_id)
        return [Post(self.card(found, chat_id), (chat_id,), reply_to=event.copy.message_id, is_silent=not is_open)]

    def withdraw_older(self, found: Case, newest: Copy) -> list[Effect]:
        """A new message stands in the chat: those that could not be edited have done their work."""
        return [
            Withdraw(found.request.id, copy)
            for copy in found.copies
            if copy in self.retries and copy.chat_id == newest.chat_id and copy.message_id < newest.message_id
        ]

    def retire(self, found: Case, copy: Copy) -> list[Effect]:
        """This message counts no more. That is recorded with the end of the request, as for any other copy."""
        if found.copies.pop(copy, None) is None:
            return []
        self.retries.forget(copy)
        found.retired.add(copy)
        if found.phase is not Phase.SETTLED:
            return []
        return [Record(found.request.id, ShownEntry(found.request.id, copy, found.version))]

    def retry_due(self, now: float) -> list[Effect]:
        """Try again what Telegram refused. Idle, so that it is in nobody's way."""
        effects: list[Effect] = []
        for request_id, copy in self.retries.due(now):
            found = self.cases.get(request_id)
            if found is None or copy not in found.copies:
                self.retries.forget(copy)
                continue
            self.retries.note(request_id, copy, now)
            if self._is_newest(found, copy):
                effects.append(Edit(self.card(found, copy.chat_id), (copy,), idle=True))
            else:
                effects.append(Withdraw(request_id, copy))
        return effects

    def _may_replace(self, found: Case, copy: Copy) -> bool:
        return (
            found.phase in (Phase.OPEN, Phase.SETTLED)  # what stands between passes within seconds
            and self._is_newest(found, copy)
            and copy.chat_id in self.roster.chats
            and len(found.copies) + len(found.retired) < MOST_COPIES
        )

    def _is_newest(self, found: Case, copy: Copy) -> bool:
        """Of the copies in one chat only the newest is replaced; the others lose their buttons."""
        return all(other.message_id <= copy.message_id for other in found.copies if other.chat_id == copy.chat_id)

    # Messages that nobody told us of

    def learn(self, found: Case, copy: Copy) -> list[Effect]:
        """A tap on a message we did not know of: a send that timed out had arrived. It is a copy from now on."""
        if copy in found.copies or copy.message_id <= 0 or len(found.copies) >= MOST_COPIES:
            return []
        if any(copy in other.copies or copy in other.retired or copy in other.prompts for other in self.cases.values()):
            return []  # a made-up tap that names another request's card must not change that card
        found.copies[copy] = 0
        self.soundings.note(copy)
        return [Record(found.request.id, CopyEntry(found.request.id, copy, 0))]

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
