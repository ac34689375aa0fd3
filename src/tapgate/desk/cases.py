"""What stands on the phones: every request's card in every chat, and what has to be sent to keep it true. Pure.

Only desk.py changes a request's state; here is what the phones are told of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from tapgate.desk import batches
from tapgate.desk.case import Case
from tapgate.desk.effects import CopyEntry, Edit, Effect, Post, Record, ShownEntry, Sound, Withdraw
from tapgate.desk.events import Edited, EditRefused
from tapgate.desk.people import Roster
from tapgate.desk.retries import Retries
from tapgate.desk.soundings import Soundings
from tapgate.model import NO_OPINION, Card, Choice, Copy, Phase

MOST_COPIES = 50
SETTLED_KEPT = 500  # so that late taps on them can be told the truth
PlaceT = TypeVar("PlaceT", int, Copy)


class Cases:
    def __init__(self, roster: Roster) -> None:
        self.by_id: dict[str, Case] = {}
        self.roster = roster
        self.soundings = Soundings()
        self.retries = Retries()

    def card(self, case: Case, chat_id: int | None = None) -> Card:
        """The card in this chat; without one, where the most of it was shown."""
        if chat_id is None:
            chat_id = next(iter(case.seen_in), case.chats[0] if case.chats else 0)
        listed = tuple(self.by_id[one].request for one in case.draft.listed if one in self.by_id)
        return case.card(chat_id, several=len(self.together(case, chat_id)), listed=listed)

    def together(self, case: Case, chat_id: int) -> list[Case]:
        return batches.allowable_together(case, self.by_id.values(), chat_id)

    def of_session(self, session_id: str, uid: int) -> list[Case]:
        """The requests of a session that somebody other than the phone can still end. No session id: none.

        An agent chooses its session's id, so a session is one user's: the same id under another uid is another one.
        """
        return [
            case
            for case in self.by_id.values()
            if session_id and batches.session_of(case) == (uid, session_id) and case.is_open()
        ]

    def add(self, case: Case) -> None:
        """A new request, the last in the row. Of those that are over, the oldest are forgotten."""
        self.by_id[case.request.id] = case
        self.forget()
        waiting = sum(case.phase is Phase.OPEN for case in self.by_id.values())
        case.place = (waiting, waiting)
        case.told = (waiting, waiting, (0,) * len(self.roster.chats))

    def forget(self) -> None:
        settled = [request_id for request_id, case in self.by_id.items() if case.phase is Phase.SETTLED]
        for request_id in settled[: max(0, len(settled) - SETTLED_KEPT)]:
            del self.by_id[request_id]

    # What to send

    def post(self, case: Case, chats: Iterable[int]) -> list[Effect]:
        cards = {chat_id: self.card(case, chat_id) for chat_id in chats}
        return [Post(card, tuple(group)) for card, group in _grouped(cards)]

    def edit(self, case: Case, *, idle: bool = False) -> list[Effect]:
        """Bring all copies up to date. Where not everything was shown, or less is allowed, they have other buttons."""
        # One that was refused and has been replaced is no longer edited, only withdrawn.
        copies = [copy for copy in case.copies if copy not in self.retries or self._is_newest(case, copy)]
        cards = {copy: self.card(case, copy.chat_id) for copy in copies}
        return [Edit(card, tuple(copies), idle) for card, copies in _grouped(cards)]

    def mend(self, case: Case, copy: Copy) -> list[Effect]:
        """Bring one copy up to date, where it shows an older version."""
        behind = case.copies.get(copy, case.version) < case.version
        return [Edit(self.card(case, copy.chat_id), (copy,))] if behind else []

    def show_again(self, case: Case, copy: Copy) -> list[Effect]:
        """Somebody tapped what the card no longer offers: it may have been left behind by a restart or a refusal."""
        if copy in case.retired:
            return [Withdraw(case.request.id, copy)]
        if copy not in case.copies:
            return []
        return [Edit(self.card(case, copy.chat_id), (copy,), idle=self.shows_current(case, copy))]

    def tell_places(self) -> list[Effect]:
        """Each card says which of how many it is, and how many go together. That can wait for quieter moments."""
        waiting = [case for case in self.by_id.values() if case.phase is Phase.OPEN]
        together = {chat_id: batches.sizes(waiting, chat_id) for chat_id in self.roster.chats}
        effects: list[Effect] = []
        for number, case in enumerate(waiting, start=1):
            several = tuple(sizes.get(batches.session_of(case), 0) for sizes in together.values())
            if case.told is None and not case.caller_here:
                continue  # of an earlier run: what stands around it is known again when its caller is back
            if case.copies and case.told != (number, len(waiting), several):
                case.told = (number, len(waiting), several)
                case.place = (number, len(waiting))
                effects += self.edit(case, idle=True)
        return effects

    # What Telegram made of it

    def shows_current(self, case: Case, copy: Copy) -> bool:
        """Whether Telegram confirmed that this copy shows the card as it stands."""
        return case.copies.get(copy, -1) >= case.version

    def is_current_in(self, case: Case, chat_id: int) -> bool:
        return any(copy.chat_id == chat_id and self.shows_current(case, copy) for copy in case.copies)

    def edited(self, event: Edited) -> list[Effect]:
        case = self.by_id.get(event.request_id)
        if case is None or event.copy not in case.copies:
            return []
        case.copies[event.copy] = max(event.version, case.copies[event.copy])
        if self.shows_current(case, event.copy):
            self.retries.forget(event.copy)
        if case.phase is Phase.SETTLED and event.version == case.version:
            return [Record(case.request.id, ShownEntry(case.request.id, event.copy, event.version))]
        return []

    def refused(self, event: EditRefused, now: float) -> list[Effect]:
        """The copy stays behind and is tried again later; meanwhile a new message shows the card as it stands."""
        case = self.by_id.get(event.request_id)
        if case is None or event.copy not in case.copies or event.version < case.version:
            return []  # a newer version is on its way there, and will be confirmed or refused itself
        if self.shows_current(case, event.copy):
            return []  # only its place among the others could not be told
        self.retries.note(case.request.id, event.copy, now)
        chat_id = event.copy.chat_id
        is_first = case.replacing.get(chat_id) != case.version
        if event.is_blocked or not is_first or not self._may_replace(case, event.copy):
            return []
        case.replacing[chat_id] = case.version
        is_open = case.phase is Phase.OPEN
        if is_open:
            case.pending.add(chat_id)
        return [Post(self.card(case, chat_id), (chat_id,), reply_to=event.copy.message_id, is_silent=not is_open)]

    def withdraw_older(self, case: Case, newest: Copy) -> list[Effect]:
        """A new message stands in the chat: those that could not be edited have done their work."""
        return [
            Withdraw(case.request.id, copy)
            for copy in case.copies
            if copy in self.retries and copy.chat_id == newest.chat_id and copy.message_id < newest.message_id
        ]

    def retire(self, case: Case, copy: Copy) -> list[Effect]:
        """This message counts no more. That is recorded with the end of the request, as for any other copy."""
        if case.copies.pop(copy, None) is None:
            return []
        self.retries.forget(copy)
        case.retired.add(copy)
        if case.phase is not Phase.SETTLED:
            return []
        return [Record(case.request.id, ShownEntry(case.request.id, copy, case.version))]

    def retry_due(self, now: float) -> list[Effect]:
        """Try again what Telegram refused. Idle, so that it is in nobody's way."""
        effects: list[Effect] = []
        for request_id, copy in self.retries.due(now):
            case = self.by_id.get(request_id)
            if case is None or copy not in case.copies:
                self.retries.forget(copy)
                continue
            self.retries.note(request_id, copy, now)
            if self._is_newest(case, copy):
                effects.append(Edit(self.card(case, copy.chat_id), (copy,), idle=True))
            else:
                effects.append(Withdraw(request_id, copy))
        return effects

    def _may_replace(self, case: Case, copy: Copy) -> bool:
        return (
            case.phase in (Phase.OPEN, Phase.SETTLED)  # what stands between passes within seconds
            and self._is_newest(case, copy)
            and copy.chat_id in self.roster.chats
            and len(case.copies) + len(case.retired) < MOST_COPIES
        )

    def _is_newest(self, case: Case, copy: Copy) -> bool:
        """Of the copies in one chat only the newest is replaced; the others lose their buttons."""
        return all(other.message_id <= copy.message_id for other in case.copies if other.chat_id == copy.chat_id)

    # Messages that nobody told us of

    def learn(self, case: Case, copy: Copy) -> list[Effect]:
        """A tap on a message we did not know of: a send that timed out had arrived. It is a copy from now on."""
        if copy in case.copies or copy.message_id <= 0 or len(case.copies) >= MOST_COPIES:
            return []
        if any(copy in other.copies or copy in other.retired or copy in other.prompts for other in self.by_id.values()):
            return []  # a made-up tap that names another request's card must not change that card
        case.copies[copy] = 0
        self.soundings.note(copy)
        return [Record(case.request.id, CopyEntry(case.request.id, copy, 0))]

    def take_from_others(self, case: Case, copy: Copy) -> None:
        """A message of this run shows this request alone, whatever the journal of an earlier run says about it."""
        for other in self.by_id.values():
            if other is not case:
                other.copies.pop(copy, None)
                other.prompts.pop(copy, None)
                other.retired.discard(copy)

    def sweep(self, newest: Copy) -> list[Effect]:
        known = (copy for case in self.by_id.values() for copy in (*case.copies, *case.prompts))
        return list(self.soundings.sweep(newest, known))

    def sound(self, case: Case) -> list[Sound]:
        """The request is over, but a copy of its card may stand where we do not know of it."""
        return self.soundings.sound(case.pending)


def _grouped(cards: Mapping[PlaceT, Card]) -> list[tuple[Card, list[PlaceT]]]:
    """Places whose cards have the same buttons, with that card."""
    groups: dict[tuple[Choice, ...], tuple[Card, list[PlaceT]]] = {}
    for place, card in cards.items():
        key = tuple(replace(choice, decision=NO_OPINION) for choice in card.choices)  # the seal stands for it
        groups.setdefault(key, (card, []))[1].append(place)
    return list(groups.values())
