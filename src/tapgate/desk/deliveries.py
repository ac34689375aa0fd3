"""Telegram's side: what became of the messages that were sent, edited and deleted. Pure."""

from __future__ import annotations

from tapgate.desk.case import Case
from tapgate.desk.effects import CopyEntry, Effect, Record, SeenEntry, Sound
from tapgate.desk.events import (
    CopyGone,
    Edited,
    EditRefused,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    Sounded,
    WholePosted,
    Withdrawn,
)
from tapgate.desk.state import DeskState
from tapgate.model import Instant, Outcome, Phase

TAPS_KEPT_S = 140.0  # Telegram keeps a tap for 150 s


def hear_delivery(desk: DeskState, event: Posted | Edited, now: Instant) -> list[Effect]:
    desk.took[event.copy.chat_id] = now.mono
    case = desk.cases.get(event.request_id)
    effects = desk.take(case, event, now) if case is not None else []
    return effects + (desk.cases.sweep(event.copy) if isinstance(event, Posted) else [])


def hear_unsure(desk: DeskState, event: PostUnsure, now: Instant) -> list[Effect]:
    desk.cases.soundings.suspect(event.chat_id)
    case = desk.cases.get(event.request_id)
    return desk.take(case, event, now) if case is not None else []


def hear_sounding(desk: DeskState, event: Sounded, now: Instant) -> list[Effect]:
    return desk.cases.sweep(event.copy)


def hear_poll(desk: DeskState, event: PollResumed, now: Instant) -> list[Effect]:
    effects: list[Effect] = []
    if event.away_s > TAPS_KEPT_S:
        for case in desk.cases.in_phases(Phase.OPEN):
            effects += desk.take(case, event, now)
    return effects


def stand(desk: DeskState, case: Case, event: Posted, now: Instant) -> list[Effect]:
    case.pending.discard(event.copy.chat_id)
    desk.cases.take_from_others(case, event.copy)
    case.copies[event.copy] = max(event.version, case.copies.get(event.copy, 0))
    effects: list[Effect] = [Record(case.request.id, CopyEntry(case.request.id, event.copy, event.version))]
    case.replacing.pop(event.copy.chat_id, None)
    effects += desk.cases.mend(case, event.copy)
    return effects + desk.cases.withdraw_older(case, event.copy)


def look_for_it(desk: DeskState, case: Case, event: PostUnsure, now: Instant) -> list[Effect]:
    return [Sound(event.chat_id)]


def fail(desk: DeskState, case: Case, event: PostFailed, now: Instant) -> list[Effect]:
    case.pending.discard(event.chat_id)
    case.replacing.pop(event.chat_id, None)
    return []


def fail_to_show(desk: DeskState, case: Case, event: PostFailed, now: Instant) -> list[Effect]:
    effects = fail(desk, case, event, now)
    if case.pending or case.copies:
        return effects
    return desk.settle(case, Outcome.NOT_SHOWN, now, detail=event.reason)


def show(desk: DeskState, case: Case, event: Edited, now: Instant) -> list[Effect]:
    return desk.cases.edited(case, event)


def refuse(desk: DeskState, case: Case, event: EditRefused, now: Instant) -> list[Effect]:
    return desk.cases.refused(case, event, now.mono)


def lose(desk: DeskState, case: Case, event: Withdrawn | CopyGone, now: Instant) -> list[Effect]:
    return desk.cases.retire(case, event.copy)


def post_again(desk: DeskState, case: Case, event: Withdrawn | CopyGone, now: Instant) -> list[Effect]:
    """A message counts no more. If it was the last one, nobody can see the request: it is posted once more."""
    if event.copy not in case.copies:
        return []
    effects = desk.cases.retire(case, event.copy)
    if case.copies or case.pending:
        return effects
    if case.is_reposted:
        return effects + desk.settle(case, Outcome.NOT_SHOWN, now, detail="its card was deleted")
    case.is_reposted = True
    case.pending = set(case.chats) & set(desk.cases.roster.chats)
    return effects + desk.cases.post(case, tuple(chat for chat in case.chats if chat in case.pending))


def show_whole(desk: DeskState, case: Case, event: WholePosted, now: Instant) -> list[Effect]:
    if case.awaits_caller or event.chat_id not in case.chats:
        return []
    case.seen_in.add(event.chat_id)
    case.version += 1
    effects = desk.cases.edit(case)
    if case.seen_in >= set(case.chats):  # it is remembered as seen by all, or not at all
        return [Record(case.request.id, SeenEntry(case.request.id)), *effects]
    return effects


def refresh(desk: DeskState, case: Case, event: PollResumed, now: Instant) -> list[Effect]:
    if not case.copies or case.awaits_caller:
        return []
    case.refreshed = True
    case.version += 1
    return desk.cases.edit(case)
