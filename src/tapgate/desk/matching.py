"""Which request a report from the agent is about, as well as the contract allows. Pure, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from tapgate.desk.case import Case
from tapgate.desk.events import Left, Move, SessionMoved, ToolEnded
from tapgate.model import Instant, Outcome, Ran, Request, Verdict

PLAIN_ALLOW = "a"
START_SLACK_S = 1.5  # between a tool's real start and the one reckoned back from its report


class ReportMeaning(Enum):
    """What a report that a call ran to its end can mean for a case."""

    ALLOWED = "the phone allowed it"
    OPEN = "somebody allowed it at the terminal"
    REFUSED = "the phone refused it, or put another text in, while it was running"


def reports_of(case: Case) -> Iterator[tuple[str, ReportMeaning]]:
    """The calls, by their fingerprints, whose reports could be about this case, and what each would mean."""
    if case.ran is not Ran.UNKNOWN:
        return
    asked, answer = case.request.call.fingerprint, case.answer
    if answer is not None and answer.decision.verdict is Verdict.ALLOW:
        yield case.edited_as or asked, ReportMeaning.ALLOWED
    if case.is_open():
        yield asked, ReportMeaning.OPEN
    if answer is not None and (case.edited_as or answer.decision.verdict is Verdict.DENY):
        yield asked, ReportMeaning.REFUSED


def match_ended(
    find: Callable[[ReportMeaning], Iterable[Case]], event: ToolEnded, now: Instant
) -> tuple[Case | None, Ran]:
    """The request under which this call was asked, and what is known about it now.

    The permission event carries no call id. Identical calls are told apart by time: a report says how long the tool
    ran, so it is known when it began. First come calls that the phone allowed, with the text that it allowed, and that
    nobody has heard of since; then the oldest open one; then one that was running already when the phone denied it or
    put another text in. Ran.AGAINST: the terminal was first, and the phone had said something else.

    `find` gives the cases for which a report of this call has that meaning, oldest first. Only requests of the user
    who reports are among them: everybody can make up a report.
    """
    ran = Ran.FAILED if event.failed else Ran.OK
    began = None if event.duration_s is None else now.mono - event.duration_s
    for case in find(ReportMeaning.ALLOWED):
        if _is_asked_before(case, began):
            return case, Ran.AGAINST if _crossed(case, began) else ran
    for case in find(ReportMeaning.OPEN):
        if _is_asked_before(case, began):
            return case, ran
    for case in find(ReportMeaning.REFUSED):
        if case.answered is None or began is None or not _is_asked_before(case, began):
            continue
        if began <= case.answered.mono + START_SLACK_S:
            return case, Ran.AGAINST
    return None, Ran.UNKNOWN


def _is_asked_before(case: Case, began: float | None) -> bool:
    return began is None or began >= case.asked.mono - START_SLACK_S


def _crossed(case: Case, began: float | None) -> bool:
    """Whether the terminal's yes came before the phone's, which said more than yes: a rule, a mode, an answer.

    A tool begins after the answer that allowed it. With the text that the phone put in, only the phone allowed it.
    """
    assert case.answer is not None
    is_plain = case.answer.choice_key == PLAIN_ALLOW or bool(case.edited_as)
    return not is_plain and began is not None and case.answered is not None and began < case.answered.mono


class Kin(NamedTuple):
    """What decides whether a request is over when its session asks or reports something else."""

    agent_id: str
    event: str
    one_by_one: bool  # calls of its tool never wait together
    tool: str
    prompt_id: str


def kin_of(request: Request) -> Kin:
    call = request.call
    return Kin(call.agent_id, request.event, request.tool.one_by_one, call.tool, request.prompt_id)


def supersedes(newer: Kin, older: Kin) -> bool:
    """Whether the agent can only ask `newer` once `older` has been answered somewhere.

    Calls of one session may be asked in parallel, but those of some tools come one by one, and a new prompt begins
    after the last one's calls are done.
    """
    if newer.agent_id != older.agent_id or newer.event != older.event:
        return False
    if newer.one_by_one and newer.tool == older.tool:
        return True
    prompts = {newer.prompt_id, older.prompt_id}
    return not newer.agent_id and len(prompts) == 2 and "" not in prompts


def moves_on(event: SessionMoved, kin: Kin) -> bool:
    """Whether such a request cannot be waiting any more after this report."""
    if kin.agent_id != event.agent_id:
        return False  # a subagent in the background waits on while the main thread moves, and the other way round
    # These reports come on a way of their own and may be late: the prompt's id tells old from new.
    known = bool(event.prompt_id and kin.prompt_id)
    same = event.prompt_id == kin.prompt_id
    return not (known and same is (event.move is not Move.STOP))


def why_left(left: Left | None, *, alive: bool) -> Outcome:
    match left:
        case Left.TERMINATED:
            return Outcome.TERMINAL_DENIED if alive else Outcome.SESSION_ENDED
        case Left.ORPHANED:
            return Outcome.AGENT_DIED
        case _:
            return Outcome.CALLER_LOST if alive else Outcome.AGENT_DIED
