"""Which request a report from the agent is about, as well as the contract allows. Pure, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tapgate.desk.case import Case
from tapgate.desk.events import Left, ToolEnded
from tapgate.model import Instant, Outcome, Ran, Request, Verdict

PLAIN_ALLOW = "a"
START_SLACK_S = 1.5  # between a tool's real start and the one reckoned back from its report


def match_ended(cases: Iterable[Case], event: ToolEnded, now: Instant) -> tuple[Case | None, Ran]:
    """The request under which this call was asked, and what is known about it now.

    The permission event carries no call id. Identical calls are told apart by time: a report says how long the tool
    ran, so it is known when it began. First come calls that the phone allowed, with the text that it allowed, and that
    nobody has heard of since; then the oldest open one; then one that was running already when the phone denied it or
    put another text in. Ran.AGAINST: the terminal was first, and the phone had said something else.

    Only requests of the user who reports are looked at: everybody can make up a report.
    """
    ran = Ran.FAILED if event.failed else Ran.OK
    began = None if event.duration_s is None else now.mono - event.duration_s
    unheard = [
        case
        for case in cases
        if case.request.caller.uid == event.uid
        and case.ran is Ran.UNKNOWN
        and (began is None or began >= case.asked.mono - START_SLACK_S)
    ]
    for case in unheard:
        if case.answer is None or case.answer.decision.verdict is not Verdict.ALLOW:
            continue
        if event.call.fingerprint == (case.edited_as or case.request.call.fingerprint):
            return case, Ran.AGAINST if _crossed(case, began) else ran
    as_asked = [case for case in unheard if case.request.call.fingerprint == event.call.fingerprint]
    for case in as_asked:
        if case.is_open():
            return case, ran
    for case in as_asked:
        if case.answer is None or case.answered is None or began is None:
            continue
        is_other = case.edited_as or case.answer.decision.verdict is Verdict.DENY
        if is_other and began <= case.answered.mono + START_SLACK_S:
            return case, Ran.AGAINST
    return None, Ran.UNKNOWN


def _crossed(case: Case, began: float | None) -> bool:
    """Whether the terminal's yes came before the phone's, which said more than yes: a rule, a mode, an answer.

    A tool begins after the answer that allowed it. With the text that the phone put in, only the phone allowed it.
    """
    assert case.answer is not None
    is_plain = case.answer.choice_key == PLAIN_ALLOW or bool(case.edited_as)
    return not is_plain and began is not None and case.answered is not None and began < case.answered.mono


def supersedes(newer: Request, older: Request) -> bool:
    """Whether the agent can only ask `newer` once `older` has been answered somewhere.

    Calls of one session may be asked in parallel, but those of some tools come one by one, and a new prompt begins
    after the last one's calls are done.
    """
    if newer.call.agent_id != older.call.agent_id or newer.event != older.event:
        return False
    if newer.tool.one_by_one and newer.call.tool == older.call.tool:
        return True
    prompts = {newer.prompt_id, older.prompt_id}
    return not newer.call.agent_id and len(prompts) == 2 and "" not in prompts


def why_left(left: Left | None, *, alive: bool) -> Outcome:
    match left:
        case Left.TERMINATED:
            return Outcome.TERMINAL_DENIED if alive else Outcome.SESSION_ENDED
        case Left.ORPHANED:
            return Outcome.AGENT_DIED
        case _:
            return Outcome.CALLER_LOST if alive else Outcome.AGENT_DIED
