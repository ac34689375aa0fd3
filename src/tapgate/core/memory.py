"""What a fresh desk is told about requests of an earlier run."""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.model import NO_DRAFT, Answer, Copy, Draft, Findings, Outcome, Prompt, Ran, Request


@dataclass(frozen=True, slots=True)
class Remembered:
    """One request as the journal knows it. Open where `outcome` is None."""

    request: Request
    asked_at: float
    deadline_at: float
    fits: bool
    chats: tuple[int, ...]
    seen: bool = False
    answer: Answer | None = None
    outcome: Outcome | None = None
    ended_at: float = 0.0
    detail: str = ""
    ran: Ran = Ran.UNKNOWN
    version: int = 0
    copies: tuple[tuple[Copy, int], ...] = ()  # each with the version that it shows
    prompts: tuple[tuple[Copy, Prompt], ...] = ()
    draft: Draft = NO_DRAFT
    findings: Findings | None = None  # not from the journal: found out anew, links may have changed meanwhile
    draft_findings: Findings | None = None
