"""All cases, and what stands on the phones: every card in every chat, and what has to be sent to keep it true. Pure.

Only desk.py changes a request's state; here is what the phones are told of it. Whoever changes a case takes it from
here (`get`, `find`, `each`): what was handed out is indexed anew before anything is looked up, and after the event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from tapgate.desk import batches
from tapgate.desk.case import Case
from tapgate.desk.effects import CopyEntry, Edit, Effect, Post, Record, ShownEntry, Sound, Withdraw
from tapgate.desk.events import Edited, EditRefused
from tapgate.desk.index import By, Index
from tapgate.desk.matching import Kin, ReportMeaning
from tapgate.desk.people import Roster
from tapgate.desk.retries import Retries
from tapgate.desk.soundings import Soundings
from tapgate.model import NO_OPINION, Card, Choice, Copy, Phase

MOST_COPIES = 50
SETTLED_KEPT = 500  # so that late taps on them can be told the truth
PlaceT = TypeVar("PlaceT", int, Copy)


class Cases:
    def __init__(self, roster: Roster) -> None:
        self.by_id: dict[str, Case] = {}  # to read from; see `get`
        self.index = Index()
        self.roster = roster
        self.soundings = Soundings()
        self.retries = Retries()
        self._count = 0
        self._handed_out: dict[str, Case] = {}

    # Finding

    def get(self, request_id: str) -> Case | None:
        case = self.by_id.get(request_id)
        if case is not None:
            self._handed_out[request_id] = case
        return case

    def find(self, by: By, key: Hashable, group: Hashable = None) -> list[Case]:
        """Oldest first."""
        found = self.up_to_date().find(by, key, group)
        self._handed_out.update((case.request.id, case) for case in found)
        return found

    def reported(self, uid: int, fingerprint: str, report: ReportMeaning) -> Iterable[Case]:
        """Those for which a report of this call would have that meaning, oldest first."""
        key = (uid, fingerprint)
        if report is ReportMeaning.OPEN:  # no case opens a second time, so they stand in the order in which they came
            return self.each(self.up_to_date().iterate(By.CALL, key, report))
        return self.find(By.CALL, key, report)

    def each(self, cases: Iterable[Case]) -> Iterator[Case]:
        """One after another, where there may be many: each is indexed as soon as the next one is asked for."""
        for case in cases:
            is_held = case.request.id in self._handed_out
            self._handed_out[case.request.id] = case
            yield case
            self.index.update(case)
            if not is_held:
                self._handed_out.pop(case.request.id, None)

    def in_phases(self, *phases: Phase) -> Iterator[Case]:
        index = self.up_to_date()
        found = [case for phase in phases for case in index.find(By.PHASE, phase)]
        return self.each(sorted(found, key=lambda case: case.number))

    def of_session(
        self, session_id: str, uid: int, *, where: Callable[[Kin], bool] = lambda kin: True
    ) -> Iterator[Case]:
        """The requests of a session that somebody other than the phone can still end. No session id: none.

        An agent chooses its session's id, so a session is one user's: the same id under another uid is another one.
        `where` is asked once for all that are alike in what it is given.
        """
        index, key = self.up_to_date(), (uid, session_id)
        groups = [group for group in index.groups(By.SESSION, key) if isinstance(group, Kin) and where(group)]
        found = [case for group in groups for case in index.find(By.SESSION, key, group)]
        return self.each(sorted(found, key=lambda case: case.number))

    def due(self, now: float) -> Iterator[Case]:
        return self.each([self.by_id[request_id] for request_id in self.up_to_date().take_due(now)])

    def up_to_date(self) -> Index:
        for case in self._handed_out.values():
            self.index.update(case)
        return self.index

    def hand_in(self) -> list[Effect]:
        """The event is over. Cards whose number of requests to allow together has changed are told, in quiet moments.

        How many others are looked at is bounded: a list that is too long is not offered, so nobody is told its length.
        """
        self.up_to_date()
        concerned = dict(self._handed_out)
        for batch, before in self.index.take_changed_batches().items():
            if batches.offered_size(before) != batches.offered_size(self.index.count(By.BATCH, batch)):
                concerned.update((case.request.id, case) for case in self.index.find(By.BATCH, batch))
        effects: list[Effect] = []
        for case in sorted(concerned.values(), key=lambda case: case.number):
            if case.phase is Phase.OPEN and case.copies and not case.awaits_caller and case.told != self._sizes(case):
                effects += self.edit(case, idle=True)
        self._handed_out.clear()
        return effects

    def card(self, case: Case, chat_id: int | None = None) -> Card:
        """The card in this chat; without one, where the most of it was shown."""
        if chat_id is None:
            chat_id = next(iter(case.seen_in), case.chats[0] if case.chats else 0)
        listed = tuple(self.by_id[one].request for one in case.draft.listed if one in self.by_id)
        return case.card(chat_id, several=self.size(case, chat_id), listed=listed)

    def together(self, case: Case, chat_id: int) -> list[Case]:
        """This one and the others that one tap could allow with it there, oldest first; none where it is alone."""
        if not self.size(case, chat_id):
            return []
        return self.find(By.BATCH, (chat_id, *batches.session_of(case)))

    def size(self, case: Case, chat_id: int) -> int:
        """How many these are."""
        index, batch = self.up_to_date(), (chat_id, *batches.session_of(case))
        return batches.offered_size(index.count(By.BATCH, batch)) if index.has(By.BATCH, batch, case) else 0

    def _sizes(self, case: Case) -> tuple[int, ...]:
        return tuple(self.size(case, chat_id) for chat_id in self.roster.chats)

    def add(self, case: Case) -> None:
        """A new request. Of those that are over, those that ended first are forgotten."""
        self._count += 1
        case.number = self._count
        case.told = (0,) * len(self.roster.chats)
        self.by_id[case.request.id] = case
        self._handed_out[case.request.id] = case
        index = self.up_to_date()
        while index.count(By.PHASE, Phase.SETTLED) > SETTLED_KEPT:
            ended = index.first(By.PHASE, Phase.SETTLED)
            assert ended is not None
            index.remove(ended)
            del self.by_id[ended.request.id]
            self._handed_out.pop(ended.request.id, None)

    # What to send

    def post(self, case: Case, chats: Iterable[int]) -> list[Effect]:
        cards = {chat_id: self.card(case, chat_id) for chat_id in chats}
        return [Post(card, tuple(group)) for card, group in _grouped(cards)]

    def edit(self, case: Case, *, idle: bool = False) -> list[Effect]:
        """Bring all copies up to date. Where not everything was shown, or less is allowed, they have other buttons."""
        # One that was refused and has been replaced is no longer edited, only withdrawn.
        copies = [copy for copy in case.copies if copy not in self.retries or self._is_newest(case, copy)]
        cards = {copy: self.card(case, copy.chat_id) for copy in copies}
        case.told = self._sizes(case)
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

    # What Telegram made of it

    def shows_current(self, case: Case, copy: Copy) -> bool:
        """Whether Telegram confirmed that this copy shows the card as it stands."""
        return case.copies.get(copy, -1) >= case.version

    def is_current_in(self, case: Case, chat_id: int) -> bool:
        return any(copy.chat_id == chat_id and self.shows_current(case, copy) for copy in case.copies)

    def edited(self, case: Case, event: Edited) -> list[Effect]:
        if event.copy not in case.copies:
            return []
        case.copies[event.copy] = max(event.version, case.copies[event.copy])
        if self.shows_current(case, event.copy):
            self.retries.forget(event.copy)
        if case.phase is Phase.SETTLED and event.version == case.version:
            return [Record(case.request.id, ShownEntry(case.request.id, event.copy, event.version))]
        return []

    def refused(self, case: Case, event: EditRefused, now: float) -> list[Effect]:
        """The copy stays behind and is tried again later; meanwhile a new message shows the card as it stands."""
        if event.copy not in case.copies or event.version < case.version:
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
            case = self.get(request_id)
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
        if self.up_to_date().is_known(copy):
            return []  # a made-up tap that names another request's card must not change that card
        case.copies[copy] = 0
        self.soundings.note(copy)
        return [Record(case.request.id, CopyEntry(case.request.id, copy, 0))]

    def take_from_others(self, case: Case, copy: Copy) -> None:
        """A message of this run shows this request alone, whatever the journal of an earlier run says about it."""
        for other in [one for by in (By.COPY, By.PROMPT, By.RETIRED) for one in self.find(by, copy)]:
            if other is not case:
                other.copies.pop(copy, None)
                other.prompts.pop(copy, None)
                other.retired.discard(copy)

    def sweep(self, newest: Copy) -> list[Effect]:
        index = self.up_to_date()
        return list(self.soundings.sweep(newest, index.stands))

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
