"""Which open requests one tap may allow together: harmless ones of one user's session, each shown whole. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tapgate.desk.case import Case
from tapgate.model import NO_DRAFT, Action, Choice, Phase

MOST_TOGETHER = 10  # a list that still can be read before it is allowed


def allowable_together(case: Case, cases: Iterable[Case], chat_id: int) -> list[Case]:
    """This one and the others that could be allowed with it, oldest first; none where it is the only one."""
    if not _is_allowable(case, chat_id) or not case.request.call.session_id:
        return []
    session = session_of(case)
    others = [one for one in cases if session_of(one) == session and _is_allowable(one, chat_id)]
    return others if _is_several(len(others)) else []


def sizes(cases: Iterable[Case], chat_id: int) -> dict[tuple[int, str], int]:
    """How many could be allowed together in this chat, session by session."""
    counts = Counter(session_of(one) for one in cases if _is_allowable(one, chat_id))
    return {session: count for session, count in counts.items() if session[1] and _is_several(count)}


def session_of(case: Case) -> tuple[int, str]:
    """Whose session, and its id, which the agent chooses and another user's agent may choose as well."""
    return case.request.caller.uid, case.request.call.session_id


def plain_allow(case: Case) -> Choice | None:
    """The button that allows this one call and nothing more."""
    for choice in case.request.choices:
        if choice.key == "a" and choice.action is Action.DECIDE and choice.decision.updated_input is None:
            return choice
    return None


def _is_allowable(case: Case, chat_id: int) -> bool:
    return (
        case.phase is Phase.OPEN
        and not case.risks
        and case.is_whole(chat_id)
        and any(copy.chat_id == chat_id for copy in case.copies)
        and (case.draft == NO_DRAFT or bool(case.draft.listed))
        and plain_allow(case) is not None
    )


def _is_several(count: int) -> bool:
    return 2 <= count <= MOST_TOGETHER
