"""A journal in memory, as simple as can be: what the real one must remember too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
from tapgate.model import Copy, Prompt


@dataclass
class Ledger:
    rows: dict[str, Remembered] = field(default_factory=dict)

    def write(self, entry: Entry) -> None:
        match entry:
            case AskedEntry():
                assert entry.request.id not in self.rows
                self.rows[entry.request.id] = Remembered(entry.request, entry.asked_at, entry.deadline_at, entry.chats)
            case CopyEntry(prompt=Prompt() as prompt):
                row = self.rows[entry.request_id]
                self._put(row, prompts=(*row.prompts, (entry.copy, prompt)))
            case CopyEntry() | ShownEntry():
                row = self.rows[entry.request_id]
                copies: dict[Copy, int] = dict(row.copies)
                copies[entry.copy] = max(entry.version, copies.get(entry.copy, 0))
                self._put(row, copies=tuple(copies.items()))
            case SeenEntry():
                assert entry.request_id in self.rows, "for the trail only"
            case AnsweredEntry():
                row = self.rows[entry.request_id]
                assert row.answer is None and row.outcome is None, "the first answer wins"
                self._put(row, answer=entry.answer, version=entry.version)
            case ReopenedEntry():
                row = self.rows[entry.request_id]
                assert row.answer is not None and row.outcome is None
                self._put(row, answer=None)
            case SettledEntry():
                row = self.rows[entry.request_id]
                assert row.outcome is None, "settled once"
                self._put(
                    row, outcome=entry.outcome, ended_at=entry.ended_at, detail=entry.detail, version=entry.version
                )
            case RanEntry():
                self._put(self.rows[entry.request_id], ran=entry.ran, version=entry.version)

    def _put(self, row: Remembered, **changes: object) -> None:
        self.rows[row.request.id] = replace(row, **changes)  # type: ignore[arg-type]
