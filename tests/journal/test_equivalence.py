"""Whatever is recorded, in whatever order, a load equals what a few dictionaries would have kept."""

from __future__ import annotations

import asyncio
import copy as copying
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.desk.effects import (
    AnsweredEntry,
    AskedEntry,
    CopyEntry,
    Entry,
    RanEntry,
    ReopenedEntry,
    SeenEntry,
    SettledEntry,
    ShownEntry,
)
from tapgate.desk.memory import Remembered
from tapgate.errors import JournalError
from tapgate.model import Action, Answer, Caller, Copy, Decision, Outcome, Prompt, Ran, Verdict

from .samples import NOW, Opener, make_request, parse

IDS = ("a", "b", "\ud800c")
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.floats(NOW, NOW + 600)
VERSIONS = st.integers(0, 4)
COPIES = st.builds(Copy, st.sampled_from([11, -100]), st.integers(1, 3))
PROMPTS = st.builds(Prompt, st.just(42), st.sampled_from(Action), st.integers(0, 3))
DECISIONS = st.builds(
    Decision,
    verdict=st.sampled_from(Verdict),
    message=ANY_TEXT,
    interrupt=st.booleans(),
    updates=st.lists(ANY_JSON, max_size=2).map(tuple),
    updated_input=st.none() | st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3),
)
ANSWERS = st.builds(
    Answer,
    person=ANY_TEXT,
    user_id=st.integers(1, 2**53),
    choice_key=ANY_TEXT,
    label=ANY_TEXT,
    decision=DECISIONS,
    at=TIMES,
    after_s=st.floats(0, 600),
    saved=ANY_TEXT,
)
CALLERS = st.builds(
    Caller,
    agent=st.sampled_from(["claude", "codex"]),
    deadline_s=st.floats(0, 600),
    pid=st.integers(0, 2**22),
    parent_pid=st.integers(0, 2**22),
    attended=st.booleans(),
    project=ANY_TEXT,
)
REQUESTS = st.builds(
    lambda request_id, caller, command: make_request(request_id, caller=caller, input={"command": command}),
    st.sampled_from(IDS),
    CALLERS,
    st.sampled_from(["make", "make\ud800"]),
)
ENTRIES: st.SearchStrategy[Entry] = st.one_of(
    st.builds(
        AskedEntry,
        request=REQUESTS,
        asked_at=TIMES,
        deadline_at=TIMES,
        fits=st.booleans(),
        chats=st.lists(st.integers(-5, 5), max_size=2).map(tuple),
    ),
    st.builds(CopyEntry, st.sampled_from(IDS), COPIES, VERSIONS, st.none() | PROMPTS),
    st.builds(ShownEntry, st.sampled_from(IDS), COPIES, VERSIONS),
    st.builds(SeenEntry, st.sampled_from(IDS)),
    st.builds(AnsweredEntry, st.sampled_from(IDS), ANSWERS, VERSIONS),
    st.builds(ReopenedEntry, st.sampled_from(IDS)),
    st.builds(SettledEntry, st.sampled_from(IDS), st.sampled_from(Outcome), TIMES, ANY_TEXT, VERSIONS),
    st.builds(RanEntry, st.sampled_from(IDS), st.sampled_from(Ran), TIMES, VERSIONS),
)


class RefusedError(Exception):
    pass


class Memory:
    """The journal's rules without a disk."""

    def __init__(self) -> None:
        self.known: dict[str, Remembered] = {}
        self.messages: dict[str, dict[Copy, tuple[int, Prompt | None]]] = {}

    def take(self, batch: Sequence[Entry]) -> bool:
        before = copying.copy(self.known), copying.deepcopy(self.messages)
        try:
            for entry in batch:
                self._take(entry)
        except RefusedError:
            self.known, self.messages = before
            return False
        return True

    def remembered(self) -> list[Remembered]:
        found = []
        for request_id, memory in self.known.items():
            messages = self.messages[request_id].items()
            copies = tuple((copy, shown) for copy, (shown, user) in messages if not user)
            prompts = tuple((copy, prompt) for copy, (_, prompt) in messages if prompt)
            found.append(replace(memory, copies=copies, prompts=prompts))
        return found

    def _take(self, entry: Entry) -> None:
        if isinstance(entry, AskedEntry):
            self._ask(entry)
            return
        memory = self.known.get(entry.request_id)
        if memory is None:
            raise RefusedError
        match entry:
            case CopyEntry():
                memory = self._copy(memory, entry)
            case ShownEntry():
                memory = self._copy(memory, CopyEntry(entry.request_id, entry.copy, entry.version))
                shown, user = self.messages[entry.request_id][entry.copy]
                self.messages[entry.request_id][entry.copy] = max(shown, entry.version), user
                memory = replace(memory, version=max(memory.version, entry.version))
            case SeenEntry():
                pass  # for the trail only
            case ReopenedEntry():
                if memory.outcome is not None:
                    raise RefusedError
                memory = replace(memory, answer=None)
            case AnsweredEntry():
                memory = self._answer(memory, entry)
            case SettledEntry():
                if memory.outcome is not None:
                    raise RefusedError
                memory = replace(
                    memory,
                    outcome=entry.outcome,
                    ended_at=entry.ended_at,
                    detail=entry.detail,
                    version=max(memory.version, entry.version),
                )
            case RanEntry():
                memory = replace(memory, ran=entry.ran, version=max(memory.version, entry.version))
        self.known[entry.request_id] = memory

    def _ask(self, entry: AskedEntry) -> None:
        request = entry.request
        first = self.known.get(request.id)
        if first is None:
            self.known[request.id] = Remembered(request, entry.asked_at, entry.deadline_at, entry.chats)
            self.messages[request.id] = {}
        elif first.request.digest != request.digest:
            raise RefusedError

    def _copy(self, memory: Remembered, entry: CopyEntry) -> Remembered:
        messages = self.messages[entry.request_id]
        if entry.copy in messages:
            return memory
        messages[entry.copy] = entry.version, entry.prompt
        return memory if entry.prompt else replace(memory, version=max(memory.version, entry.version))

    def _answer(self, memory: Remembered, entry: AnsweredEntry) -> Remembered:
        if memory.answer is not None or memory.outcome is not None:
            if memory.answer != entry.answer:
                raise RefusedError
            return memory
        return replace(memory, answer=entry.answer, version=max(memory.version, entry.version))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ENTRIES, min_size=1, max_size=3), max_size=20))
def test_load_equals_a_simple_memory(batches: list[list[Entry]]) -> None:
    async def compare(directory: Path) -> None:
        opener = Opener(directory)
        memory = Memory()
        journal = await opener()
        try:
            for number, batch in enumerate([*batches, *batches[:3]]):  # and some of them once more
                before = await journal.offset()
                try:
                    await journal.record(batch, at=NOW, offset=number)
                except JournalError:
                    assert not memory.take(batch)
                    assert await journal.offset() == before
                else:
                    assert memory.take(batch)
            await journal.close()
            journal = await opener()
            assert await journal.load(parse) == memory.remembered()
            assert opener.reports == []
        finally:
            await opener.close()

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(compare(Path(directory)))
