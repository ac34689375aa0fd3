"""What a fresh desk is told about requests of an earlier run.

It comes from a file that any process of this user can write, so it proves no tap: what was answered, put together on a
card or shown whole is not taken from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.model import Answer, Copy, Findings, Outcome, Prompt, Ran, Request


@dataclass(frozen=True, slots=True)
class Remembered:
    """One request as the journal knows it. Open where `outcome` is None."""

    request: Request
    asked_at: float
    deadline_at: float
    chats: tuple[int, ...]
    answer: Answer | None = None  # as the journal says
    outcome: Outcome | None = None
    ended_at: float = 0.0
    detail: str = ""
    ran: Ran = Ran.UNKNOWN
    version: int = 0
    copies: tuple[tuple[Copy, int], ...] = ()  # each with the version that it shows
    prompts: tuple[tuple[Copy, Prompt], ...] = ()
    findings: Findings | None = None  # not from the journal: found out anew, links may have changed meanwhile
