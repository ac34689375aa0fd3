"""Whatever happens, in whatever order, with restarts in between: what holds about the desk always."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from tapgate.desk.desk import Desk
from tapgate.desk.effects import (
    AnsweredEntry,
    AnswerTap,
    AskedEntry,
    AskText,
    Edit,
    Effect,
    KeepUpdate,
    Post,
    Record,
    Reply,
    Withdraw,
)
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
    Stopped,
    Tapped,
    Ticked,
    ToolEnded,
    WholePosted,
    Withdrawn,
)
from tapgate.model import Action, Answer, Card, Copy, Decision, Outcome, Person, Phase, Prompt, Request, Risk, Verdict
from tests.builders import ADA, BOB, STRANGER_ID, at, make_request, tap_on
from tests.desk.brute_force import check_indexes
from tests.desk.ledger import Ledger

PEOPLE = (ADA, BOB)
MALLORY = Person(STRANGER_ID, STRANGER_ID, "Mallory")
KEYS = st.sampled_from(["a", "d", "s0", "r", "x", "w"])
RISK = Risk("deletes", "It deletes files.")
TOOL_INPUTS: dict[str, dict[str, Any]] = {
    "Bash": {"command": "npm test"},
    "Read": {"file_path": "/etc/hosts"},
    "AskUserQuestion": {
        "questions": [
            {"question": "One?", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "Many?", "options": [{"label": "C"}, {"label": "D"}], "multiSelect": True},
        ]
    },
}
PERSONS = st.sampled_from([ADA, ADA, BOB, MALLORY])
UIDS = st.sampled_from([4001, 4001, 4002])


class DeskMachine(RuleBasedStateMachine):
    requests = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(PEOPLE, hold_s=590)
        self.ledger = Ledger()
        self.now_s = 0.0
        self.count = 0
        self.messages = 10
        self.replies = 0
        self.stopped = False
        self.waiting: set[str] = set()  # callers that are connected and not answered
        self.sent: dict[str, Decision] = {}  # what each caller got, if it was an opinion
        self.confirmed: set[str] = set()
        self.final: dict[str, tuple[Outcome | None, object]] = {}
        self.fail_next_gate = False
        self.shown: dict[tuple[str, Copy], int] = {}  # the version that Telegram said each copy shows
        self.versions: dict[str, int] = {}  # of each request's card, before the event
        self.withdrawing: set[tuple[str, Copy]] = set()
        self.shown_whole: set[tuple[str, int]] = set()  # in this run
        self.fits: dict[str, bool] = {}  # as it was told in this run
        self.heard: set[str] = set()  # requests that a listed person tapped or wrote about in this run
        self.answered: set[str] = set()  # and those that were answered by it
        self.unanswered_taps: dict[str, str] = {}  # taps that were kept until the caller is back, and on which request
        self.last_taps: dict[str, Tapped] = {}  # the last tap on each request, for Telegram to deliver again

    # What the world does

    @rule(
        target=requests,
        tool=st.sampled_from(["Bash", "Read", "AskUserQuestion"]),
        session=st.sampled_from(["s1", "s2"]),
        agent_id=st.sampled_from(["", "a1"]),
        fits=st.booleans(),
        deadline_s=st.sampled_from([0.0, 30.0, 590.0]),
        risky=st.booleans(),
        uid=UIDS,
    )
    def ask(
        self, tool: str, session: str, agent_id: str, fits: bool, deadline_s: float, risky: bool, uid: int
    ) -> Request:
        self.count += 1
        more: dict[str, Any] = {"agent_id": agent_id} if agent_id else {}
        tool_input = TOOL_INPUTS[tool]
        request = make_request(
            self.count, tool=tool, tool_input=tool_input, session=session, deadline_s=deadline_s, uid=uid, **more
        )
        self.waiting.add(request.id)
        self.fits[request.id] = fits
        self.happen(Asked(request, fits=fits, risks=(RISK,) if risky else ()))
        return request

    @rule(request=requests, fits=st.booleans())
    def come_back(self, request: Request, fits: bool) -> None:
        if request.id in self.sent or request.id in self.waiting:
            return
        self.waiting.add(request.id)
        self.fits[request.id] = fits and self.fits.get(request.id, True)
        self.happen(Asked(request, fits=fits))

    @rule(request=requests, person=PERSONS, key=KEYS, message=st.integers(10, 30), forged=st.booleans())
    def tap(self, request: Request, person: Person, key: str, message: int, forged: bool) -> None:
        seal = "AAAAAAAA" if forged else None
        before = self.desk.card(request.id)
        tapped = tap_on(request, key, person=person, message_id=message, seal=seal)
        effects = self.happen(tapped)
        assert len([effect for effect in effects if isinstance(effect, AnswerTap | KeepUpdate)]) == 1, (
            "every tap is answered once, if not now, then when its request's caller is back"
        )
        if person is not MALLORY and not forged:
            self.last_taps[request.id] = tapped
        if person is MALLORY or forged:
            expired = [effect for effect in effects if isinstance(effect, Record)]
            assert expired or self.desk.card(request.id) == before, "and a wrong one changes nothing"

    @rule(request=requests, person=PERSONS, number=st.integers(0, 12), times=st.integers(1, 3))
    def tap_what_is_offered(self, request: Request, person: Person, number: int, times: int) -> None:
        """Whatever stands on the card now, one step after another."""
        for step in range(times):
            found = self.desk.cases.by_id.get(request.id)
            if found is None:
                return
            choices = self.desk.cases.card(found, person.chat_id).choices
            if not choices:
                return
            choice = choices[(number + step) % len(choices)]
            tapped = tap_on(request, choice.key, person=person, message_id=12, seal=choice.seal)
            self.last_taps[request.id] = tapped
            effects = self.happen(tapped)
            assert len([effect for effect in effects if isinstance(effect, AnswerTap | KeepUpdate)]) == 1
            if any(isinstance(effect, KeepUpdate) for effect in effects):
                return

    @rule(request=requests, person=st.sampled_from(PEOPLE))
    def fill_in_a_form(self, request: Request, person: Person) -> None:
        """Straight through to the end of it, as far as the card offers that."""
        for key in ("o0", "o1", "k"):
            found = self.desk.cases.by_id.get(request.id)
            choices = self.desk.cases.card(found, person.chat_id).choices if found is not None else ()
            for choice in choices:
                if choice.key == key:
                    self.happen(tap_on(request, key, person=person, message_id=12, seal=choice.seal))

    @rule(
        request=requests, person=st.sampled_from(PEOPLE), purpose=st.sampled_from([Action.ASK_EDIT, Action.ASK_ANSWER])
    )
    def prompt_for_a_text_is_answered(self, request: Request, person: Person, purpose: Action) -> None:
        self.messages += 1
        copy = Copy(person.chat_id, self.messages)
        self.happen(PromptPosted(request.id, copy, Prompt(person.user_id, purpose, 0)))
        self.happen(Replied(person.user_id, person.chat_id, 2000 + self.messages, self.messages, "npm test --bail"))

    @rule(request=requests, person=PERSONS, text=st.sampled_from(["yes", "n", "because"]))
    def reply_to_the_card(self, request: Request, person: Person, text: str) -> None:
        self.messages += 1
        self.happen(Replied(person.user_id, person.chat_id, 3000 + self.messages, 12, text))

    @rule(request=requests, person=st.sampled_from(PEOPLE), key=st.sampled_from(["a", "d", "s0"]))
    def tap_well(self, request: Request, person: Person, key: str) -> None:
        self.tap(request, person, key, 12, False)

    @rule(request=requests, person=st.sampled_from(PEOPLE), key=st.sampled_from(["a", "d", "s0"]))
    def tap_well_and_leave(self, request: Request, person: Person, key: str) -> None:
        self.tap(request, person, key, 12, False)
        self.caller_leaves(request, Left.LOST, True, True)

    @rule(request=requests, person=st.sampled_from(PEOPLE), key=st.sampled_from(["a", "d", "s0"]))
    def tap_well_and_confirm(self, request: Request, person: Person, key: str) -> None:
        self.tap(request, person, key, 12, False)
        self.caller_confirms(request)

    @rule(request=requests, chat=st.sampled_from([ADA.chat_id, BOB.chat_id]))
    def post_arrives(self, request: Request, chat: int) -> None:
        self.messages += 1
        self.happen(Posted(request.id, Copy(chat, self.messages), 0))

    @rule(request=requests, chat=st.sampled_from([ADA.chat_id, BOB.chat_id]), how=st.booleans())
    def post_goes_wrong(self, request: Request, chat: int, how: bool) -> None:
        self.happen(PostUnsure(request.id, chat) if how else PostFailed(request.id, chat, "blocked"))

    @rule(
        request=requests,
        number=st.integers(0, 3),
        older=st.integers(0, 1),
        fate=st.sampled_from(["shown", "shown", "refused", "refused", "barred", "deleted"]),
    )
    def edit_ends(self, request: Request, number: int, older: int, fate: str) -> None:
        found = self.desk.cases.by_id.get(request.id)
        if found is None or not found.copies:
            return
        copy = list(found.copies)[number % len(found.copies)]
        version = max(0, found.version - older)
        match fate:
            case "shown":
                self.happen(Edited(request.id, copy, version))
            case "deleted":
                self.happen(CopyGone(request.id, copy))
            case _:
                self.happen(EditRefused(request.id, copy, version, is_blocked=fate == "barred"))

    @rule(request=requests, person=st.sampled_from(PEOPLE), fates=st.tuples(st.booleans(), st.booleans()))
    def card_changes_and_changes_back_and_is_answered_with_a_text(
        self, request: Request, person: Person, fates: tuple[bool, bool]
    ) -> None:
        self.post_arrives(request, person.chat_id)
        copy = Copy(person.chat_id, self.messages)
        for step, is_shown in enumerate(fates):
            if step == 0:
                self.prompt_for_a_text_is_answered(request, person, Action.ASK_EDIT)
            else:
                self.happen(tap_on(request, "z", person=person, message_id=copy.message_id, seal="back"))
            found = self.desk.cases.by_id.get(request.id)
            if found is None or copy not in found.copies:
                return
            event = Edited if is_shown else EditRefused
            self.happen(event(request.id, copy, found.version))
        self.replies += 1
        self.happen(
            Replied(person.user_id, person.chat_id, 30_000 + self.replies, copy.message_id, "yes"),
        )

    @rule(request=requests, person=st.sampled_from(PEOPLE))
    def new_message_replaces_a_card(self, request: Request, person: Person) -> None:
        found = self.desk.cases.by_id.get(request.id)
        if found is not None and person.chat_id in found.replacing:
            self.messages += 1
            self.happen(Posted(request.id, Copy(person.chat_id, self.messages), found.replacing[person.chat_id]))

    @precondition(lambda self: self.withdrawing)
    @rule(number=st.integers(0, 3))
    def card_is_withdrawn(self, number: int) -> None:
        request_id, copy = sorted(self.withdrawing, key=str)[number % len(self.withdrawing)]
        self.withdrawing.discard((request_id, copy))
        self.happen(Withdrawn(request_id, copy))

    @rule(request=requests, number=st.integers(0, 3), text=st.sampled_from(["yes", "yes", "n", "because"]))
    def reply_to_any_copy(self, request: Request, number: int, text: str) -> None:
        """Shown, behind or withdrawn."""
        found = self.desk.cases.by_id.get(request.id)
        copies = [] if found is None else sorted({*found.copies, *found.retired}, key=str)
        if copies:
            copy = copies[number % len(copies)]
            self.replies += 1
            self.happen(Replied(copy.chat_id, copy.chat_id, 20_000 + self.replies, copy.message_id, text))

    @rule(request=requests, person=st.sampled_from(PEOPLE))
    def prompt_arrives(self, request: Request, person: Person) -> None:
        self.messages += 1
        self.happen(PromptPosted(request.id, Copy(person.chat_id, self.messages), Prompt(person.user_id)))

    @rule(person=PERSONS, back=st.integers(0, 4), text=st.sampled_from(["", "no", "because"]))
    def reply(self, person: Person, back: int, text: str) -> None:
        self.replies += 1
        self.happen(Replied(person.user_id, person.chat_id, 10_000 + self.replies, self.messages - back, text))

    @rule(request=requests, chat=st.sampled_from([ADA.chat_id, BOB.chat_id]))
    def whole_arrives(self, request: Request, chat: int) -> None:
        self.shown_whole.add((request.id, chat))
        self.happen(WholePosted(request.id, chat))

    @rule(request=requests)
    def caller_confirms(self, request: Request) -> None:
        if request.id in self.sent:
            self.confirmed.add(request.id)
            self.happen(CallerConfirmed(request.id, request.caller.uid))

    @rule(request=requests, why=st.sampled_from(Left), alive=st.booleans(), probed=st.booleans())
    def caller_leaves(self, request: Request, why: Left, alive: bool, probed: bool) -> None:
        if request.id not in self.waiting and request.id not in self.sent:
            return
        self.waiting.discard(request.id)
        self.happen(CallerGone(request.id, why, request.caller.uid))
        if probed:
            self.happen(AgentProbed(request.id, alive))

    @rule(request=requests, duration_s=st.sampled_from([None, 0.1, 5.0, 700.0]), failed=st.booleans(), uid=UIDS)
    def tool_ends(self, request: Request, duration_s: float | None, failed: bool, uid: int) -> None:
        self.report(ToolEnded(request.call, failed, duration_s, uid))

    @rule(
        session=st.sampled_from(["s1", "s2"]),
        agent_id=st.sampled_from(["", "a1"]),
        move=st.sampled_from(Move),
        uid=UIDS,
    )
    def session_moves(self, session: str, agent_id: str, move: Move, uid: int) -> None:
        self.report(SessionMoved(session, agent_id, move, uid=uid))

    @rule(session=st.sampled_from(["s1", "s2"]), uid=UIDS)
    def session_ends(self, session: str, uid: int) -> None:
        self.report(SessionEnded(session, "exit", uid))

    @rule(request=requests, uid=UIDS)
    def somebody_has_its_id(self, request: Request, uid: int) -> None:
        """Another user knows a request's id and its bytes."""
        if uid != request.caller.uid:
            self.report(CallerConfirmed(request.id, uid))
            self.report(CallerGone(request.id, Left.TERMINATED, uid))

    @rule(away_s=st.sampled_from([1.0, 200.0]))
    def poll_resumes(self, away_s: float) -> None:
        self.happen(PollResumed(away_s))

    @rule(seconds=st.sampled_from([0.0, 0.1, 2.0, 31.0, 300.0]))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.happen(Ticked())

    @rule()
    def disk_fills_up(self) -> None:
        self.fail_next_gate = True

    @precondition(lambda self: not self.stopped)
    @rule(gone=consumes(requests))
    def stop_and_start(self, gone: Request) -> None:
        self.happen(Stopped())
        assert not self.waiting, "every caller has been let go"
        self.restart()

    @rule()
    def crash(self) -> None:
        self.restart()

    @rule(request=requests, person=PERSONS)
    def tapped_and_crash_before_the_answer_was_handed_over(self, request: Request, person: Person) -> None:
        """The caller comes back without it, sooner or later; Telegram delivers the tap again, or does not."""
        self.tap(request, person, "a", 12, False)
        if request.id in self.sent and request.id not in self.confirmed:
            del self.sent[request.id]
        self.restart()

    @rule(request=requests)
    def telegram_delivers_again(self, request: Request) -> None:
        tapped = self.last_taps.get(request.id)
        if tapped is not None:
            self.happen(tapped)

    @rule(request=requests, other=requests, key=st.sampled_from(["a", "s0", "d"]), version=st.integers(0, 9))
    def forge_and_crash(self, request: Request, other: Request, key: str, version: int) -> None:
        """Somebody writes an answer, a copy and a prompt into the journal of a daemon that is then killed."""
        row = self.ledger.rows.get(request.id)
        choice = next((one for one in request.choices if one.key == key), None)
        if row is None or row.outcome is not None or choice is None:
            return
        answer = Answer("Ada", ADA.user_id, key, choice.label, choice.decision, at(self.now_s).wall, 1.0)
        theirs = self.ledger.rows[other.id].copies if other.id in self.ledger.rows else ()
        self.ledger.rows[request.id] = replace(
            row,
            answer=answer,
            version=version,
            copies=(*theirs, (Copy(ADA.chat_id, self.messages + 1), version)),
            prompts=((Copy(ADA.chat_id, 12), Prompt(ADA.user_id, Action.ASK_ANSWER)),),
        )
        self.restart()

    # How it is carried out

    def report(self, event: ToolEnded | SessionMoved | SessionEnded | CallerConfirmed | CallerGone) -> None:
        """What a process of one user says changes nothing about the requests of another."""
        self.happen(Ticked())  # what is due ends now, and not with the report
        others = [case for case in self.desk.cases.by_id.values() if case.request.caller.uid != event.uid]
        before = [(case.phase, case.answer, case.outcome, case.ran, case.caller_here) for case in others]
        self.happen(event)
        assert [(case.phase, case.answer, case.outcome, case.ran, case.caller_here) for case in others] == before

    def happen(self, event: Event) -> list[Effect]:
        self.versions = {case.request.id: case.version for case in self.desk.cases.by_id.values()}
        if isinstance(event, Tapped) and event.tap.user_id != STRANGER_ID:
            self.heard.add(event.request_id)
        if isinstance(event, Replied) and event.user_id != STRANGER_ID:
            self.heard |= set(self.ledger.rows)  # to whichever card or prompt it was
        effects = self.desk.handle(event, at(self.now_s))
        match event:
            case Posted(request_id=request_id, copy=copy, version=version) | Edited(request_id, copy, version):
                self.shown[request_id, copy] = max(version, self.shown.get((request_id, copy), 0))
            case Tapped(tap=tap, request_id=request_id) if tap.copy is not None:
                self.shown.setdefault((request_id, tap.copy), 0)  # it stands there, as it was posted
            case CopyGone(request_id=request_id, copy=copy) | Withdrawn(request_id=request_id, copy=copy):
                self.shown[request_id, copy] = -1
        self.carry_out(effects, event)
        return effects

    def carry_out(self, effects: list[Effect], event: Event) -> None:
        self.check_order(effects)
        is_blocked = False
        for effect in effects:
            if is_blocked and not (isinstance(effect, Record) and effect.required):
                continue
            match effect:
                case Record(entry=entry, required=required):
                    is_blocked = is_blocked and not required
                    if required and self.fail_next_gate:
                        self.fail_next_gate = False
                        is_blocked = True
                        follow = self.desk.handle(RecordFailed(effect.request_id, "disk full"), at(self.now_s))
                        self.carry_out(follow, event)
                        continue
                    if isinstance(entry, AnsweredEntry):
                        self.answered.add(entry.request_id)
                        listed = isinstance(event, Tapped)  # one tap may allow several
                        assert listed or entry.request_id in self.heard, "somebody said so in this run"
                    if effect.request_id in self.ledger.rows or isinstance(entry, AskedEntry):
                        self.ledger.write(entry)
                case Reply():
                    self.check_reply(effect, event)
                case Post(card=card):
                    assert card.request.id in self.ledger.rows or card.outcome is Outcome.NOT_RECORDED
                case Edit(card=card):
                    self.check_card(card)
                case AskText():
                    assert isinstance(event, Tapped | Asked)
                case Withdraw(request_id=request_id, copy=copy):
                    self.withdrawing.add((request_id, copy))
                case KeepUpdate():
                    assert isinstance(event, Tapped | Replied)
                    if isinstance(event, Tapped):
                        self.unanswered_taps[event.tap.query_id] = effect.request_id
                case AnswerTap(query_id=query_id):
                    self.unanswered_taps.pop(query_id, None)

    def restart(self) -> None:
        self.desk = Desk(PEOPLE, hold_s=590)
        self.waiting.clear()
        self.shown_whole.clear()
        self.fits.clear()
        self.heard.clear()
        self.answered.clear()
        self.unanswered_taps.clear()
        # What was never recorded is unknown after a restart, and what nobody was told may not come back.
        self.final = {key: value for key, value in self.final.items() if key in self.ledger.rows}
        self.carry_out(self.desk.restore(self.ledger.rows.values(), at(self.now_s)), Ticked())

    def check_order(self, effects: list[Effect]) -> None:
        """Rule 4: for each request, record before reply before answer before edit."""
        rank = {Record: 0, Reply: 1, AnswerTap: 2, Edit: 3}
        last: dict[str, int] = {}
        for effect in effects:
            if isinstance(effect, Reply | Edit):
                request_id = effect.request.id if isinstance(effect, Reply) else effect.card.request.id
                assert last.get(request_id, 0) <= rank[type(effect)]
                last[request_id] = rank[type(effect)]
            elif isinstance(effect, Record) and isinstance(effect.entry, AnsweredEntry):
                assert effect.request_id not in last, "recorded first"

    def check_reply(self, reply: Reply, event: Event) -> None:
        request_id = reply.request.id
        decision = reply.decision
        if decision.verdict is Verdict.NONE:
            self.waiting.discard(request_id)
            return
        row = self.ledger.rows[request_id]
        assert row.answer is not None and row.answer.decision == decision, "recorded before it is sent"
        assert row.outcome is None, "and never after the end"
        assert request_id in self.waiting, "and to a caller who waits"
        assert row.answer.user_id in {person.user_id for person in PEOPLE}
        assert request_id in self.answered, "a tap or a text of this run said so, not the journal"
        assert isinstance(event, Tapped | Replied | PromptPosted | Asked)
        if decision.verdict is Verdict.ALLOW:
            assert isinstance(event, Tapped | Replied | PromptPosted | Asked)
            if decision.updated_input is None:
                assert any(choice.decision == decision for choice in reply.request.choices)
                if isinstance(event, Replied):
                    assert event.text == "yes" and not decision.updates, "a text allows once, or answers a question"
            self.check_typed(request_id, event)
            chat_id = self.chat_of(event)
            if chat_id is not None and not self.fits[request_id]:
                assert (request_id, chat_id) in self.shown_whole, "seen before it is allowed"
        assert self.sent.setdefault(request_id, decision) == decision, "one decision for ever"
        self.waiting.discard(request_id)

    def check_typed(self, request_id: str, event: Event) -> None:
        """A text allows only what the message under which it was typed is known to show."""
        if not isinstance(event, Replied | PromptPosted):
            return
        chat_id = self.chat_of(event)
        shown = {copy: version for (one, copy), version in self.shown.items() if one == request_id}
        if isinstance(event, Replied) and (answered := Copy(event.chat_id, event.reply_to)) in shown:
            newest = shown[answered]
        else:  # in reply to a question for a text, which stands beside the card
            newest = max((version for copy, version in shown.items() if copy.chat_id == chat_id), default=-1)
        assert newest >= self.versions[request_id], "seen before it is allowed"

    def chat_of(self, event: Event) -> int | None:
        match event:
            case Tapped(tap=tap):
                return tap.copy.chat_id if tap.copy else None
            case Replied(chat_id=chat_id):
                return chat_id
            case PromptPosted(copy=copy):
                return copy.chat_id
        return None

    def check_card(self, card: Card) -> None:
        if card.phase is not Phase.OPEN:
            assert card.choices == ()
        if card.outcome in (Outcome.ALLOWED, Outcome.DENIED):
            assert card.request.id in self.confirmed, "a card never says so before the caller did"

    @invariant()
    def endings_are_final(self) -> None:
        for request_id in list(self.ledger.rows):
            card = self.desk.card(request_id)
            if card is not None and card.phase is Phase.SETTLED:
                known = (card.outcome, card.answer)
                assert self.final.setdefault(request_id, known) == known

    @invariant()
    def what_was_not_shown_offers_no_way_to_allow_it(self) -> None:
        for row in self.ledger.rows.values():
            found = self.desk.cases.by_id.get(row.request.id)
            if found is None or self.fits.get(row.request.id, False):
                continue
            for person in PEOPLE:
                if (row.request.id, person.chat_id) not in self.shown_whole:
                    offered = {choice.key for choice in self.desk.cases.card(found, person.chat_id).choices}
                    assert offered <= {"w", "d", "r", "x", "g"}

    @invariant()
    def a_kept_tap_is_answered_when_the_wait_for_the_caller_is_over(self) -> None:
        for request_id in self.unanswered_taps.values():
            assert self.desk.awaits_caller(request_id)

    @invariant()
    def indexes_say_what_a_look_at_every_case_says(self) -> None:
        check_indexes(self.desk)

    @invariant()
    def cards_say_how_many_can_be_allowed_together(self) -> None:
        for case in self.desk.cases.by_id.values():
            if case.phase is Phase.OPEN and case.copies and not case.awaits_caller:
                assert case.told == tuple(
                    len(self.desk.cases.together(case, chat_id)) for chat_id in self.desk.cases.roster.chats
                )

    @invariant()
    def nothing_due_is_left(self) -> None:
        due = self.desk.next_deadline()
        assert due is None or due > at(self.now_s).mono - 1e-6 or self.stopped

    @invariant()
    def every_caller_who_waits_has_an_open_request(self) -> None:
        for request_id in self.waiting:
            card = self.desk.card(request_id)
            assert card is not None and card.phase is not Phase.SETTLED, "or it would wait for ever"


TestDeskMachine = DeskMachine.TestCase
TestDeskMachine.settings = settings(
    max_examples=300,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_replaying_any_event_twice_is_noticed_by_nobody() -> None:
    """A repeated update after everything is over gives an answer to the tap and nothing else."""
    desk = Desk(PEOPLE, hold_s=590)
    request = make_request()
    events: list[Event] = [
        Asked(request),
        Posted(request.id, Copy(ADA.chat_id, 10), 0),
        tap_on(request),
        CallerConfirmed(request.id),
        Edited(request.id, Copy(ADA.chat_id, 10), 2),
    ]
    for event in events:
        desk.handle(event, at(1))
    before = desk.card(request.id)
    for event in (events[2], events[3]):
        desk.handle(event, at(2))
        assert desk.card(request.id) == before
