"""What the desk's indexes must say, found by looking at every case."""

from __future__ import annotations

from collections.abc import Callable

from tapgate.desk import batches
from tapgate.desk.case import Case
from tapgate.desk.desk import Desk
from tapgate.desk.index import By
from tapgate.desk.matching import ReportMeaning
from tapgate.model import NO_DRAFT, Phase, Ran, Verdict


def check_indexes(desk: Desk) -> None:
    index, cases = desk.cases.index, list(desk.cases.by_id.values())

    def ids(holds: Callable[[Case], bool]) -> list[str]:
        return [case.request.id for case in cases if holds(case)]

    def found(by: By, key: object, group: object = None) -> list[str]:
        return [case.request.id for case in index.find(by, key, group)]

    expected: dict[tuple[By, object], int] = {}

    def check(by: By, key: object, holds: Callable[[Case], bool], group: object = None) -> None:
        assert found(by, key, group) == ids(holds), (by, key, group)
        if found(by, key, group):
            expected[by, key] = index.count(by, key)

    for phase in Phase:
        check(By.PHASE, phase, lambda case, phase=phase: case.phase is phase)  # type: ignore[misc]
    for case in cases:
        for copy in {*case.copies, *case.retired, *case.prompts}:
            check(By.COPY, copy, lambda one, copy=copy: copy in one.copies)  # type: ignore[misc]
            check(By.RETIRED, copy, lambda one, copy=copy: copy in one.retired)  # type: ignore[misc]
            check(By.PROMPT, copy, lambda one, copy=copy: copy in one.prompts)  # type: ignore[misc]
        for chat_id, prompt in case.asking:
            asked = (chat_id, prompt.user_id)
            check(
                By.ASKING,
                asked,
                lambda one, asked=asked: asked in {(chat, prompt.user_id) for chat, prompt in one.asking},  # type: ignore[misc]
            )
        _check_session(desk, case, ids, expected)
        _check_calls(case, check)
        for chat_id in desk.cases.roster.chats:
            together = ids(lambda one, case=case, chat_id=chat_id: _goes_with(one, case, chat_id))  # type: ignore[misc]
            key = (chat_id, *batches.session_of(case))
            assert found(By.BATCH, key) == together
            if together:
                expected[By.BATCH, key] = len(together)
    assert {key: index.count(*key) for key in index.all_keys()} == expected, "and nothing else"
    open_ones = [case for case in cases if case.phase is not Phase.SETTLED]
    assert index.waiting_bytes == sum(len(case.request.raw) for case in open_ones)
    times = [due for case in cases if (due := case.next_deadline()) is not None]
    assert index.next_due() == min(times, default=None)


def _goes_with(one: Case, case: Case, chat_id: int) -> bool:
    return (
        (one.request.caller.uid, one.request.call.session_id) == (case.request.caller.uid, case.request.call.session_id)
        and bool(case.request.call.session_id)
        and one.phase is Phase.OPEN
        and not one.risks
        and one.is_whole(chat_id)
        and any(copy.chat_id == chat_id for copy in one.copies)
        and (one.draft == NO_DRAFT or bool(one.draft.listed))
        and batches.plain_allow(one) is not None
    )


def _check_session(
    desk: Desk, case: Case, ids: Callable[[Callable[[Case], bool]], list[str]], expected: dict[tuple[By, object], int]
) -> None:
    session_id, uid = case.request.call.session_id, case.request.caller.uid
    theirs = ids(
        lambda one: (
            bool(session_id)
            and one.phase in (Phase.OPEN, Phase.LEAVING)
            and (one.request.caller.uid, one.request.call.session_id) == (uid, session_id)
        )
    )
    assert [one.request.id for one in desk.cases.of_session(session_id, uid)] == theirs
    if theirs:
        expected[By.SESSION, (uid, session_id)] = len(theirs)


def _check_calls(case: Case, check: Callable[..., None]) -> None:
    uid = case.request.caller.uid

    def is_allowed(one: Case) -> bool:
        return one.answer is not None and one.answer.decision.verdict is Verdict.ALLOW

    for call in {case.request.call.fingerprint, case.edited_as} - {""}:

        def is_unheard(one: Case) -> bool:
            return one.request.caller.uid == uid and one.ran is Ran.UNKNOWN

        def allowed(one: Case, call: str = call) -> bool:
            return is_unheard(one) and is_allowed(one) and call == (one.edited_as or one.request.call.fingerprint)

        def opened(one: Case, call: str = call) -> bool:
            return is_unheard(one) and one.request.call.fingerprint == call and one.is_open()

        def refused(one: Case, call: str = call) -> bool:
            is_other = one.answer is not None and (bool(one.edited_as) or not is_allowed(one))
            return is_unheard(one) and one.request.call.fingerprint == call and is_other

        for report, holds in (
            (ReportMeaning.ALLOWED, allowed),
            (ReportMeaning.OPEN, opened),
            (ReportMeaning.REFUSED, refused),
        ):
            check(By.CALL, (uid, call), holds, report)
