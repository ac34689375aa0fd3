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

What a card asks for beyond one tap (a question's answers, a changed text, a second tap, a list) is its draft: see
drafts.py. All copies of a card show the same draft, and only buttons that stand on it now count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tapgate.core import batches, drafts, words
from tapgate.core.board import Board
from tapgate.core.calls import edited_fingerprint
from tapgate.core.case import Case, recall, slimmed, slimmed_answer
from tapgate.core.effects import (
    AnsweredEntry,
    AnswerTap,
    AskedEntry,
    AskText,
    CopyEntry,
    DraftEntry,
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
)
from tapgate.core.events import (
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
from tapgate.core.matching import match_ended, supersedes, why_left
from tapgate.core.memory import Remembered
from tapgate.core.roster import Roster, why_not
from tapgate.core.texts import UNSEEN, Meaning, meaning_of, why_not_edit, why_unheard
from tapgate.model import (
    NO_BACKGROUND,
    NO_DRAFT,
    NO_OPINION,
    Act,
    Answer,
    Background,
    Card,
    Choice,
    Copy,
    Decision,
    Draft,
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
JUST_CHANGED = "The card has just changed, so nothing happened: look at it again, then answer."
REPLACED = "A newer message has replaced this card, so nothing happened: answer there."
HEARD_KEPT = 1000  # to know a repeated update when it comes

Assess = Callable[[Request], tuple[Risk, ...]]


def _nothing_risky(request: Request) -> tuple[Risk, ...]:
    return ()


class Desk:
    """`hold_of` says how long a request may be held at most; `assess` names what is risky about one (it is pure)."""

    def __init__(
        self,
        people: Sequence[Person],
        *,
        hold_s: float,
        hold_of: Callable[[Request], float] | None = None,
        assess: Assess = _nothing_risky,
    ) -> None:
        self.board = Board(Roster(people))
        self._hold_s = hold_s
        self._hold_of = hold_of
        self._assess = assess
        self._stopping = False
        self._heard: dict[Json, None] = {}
        self._early: dict[Copy, Replied] = {}  # replies that came before their prompt was known to be posted

    # Reading

    def card(self, request_id: str) -> Card | None:
        case = self.board.cases.get(request_id)
        return self.board.card(case) if case else None

    def open_cards(self) -> list[Card]:
        return [self.board.card(case) for case in self.board.cases.values() if case.phase is not Phase.SETTLED]

    def stale_copies(self) -> int:
        """How many messages on phones Telegram has refused to bring up to date."""
        return len(self.board.retries)

    def is_taken(self, request: Request) -> bool:
        """Whether this id belongs to another question already."""
        case = self.board.cases.get(request.id)
        return case is not None and (case.request.digest, case.request.caller.agent) != (
            request.digest,
            request.caller.agent,
        )

    def next_deadline(self) -> float | None:
        times = [*(case.next_deadline() for case in self.board.cases.values()), self.board.retries.next_due()]
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
                for found in self.board.of_session(event.session_id):
                    effects += self._settle(found, Outcome.SESSION_ENDED, now, detail=event.reason)
            case Posted():
                effects += self._on_posted(event)
            case PostUnsure():
                self.board.soundings.suspect(event.chat_id)
                unsure = self.board.cases.get(event.request_id)
                if unsure is not None and unsure.phase is Phase.SETTLED:
                    effects.append(Sound(event.chat_id))
            case Sounded():
                effects += self.board.sweep(event.copy)
            case PostFailed():
                effects += self._on_post_failed(event, now)
            case Edited():
                effects += self.board.edited(event)
            case EditRefused():
                effects += self.board.refused(event, now.mono)
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
        return effects + self.board.retry_due(now.mono) + self.board.tell_places()

    def restore(self, remembered: Iterable[Remembered], now: Instant) -> list[Effect]:
        """Take up what an earlier run left: open requests wait for their callers, unfinished edits are made."""
        effects: list[Effect] = []
        for memory in remembered:
            if memory.request.id in self.board.cases:
                continue
            self.board.cases[memory.request.id] = found = recall(memory, now)
            found.ranks = self.board.roster.ranks
            for copy in (*found.copies, *found.prompts):
                self.board.soundings.note(copy)
            for chat_id in found.pending:
                self.board.soundings.suspect(chat_id)
            found.pending &= set(
                self.board.roster.chats
            )  # nothing more is posted to people who were taken off the list
            if found.phase is not Phase.SETTLED:
                found.risks = self._assess(found.request)
                self._assess_draft(found)
                continue
            behind = tuple(copy for copy, shown in found.copies.items() if shown < found.version)
            if behind:
                effects.append(Edit(self.board.card(found), behind))
            effects += [sound for sound in self.board.sound(found) if sound not in effects]
        self.board.forget()
        return effects

    # A request comes, or comes back

    def _on_asked(self, event: Asked, now: Instant) -> list[Effect]:
        request = event.request
        if self.is_taken(request):
            return [Reply(request, NO_OPINION, "this request id is in use")]
        found = self.board.cases.get(request.id)
        if found is not None:
            return self._on_returned(found, event, now)
        if self._stopping:
            return [Reply(request, NO_OPINION, "the daemon is stopping")]
        chats = self.board.roster.chats
        if not chats:
            return [Reply(request, NO_OPINION, "nobody is listed under [[people]] in the config")]
        hold_s = self._hold_for(request)
        if hold_s <= 0:
            return [Reply(request, NO_OPINION, "there is no time left to ask")]
        waiting_bytes = sum(
            len(case.request.raw) for case in self.board.cases.values() if case.phase is not Phase.SETTLED
        )
        if waiting_bytes + len(request.raw) > MOST_WAITING_BYTES:
            return [Reply(request, NO_OPINION, "more is waiting for an answer than tapgate will hold")]
        effects: list[Effect] = []
        for older in self.board.of_session(request.call.session_id):
            if supersedes(request, older.request):
                effects += self._settle(older, Outcome.SUPERSEDED, now)
        found = Case(
            request=request,
            asked=now,
            deadline=now.mono + hold_s,
            chats=chats,
            fits=event.fits,
            pending=set(chats),
            background=event.background,
            risks=event.risks,
            ranks=self.board.roster.ranks,
        )
        self.board.add(found)
        entry = AskedEntry(
            request=request, asked_at=now.wall, deadline_at=found.deadline_at, fits=event.fits, chats=chats
        )
        effects.append(Record(request.id, entry, gate=True))
        return effects + self.board.post(found, chats)

    def _on_returned(self, found: Case, event: Asked, now: Instant) -> list[Effect]:
        if found.phase is Phase.SETTLED:
            return [Reply(found.request, NO_OPINION, words.ended(found.card()))]
        found.caller_here = True
        found.away_until = found.leave_by = found.left = None
        is_changed = found.risks != event.risks or not _looks_alike(found.background, event.background)
        if found.risks != event.risks:
            found.changed_at = found.version + 1
        found.background = event.background
        found.risks = event.risks
        found.fits = found.fits and event.fits  # the file that it is shown against may be another by now
        found.deadline = now.mono + max(0.0, self._hold_for(event.request))
        if found.phase is Phase.SENDING:
            assert found.answer is not None
            return [Reply(found.request, found.answer.decision)]
        found.phase = Phase.OPEN
        found.version += is_changed
        effects = self.board.edit(found) if is_changed else []
        if found.pending:
            effects += self.board.post(found, tuple(chat for chat in found.chats if chat in found.pending))
        return effects

    # The phone

    def _on_tapped(self, event: Tapped, now: Instant) -> list[Effect]:
        tap = event.tap
        if self._is_repeated(tap.query_id):
            return []
        if not self.board.roster.knows(tap.user_id):
            return [AnswerTap(tap.query_id, "You are not on this tapgate's list, so your tap does not count.", True)]
        found = self.board.cases.get(event.request_id)
        if found is None:
            return [AnswerTap(tap.query_id, "This button belongs to no request that tapgate knows of.", True)]
        person = self.board.roster.person(tap.user_id, tap.copy.chat_id) if tap.copy else None
        if person is None or tap.copy is None or tap.copy.chat_id not in found.chats:
            return [AnswerTap(tap.query_id, "Cards are not answered from this chat.", True)]
        as_it_came = found.find_choice(event.choice_key, event.seal)
        if found.phase is Phase.SETTLED:
            learnt = self.board.learn(found, tap.copy) if as_it_came else []
            told = AnswerTap(tap.query_id, words.too_late(found.card()), True)
            return [*learnt, told, *self.board.mend(found, tap.copy)]
        offered = self.board.card(found, tap.copy.chat_id).choices
        choice = next((one for one in offered if (one.key, one.seal) == (event.choice_key, event.seal)), None)
        if choice is None and as_it_came is None:
            refused = AnswerTap(tap.query_id, CHANGED, True)
            return [refused, *self.board.show_again(found, tap.copy)] if found.phase is Phase.OPEN else [refused]
        effects = self.board.learn(found, tap.copy)
        if found.phase is not Phase.OPEN:
            return [
                *effects,
                AnswerTap(tap.query_id, words.too_late(found.card()), True),
                *self.board.mend(found, tap.copy),
            ]
        if self._stopping:
            return [*effects, AnswerTap(tap.query_id, "tapgate is stopping; answer at the terminal.", True)]
        refused_why = why_not(person.role, choice or as_it_came)
        if refused_why is not None:
            return [*effects, AnswerTap(tap.query_id, refused_why, True)]
        if choice is None:
            unseen = not found.is_whole(tap.copy.chat_id)
            told = AnswerTap(tap.query_id, UNSEEN if unseen else CHANGED, True)
            return [*effects, told, *([] if unseen else self.board.show_again(found, tap.copy))]
        if found.copies.get(tap.copy, 0) < found.changed_at and drafts.leads_to_allow(choice):
            # The button is the same as before; what is said above it on that phone is not.
            return [*effects, AnswerTap(tap.query_id, JUST_CHANGED, True), *self.board.show_again(found, tap.copy)]
        return effects + self._take(found, person, choice, event, now)

    def _take(self, found: Case, person: Person, choice: Choice, event: Tapped, now: Instant) -> list[Effect]:
        """A button that stands on the card, tapped by somebody who may."""
        query_id, copy = event.tap.query_id, event.tap.copy
        assert copy is not None
        form = found.request.form
        match choice.act:
            case Act.DECIDE:
                return self._answer(found, person, choice, now, query_id=query_id)
            case Act.SHOW_WHOLE:
                unseen = tuple(copy for copy in found.copies if not found.is_whole(copy.chat_id))
                sending = AnswerTap(query_id, "Sending all of it as a file…")
                return [sending, ShowWhole(self.board.card(found), unseen)]
            case Act.ASK_REASON | Act.ASK_EDIT | Act.ASK_ANSWER:
                prompt = Prompt(person.user_id, choice.act, found.draft.at)
                found.asking.add((copy.chat_id, prompt))
                asked = AskText(self.board.card(found, copy.chat_id), copy.chat_id, copy.message_id, prompt)
                return [AnswerTap(query_id, "Reply to the message below."), asked]
            case Act.RELEASE:
                settled = self._settle(found, Outcome.RELEASED, now, detail=f"by {person.name}")
                return _answered(settled, AnswerTap(query_id, f"The agent {words.asks(found.request)}."))
            case Act.CONFIRM:
                return self._redraft(found, replace(found.draft, confirming=choice.key), query_id, "Really?")
            case Act.LIST:
                together = self.board.together(found, copy.chat_id)
                return self._redraft(found, Draft(listed=tuple(one.request.id for one in together)), query_id)
            case Act.ALLOW_LISTED:
                return self._allow_listed(found, person, copy.chat_id, now, query_id=query_id)
            case Act.BACK:
                return self._redraft(found, drafts.with_back(found.draft), query_id)
            case Act.PICK:
                assert form is not None
                draft = drafts.with_pick(form, found.draft, int(choice.key[1:]))
                return self._fill_in(found, person, draft, now, query_id=query_id)
            case Act.NEXT:
                assert form is not None
                return self._fill_in(found, person, drafts.with_next(form, found.draft), now, query_id=query_id)

    # Texts

    def _on_replied(self, event: Replied, now: Instant) -> list[Effect]:
        """A reply to a question for a text, by the person who was asked; or to a card, by anybody who may answer it."""
        if self._is_repeated((event.chat_id, event.message_id)):
            return []
        return self._on_text(event, now)

    def _on_text(self, event: Replied, now: Instant) -> list[Effect]:
        answered = Copy(event.chat_id, event.reply_to)
        person = self.board.roster.person(event.user_id, event.chat_id)
        if person is None:
            return []
        for found in self.board.cases.values():
            prompt = found.prompts.get(answered)
            if prompt is not None and prompt.user_id == event.user_id:
                return self._on_typed(found, person, prompt, event, now)
        for found in self.board.cases.values():
            if answered in found.copies or answered in found.retired:
                return self._on_card_reply(found, person, event, now)
        asked = ((chat_id, prompt.user_id) for found in self.board.cases.values() for chat_id, prompt in found.asking)
        if (event.chat_id, event.user_id) in asked:
            self._early[answered] = event
        return []

    def _on_typed(self, found: Case, person: Person, prompt: Prompt, event: Replied, now: Instant) -> list[Effect]:
        text = event.text.strip()
        refused = why_unheard(found, person, text, is_stopping=self._stopping)
        if refused is None and prompt.purpose is Act.ASK_EDIT:
            text = drafts.as_typed(found.request, text)
            refused = why_not_edit(found, event.chat_id, text)
        if refused is None and prompt.purpose is Act.ASK_ANSWER and not self._is_asked(found, prompt, event.chat_id):
            refused = "The card has gone on: answer what it asks now."
        if refused is None and prompt.purpose is Act.ASK_ANSWER and not self.board.is_current_in(found, event.chat_id):
            # The answers to the questions before go out with this one, and they are not shown here as they stand.
            refused = JUST_CHANGED
        if refused is not None:
            return [Say(event.chat_id, event.message_id, refused)]
        match prompt.purpose:
            case Act.ASK_EDIT:
                retracted = self._retract_prompts(found, Act.ASK_EDIT)
                return retracted + self._redraft(found, Draft(text=text, author=person.name))
            case Act.ASK_ANSWER:
                assert found.request.form is not None
                retracted = self._retract_prompts(found, Act.ASK_ANSWER)
                draft = drafts.with_typed(found.request.form, found.draft, text)
                return retracted + self._fill_in(found, person, draft, now)
            case _:
                return self._deny(found, person, text, now)

    def _on_card_reply(self, found: Case, person: Person, event: Replied, now: Instant) -> list[Effect]:
        """Without a tap before: words are the reason for a no, or answer a question; a watch sends yes and no."""
        text = event.text.strip()
        refused = why_unheard(found, person, text, is_stopping=self._stopping)
        if refused is not None:
            return [Say(event.chat_id, event.message_id, refused)]
        offered = {choice.key: choice for choice in self.board.card(found, event.chat_id).choices}
        form, meaning = found.request.form, meaning_of(text)
        copy = Copy(event.chat_id, event.reply_to)
        behind = not self.board.shows_current(found, copy)
        if behind and ((form is not None and "q" in offered) or (meaning is Meaning.YES and "a" in offered)):
            # A text has no seal: it may mean what the card said before, another command or another question.
            why = REPLACED if copy in found.retired else JUST_CHANGED
            return [Say(event.chat_id, event.message_id, why), *self.board.mend(found, copy)]
        if form is not None and "q" in offered:
            return self._fill_in(found, person, drafts.with_typed(form, found.draft, text), now)
        if meaning is Meaning.YES:
            allow = offered.get("a")
            if allow is not None and allow.act is Act.DECIDE:
                return self._answer(found, person, allow, now)
            unseen = not found.is_whole(event.chat_id)
            why = UNSEEN if unseen else "A yes is not enough here: tap the button that you mean."
            return [Say(event.chat_id, event.message_id, why)]
        if meaning is Meaning.NO:
            deny = next((choice for choice in found.request.choices if choice.key == "d"), None)
            if deny is not None:
                return self._answer(found, person, deny, now)
        return self._deny(found, person, text, now)

    def _is_asked(self, found: Case, prompt: Prompt, chat_id: int) -> bool:
        keys = {choice.key for choice in self.board.card(found, chat_id).choices}
        return found.request.form is not None and "q" in keys and prompt.question == found.draft.at

    def _deny(self, found: Case, person: Person, reason: str, now: Instant) -> list[Effect]:
        choices = found.request.choices
        choice = next((one for one in choices if one.act is Act.ASK_REASON), None) or next(
            one for one in choices if drafts.refuses(one)
        )
        return self._answer(found, person, replace(choice, decision=Decision(Verdict.DENY, reason)), now)

    # Drafts

    def _redraft(self, found: Case, draft: Draft, query_id: str = "", told: str = "") -> list[Effect]:
        found.draft = draft
        self._assess_draft(found)
        found.version += 1
        effects: list[Effect] = [Record(found.request.id, DraftEntry(found.request.id, draft, found.version))]
        if query_id:
            effects.append(AnswerTap(query_id, told))
        return effects + self.board.edit(found)

    def _assess_draft(self, found: Case) -> None:
        text = found.draft.text
        if text is not None:
            changed = replace(found.request, input=drafts.edited_input(found.request, text))
            found.draft_risks = self._assess(changed)

    def _fill_in(self, found: Case, person: Person, draft: Draft, now: Instant, *, query_id: str = "") -> list[Effect]:
        """One step further in a form; after the last question, that is the answer."""
        assert found.request.form is not None
        if not drafts.is_complete(found.request.form, draft):
            return self._redraft(found, draft, query_id)
        found.draft = draft
        return self._answer(found, person, drafts.answer_of(found.request, draft), now, query_id=query_id)

    def _allow_listed(self, found: Case, person: Person, chat_id: int, now: Instant, *, query_id: str) -> list[Effect]:
        """All of those that were listed, or none: the list says exactly what one tap allows."""
        together = self.board.together(found, chat_id)
        if found.draft.listed != tuple(one.request.id for one in together):
            draft = Draft(listed=tuple(one.request.id for one in together)) if together else NO_DRAFT
            return self._redraft(found, draft, query_id, "They are not the same any more: look again.")
        effects: list[Effect] = []
        for number, one in enumerate(together):
            allow = batches.plain_allow(one)
            assert allow is not None
            effects += self._answer(one, person, allow, now, query_id="" if number else query_id)
        return effects

    def _answer(self, found: Case, person: Person, choice: Choice, now: Instant, *, query_id: str = "") -> list[Effect]:
        found.answer = Answer(
            person=person.name,
            user_id=person.user_id,
            choice_key=choice.key,
            label=choice.label,
            decision=choice.decision,
            at=now.wall,
            after_s=max(0.0, now.mono - found.asked.mono),
            saved=choice.saved,
        )
        found.answered = now
        found.edited_as = edited_fingerprint(found.request, found.answer)
        found.query_id = query_id
        found.phase = Phase.SENDING
        found.version += 1
        effects: list[Effect] = [
            Record(found.request.id, AnsweredEntry(found.request.id, found.answer, found.version), True)
        ]
        if found.caller_here:
            effects.append(Reply(found.request, choice.decision))
        if query_id:
            effects.append(AnswerTap(query_id, words.sending(found.answer)))
        effects += [Retract(copy) for copy in found.prompts]
        effects += self.board.edit(found)
        return effects

    def _on_prompt_posted(self, event: PromptPosted, now: Instant) -> list[Effect]:
        self.board.soundings.note(event.copy)
        found = self.board.cases.get(event.request_id)
        if found is None:
            return []
        found.asking.discard((event.copy.chat_id, event.prompt))
        if found.phase is not Phase.OPEN:
            return [Retract(event.copy)]
        found.prompts[event.copy] = event.prompt
        effects: list[Effect] = [Record(found.request.id, CopyEntry(found.request.id, event.copy, prompt=event.prompt))]
        early = self._early.pop(event.copy, None)
        if early is not None:
            effects += self._on_text(early, now)
        return effects

    def _retract_prompts(self, found: Case, purpose: Act) -> list[Effect]:
        """They have done their work; a later reply to one of them would mean something that was not asked."""
        done = [copy for copy, prompt in found.prompts.items() if prompt.purpose is purpose]
        for copy in done:
            del found.prompts[copy]
        return [Retract(copy) for copy in done]

    # The caller

    def _on_confirmed(self, event: CallerConfirmed, now: Instant) -> list[Effect]:
        found = self.board.cases.get(event.request_id)
        if found is None or found.phase is not Phase.SENDING or found.answer is None:
            return []
        allowed = found.answer.decision.verdict is Verdict.ALLOW
        return self._settle(found, Outcome.ALLOWED if allowed else Outcome.DENIED, now)

    def _on_gone(self, event: CallerGone, now: Instant) -> list[Effect]:
        found = self.board.cases.get(event.request_id)
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
        found = self.board.cases.get(event.request_id)
        if found is None or found.phase is not Phase.LEAVING:
            return []
        return self._settle(found, why_left(found.left, alive=event.alive), now)

    # What the agent did meanwhile

    def _on_tool_ended(self, event: ToolEnded, now: Instant) -> list[Effect]:
        found, ran = match_ended(self.board.cases.values(), event, now)
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
        return effects + (self.board.edit(found) if retold else [])

    def _on_moved(self, event: SessionMoved, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for found in self.board.of_session(event.session_id):
            if found.request.call.agent_id != event.agent_id:
                continue  # a subagent in the background waits on while the main thread moves, and the other way round
            known = bool(event.prompt_id and found.request.prompt_id)
            same = event.prompt_id == found.request.prompt_id
            # These reports come on a way of their own and may be late: the prompt's id tells old from new.
            if known and same is (event.move is not Move.STOP):
                continue
            # Without the id only time can tell: right after a question, a report of a beginning is a late one.
            if not known and event.move is not Move.STOP and now.mono - found.asked.mono < LATE_S:
                continue
            effects += self._settle(found, Outcome.MOVED_ON, now, detail=event.move.value)
        return effects

    # Telegram's side

    def _on_posted(self, event: Posted) -> list[Effect]:
        effects: list[Effect] = []
        found = self.board.cases.get(event.request_id)
        if found is not None:
            found.pending.discard(event.copy.chat_id)
            found.copies[event.copy] = max(event.version, found.copies.get(event.copy, 0))
            effects.append(Record(found.request.id, CopyEntry(found.request.id, event.copy, event.version)))
            found.replacing.pop(event.copy.chat_id, None)
            effects += self.board.mend(found, event.copy)
            effects += self.board.withdraw_older(found, event.copy)
        return effects + self.board.sweep(event.copy)

    def _on_post_failed(self, event: PostFailed, now: Instant) -> list[Effect]:
        found = self.board.cases.get(event.request_id)
        if found is None:
            return []
        found.pending.discard(event.chat_id)
        found.replacing.pop(event.chat_id, None)
        if found.phase is Phase.OPEN and not found.pending and not found.copies:
            return self._settle(found, Outcome.NOT_SHOWN, now, detail=event.reason)
        return []

    def _on_copy_gone(self, event: Withdrawn | CopyGone, now: Instant) -> list[Effect]:
        """A message counts no more. If it was the last one, nobody can see the request: it is posted once more."""
        found = self.board.cases.get(event.request_id)
        if found is None or event.copy not in found.copies:
            return []
        effects = self.board.retire(found, event.copy)
        if found.phase is not Phase.OPEN or found.copies or found.pending:
            return effects
        if found.is_reposted:
            return effects + self._settle(found, Outcome.NOT_SHOWN, now, detail="its card was deleted")
        found.is_reposted = True
        found.pending = set(found.chats) & set(self.board.roster.chats)
        return effects + self.board.post(found, tuple(chat for chat in found.chats if chat in found.pending))

    def _on_whole_posted(self, event: WholePosted) -> list[Effect]:
        found = self.board.cases.get(event.request_id)
        if found is None or found.phase is not Phase.OPEN or event.chat_id not in found.chats:
            return []
        found.seen_in.add(event.chat_id)
        found.version += 1
        effects = self.board.edit(found)
        if found.seen_in >= set(found.chats):  # it is remembered as seen by all, or not at all
            return [Record(found.request.id, SeenEntry(found.request.id)), *effects]
        return effects

    def _on_poll_resumed(self, event: PollResumed) -> list[Effect]:
        effects: list[Effect] = []
        if event.away_s > TAPS_KEPT_S:
            for found in self.board.cases.values():
                if found.phase is Phase.OPEN and found.copies:
                    found.refreshed = True
                    found.version += 1
                    effects += self.board.edit(found)
        return effects

    # Endings

    def _settle_due(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for found in list(self.board.cases.values()):
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
        found = self.board.cases.get(event.request_id)
        if found is None or found.phase is Phase.SETTLED:
            return []
        query_id, found.query_id = found.query_id, ""
        found.answer = found.answered = None
        found.edited_as = ""
        unseen = not found.copies
        effects = self._settle(found, Outcome.NOT_RECORDED, now, detail=event.reason)
        if query_id:
            effects.append(
                AnswerTap(query_id, "This could not be recorded, so it does not count. Answer at the terminal.", True)
            )
        if unseen:
            effects.append(Post(self.board.card(found), found.chats))
        return effects

    def _on_stopped(self, now: Instant) -> list[Effect]:
        self._stopping = True
        effects: list[Effect] = []
        for found in list(self.board.cases.values()):
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
        found.draft = NO_DRAFT
        found.background = NO_BACKGROUND
        found.version += 1
        entry = SettledEntry(found.request.id, outcome, now.wall, detail, found.version)
        effects: list[Effect] = [Record(found.request.id, entry)]
        effects += [
            Record(found.request.id, ShownEntry(found.request.id, copy, found.version)) for copy in found.retired
        ]
        if unanswered and found.caller_here:
            effects.append(Reply(found.request, NO_OPINION, words.ended(found.card())))
        effects += [Retract(copy) for copy in found.prompts]
        found.prompts.clear()
        # With no copy as well: a card that is still on its way out is taken back.
        effects.append(Edit(found.card(), tuple(found.copies)))
        found.answer = slimmed_answer(found.request, found.answer)
        found.request = slimmed(found.request)
        # The request is over, but a copy of its card may stand where we do not know of it.
        return [*effects, *self.board.sound(found)]

    # Small things

    def _hold_for(self, request: Request) -> float:
        most_s = self._hold_s if self._hold_of is None else min(self._hold_s, self._hold_of(request))
        return min(most_s, request.caller.deadline_s)

    def _is_repeated(self, update: Json) -> bool:
        """Telegram may deliver an update again: the second time it means nothing."""
        if update in self._heard:
            return True
        self._heard[update] = None
        if len(self._heard) > HEARD_KEPT:
            del self._heard[next(iter(self._heard))]
        return False


def _looks_alike(one: Background, other: Background) -> bool:
    """Whether both say the same, whenever each was looked at."""
    files = [None if seen.on_disk is None else replace(seen.on_disk, at=0.0) for seen in (one, other)]
    return one.why == other.why and files[0] == files[1]


def _answered(effects: list[Effect], answer: AnswerTap) -> list[Effect]:
    """With the tap's answer where it belongs: behind what is recorded and replied, before the cards are edited."""
    first = [effect for effect in effects if isinstance(effect, Record | Reply)]
    return [*first, answer, *(effect for effect in effects if effect not in first)]
