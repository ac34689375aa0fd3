"""The agent's side: questions that come and come back, callers that leave, what the session reports meanwhile. Pure."""

from __future__ import annotations

import math
from dataclasses import replace

from tapgate.desk import answers, words
from tapgate.desk.case import UNDELIVERED_S, Case
from tapgate.desk.effects import AnswerTap, AskedEntry, Effect, Post, Probe, RanEntry, Record, ReopenedEntry, Reply
from tapgate.desk.events import (
    AgentProbed,
    Asked,
    CallerConfirmed,
    CallerGone,
    Left,
    Move,
    RecordFailed,
    SessionEnded,
    SessionMoved,
    Stopped,
    Tapped,
    Ticked,
    ToolEnded,
)
from tapgate.desk.matching import kin_of, match_ended, moves_on, supersedes, why_left
from tapgate.desk.outcomes import OUTCOMES, PhoneAnswer
from tapgate.desk.state import DeskState
from tapgate.model import NO_OPINION, Context, Instant, Outcome, Phase, Ran, Request, Verdict

LEAVE_S = 3.0  # how long a caller's leaving may stay unexplained
PROBE_S = 1.5
LATE_S = 10.0  # how late a report of a beginning may be, on a machine that is busy
MOST_WAITING_BYTES = 64 * 1024 * 1024  # of open requests, all together

# A request comes, or comes back


def hear_question(desk: DeskState, event: Asked, now: Instant) -> list[Effect]:
    request = event.request
    case = desk.cases.get(request.id)
    if case is not None:
        if is_taken(case, request):
            return [Reply(request, NO_OPINION, "this request id is in use")]
        return desk.take(case, event, now)
    refused = _why_not_asked(desk, event)
    if refused is not None:
        return [Reply(request, NO_OPINION, refused)]
    effects: list[Effect] = []
    kin = kin_of(request)
    for older in desk.cases.of_session(
        request.call.session_id, request.caller.uid, where=lambda older: supersedes(kin, older)
    ):
        effects += desk.take(older, event, now)
    return effects + _open(desk, event, now)


def is_taken(case: Case, request: Request) -> bool:
    """Whether the id belongs to another question already, or to another user's.

    What the journal alone says about the project is not believed: the caller that is back brings its own, is judged
    by that, and the id is bound to it from then on.
    """
    if not case.awaits_caller and case.request.caller.facts != request.caller.facts:
        return True
    return _asker(case.request) != _asker(request)


def _why_not_asked(desk: DeskState, event: Asked) -> str | None:
    if desk.is_stopping:
        return "the daemon is stopping"
    if not desk.cases.roster.chats:
        return "nobody is listed under [[people]] in the config"
    if desk.hold_for(event) <= 0:
        return "there is no time left to ask"
    if desk.cases.up_to_date().waiting_bytes + len(event.request.raw) > MOST_WAITING_BYTES:
        return "more is waiting for an answer than tapgate will hold"
    return None


def _open(desk: DeskState, event: Asked, now: Instant) -> list[Effect]:
    request, chats = event.request, desk.cases.roster.chats
    case = Case(
        request=request,
        asked=now,
        deadline=now.mono + desk.hold_for(event),
        chats=chats,
        fits=event.fits,
        pending=set(chats),
        context=event.context,
        risks=event.risks,
        ranks=desk.cases.roster.ranks,
    )
    case.expect_delivery(now.mono - event.waited_s)
    desk.cases.add(case)
    entry = AskedEntry(request=request, asked_at=now.wall, deadline_at=case.deadline_at, fits=event.fits, chats=chats)
    return [Record(request.id, entry, required=True), *desk.cases.post(case, chats)]


def come_back(desk: DeskState, case: Case, event: Asked, now: Instant) -> list[Effect]:
    """Its caller is back; or the agent asks another question, and cannot be waiting for this one any more."""
    if event.request.id != case.request.id:
        return desk.settle(case, Outcome.SUPERSEDED, now)
    if case.awaits_caller:
        return _adopt(desk, case, event, now)
    _note_return(desk, case, event, now)
    is_changed = case.risks != event.risks or not _looks_alike(case.context, event.context)
    if case.risks != event.risks:
        case.changed_at = case.version + 1
    case.context = event.context
    case.risks = event.risks
    case.fits = case.fits and event.fits  # the file that it is shown against may be another by now
    if case.phase is not Phase.OPEN:
        desk.move(case, Phase.OPEN)
    case.version += is_changed
    effects = desk.cases.edit(case) if is_changed else []
    return effects + _post_pending(desk, case)


def send_again(desk: DeskState, case: Case, event: Asked, now: Instant) -> list[Effect]:
    """The caller is back before it took the answer. An allow is for what its card said, and for nothing else."""
    assert case.answer is not None
    _note_return(desk, case, event, now)
    is_same = (case.risks, case.context.links) == (event.risks, event.context.links)
    if is_same or case.answer.decision.verdict is not Verdict.ALLOW:
        return [Reply(case.request, case.answer.decision)]
    settled = desk.settle(case, Outcome.UNCONFIRMED, now, detail=words.CHANGED_SINCE)
    records = [effect for effect in settled if isinstance(effect, Record)]
    reply = Reply(case.request, NO_OPINION, words.CHANGED_SINCE)
    return [*records, reply, *(effect for effect in settled if not isinstance(effect, Record))]


def say_it_is_over(desk: DeskState, case: Case, event: Asked, now: Instant) -> list[Effect]:
    return [Reply(case.request, NO_OPINION, words.ended(case.card()))]


def _note_return(desk: DeskState, case: Case, event: Asked, now: Instant) -> None:
    case.caller_here = True
    case.leave_by = case.left = None
    case.deadline = now.mono + max(0.0, desk.hold_for(event))


def _adopt(desk: DeskState, case: Case, event: Asked, now: Instant) -> list[Effect]:
    """The caller of an earlier run is back: what it brings takes the place of all that the journal said."""
    effects: list[Effect] = []
    if case.claimed is not None:  # it waits, so it never had that answer
        effects.append(Record(case.request.id, ReopenedEntry(case.request.id)))
    case.claimed = case.answered = case.away_until = None
    case.edited_as = ""
    case.request, case.context, case.risks, case.fits = (
        event.request,
        event.context,
        event.risks,
        event.fits,
    )
    case.caller_here = case.restarted = True
    case.asked = now  # how long it may wait is reckoned from the caller's word, and from no time in the journal
    case.deadline = now.mono + max(0.0, desk.hold_for(event))
    case.expect_delivery(now.mono - event.waited_s)  # its card is sent only now
    kept, case.kept = case.kept, []
    for one in kept:
        if isinstance(one, Tapped):
            effects += answers.take_tap(desk, one, now)
        else:  # what was found out about its text was about the request as the journal has it
            effects += answers.take_text(desk, replace(one, findings=None), now)
    if case.phase is Phase.OPEN:
        effects += desk.cases.edit(case, idle=True)  # what stands on the phones is the earlier run's
        effects += _post_pending(desk, case)
    return effects


def _post_pending(desk: DeskState, case: Case) -> list[Effect]:
    return desk.cases.post(case, tuple(chat for chat in case.chats if chat in case.pending))


# The caller


def hear_caller(desk: DeskState, event: CallerConfirmed | CallerGone, now: Instant) -> list[Effect]:
    """Only the user whose request it is can say something about its caller."""
    case = desk.cases.get(event.request_id)
    return desk.take(case, event, now) if case is not None and case.request.caller.uid == event.uid else []


def confirm_claimed(desk: DeskState, case: Case, event: CallerConfirmed, now: Instant) -> list[Effect]:
    if not case.awaits_caller or case.claimed is None:
        return []
    return desk.settle(case, Outcome.UNCONFIRMED, now, detail=words.TAKEN_BEFORE)


def confirm(desk: DeskState, case: Case, event: CallerConfirmed, now: Instant) -> list[Effect]:
    assert case.answer is not None
    allowed = case.answer.decision.verdict is Verdict.ALLOW
    return desk.settle(case, Outcome.ALLOWED if allowed else Outcome.DENIED, now)


def leave(desk: DeskState, case: Case, event: CallerGone, now: Instant) -> list[Effect]:
    if not case.caller_here:
        return []
    case.caller_here = False
    desk.move(case, Phase.LEAVING)
    case.left = event.why
    case.leave_by = now.mono + LEAVE_S
    return [Probe(case.request.id, case.request.caller.parent_pid, PROBE_S)]


def leave_answered(desk: DeskState, case: Case, event: CallerGone, now: Instant) -> list[Effect]:
    if not case.caller_here:
        return []
    case.caller_here = False
    known = event.why is not Left.DROPPED
    return desk.settle(case, Outcome.NOT_TAKEN if known else Outcome.UNCONFIRMED, now)


def explain_leaving(desk: DeskState, case: Case, event: AgentProbed, now: Instant) -> list[Effect]:
    return desk.settle(case, why_left(case.left, alive=event.alive), now)


# What the agent did meanwhile


def hear_tool(desk: DeskState, event: ToolEnded, now: Instant) -> list[Effect]:
    case, ran = match_ended(lambda report: desk.cases.reported(event.uid, event.call.fingerprint, report), event, now)
    if case is None:
        return []
    case.ran = ran
    return desk.take(case, event, now)


def end_at_terminal(desk: DeskState, case: Case, event: ToolEnded, now: Instant) -> list[Effect]:
    return [
        *desk.settle(case, Outcome.TERMINAL_ALLOWED, now),
        Record(case.request.id, RanEntry(case.request.id, case.ran, now.wall, case.version)),
    ]


def mark_ran(desk: DeskState, case: Case, event: ToolEnded, now: Instant) -> list[Effect]:
    is_unsure = case.outcome is not None and OUTCOMES[case.outcome].answer is PhoneAnswer.UNSURE
    retold = case.ran is Ran.AGAINST or is_unsure
    case.version += retold
    entry = RanEntry(case.request.id, case.ran, now.wall, case.version)
    return [Record(case.request.id, entry), *(desk.cases.edit(case) if retold else [])]


def hear_move(desk: DeskState, event: SessionMoved, now: Instant) -> list[Effect]:
    effects: list[Effect] = []
    for case in desk.cases.of_session(event.session_id, event.uid, where=lambda kin: moves_on(event, kin)):
        effects += desk.take(case, event, now)
    return effects


def move_on(desk: DeskState, case: Case, event: SessionMoved, now: Instant) -> list[Effect]:
    # Without the id only time can tell: right after a question, a report of a beginning is a late one.
    known = bool(event.prompt_id and case.request.prompt_id)
    if not known and event.move is not Move.STOP and now.mono - case.asked.mono < LATE_S:
        return []
    return desk.settle(case, Outcome.MOVED_ON, now, detail=event.move.value)


def hear_end(desk: DeskState, event: SessionEnded, now: Instant) -> list[Effect]:
    effects: list[Effect] = []
    for case in desk.cases.of_session(event.session_id, event.uid):
        effects += desk.take(case, event, now)
    return effects


def end_with_session(desk: DeskState, case: Case, event: SessionEnded, now: Instant) -> list[Effect]:
    return desk.settle(case, Outcome.SESSION_ENDED, now, detail=event.reason)


# Time, the disk, and the daemon itself


def hear_time(desk: DeskState, event: Ticked, now: Instant) -> list[Effect]:
    """What is due ends."""
    effects: list[Effect] = []
    for case in desk.cases.due(now.mono):
        effects += desk.take(case, event, now)
    return effects


def run_out(desk: DeskState, case: Case, event: Ticked, now: Instant) -> list[Effect]:
    if now.mono >= case.deadline:
        return desk.settle(case, Outcome.EXPIRED, now)
    if case.is_undelivered() and case.undelivered_by == case.next_deadline():
        return _let_go_undelivered(desk, case, now)
    return desk.settle(case, Outcome.CALLER_LOST, now, detail="it did not come back after a restart")


def _let_go_undelivered(desk: DeskState, case: Case, now: Instant) -> list[Effect]:
    """Unless Telegram takes messages for these chats, and this one only waits for its turn among them."""
    last = max((desk.took[chat_id] for chat_id in case.pending if chat_id in desk.took), default=-math.inf)
    if last + UNDELIVERED_S > now.mono:
        case.undelivered_by = last + UNDELIVERED_S
        return []
    return desk.settle(case, Outcome.UNDELIVERED, now)


def run_out_answered(desk: DeskState, case: Case, event: Ticked, now: Instant) -> list[Effect]:
    return desk.settle(case, Outcome.UNCONFIRMED if case.caller_here else Outcome.NOT_TAKEN, now)


def settle_left(desk: DeskState, case: Case, event: Ticked | Stopped, now: Instant) -> list[Effect]:
    """Nobody found out in time why the caller left."""
    return desk.settle(case, why_left(case.left, alive=True), now)


def hear_stop(desk: DeskState, event: Stopped, now: Instant) -> list[Effect]:
    desk.is_stopping = True
    effects: list[Effect] = []
    for case in desk.cases.in_phases(Phase.OPEN, Phase.LEAVING):
        effects += desk.take(case, event, now)
    return effects


def stop(desk: DeskState, case: Case, event: Stopped, now: Instant) -> list[Effect]:
    return desk.settle(case, Outcome.STOPPED, now)


def fail_to_record(desk: DeskState, case: Case, event: RecordFailed, now: Instant) -> list[Effect]:
    query_id, case.query_id = case.query_id, ""
    case.answer = case.answered = None
    case.edited_as = ""
    unseen = not case.copies
    effects = desk.settle(case, Outcome.NOT_RECORDED, now, detail=event.reason)
    if query_id:
        effects.append(
            AnswerTap(query_id, "This could not be recorded, so it does not count. Answer at the terminal.", True)
        )
    if unseen:
        effects.append(Post(desk.cases.card(case), case.chats))
    return effects


def _asker(request: Request) -> tuple[str, str, int]:
    """What must be the same where a caller comes back with its id: the bytes, the agent, the user."""
    return request.digest, request.caller.agent, request.caller.uid


def _looks_alike(one: Context, other: Context) -> bool:
    """Whether both say the same, whenever each was looked at."""
    files = [None if seen.on_disk is None else replace(seen.on_disk, at=0.0) for seen in (one, other)]
    return (one.why, one.links) == (other.why, other.links) and files[0] == files[1]
