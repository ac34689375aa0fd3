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
10. Work per event does not grow with the number of other requests, open or settled: cases are found by index.py, and
    an event edits no card but its own case's and those that one tap could allow together with it.
11. The journal proves no tap: any process of this user can write it. An open request of an earlier run begins anew when
    its caller is back with the bytes; what was tapped counts again because Telegram delivers it again (restart.py).

What a card asks for beyond one tap (a question's answers, a changed text, a second tap, a list) is its draft: see
drafts.py. All copies of a card show the same draft, and only buttons that stand on it now count. No draft outlives
a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tapgate.desk import batches, drafts, words
from tapgate.desk.calls import edited_fingerprint
from tapgate.desk.case import UNDELIVERED_S, Case, answer_by, edited_request, recall, slimmed, slimmed_answer
from tapgate.desk.cases import Cases
from tapgate.desk.effects import (
    AnsweredEntry,
    AnswerTap,
    AskedEntry,
    AskText,
    CopyEntry,
    Edit,
    Effect,
    KeepUpdate,
    Post,
    Probe,
    RanEntry,
    Record,
    ReopenedEntry,
    Reply,
    Retract,
    Say,
    SeenEntry,
    SettledEntry,
    ShowHidden,
    ShownEntry,
    ShowWhole,
    Sound,
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
    Sounded,
    Stopped,
    Tapped,
    Ticked,
    ToolEnded,
    WholePosted,
    Withdrawn,
)
from tapgate.desk.index import By
from tapgate.desk.matching import kin_of, match_ended, moves_on, supersedes, why_left
from tapgate.desk.memory import Remembered
from tapgate.desk.people import Roster, why_not
from tapgate.desk.restart import (
    MOST_KEPT,
    answers_to_kept,
    end_of_claimed,
    forget_shared_messages,
    retract_answer_prompts,
)
from tapgate.desk.texts import UNSEEN, Meaning, meaning_of, why_not_edit, why_unheard
from tapgate.model import (
    NO_CONTEXT,
    NO_DRAFT,
    NO_OPINION,
    Action,
    Card,
    Choice,
    Context,
    Copy,
    Decision,
    Draft,
    Findings,
    Instant,
    Json,
    Outcome,
    Person,
    Phase,
    Prompt,
    Ran,
    Request,
    Risk,
    Verdict,
)

LEAVE_S = 3.0  # how long a caller's leaving may stay unexplained
PROBE_S = 1.5
LATE_S = 10.0  # how late a report of a beginning may be, on a machine that is busy
TAPS_KEPT_S = 140.0  # Telegram keeps a tap for 150 s
MOST_WAITING_BYTES = 64 * 1024 * 1024  # of open requests, all together
CHANGED = "This button is not on the card as it stands now, so nothing happened."
NOT_BACK = "tapgate was restarted, and the agent is not back yet. Tap again in a moment."
JUST_CHANGED = "The card has just changed, so nothing happened: look at it again, then answer."
REPLACED = "A newer message has replaced this card, so nothing happened: answer there."
HEARD_KEPT = 1000  # to know a repeated update when it comes

Assess = Callable[[Request], tuple[Risk, ...]]


def _nothing_risky(request: Request) -> tuple[Risk, ...]:
    return ()


class Desk:
    """`hold_of` says how long a request may be held at most; `assess` names what is risky about one (it is pure)
    where nobody has examined it before."""

    def __init__(
        self,
        people: Sequence[Person],
        *,
        hold_s: float,
        hold_of: Callable[[Request], float] | None = None,
        assess: Assess = _nothing_risky,
    ) -> None:
        self.cases = Cases(Roster(people))
        self._hold_s = hold_s
        self._hold_of = hold_of
        self._assess = assess
        self._stopping = False
        self._heard: dict[Json, None] = {}
        self._early: dict[Copy, Replied] = {}  # replies that came before their prompt was known to be posted
        self._took: dict[int, float] = {}  # when Telegram last took something for a chat

    # Reading

    def card(self, request_id: str) -> Card | None:
        case = self.cases.by_id.get(request_id)
        return self.cases.card(case) if case else None

    def open_cards(self) -> list[Card]:
        return [self.cases.card(case) for case in self.cases.in_phases(Phase.OPEN, Phase.LEAVING, Phase.SENDING)]

    def edited_by(self, event: Event) -> Request | None:
        """The request with the text that this event puts into it, to be examined before the event is handled."""
        replied = self._early.get(event.copy) if isinstance(event, PromptPosted) else event
        if not isinstance(replied, Replied):
            return None
        copy = Copy(replied.chat_id, replied.reply_to)
        asked = [(case, case.prompts[copy]) for case in self.cases.find(By.PROMPT, copy)]
        if isinstance(event, PromptPosted) and event.request_id in self.cases.by_id:
            asked.insert(0, (self.cases.by_id[event.request_id], event.prompt))
        for case, prompt in asked:
            if (prompt.user_id, prompt.purpose) == (replied.user_id, Action.ASK_EDIT):
                text = drafts.as_typed(case.request, replied.text.strip())
                return edited_request(case.request, Draft(text=text))
        return None

    def stale_copies(self) -> int:
        """How many messages on phones Telegram has refused to bring up to date."""
        return len(self.cases.retries)

    def is_taken(self, request: Request) -> bool:
        """Whether this id belongs to another question already, or to another user's.

        What the journal alone says about the project is not believed: the caller that is back brings its own, is judged
        by that, and the id is bound to it from then on.
        """
        case = self.cases.by_id.get(request.id)
        if case is None:
            return False
        if not case.awaits_caller and case.request.caller.facts != request.caller.facts:
            return True
        return _asker(case.request) != _asker(request)

    def awaits_caller(self, request_id: str) -> bool:
        """Whether what is tapped there is kept until the caller is back from a restart."""
        case = self.cases.by_id.get(request_id)
        return case is not None and case.awaits_caller

    def next_deadline(self) -> float | None:
        times = (self.cases.up_to_date().next_due(), self.cases.retries.next_due())
        return min((time for time in times if time is not None), default=None)

    # The one door

    def handle(self, event: Event, now: Instant) -> list[Effect]:
        """Take in what happened; what is due by `now` is settled first, so that a late answer finds it so."""
        effects = self._settle_due(now)
        if isinstance(event, Posted | Edited):
            self._took[event.copy.chat_id] = now.mono
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
                for case in self.cases.of_session(event.session_id, event.uid):
                    effects += self._settle(case, Outcome.SESSION_ENDED, now, detail=event.reason)
            case Posted():
                effects += self._on_posted(event)
            case PostUnsure():
                self.cases.soundings.suspect(event.chat_id)
                unsure = self.cases.get(event.request_id)
                if unsure is not None and unsure.phase is Phase.SETTLED:
                    effects.append(Sound(event.chat_id))
            case Sounded():
                effects += self.cases.sweep(event.copy)
            case PostFailed():
                effects += self._on_post_failed(event, now)
            case Edited():
                effects += self.cases.edited(event)
            case EditRefused():
                effects += self.cases.refused(event, now.mono)
            case Withdrawn() | CopyGone():
                effects += self._on_copy_gone(event, now)
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
        return effects + self.cases.retry_due(now.mono) + self.cases.hand_in()

    def restore(self, remembered: Iterable[Remembered], now: Instant) -> list[Effect]:
        """Take up what an earlier run left: open requests wait for their callers, unfinished edits are made."""
        effects: list[Effect] = []
        memories = [memory for memory in remembered if memory.request.id not in self.cases.by_id]
        recalled = [recall(memory, now) for memory in memories]
        forget_shared_messages(recalled)
        for memory, case in zip(memories, recalled, strict=True):
            self.cases.add(case)
            case.ranks = self.cases.roster.ranks
            # Nothing more is posted to people who were taken off the list, or whom only the journal names.
            case.chats = tuple(chat_id for chat_id in case.chats if chat_id in self.cases.roster.chats)
            for copy in (*case.copies, *case.prompts):
                self.cases.soundings.note(copy)
            for chat_id in case.pending:
                self.cases.soundings.suspect(chat_id)
            case.pending &= set(case.chats)
            if case.phase is not Phase.SETTLED:
                seen = memory.findings or Findings(self._assess(case.request))
                case.risks, case.context = seen.risks, replace(case.context, links=seen.links)
                effects += retract_answer_prompts(case)
            else:
                behind = tuple(copy for copy, shown in case.copies.items() if shown < case.version)
                if behind:
                    effects.append(Edit(self.cases.card(case), behind))
                effects += [sound for sound in self.cases.sound(case) if sound not in effects]
            self.cases.hand_in()
        return effects

    # A request comes, or comes back

    def _on_asked(self, event: Asked, now: Instant) -> list[Effect]:
        request = event.request
        if self.is_taken(request):
            return [Reply(request, NO_OPINION, "this request id is in use")]
        case = self.cases.get(request.id)
        if case is not None:
            return self._on_returned(case, event, now)
        if self._stopping:
            return [Reply(request, NO_OPINION, "the daemon is stopping")]
        chats = self.cases.roster.chats
        if not chats:
            return [Reply(request, NO_OPINION, "nobody is listed under [[people]] in the config")]
        hold_s = self._hold_for(event)
        if hold_s <= 0:
            return [Reply(request, NO_OPINION, "there is no time left to ask")]
        if self.cases.up_to_date().waiting_bytes + len(request.raw) > MOST_WAITING_BYTES:
            return [Reply(request, NO_OPINION, "more is waiting for an answer than tapgate will hold")]
        effects: list[Effect] = []
        kin = kin_of(request)
        for older in self.cases.of_session(
            request.call.session_id, request.caller.uid, where=lambda older: supersedes(kin, older)
        ):
            effects += self._settle(older, Outcome.SUPERSEDED, now)
        case = Case(
            request=request,
            asked=now,
            deadline=now.mono + hold_s,
            chats=chats,
            fits=event.fits,
            pending=set(chats),
            context=event.context,
            risks=event.risks,
            ranks=self.cases.roster.ranks,
        )
        case.expect_delivery(now.mono - event.waited_s)
        self.cases.add(case)
        entry = AskedEntry(
            request=request, asked_at=now.wall, deadline_at=case.deadline_at, fits=event.fits, chats=chats
        )
        effects.append(Record(request.id, entry, required=True))
        return effects + self.cases.post(case, chats)

    def _on_returned(self, case: Case, event: Asked, now: Instant) -> list[Effect]:
        if case.phase is Phase.SETTLED:
            return [Reply(case.request, NO_OPINION, words.ended(case.card()))]
        if case.awaits_caller:
            return self._adopt(case, event, now)
        case.caller_here = True
        case.leave_by = case.left = None
        if case.phase is Phase.SENDING:
            return self._send_again(case, event, now)
        is_changed = case.risks != event.risks or not _looks_alike(case.context, event.context)
        if case.risks != event.risks:
            case.changed_at = case.version + 1
        case.context = event.context
        case.risks = event.risks
        case.fits = case.fits and event.fits  # the file that it is shown against may be another by now
        case.deadline = now.mono + max(0.0, self._hold_for(event))
        case.phase = Phase.OPEN
        case.version += is_changed
        effects = self.cases.edit(case) if is_changed else []
        if case.pending:
            effects += self.cases.post(case, tuple(chat for chat in case.chats if chat in case.pending))
        return effects

    def _send_again(self, case: Case, event: Asked, now: Instant) -> list[Effect]:
        """The caller is back before it took the answer. An allow is for what its card said, and for nothing else."""
        assert case.answer is not None
        is_same = (case.risks, case.context.links) == (event.risks, event.context.links)
        if is_same or case.answer.decision.verdict is not Verdict.ALLOW:
            case.deadline = now.mono + max(0.0, self._hold_for(event))
            return [Reply(case.request, case.answer.decision)]
        settled = self._settle(case, Outcome.UNCONFIRMED, now, detail=words.CHANGED_SINCE)
        records = [effect for effect in settled if isinstance(effect, Record)]
        reply = Reply(case.request, NO_OPINION, words.CHANGED_SINCE)
        return [*records, reply, *(effect for effect in settled if not isinstance(effect, Record))]

    def _adopt(self, case: Case, event: Asked, now: Instant) -> list[Effect]:
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
        case.deadline = now.mono + max(0.0, self._hold_for(event))
        case.expect_delivery(now.mono - event.waited_s)  # its card is sent only now
        kept, case.kept = case.kept, []
        for one in kept:
            if isinstance(one, Tapped):
                effects += self._on_tap(one, now)
            else:  # what was found out about its text was about the request as the journal has it
                effects += self._on_text(replace(one, findings=None), now)
        if case.phase is Phase.OPEN:
            effects += self.cases.edit(case, idle=True)  # what stands on the phones is the earlier run's
        if case.phase is Phase.OPEN and case.pending:
            effects += self.cases.post(case, tuple(chat for chat in case.chats if chat in case.pending))
        return effects

    def _keep(self, case: Case, event: Tapped | Replied) -> list[Effect]:
        """Look at it when the caller is back: until then nobody knows whether the journal has its request as it is."""
        if len(case.kept) < MOST_KEPT:
            case.kept.append(event)
            return [KeepUpdate(case.request.id)]
        return [AnswerTap(event.tap.query_id, NOT_BACK, True)] if isinstance(event, Tapped) else []

    # The phone

    def _on_tapped(self, event: Tapped, now: Instant) -> list[Effect]:
        return [] if self._is_repeated(event.tap.query_id) else self._on_tap(event, now)

    def _on_tap(self, event: Tapped, now: Instant) -> list[Effect]:
        tap = event.tap
        if not self.cases.roster.knows(tap.user_id):
            return [AnswerTap(tap.query_id, "You are not on this tapgate's list, so your tap does not count.", True)]
        case = self.cases.get(event.request_id)
        if case is None:
            return [AnswerTap(tap.query_id, "This button belongs to no request that tapgate knows of.", True)]
        person = self.cases.roster.person(tap.user_id, tap.copy.chat_id) if tap.copy else None
        if person is None or tap.copy is None or tap.copy.chat_id not in case.chats:
            return [AnswerTap(tap.query_id, "Cards are not answered from this chat.", True)]
        as_it_came = case.find_choice(event.choice_key, event.seal)
        if case.phase is Phase.SETTLED:
            learnt = self.cases.learn(case, tap.copy) if as_it_came else []
            told = AnswerTap(tap.query_id, words.too_late(case.card()), True)
            return [*learnt, told, *self.cases.mend(case, tap.copy)]
        if case.awaits_caller:
            return self._keep(case, event)
        offered = self.cases.card(case, tap.copy.chat_id).choices
        choice = next((one for one in offered if (one.key, one.seal) == (event.choice_key, event.seal)), None)
        if choice is None and as_it_came is None:
            refused = AnswerTap(tap.query_id, CHANGED, True)
            return [refused, *self.cases.show_again(case, tap.copy)] if case.phase is Phase.OPEN else [refused]
        effects = self.cases.learn(case, tap.copy)
        if case.phase is not Phase.OPEN:
            return [
                *effects,
                AnswerTap(tap.query_id, words.too_late(case.card()), True),
                *self.cases.mend(case, tap.copy),
            ]
        if self._stopping:
            return [*effects, AnswerTap(tap.query_id, "tapgate is stopping; answer at the terminal.", True)]
        refused_why = why_not(person.role, choice or as_it_came)
        if refused_why is not None:
            return [*effects, AnswerTap(tap.query_id, refused_why, True)]
        if choice is None:
            unseen = not case.is_whole(tap.copy.chat_id)
            told = AnswerTap(tap.query_id, UNSEEN if unseen else CHANGED, True)
            return [*effects, told, *([] if unseen else self.cases.show_again(case, tap.copy))]
        if max(0, case.copies.get(tap.copy, 0)) < case.changed_at and drafts.leads_to_allow(choice):
            # The button is the same as before; what is said above it on that phone is not.
            return [*effects, AnswerTap(tap.query_id, JUST_CHANGED, True), *self.cases.show_again(case, tap.copy)]
        return effects + self._take(case, person, choice, event, now)

    def _take(self, case: Case, person: Person, choice: Choice, event: Tapped, now: Instant) -> list[Effect]:
        """A button that stands on the card, tapped by somebody who may."""
        query_id, copy = event.tap.query_id, event.tap.copy
        assert copy is not None
        form = case.request.form
        match choice.action:
            case Action.DECIDE:
                return self._answer(case, person, choice, now, query_id=query_id)
            case Action.SHOW_WHOLE:
                unseen = tuple(copy for copy in case.copies if not case.is_whole(copy.chat_id))
                sending = AnswerTap(query_id, "Sending all of it as a file…")
                return [sending, ShowWhole(self.cases.card(case), unseen)]
            case Action.SHOW_HIDDEN:
                sending = AnswerTap(query_id, "Sending what is hidden…")
                return [sending, ShowHidden(self.cases.card(case, copy.chat_id), copy)]
            case Action.ASK_REASON | Action.ASK_EDIT | Action.ASK_ANSWER:
                prompt = Prompt(person.user_id, choice.action, case.draft.at)
                case.asking.add((copy.chat_id, prompt))
                asked = AskText(self.cases.card(case, copy.chat_id), copy.chat_id, copy.message_id, prompt)
                return [AnswerTap(query_id, "Reply to the message below."), asked]
            case Action.RELEASE:
                settled = self._settle(case, Outcome.RELEASED, now, detail=f"by {person.name}")
                return _answered(settled, AnswerTap(query_id, f"The agent {words.asks(case.request)}."))
            case Action.CONFIRM:
                return self._redraft(case, replace(case.draft, confirming=choice.key), query_id, "Really?")
            case Action.LIST:
                together = self.cases.together(case, copy.chat_id)
                return self._redraft(case, Draft(listed=tuple(one.request.id for one in together)), query_id)
            case Action.ALLOW_LISTED:
                return self._allow_listed(case, person, copy.chat_id, now, query_id=query_id)
            case Action.BACK:
                return self._redraft(case, drafts.with_back(case.draft), query_id)
            case Action.PICK:
                assert form is not None
                draft = drafts.with_pick(form, case.draft, int(choice.key[1:]))
                return self._fill_in(case, person, draft, now, query_id=query_id)
            case Action.NEXT:
                assert form is not None
                return self._fill_in(case, person, drafts.with_next(form, case.draft), now, query_id=query_id)

    # Texts

    def _on_replied(self, event: Replied, now: Instant) -> list[Effect]:
        """A reply to a question for a text, by the person who was asked; or to a card, by anybody who may answer it."""
        if self._is_repeated((event.chat_id, event.message_id)):
            return []
        return self._on_text(event, now)

    def _on_text(self, event: Replied, now: Instant) -> list[Effect]:
        answered = Copy(event.chat_id, event.reply_to)
        person = self.cases.roster.person(event.user_id, event.chat_id)
        if person is None:
            return []
        for case in self.cases.find(By.PROMPT, answered):
            prompt = case.prompts[answered]
            if prompt.user_id == event.user_id:
                if case.awaits_caller:
                    return self._keep(case, event)
                return self._on_typed(case, person, prompt, event, now)
        for case in [*self.cases.find(By.COPY, answered), *self.cases.find(By.RETIRED, answered)]:
            if case.awaits_caller:
                return self._keep(case, event)
            return self._on_card_reply(case, person, event, now)
        if self.cases.up_to_date().count(By.ASKING, (event.chat_id, event.user_id)):
            self._early[answered] = event
        return []

    def _on_typed(self, case: Case, person: Person, prompt: Prompt, event: Replied, now: Instant) -> list[Effect]:
        text = event.text.strip()
        refused = why_unheard(case, person, text, is_stopping=self._stopping)
        if refused is None and prompt.purpose is Action.ASK_EDIT:
            text = drafts.as_typed(case.request, text)
            refused = why_not_edit(case, event.chat_id, text)
        if refused is None and prompt.purpose is Action.ASK_ANSWER and not self._is_asked(case, prompt, event.chat_id):
            refused = "The card has gone on: answer what it asks now."
        if (
            refused is None
            and prompt.purpose is Action.ASK_ANSWER
            and not self.cases.is_current_in(case, event.chat_id)
        ):
            # The answers to the questions before go out with this one, and they are not shown here as they stand.
            refused = JUST_CHANGED
        if refused is not None:
            return [Say(event.chat_id, event.message_id, refused)]
        match prompt.purpose:
            case Action.ASK_EDIT:
                retracted = self._retract_prompts(case, Action.ASK_EDIT)
                draft = Draft(text=text, author=person.name)
                return retracted + self._redraft(case, draft, findings=event.findings)
            case Action.ASK_ANSWER:
                assert case.request.form is not None
                retracted = self._retract_prompts(case, Action.ASK_ANSWER)
                draft = drafts.with_typed(case.request.form, case.draft, text)
                return retracted + self._fill_in(case, person, draft, now)
            case _:
                return self._deny(case, person, text, now)

    def _on_card_reply(self, case: Case, person: Person, event: Replied, now: Instant) -> list[Effect]:
        """Without a tap before: words are the reason for a no, or answer a question; a watch sends yes and no."""
        text = event.text.strip()
        refused = why_unheard(case, person, text, is_stopping=self._stopping)
        if refused is not None:
            return [Say(event.chat_id, event.message_id, refused)]
        offered = {choice.key: choice for choice in self.cases.card(case, event.chat_id).choices}
        form, meaning = case.request.form, meaning_of(text)
        copy = Copy(event.chat_id, event.reply_to)
        behind = not self.cases.shows_current(case, copy)
        if behind and ((form is not None and "q" in offered) or (meaning is Meaning.YES and "a" in offered)):
            # A text has no seal: it may mean what the card said before, another command or another question.
            why = REPLACED if copy in case.retired else JUST_CHANGED
            return [Say(event.chat_id, event.message_id, why), *self.cases.mend(case, copy)]
        if form is not None and "q" in offered:
            return self._fill_in(case, person, drafts.with_typed(form, case.draft, text), now)
        if meaning is Meaning.YES:
            allow = offered.get("a")
            if allow is not None and allow.action is Action.DECIDE:
                return self._answer(case, person, allow, now)
            unseen = not case.is_whole(event.chat_id)
            why = UNSEEN if unseen else "A yes is not enough here: tap the button that you mean."
            return [Say(event.chat_id, event.message_id, why)]
        if meaning is Meaning.NO:
            deny = next((choice for choice in case.request.choices if choice.key == "d"), None)
            if deny is not None:
                return self._answer(case, person, deny, now)
        return self._deny(case, person, text, now)

    def _is_asked(self, case: Case, prompt: Prompt, chat_id: int) -> bool:
        keys = {choice.key for choice in self.cases.card(case, chat_id).choices}
        return case.request.form is not None and "q" in keys and prompt.question == case.draft.at

    def _deny(self, case: Case, person: Person, reason: str, now: Instant) -> list[Effect]:
        choices = case.request.choices
        choice = next((one for one in choices if one.action is Action.ASK_REASON), None) or next(
            one for one in choices if drafts.refuses(one)
        )
        return self._answer(case, person, replace(choice, decision=Decision(Verdict.DENY, reason)), now)

    # Drafts

    def _redraft(
        self, case: Case, draft: Draft, query_id: str = "", told: str = "", findings: Findings | None = None
    ) -> list[Effect]:
        is_same = draft.text == case.draft.text and findings is None
        case.draft = draft
        if not is_same:
            self._assess_draft(case, findings)
        case.version += 1
        effects: list[Effect] = [AnswerTap(query_id, told)] if query_id else []
        return effects + self.cases.edit(case)

    def _assess_draft(self, case: Case, findings: Findings | None) -> None:
        """Keep what was found out about the edited text; the desk's own `assess` knows less, as it asks no disk."""
        changed = edited_request(case.request, case.draft)
        if changed is not None:
            seen = findings or Findings(self._assess(changed))
            case.draft_risks, case.draft_links = seen.risks, seen.links

    def _fill_in(self, case: Case, person: Person, draft: Draft, now: Instant, *, query_id: str = "") -> list[Effect]:
        """One step further in a form; after the last question, that is the answer."""
        assert case.request.form is not None
        if not drafts.is_complete(case.request.form, draft):
            return self._redraft(case, draft, query_id)
        case.draft = draft
        return self._answer(case, person, drafts.answer_of(case.request, draft), now, query_id=query_id)

    def _allow_listed(self, case: Case, person: Person, chat_id: int, now: Instant, *, query_id: str) -> list[Effect]:
        """All of those that were listed, or none: the list says exactly what one tap allows."""
        together = self.cases.together(case, chat_id)
        if case.draft.listed != tuple(one.request.id for one in together):
            draft = Draft(listed=tuple(one.request.id for one in together)) if together else NO_DRAFT
            return self._redraft(case, draft, query_id, "They are not the same any more: look again.")
        effects: list[Effect] = []
        for number, one in enumerate(together):
            allow = batches.plain_allow(one)
            assert allow is not None
            effects += self._answer(one, person, allow, now, query_id="" if number else query_id)
        return effects

    def _answer(self, case: Case, person: Person, choice: Choice, now: Instant, *, query_id: str = "") -> list[Effect]:
        case.answer = answer_by(person, choice, case.asked, now)
        case.answered = now
        case.edited_as = edited_fingerprint(case.request, case.answer)
        case.query_id = query_id
        case.phase = Phase.SENDING
        case.version += 1
        effects: list[Effect] = [
            Record(case.request.id, AnsweredEntry(case.request.id, case.answer, case.version), True)
        ]
        effects.append(Reply(case.request, choice.decision))
        if query_id:
            effects.append(AnswerTap(query_id, words.sending(case.answer)))
        effects += [Retract(copy) for copy in case.prompts]
        effects += self.cases.edit(case)
        return effects

    def _on_prompt_posted(self, event: PromptPosted, now: Instant) -> list[Effect]:
        self.cases.soundings.note(event.copy)
        case = self.cases.get(event.request_id)
        if case is None:
            return []
        case.asking.discard((event.copy.chat_id, event.prompt))
        if case.phase is not Phase.OPEN:
            return [Retract(event.copy)]
        self.cases.take_from_others(case, event.copy)
        case.prompts[event.copy] = event.prompt
        effects: list[Effect] = [Record(case.request.id, CopyEntry(case.request.id, event.copy, prompt=event.prompt))]
        early = self._early.pop(event.copy, None)
        if early is not None:
            effects += self._on_text(replace(early, findings=event.findings), now)
        return effects

    def _retract_prompts(self, case: Case, purpose: Action) -> list[Effect]:
        """They have done their work; a later reply to one of them would mean something that was not asked."""
        done = [copy for copy, prompt in case.prompts.items() if prompt.purpose is purpose]
        for copy in done:
            del case.prompts[copy]
        return [Retract(copy) for copy in done]

    # The caller

    def _on_confirmed(self, event: CallerConfirmed, now: Instant) -> list[Effect]:
        case = self._of_caller(event)
        if case is not None and case.awaits_caller and case.claimed is not None:
            return self._settle(case, Outcome.UNCONFIRMED, now, detail=words.TAKEN_BEFORE)
        if case is None or case.phase is not Phase.SENDING or case.answer is None:
            return []
        allowed = case.answer.decision.verdict is Verdict.ALLOW
        return self._settle(case, Outcome.ALLOWED if allowed else Outcome.DENIED, now)

    def _on_gone(self, event: CallerGone, now: Instant) -> list[Effect]:
        case = self._of_caller(event)
        if case is None or not case.caller_here:
            return []
        case.caller_here = False
        if case.phase is Phase.SENDING:
            known = event.why is not Left.DROPPED
            return self._settle(case, Outcome.NOT_TAKEN if known else Outcome.UNCONFIRMED, now)
        if case.phase is not Phase.OPEN:
            return []
        case.phase = Phase.LEAVING
        case.left = event.why
        case.leave_by = now.mono + LEAVE_S
        return [Probe(case.request.id, case.request.caller.parent_pid, PROBE_S)]

    def _on_probed(self, event: AgentProbed, now: Instant) -> list[Effect]:
        case = self.cases.get(event.request_id)
        if case is None or case.phase is not Phase.LEAVING:
            return []
        return self._settle(case, why_left(case.left, alive=event.alive), now)

    # What the agent did meanwhile

    def _on_tool_ended(self, event: ToolEnded, now: Instant) -> list[Effect]:
        call = (event.uid, event.call.fingerprint)
        case, ran = match_ended(lambda report: self.cases.reported(*call, report), event, now)
        if case is None:
            return []
        if not case.is_open():
            return self._mark_ran(case, ran, now)
        case.ran = ran
        return [
            *self._settle(case, Outcome.TERMINAL_ALLOWED, now),
            Record(case.request.id, RanEntry(case.request.id, ran, now.wall, case.version)),
        ]

    def _mark_ran(self, case: Case, ran: Ran, now: Instant) -> list[Effect]:
        case.ran = ran
        retold = ran is Ran.AGAINST or case.outcome in (Outcome.UNCONFIRMED, Outcome.NOT_TAKEN)
        case.version += retold
        effects: list[Effect] = [
            Record(case.request.id, RanEntry(case.request.id, ran, now.wall, case.version)),
        ]
        return effects + (self.cases.edit(case) if retold else [])

    def _on_moved(self, event: SessionMoved, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for case in self.cases.of_session(event.session_id, event.uid, where=lambda kin: moves_on(event, kin)):
            # Without the id only time can tell: right after a question, a report of a beginning is a late one.
            known = bool(event.prompt_id and case.request.prompt_id)
            if not known and event.move is not Move.STOP and now.mono - case.asked.mono < LATE_S:
                continue
            effects += self._settle(case, Outcome.MOVED_ON, now, detail=event.move.value)
        return effects

    # Telegram's side

    def _on_posted(self, event: Posted) -> list[Effect]:
        effects: list[Effect] = []
        case = self.cases.get(event.request_id)
        if case is not None:
            case.pending.discard(event.copy.chat_id)
            self.cases.take_from_others(case, event.copy)
            case.copies[event.copy] = max(event.version, case.copies.get(event.copy, 0))
            effects.append(Record(case.request.id, CopyEntry(case.request.id, event.copy, event.version)))
            case.replacing.pop(event.copy.chat_id, None)
            effects += self.cases.mend(case, event.copy)
            effects += self.cases.withdraw_older(case, event.copy)
        return effects + self.cases.sweep(event.copy)

    def _on_post_failed(self, event: PostFailed, now: Instant) -> list[Effect]:
        case = self.cases.get(event.request_id)
        if case is None:
            return []
        case.pending.discard(event.chat_id)
        case.replacing.pop(event.chat_id, None)
        if case.phase is Phase.OPEN and not case.pending and not case.copies:
            return self._settle(case, Outcome.NOT_SHOWN, now, detail=event.reason)
        return []

    def _on_copy_gone(self, event: Withdrawn | CopyGone, now: Instant) -> list[Effect]:
        """A message counts no more. If it was the last one, nobody can see the request: it is posted once more."""
        case = self.cases.get(event.request_id)
        if case is None or event.copy not in case.copies:
            return []
        effects = self.cases.retire(case, event.copy)
        if case.phase is not Phase.OPEN or case.copies or case.pending:
            return effects
        if case.is_reposted:
            return effects + self._settle(case, Outcome.NOT_SHOWN, now, detail="its card was deleted")
        case.is_reposted = True
        case.pending = set(case.chats) & set(self.cases.roster.chats)
        return effects + self.cases.post(case, tuple(chat for chat in case.chats if chat in case.pending))

    def _on_whole_posted(self, event: WholePosted) -> list[Effect]:
        case = self.cases.get(event.request_id)
        if case is None or case.phase is not Phase.OPEN or case.awaits_caller or event.chat_id not in case.chats:
            return []
        case.seen_in.add(event.chat_id)
        case.version += 1
        effects = self.cases.edit(case)
        if case.seen_in >= set(case.chats):  # it is remembered as seen by all, or not at all
            return [Record(case.request.id, SeenEntry(case.request.id)), *effects]
        return effects

    def _on_poll_resumed(self, event: PollResumed) -> list[Effect]:
        effects: list[Effect] = []
        if event.away_s > TAPS_KEPT_S:
            for case in self.cases.in_phases(Phase.OPEN):
                if case.copies and not case.awaits_caller:
                    case.refreshed = True
                    case.version += 1
                    effects += self.cases.edit(case)
        return effects

    # Endings

    def _settle_due(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for case in self.cases.due(now.mono):
            due = case.next_deadline()
            if case.phase is Phase.LEAVING:
                effects += self._settle(case, why_left(case.left, alive=True), now)
            elif case.phase is Phase.SENDING:
                outcome = Outcome.UNCONFIRMED if case.caller_here else Outcome.NOT_TAKEN
                effects += self._settle(case, outcome, now)
            elif now.mono >= case.deadline:
                effects += self._settle(case, Outcome.EXPIRED, now)
            elif case.is_undelivered() and case.undelivered_by == due:
                effects += self._let_go_undelivered(case, now)
            else:
                effects += self._settle(case, Outcome.CALLER_LOST, now, detail="it did not come back after a restart")
        return effects

    def _let_go_undelivered(self, case: Case, now: Instant) -> list[Effect]:
        """Unless Telegram takes messages for these chats, and this one only waits for its turn among them."""
        last = max((self._took[chat_id] for chat_id in case.pending if chat_id in self._took), default=-math.inf)
        if last + UNDELIVERED_S > now.mono:
            case.undelivered_by = last + UNDELIVERED_S
            return []
        return self._settle(case, Outcome.UNDELIVERED, now)

    def _on_record_failed(self, event: RecordFailed, now: Instant) -> list[Effect]:
        case = self.cases.get(event.request_id)
        if case is None or case.phase is Phase.SETTLED:
            return []
        query_id, case.query_id = case.query_id, ""
        case.answer = case.answered = None
        case.edited_as = ""
        unseen = not case.copies
        effects = self._settle(case, Outcome.NOT_RECORDED, now, detail=event.reason)
        if query_id:
            effects.append(
                AnswerTap(query_id, "This could not be recorded, so it does not count. Answer at the terminal.", True)
            )
        if unseen:
            effects.append(Post(self.cases.card(case), case.chats))
        return effects

    def _on_stopped(self, now: Instant) -> list[Effect]:
        self._stopping = True
        effects: list[Effect] = []
        for case in self.cases.in_phases(Phase.OPEN, Phase.LEAVING):
            if case.phase is Phase.OPEN:
                effects += self._settle(case, Outcome.STOPPED, now)
            else:
                effects += self._settle(case, why_left(case.left, alive=True), now)
        return effects

    def _settle(self, case: Case, outcome: Outcome, now: Instant, *, detail: str = "") -> list[Effect]:
        """End a request: record it, let a waiting caller go without an opinion, say so on every copy."""
        unanswered = case.phase is not Phase.SENDING or outcome is Outcome.NOT_RECORDED
        if case.awaits_caller and case.claimed is not None:
            outcome, detail = end_of_claimed(case, detail, self.cases.roster, now)
        case.phase = Phase.SETTLED
        case.outcome = outcome
        case.ended_at = now.wall
        case.detail = detail
        case.query_id = ""
        case.away_until = case.leave_by = None
        case.draft = NO_DRAFT
        case.context = NO_CONTEXT
        case.version += 1
        entry = SettledEntry(case.request.id, outcome, now.wall, detail, case.version)
        effects: list[Effect] = [Record(case.request.id, entry)]
        effects += [Record(case.request.id, ShownEntry(case.request.id, copy, case.version)) for copy in case.retired]
        if unanswered and case.caller_here:
            effects.append(Reply(case.request, NO_OPINION, words.ended(case.card())))
        effects += answers_to_kept(case)
        case.kept.clear()
        effects += [Retract(copy) for copy in case.prompts]
        case.prompts.clear()
        # With no copy as well: a card that is still on its way out is taken back.
        effects.append(Edit(case.card(), tuple(case.copies)))
        case.answer = slimmed_answer(case.request, case.answer)
        case.request = slimmed(case.request)
        # The request is over, but a copy of its card may stand where we do not know of it.
        return [*effects, *self.cases.sound(case)]

    # Small things

    def _of_caller(self, event: CallerConfirmed | CallerGone) -> Case | None:
        """The case, if it is of the user who says something about it."""
        case = self.cases.get(event.request_id)
        return case if case is not None and case.request.caller.uid == event.uid else None

    def _hold_for(self, event: Asked) -> float:
        request = event.request
        most_s = self._hold_s if self._hold_of is None else min(self._hold_s, self._hold_of(request))
        return min(most_s, request.caller.deadline_s) - event.waited_s

    def _is_repeated(self, update: Json) -> bool:
        """Telegram may deliver an update again: the second time it means nothing."""
        if update in self._heard:
            return True
        self._heard[update] = None
        if len(self._heard) > HEARD_KEPT:
            del self._heard[next(iter(self._heard))]
        return False


def _asker(request: Request) -> tuple[str, str, int]:
    """What must be the same where a caller comes back with its id: the bytes, the agent, the user."""
    return request.digest, request.caller.agent, request.caller.uid


def _looks_alike(one: Context, other: Context) -> bool:
    """Whether both say the same, whenever each was looked at."""
    files = [None if seen.on_disk is None else replace(seen.on_disk, at=0.0) for seen in (one, other)]
    return (one.why, one.links) == (other.why, other.links) and files[0] == files[1]


def _answered(effects: list[Effect], answer: AnswerTap) -> list[Effect]:
    """With the tap's answer where it belongs: behind what is recorded and replied, before the cards are edited."""
    first = [effect for effect in effects if isinstance(effect, Record | Reply)]
    return [*first, answer, *(effect for effect in effects if effect not in first)]
