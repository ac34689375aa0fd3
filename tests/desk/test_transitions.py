"""The table of phases and events at the top of desk/desk.py: that it is drawn as it is, and that the desk keeps to it.

`python -m tests.desk.test_transitions` draws the diagram in docs/architecture.md anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

import tapgate
from tapgate.desk.desk import TRANSITIONS, Desk
from tapgate.desk.effects import Sweep
from tapgate.desk.events import (
    AgentProbed,
    Asked,
    CallerConfirmed,
    CallerGone,
    CopyGone,
    Edited,
    EditRefused,
    Event,
    Left,
    Move,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    RecordFailed,
    Replied,
    SessionEnded,
    SessionMoved,
    Sounded,
    Stopped,
    Ticked,
    ToolEnded,
    WholePosted,
    Withdrawn,
)
from tapgate.desk.state import IllegalMoveError
from tapgate.model import Answer, Copy, Outcome, Phase, Prompt, Request, Risk, Verdict
from tests.builders import ADA, at, choice_of, make_request, tap_on
from tests.desk.ledger import Ledger

SOURCE = Path(tapgate.__file__).parent
PAGE = SOURCE.parent.parent / "docs" / "architecture.md"
BEGIN, END = "```mermaid\nstateDiagram-v2\n", "```\n"
CARD = Copy(ADA.chat_id, 10)
BEFORE: dict[Phase, list[Event]] = {
    Phase.OPEN: [],
    Phase.SENDING: [tap_on(make_request())],
    Phase.LEAVING: [CallerGone(make_request().id, Left.TERMINATED)],
    Phase.SETTLED: [SessionEnded("session-1", "exit")],
}


def diagram() -> str:
    moves: dict[tuple[Phase, Phase], list[str]] = {}
    for (phase, event), transition in TRANSITIONS.items():
        for to in transition.to:
            moves.setdefault((phase, to), []).append(event.__name__)
    lines = ["    [*] --> open: Asked"]
    lines += [f"    {phase} --> {to}: {', '.join(events)}" for (phase, to), events in sorted(moves.items())]
    return "\n".join([*lines, "    settled --> [*]", ""])


def split_page() -> tuple[str, str, str]:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    drawn, after = rest.split(END, 1)
    return before, drawn, after


def test_the_diagram_in_the_docs_shows_the_table() -> None:
    assert split_page()[1] == diagram(), "python -m tests.desk.test_transitions draws it anew"


def test_the_phase_of_a_case_is_set_in_one_place() -> None:
    places = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            parts = [part for target in targets if target is not None for part in ast.walk(target)]
            if any(isinstance(part, ast.Attribute) and part.attr == "phase" for part in parts):
                places.append(path.relative_to(SOURCE).as_posix())
    assert places == ["desk/state.py"]


def new_desk(phase: Phase, request: Request | None = None) -> Desk:
    """With one request, in this phase, whose card stands on a phone."""
    request = request or make_request()
    desk = Desk([ADA], hold_s=590)
    for event in (Asked(request), Posted(request.id, CARD, 0), *BEFORE[phase]):
        desk.handle(event, at(0))
    assert desk.cases.by_id[request.id].phase is phase
    return desk


def all_events(request: Request) -> list[Event]:
    other = make_request(2)
    return [
        Asked(request),
        Asked(other),
        Posted(request.id, Copy(ADA.chat_id, 11), 0),
        PostUnsure(request.id, ADA.chat_id),
        PostFailed(request.id, ADA.chat_id, "blocked"),
        Sounded(Copy(ADA.chat_id, 12)),
        Edited(request.id, CARD, 9),
        EditRefused(request.id, CARD, 9),
        Withdrawn(request.id, CARD),
        CopyGone(request.id, CARD),
        PromptPosted(request.id, Copy(ADA.chat_id, 13), Prompt(ADA.user_id)),
        WholePosted(request.id, ADA.chat_id),
        tap_on(request),
        Replied(ADA.user_id, ADA.chat_id, 20, CARD.message_id, "no"),
        CallerConfirmed(request.id),
        CallerGone(request.id, Left.LOST),
        AgentProbed(request.id, alive=True),
        ToolEnded(request.call, failed=False, duration_s=None),
        SessionMoved("session-1", "", Move.STOP),
        SessionEnded("session-1", "exit"),
        PollResumed(1000.0),
        RecordFailed(request.id, "disk full"),
        Ticked(),
        Stopped(),
    ]


@pytest.mark.parametrize("phase", Phase)
def test_what_the_table_does_not_hold_changes_nothing(phase: Phase) -> None:
    request = make_request()
    refused = [event for event in all_events(request) if (phase, type(event)) not in TRANSITIONS]
    assert refused
    for event in refused:
        desk = new_desk(phase)
        before = desk.card(request.id)
        effects = desk.handle(event, at(1))
        assert [effect for effect in effects if not isinstance(effect, Sweep)] == []
        assert desk.card(request.id) == before


def test_every_kind_of_event_is_tried() -> None:
    assert {type(event) for event in all_events(make_request())} == set(Event.__args__)


def test_a_move_that_the_table_does_not_hold_is_refused() -> None:
    desk = new_desk(Phase.OPEN)
    case = desk.cases.by_id[make_request().id]
    with pytest.raises(IllegalMoveError, match="Ticked does not lead from open to sending"):
        desk.state.move(case, Phase.SENDING)
    assert case.phase is Phase.OPEN


def moves_made(desk: Desk, events: Iterable[tuple[Event, float]]) -> set[tuple[Phase, type[Event], Phase]]:
    """What is due ends as if the clock had ticked just before the event."""
    made = set()
    for event, seconds in events:
        for one in (Ticked(), event):
            before = {case.request.id: case.phase for case in desk.cases.by_id.values()}
            desk.handle(one, at(seconds))
            for case in desk.cases.by_id.values():
                if before.get(case.request.id, case.phase) is not case.phase:
                    made.add((before[case.request.id], type(one), case.phase))
    return made


def made_by_one_event() -> set[tuple[Phase, type[Event], Phase]]:
    made = set()
    for phase in Phase:
        for event in all_events(make_request()):
            if (phase, type(event)) in TRANSITIONS:
                made |= moves_made(new_desk(phase), [(event, 1)])
        made |= moves_made(new_desk(phase), [(Ticked(), 600)])
    return made


def made_by_several() -> set[tuple[Phase, type[Event], Phase]]:
    """Those that take more than a request with one card, and one event."""
    request = make_request()
    unposted = Desk([ADA], hold_s=590)
    made = moves_made(unposted, [(Asked(request), 0), (PostFailed(request.id, ADA.chat_id, "blocked"), 1)])
    deleted: list[Event] = [CopyGone(request.id, CARD), Posted(request.id, Copy(ADA.chat_id, 11), 0)]
    for again in (CopyGone, Withdrawn):
        events = [*deleted, again(request.id, Copy(ADA.chat_id, 11))]
        made |= moves_made(new_desk(Phase.OPEN), [(event, 1) for event in events])
    risky = Asked(request, risks=(Risk("deletes", "It deletes files."),))
    made |= moves_made(new_desk(Phase.SENDING), [(risky, 1)])
    gate = make_request(agent="claude", event="PreToolUse")
    made |= moves_made(new_desk(Phase.OPEN, gate), [(tap_on(gate, "g"), 1)])
    return made | made_after_a_restart(request)


def made_after_a_restart(request: Request) -> set[tuple[Phase, type[Event], Phase]]:
    """An answer that only the journal knows of, and a caller that says it took one."""
    ledger = Ledger()
    allow = choice_of(request, "a")
    for effect in Desk([ADA], hold_s=590).handle(Asked(request), at(0)):
        if hasattr(effect, "entry"):
            ledger.write(effect.entry)
    row = ledger.rows[request.id]
    answer = Answer("Ada", ADA.user_id, "a", allow.label, allow.decision, row.asked_at, 1.0)
    ledger._put(row, answer=answer)
    desk = Desk([ADA], hold_s=590)
    desk.restore(ledger.rows.values(), at(1))
    made = moves_made(desk, [(CallerConfirmed(request.id), 2)])
    card = desk.card(request.id)
    assert card is not None and card.outcome is Outcome.UNCONFIRMED
    assert answer.decision.verdict is Verdict.ALLOW, "and yet the card does not say so by itself"
    return made


def test_every_move_of_the_table_is_made_and_no_other() -> None:
    table = {(phase, event, to) for (phase, event), transition in TRANSITIONS.items() for to in transition.to}
    assert made_by_one_event() | made_by_several() == table


if __name__ == "__main__":
    before, _, after = split_page()
    PAGE.write_text(before + BEGIN + diagram() + END + after, encoding="utf-8")
    print(f"drawn in {PAGE}")
