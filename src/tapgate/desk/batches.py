"""Which open requests one tap may allow together: harmless ones of one user's session, each shown whole. Pure."""

from __future__ import annotations

from tapgate.desk.case import Case
from tapgate.model import NO_DRAFT, Action, Choice, Phase

MOST_TOGETHER = 10  # a list that still can be read before it is allowed


def chats_of(case: Case) -> list[int]:
    """The chats in which one tap may allow it together with others of its session."""
    if case.phase is not Phase.OPEN or case.risks or not case.request.call.session_id:
        return []
    if (case.draft != NO_DRAFT and not case.draft.listed) or plain_allow(case) is None:
        return []
    return [chat_id for chat_id in {copy.chat_id for copy in case.copies} if case.is_whole(chat_id)]


def offered_size(count: int) -> int:
    """How many the cards offer to allow together, where so many could be; 0: none."""
    return count if 2 <= count <= MOST_TOGETHER else 0


def session_of(case: Case) -> tuple[int, str]:
    """Whose session, and its id, which the agent chooses and another user's agent may choose as well."""
    return case.request.caller.uid, case.request.call.session_id


def plain_allow(case: Case) -> Choice | None:
    """The button that allows this one call and nothing more."""
    for choice in case.request.choices:
        if choice.key == "a" and choice.action is Action.DECIDE and choice.decision.updated_input is None:
            return choice
    return None
