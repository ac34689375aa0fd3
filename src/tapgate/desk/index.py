"""Finds cases without looking at all of them: by phase, session, message, call and deadline. Pure.

`update` is the one way in: it reads where a case belongs from the case itself, so no index can say anything else than
another. Nothing here changes a case.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from tapgate.desk import batches, matching
from tapgate.desk.case import Case
from tapgate.model import Copy, Phase

SPARE_DEADLINES = 64  # outdated ones that the heap may hold before it is made anew


class By(Enum):
    """What cases are found by. Each has a key, and within it groups."""

    PHASE = auto()  # the phase
    SESSION = auto()  # user and session; grouped by what decides on superseding
    BATCH = auto()  # chat, user and session: those that one tap may allow there
    CALL = auto()  # user and fingerprint; grouped by what a report that it ran would mean
    COPY = auto()  # a message that shows the card
    RETIRED = auto()  # a message that did
    PROMPT = auto()  # a message that asks for a text
    ASKING = auto()  # chat and user: a question for a text is on its way


Key = tuple[By, Hashable]
Entry = tuple[Key, Hashable]


@dataclass(frozen=True, slots=True)
class Indexed:
    """Where a case was put the last time."""

    entries: frozenset[Entry]
    due: float | None
    waiting_bytes: int


def indexed(case: Case) -> Indexed:
    """Where a case belongs as it stands."""
    is_settled = case.phase is Phase.SETTLED
    return Indexed(frozenset(_entries(case)), case.next_deadline(), 0 if is_settled else len(case.request.raw))


def _entries(case: Case) -> Iterator[Entry]:
    yield (By.PHASE, case.phase), None
    session, uid = batches.session_of(case), case.request.caller.uid
    if case.is_open() and session[1]:
        yield (By.SESSION, session), matching.kin_of(case.request)
    for chat_id in batches.chats_of(case):
        yield (By.BATCH, (chat_id, *session)), None
    for fingerprint, report in matching.reports_of(case):
        yield (By.CALL, (uid, fingerprint)), report
    for kind, copies in ((By.COPY, case.copies), (By.RETIRED, case.retired), (By.PROMPT, case.prompts)):
        for copy in copies:
            yield (kind, copy), None
    for chat_id, prompt in case.asking:
        yield (By.ASKING, (chat_id, prompt.user_id)), None


class Index:
    def __init__(self) -> None:
        self.waiting_bytes = 0  # of all requests that are not settled
        self._known: dict[str, Indexed] = {}
        self._cases: dict[Key, dict[Hashable, dict[str, Case]]] = {}
        self._deadlines: list[tuple[float, int, str]] = []
        self._batches: dict[tuple[int, int, str], int] = {}  # those that changed, with the size before

    def update(self, case: Case) -> None:
        """To be called whenever a case may have changed."""
        self._put(case, indexed(case))

    def remove(self, case: Case) -> None:
        self._put(case, Indexed(frozenset(), None, 0))
        del self._known[case.request.id]

    def find(self, by: By, key: Hashable, group: Hashable = None) -> list[Case]:
        """Oldest first."""
        found = self._cases.get((by, key), {}).get(group, {})
        return sorted(found.values(), key=_age) if len(found) > 1 else list(found.values())

    def iterate(self, by: By, key: Hashable, group: Hashable = None) -> Iterator[Case]:
        """In the order in which they came to belong there. Nothing may change meanwhile."""
        yield from self._cases.get((by, key), {}).get(group, {}).values()

    def first(self, by: By, key: Hashable, group: Hashable = None) -> Case | None:
        """The one that has been there for the longest."""
        return next(iter(self._cases.get((by, key), {}).get(group, {}).values()), None)

    def groups(self, by: By, key: Hashable) -> list[Hashable]:
        return list(self._cases.get((by, key), ()))

    def has(self, by: By, key: Hashable, case: Case) -> bool:
        return case.request.id in self._cases.get((by, key), {}).get(None, ())

    def count(self, by: By, key: Hashable) -> int:
        return sum(map(len, self._cases.get((by, key), {}).values()))

    def all_keys(self) -> list[Key]:
        return list(self._cases)

    def is_known(self, copy: Copy) -> bool:
        """Whether the message is any request's, as far as we know."""
        return any((kind, copy) in self._cases for kind in (By.COPY, By.RETIRED, By.PROMPT))

    def stands(self, copy: Copy) -> bool:
        """Whether the message shows a card, or asks for a text."""
        return (By.COPY, copy) in self._cases or (By.PROMPT, copy) in self._cases

    def next_due(self) -> float | None:
        while self._deadlines and self._is_outdated(self._deadlines[0]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def take_due(self, now: float) -> list[str]:
        """The ids of those whose deadline has come, oldest request first."""
        due = []
        while self._deadlines and self._deadlines[0][0] <= now:
            entry = heapq.heappop(self._deadlines)
            if not self._is_outdated(entry):
                due.append(entry)
        for entry in due:
            heapq.heappush(self._deadlines, entry)  # it is outdated once the case has gone on
        return [request_id for _, _, request_id in sorted(set(due), key=lambda entry: entry[1])]

    def take_changed_batches(self) -> dict[tuple[int, int, str], int]:
        changed, self._batches = self._batches, {}
        return changed

    def _is_outdated(self, entry: tuple[float, int, str]) -> bool:
        known = self._known.get(entry[2])
        return known is None or known.due != entry[0]

    def _put(self, case: Case, new: Indexed) -> None:
        old = self._known.get(case.request.id)
        if new == old:
            return
        self._known[case.request.id] = new
        before = old.entries if old is not None else frozenset()
        for key, group in before - new.entries:
            self._note_batch(key)
            del self._cases[key][group][case.request.id]
            if not self._cases[key][group]:
                del self._cases[key][group]
            if not self._cases[key]:
                del self._cases[key]
        for key, group in new.entries - before:
            self._note_batch(key)
            self._cases.setdefault(key, {}).setdefault(group, {})[case.request.id] = case
        self.waiting_bytes += new.waiting_bytes - (old.waiting_bytes if old is not None else 0)
        if new.due is not None and (old is None or new.due != old.due):
            self._expect(new.due, case)

    def _expect(self, due: float, case: Case) -> None:
        heapq.heappush(self._deadlines, (due, case.number, case.request.id))
        if len(self._deadlines) > 2 * len(self._known) + SPARE_DEADLINES:
            self._deadlines = [entry for entry in set(self._deadlines) if not self._is_outdated(entry)]
            heapq.heapify(self._deadlines)

    def _note_batch(self, key: Key) -> None:
        by, batch = key
        if by is By.BATCH:
            assert isinstance(batch, tuple)
            self._batches.setdefault(batch, self.count(by, batch))


def _age(case: Case) -> int:
    return case.number
