"""The desk: the state machine of requests. Pure: events and the time go in, effects come out; no I/O, no random.

Its rules:

1. Every change of a request's state happens here.
2. A request exists, and is journaled, before its card is posted: the fastest tap counts.
3. The first answer wins. A later one is told so and changes nothing.
4. Order: record, reply to the caller, answer the tap, edit the cards. A slow Telegram never delays a decision.
5. No failure becomes an allow. Expiry, lost network, bad data, full disk, shutdown: no opinion.
6. A card never lies. It says "allowed" once the caller confirmed that it took the bytes.
7. A tap carries its user; the desk checks it, and checks that the choice was on that request's card.
8. Nothing on the socket can approve. Only Tapped and Replied, which only a front sends, carry an answer.
9. Content that does not fit is never approved unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapgate.core import words
from tapgate.core.case import Case, recall, slimmed
from tapgate.core.effects import (
    AnsweredEntry,
    AnswerTap,
    AskedEntry,
    AskReason,
    CopyEntry,
    Edit,
    Effect,
    Post,
    Probe,
    RanEntry,
    Record,
    Reply,
    Retract,
    Say,
    SeenEntry,
    SettledEntry,
    ShownEntry,
    ShowWhole,
    Sound,
    Sweep,
)
from tapgate.core.events import (
    AgentProbed,
    Asked,
    CallerConfirmed,
    CallerGone,
    Edited,
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
    Tapped,
    Ticked,
    ToolEnded,
    WholePosted,
)
from tapgate.core.matching import match_ended, supersedes, why_left
from tapgate.core.memory import Remembered
from tapgate.model import (
    NO_OPINION,
    Act,
    Answer,
    Card,
    Choice,
    Copy,
    Decision,
    Instant,
    Outcome,
    Person,
    Phase,
    Ran,
    Request,
    Verdict,
)

LEAVE_S = 3.0  # how long a caller's leaving may stay unexplained
PROBE_S = 1.5
TAPS_KEPT_S = 140.0  # Telegram keeps a tap for 150 s
SETTLED_KEPT = 500  # so that late taps on them can be told the truth
MOST_COPIES = 50
MOST_WAITING_BYTES = 64 * 1024 * 1024  # of open requests, all together
UNSEEN = "Not all of it was shown here yet: tap “Show all of it” first."
TAPS_REMEMBERED = 1000  # to know a repeated update when it comes


class Desk:
    def __init__(self, people: Sequence[Person], *, hold_s: float) -> None:
        self._people = tuple(people)
        self._chats = tuple(dict.fromkeys(person.chat_id for person in people))
        self._hold_s = hold_s
        self._cases: dict[str, Case] = {}
        self._stopping = False
        self._highest: dict[int, int] = {}  # the newest message known in each chat
        self._suspects: dict[
            int, int
        ] = {}  # chats where a card may stand that nobody told us of, and after which message
        self._heard: dict[str, None] = {}
        self._early: dict[Copy, Replied] = {}  # replies that came before their prompt was known to be posted

    # Reading

    def card(self, request_id: str) -> Card | None:
        case = self._cases.get(request_id)
        return case.card() if case else None

    def open_cards(self) -> list[Card]:
        return [case.card() for case in self._cases.values() if case.phase is not Phase.SETTLED]

    def is_taken(self, request: Request) -> bool:
        """Whether this id belongs to another question already."""
        case = self._cases.get(request.id)
        return case is not None and (case.request.digest, case.request.caller.agent) != (
            request.digest,
            request.caller.agent,
        )

    def next_deadline(self) -> float | None:
        times = [case.next_deadline() for case in self._cases.values()]
        return min((time for time in times if time is not None), default=None)

    # The one door

    def handle(self, event: Event, now: Instant) -> list[Effect]:
        """Take in what happened; what is due by `now` is settled first, so that a late answer finds it so."""
        effects = self._settle_due(now)
        match event:
            case Asked():
                effects += self._on_asked(event, now)
            case Tapped():
                effects += self._on_tapped(event, now)
            case Replied():
                effects += self._on_replied(event, now)
            case CallerConfirmed():
                effects += self._on_confirmed(event, now)
            case CallerGone():
                effects += self._on_gone(event, now)
            case AgentProbed():
                effects += self._on_probed(event, now)
            case ToolEnded():
                effects += self._on_tool_ended(event, now)
            case SessionMoved():
                effects += self._on_moved(event, now)
            case SessionEnded():
                for found in self._of_session(event.session_id):
                    effects += self._settle(found, Outcome.SESSION_ENDED, now, detail=event.reason)
            case Posted():
                effects += self._on_posted(event)
            case PostUnsure():
                self._suspect(event.chat_id)
                unsure = self._cases.get(event.request_id)
                if unsure is not None and unsure.phase is Phase.SETTLED:
                    effects.append(Sound(event.chat_id))
            case Sounded():
                effects += self._sweep(event.copy)
            case PostFailed():
                effects += self._on_post_failed(event, now)
            case Edited():
                effects += self._on_edited(event)
            case PromptPosted():
                effects += self._on_prompt_posted(event, now)
            case WholePosted():
                effects += self._on_whole_posted(event)
            case PollResumed():
                effects += self._on_poll_resumed(event)
            case RecordFailed():
                effects += self._on_record_failed(event, now)
            case Stopped():
                effects += self._on_stopped(now)
            case Ticked():
                pass
        return effects

    def restore(self, remembered: Iterable[Remembered], now: Instant) -> list[Effect]:
        """Take up what an earlier run left: open requests wait for their callers, unfinished edits are made."""
        effects: list[Effect] = []
        for memory in remembered:
            if memory.request.id in self._cases:
                continue
            self._cases[memory.request.id] = found = recall(memory, now)
            for copy in (*found.copies, *found.prompts):
                self._note(copy)
            for chat_id in found.pending:
                self._suspect(chat_id)
            if found.phase is Phase.SETTLED:
                behind = tuple(copy for copy, shown in found.copies.items() if shown < found.version)
                if behind:
                    effects.append(Edit(found.card(), behind))
                effects += [sound for sound in self._sound(found) if sound not in effects]
        self._forget()
        return effects

    # A request comes, or comes back

    def _on_asked(self, event: Asked, now: Instant) -> list[Effect]:
        request = event.request
        if self.is_taken(request):
            return [Reply(request, NO_OPINION, "this request id is in use")]
        found = self._cases.get(request.id)
        if found is not None:
            return self._on_returned(found, event, now)
        if self._stopping:
            return [Reply(request, NO_OPINION, "the daemon is stopping")]
        if not self._chats:
            return [Reply(request, NO_OPINION, "nobody is listed under [[people]] in the config")]
        hold_s = min(self._hold_s, request.caller.deadline_s)
        if hold_s <= 0:
            return [Reply(request, NO_OPINION, "there is no time left to ask")]
        waiting_bytes = sum(len(case.request.raw) for case in self._cases.values() if case.phase is not Phase.SETTLED)
        if waiting_bytes + len(request.raw) > MOST_WAITING_BYTES:
            return [Reply(request, NO_OPINION, "more is waiting for an answer than tapgate will hold")]
        effects: list[Effect] = []
        for older in self._of_session(request.call.session_id):
            if supersedes(request, older.request):
                effects += self._settle(older, Outcome.SUPERSEDED, now)
        found = Case(
            request=request,
            asked=now,
            deadline=now.mono + hold_s,
            chats=self._chats,
            fits=event.fits,
            pending=set(self._chats),
            background=event.background,
        )
        self._cases[request.id] = found
        self._forget()
        entry = AskedEntry(
            request=request, asked_at=now.wall, deadline_at=found.deadline_at, fits=event.fits, chats=self._chats
        )
        effects.append(Record(request.id, entry, gate=True))
        effects.append(Post(found.card(), self._chats))
        return effects

    def _on_returned(self, found: Case, event: Asked, now: Instant) -> list[Effect]:
        if found.phase is Phase.SETTLED:
            return [Reply(found.request, NO_OPINION, words.ended(found.card()))]
        found.caller_here = True
        found.away_until = found.leave_by = found.left = None
        found.background = event.background
        found.deadline = now.mono + max(0.0, min(self._hold_s, event.request.caller.deadline_s))
        if found.phase is Phase.SENDING:
            assert found.answer is not None
            return [Reply(found.request, found.answer.decision)]
        found.phase = Phase.OPEN
        if found.pending:
            chats = tuple(chat for chat in found.chats if chat in found.pending)
            return [Post(found.card(chats[0]), chats)]
        return []

    # The phone

    def _on_tapped(self, event: Tapped, now: Instant) -> list[Effect]:
        tap = event.tap
        if tap.query_id in self._heard:
            return []
        self._heard[tap.query_id] = None
        if len(self._heard) > TAPS_REMEMBERED:
            del self._heard[next(iter(self._heard))]
        if not any(person.user_id == tap.user_id for person in self._people):
            return [AnswerTap(tap.query_id, "You are not on this tapgate's list, so your tap does not count.", True)]
        found = self._cases.get(event.request_id)
        if found is None:
            return [AnswerTap(tap.query_id, "This button belongs to no request that tapgate knows of.", True)]
        person = self._person(tap.user_id, tap.copy.chat_id) if tap.copy else None
        if person is None or tap.copy is None or tap.copy.chat_id not in found.chats:
            return [AnswerTap(tap.query_id, "Cards are not answered from this chat.", True)]
        choice = found.find_choice(event.choice_key, event.seal)
        if found.phase is Phase.SETTLED:
            learnt = self._learn(found, tap.copy) if choice else []
            told = AnswerTap(tap.query_id, words.too_late(found.card()), True)
            return [*learnt, told, *self._mend(found, tap.copy)]
        if choice is None:
            return [AnswerTap(tap.query_id, "This button was not on this card, so nothing happened.", True)]
        effects = self._learn(found, tap.copy)
        if found.phase is not Phase.OPEN:
            return [*effects, AnswerTap(tap.query_id, words.too_late(found.card()), True), *self._mend(found, tap.copy)]
        if self._stopping:
            return [*effects, AnswerTap(tap.query_id, "tapgate is stopping; answer at the terminal.", True)]
        if choice not in found.offered(tap.copy.chat_id):
            return [*effects, AnswerTap(tap.query_id, UNSEEN, True)]
        if choice.act is Act.SHOW_WHOLE:
            return [
                *effects,
                AnswerTap(tap.query_id, "Sending all of it as a file…"),
                ShowWhole(found.card(), tuple(copy for copy in found.copies if not found.is_whole(copy.chat_id))),
            ]
        if choice.act is Act.ASK_REASON:
            found.asking.add((tap.copy.chat_id, tap.user_id))
            return [
                *effects,
                AnswerTap(tap.query_id, "Reply to the message below with your reason."),
                AskReason(found.card(), tap.copy.chat_id, tap.user_id, tap.copy.message_id),
            ]
        return effects + self._answer(found, person, choice, choice.decision, now, query_id=tap.query_id)

    def _on_replied(self, event: Replied, now: Instant) -> list[Effect]:
        """Only a reply to the question for a reason counts, and only by the person who was asked."""
        answered = Copy(event.chat_id, event.reply_to)
        person = self._person(event.user_id, event.chat_id)
        if person is None:
            return []
        for found in self._cases.values():
            if found.prompts.get(answered) == event.user_id:
                return self._on_reason(found, person, event, now)
        waiting = (found for found in self._cases.values() if (event.chat_id, event.user_id) in found.asking)
        if next(waiting, None) is not None:
            self._early[answered] = event
        return []

    def _on_reason(self, found: Case, person: Person, event: Replied, now: Instant) -> list[Effect]:
        if found.phase is not Phase.OPEN:
            return [Say(event.chat_id, event.message_id, words.too_late(found.card()))]
        if not event.text.strip():
            return [Say(event.chat_id, event.message_id, "Only a text can be the reason. Reply to the question again.")]
        choice = next(choice for choice in found.request.choices if choice.act is Act.ASK_REASON)
        return self._answer(found, person, choice, Decision(Verdict.DENY, event.text.strip()), now)

    def _answer(
        self, found: Case, person: Person, choice: Choice, decision: Decision, now: Instant, *, query_id: str = ""
    ) -> list[Effect]:
        found.answer = Answer(
            person=person.name,
            user_id=person.user_id,
            choice_key=choice.key,
            label=choice.label,
            decision=decision,
            at=now.wall,
            after_s=max(0.0, now.mono - found.asked.mono),
            saved=choice.saved,
        )
        found.answered = now
        found.query_id = query_id
        found.phase = Phase.SENDING
        found.version += 1
        effects: list[Effect] = [
            Record(found.request.id, AnsweredEntry(found.request.id, found.answer, found.version), True)
        ]
        if found.caller_here:
            effects.append(Reply(found.request, decision))
        if query_id:
            effects.append(AnswerTap(query_id, words.sending(found.answer)))
        effects += [Retract(copy) for copy in found.prompts]
        effects += self._edit(found)
        return effects

    def _on_prompt_posted(self, event: PromptPosted, now: Instant) -> list[Effect]:
        self._note(event.copy)
        found = self._cases.get(event.request_id)
        if found is None:
            return []
        found.asking.discard((event.copy.chat_id, event.user_id))
        if found.phase is not Phase.OPEN:
            return [Retract(event.copy)]
        found.prompts[event.copy] = event.user_id
        effects: list[Effect] = [
            Record(found.request.id, CopyEntry(found.request.id, event.copy, prompt_for=event.user_id))
        ]
        early = self._early.pop(event.copy, None)
        if early is not None:
            effects += self._on_replied(early, now)
        return effects

    # The caller

    def _on_confirmed(self, event: CallerConfirmed, now: Instant) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None or found.phase is not Phase.SENDING or found.answer is None:
            return []
        allowed = found.answer.decision.verdict is Verdict.ALLOW
        return self._settle(found, Outcome.ALLOWED if allowed else Outcome.DENIED, now)

    def _on_gone(self, event: CallerGone, now: Instant) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None or not found.caller_here:
            return []
        found.caller_here = False
        if found.phase is Phase.SENDING:
            known = event.why is not Left.DROPPED
            return self._settle(found, Outcome.NOT_TAKEN if known else Outcome.UNCONFIRMED, now)
        if found.phase is not Phase.OPEN:
            return []
        found.phase = Phase.LEAVING
        found.left = event.why
        found.leave_by = now.mono + LEAVE_S
        return [Probe(found.request.id, found.request.caller.parent_pid, PROBE_S)]

    def _on_probed(self, event: AgentProbed, now: Instant) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None or found.phase is not Phase.LEAVING:
            return []
        return self._settle(found, why_left(found.left, alive=event.alive), now)

    # What the agent did meanwhile

    def _on_tool_ended(self, event: ToolEnded, now: Instant) -> list[Effect]:
        found, ran = match_ended(self._cases.values(), event, now)
        if found is None:
            return []
        if not found.is_open():
            return self._mark_ran(found, ran, now)
        found.ran = ran
        return [
            *self._settle(found, Outcome.TERMINAL_ALLOWED, now),
            Record(found.request.id, RanEntry(found.request.id, ran, now.wall, found.version)),
        ]

    def _mark_ran(self, found: Case, ran: Ran, now: Instant) -> list[Effect]:
        found.ran = ran
        retold = ran is Ran.AGAINST or found.outcome in (Outcome.UNCONFIRMED, Outcome.NOT_TAKEN)
        found.version += retold
        effects: list[Effect] = [
            Record(found.request.id, RanEntry(found.request.id, ran, now.wall, found.version)),
        ]
        return effects + (self._edit(found) if retold else [])

    def _on_moved(self, event: SessionMoved, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for found in self._of_session(event.session_id):
            if found.request.call.agent_id != event.agent_id:
                continue  # a subagent in the background waits on while the main thread moves, and the other way round
            known = bool(event.prompt_id and found.request.prompt_id)
            same = event.prompt_id == found.request.prompt_id
            # These reports come on a way of their own and may be late: the prompt's id tells old from new.
            if known and same is (event.move is not Move.STOP):
                continue
            effects += self._settle(found, Outcome.MOVED_ON, now, detail=event.move.value)
        return effects

    # Telegram's side

    def _on_posted(self, event: Posted) -> list[Effect]:
        effects: list[Effect] = []
        found = self._cases.get(event.request_id)
        if found is not None:
            found.pending.discard(event.copy.chat_id)
            found.copies[event.copy] = max(event.version, found.copies.get(event.copy, 0))
            effects.append(Record(found.request.id, CopyEntry(found.request.id, event.copy, event.version)))
            effects += self._mend(found, event.copy)
        return effects + self._sweep(event.copy)

    def _sweep(self, newest: Copy) -> list[Effect]:
        """A card that arrived without our being told stands between the newest message we knew and this one."""
        after = self._suspects.pop(newest.chat_id, None)
        self._note(newest)
        if after is None or after + 1 >= newest.message_id:
            return []
        known = frozenset(
            copy.message_id
            for case in self._cases.values()
            for copy in (*case.copies, *case.prompts)
            if copy.chat_id == newest.chat_id
        )
        return [Sweep(newest.chat_id, max(after, newest.message_id - MOST_COPIES), newest.message_id, known)]

    def _on_post_failed(self, event: PostFailed, now: Instant) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None:
            return []
        found.pending.discard(event.chat_id)
        if found.phase is Phase.OPEN and not found.pending and not found.copies:
            return self._settle(found, Outcome.NOT_SHOWN, now, detail=event.reason)
        return []

    def _on_edited(self, event: Edited) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None or event.copy not in found.copies:
            return []
        found.copies[event.copy] = max(event.version, found.copies[event.copy])
        if found.phase is Phase.SETTLED and event.version == found.version:
            return [Record(found.request.id, ShownEntry(found.request.id, event.copy, event.version))]
        return []

    def _on_whole_posted(self, event: WholePosted) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None or found.phase is not Phase.OPEN or event.chat_id not in found.chats:
            return []
        found.seen_in.add(event.chat_id)
        found.version += 1
        effects = self._edit(found)
        if found.seen_in >= set(found.chats):  # it is remembered as seen by all, or not at all
            return [Record(found.request.id, SeenEntry(found.request.id)), *effects]
        return effects

    def _on_poll_resumed(self, event: PollResumed) -> list[Effect]:
        effects: list[Effect] = []
        if event.away_s > TAPS_KEPT_S:
            for found in self._cases.values():
                if found.phase is Phase.OPEN and found.copies:
                    found.refreshed = True
                    found.version += 1
                    effects += self._edit(found)
        return effects

    # Endings

    def _settle_due(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for found in list(self._cases.values()):
            due = found.next_deadline()
            if due is None or now.mono < due:
                continue
            if found.phase is Phase.LEAVING:
                effects += self._settle(found, why_left(found.left, alive=True), now)
            elif found.phase is Phase.SENDING:
                outcome = Outcome.UNCONFIRMED if found.resent or found.caller_here else Outcome.NOT_TAKEN
                effects += self._settle(found, outcome, now)
            elif now.mono >= found.deadline:
                effects += self._settle(found, Outcome.EXPIRED, now)
            else:
                effects += self._settle(found, Outcome.CALLER_LOST, now, detail="it did not come back after a restart")
        return effects

    def _on_record_failed(self, event: RecordFailed, now: Instant) -> list[Effect]:
        found = self._cases.get(event.request_id)
        if found is None or found.phase is Phase.SETTLED:
            return []
        query_id, found.query_id = found.query_id, ""
        found.answer = found.answered = None
        unseen = not found.copies
        effects = self._settle(found, Outcome.NOT_RECORDED, now, detail=event.reason)
        if query_id:
            effects.append(
                AnswerTap(query_id, "This could not be recorded, so it does not count. Answer at the terminal.", True)
            )
        if unseen:
            effects.append(Post(found.card(), found.chats))
        return effects

    def _on_stopped(self, now: Instant) -> list[Effect]:
        self._stopping = True
        effects: list[Effect] = []
        for found in list(self._cases.values()):
            if found.phase is Phase.OPEN:
                effects += self._settle(found, Outcome.STOPPED, now)
            elif found.phase is Phase.LEAVING:
                effects += self._settle(found, why_left(found.left, alive=True), now)
        return effects

    def _settle(self, found: Case, outcome: Outcome, now: Instant, *, detail: str = "") -> list[Effect]:
        """End a request: record it, let a waiting caller go without an opinion, say so on every copy."""
        unanswered = found.phase is not Phase.SENDING or outcome is Outcome.NOT_RECORDED
        found.phase = Phase.SETTLED
        found.outcome = outcome
        found.ended_at = now.wall
        found.detail = detail
        found.query_id = ""
        found.away_until = found.leave_by = None
        found.version += 1
        entry = SettledEntry(found.request.id, outcome, now.wall, detail, found.version)
        effects: list[Effect] = [Record(found.request.id, entry)]
        if unanswered and found.caller_here:
            effects.append(Reply(found.request, NO_OPINION, words.ended(found.card())))
        effects += [Retract(copy) for copy in found.prompts]
        found.prompts.clear()
        # With no copy as well: a card that is still on its way out is taken back.
        effects.append(Edit(found.card(), tuple(found.copies)))
        found.request = slimmed(found.request)
        return effects + self._sound(found)

    def _sound(self, found: Case) -> list[Effect]:
        """The request is over, but a copy of its card may stand where we do not know of it."""
        return [Sound(chat_id) for chat_id in sorted(found.pending) if chat_id in self._suspects]

    # Small things

    def _edit(self, found: Case) -> list[Effect]:
        """Bring all copies up to date: those where all was shown, and those where it was not."""
        effects: list[Effect] = []
        for whole in (True, False):
            copies = tuple(copy for copy in found.copies if found.is_whole(copy.chat_id) is whole)
            if copies:
                effects.append(Edit(found.card(copies[0].chat_id), copies))
        return effects

    def _mend(self, found: Case, copy: Copy) -> list[Effect]:
        """Bring one copy up to date, where it shows an older version."""
        behind = found.copies.get(copy, found.version) < found.version
        return [Edit(found.card(copy.chat_id), (copy,))] if behind else []

    def _learn(self, found: Case, copy: Copy) -> list[Effect]:
        """A tap on a message we did not know of: a send that timed out had arrived. It is a copy from now on."""
        if copy in found.copies or copy.message_id <= 0 or len(found.copies) >= MOST_COPIES:
            return []
        if any(copy in other.copies or copy in other.prompts for other in self._cases.values()):
            return []  # a made-up tap that names another request's card must not change that card
        found.copies[copy] = 0
        self._note(copy)
        return [Record(found.request.id, CopyEntry(found.request.id, copy, 0))]

    def _note(self, copy: Copy) -> None:
        self._highest[copy.chat_id] = max(copy.message_id, self._highest.get(copy.chat_id, 0))

    def _suspect(self, chat_id: int) -> None:
        self._suspects.setdefault(chat_id, self._highest.get(chat_id, 0))

    def _person(self, user_id: int, chat_id: int) -> Person | None:
        pairs = (person for person in self._people if (person.user_id, person.chat_id) == (user_id, chat_id))
        return next(pairs, None)

    def _of_session(self, session_id: str) -> list[Case]:
        """The requests of a session that somebody other than the phone can still end. No session id: none."""
        return [
            found
            for found in self._cases.values()
            if session_id and found.request.call.session_id == session_id and found.is_open()
        ]

    def _forget(self) -> None:
        settled = [request_id for request_id, found in self._cases.items() if found.phase is Phase.SETTLED]
        for request_id in settled[: max(0, len(settled) - SETTLED_KEPT)]:
            del self._cases[request_id]
