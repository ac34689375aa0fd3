"""Whatever Telegram refuses, loses or delays: nobody allows anything but what the message says that they acted on.

The phones are modelled as they really are: each message shows the card of the last edit that took effect there,
whether or not the desk was told so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tapgate.desk.desk import Desk
from tapgate.desk.drafts import refuses
from tapgate.desk.effects import AskText, Edit, Effect, Post, Reply, Retract, Withdraw
from tapgate.desk.events import (
    Asked,
    CopyGone,
    Edited,
    EditRefused,
    Event,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    Replied,
    Tapped,
    Ticked,
    Withdrawn,
)
from tapgate.model import Card, Copy, Draft, Phase, Prompt, Request, Risk, Tap, Verdict
from tests.builders import ADA, BOB, at, make_request

PEOPLE = (ADA, BOB)
RISK = Risk("deletes", "It deletes files.")
OPTIONS = [{"label": "Yes"}, {"label": "No"}]
TOOLS: dict[str, dict[str, Any]] = {
    "Bash": {"command": "npm test"},
    "AskUserQuestion": {
        "questions": [
            {"question": "Run the tests?", "options": OPTIONS},
            {"question": "Which data?", "options": OPTIONS, "multiSelect": True},
            {"question": "Delete it?", "options": OPTIONS},
        ]
    },
}
NUMBER = st.integers(0, 7)


class PhonesMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.start()

    def start(self) -> None:
        self.desk = Desk(PEOPLE, hold_s=1e9)
        self.seconds = 0.0
        self.count = 0
        self.messages: dict[Copy, Card] = {}  # what really stands there
        self.prompts: dict[Copy, Prompt] = {}
        self.edits: dict[Copy, Card | None] = {}  # on their way, the newest of each; None withdraws
        self.posts: dict[int, Card] = {}

    @initialize(tool=st.sampled_from(sorted(TOOLS)), risky=st.booleans())
    def ask(self, tool: str, risky: bool) -> None:
        self.start()
        # The caller has all the time there is, so that only the phones matter.
        self.request: Request = make_request(tool=tool, tool_input=TOOLS[tool], deadline_s=1e9, suggestions=())
        self.happen(Asked(self.request, risks=(RISK,) if risky else ()))

    @precondition(lambda self: not self.is_open and not self.edits)
    @rule(tool=st.sampled_from(sorted(TOOLS)), risky=st.booleans())
    def ask_anew(self, tool: str, risky: bool) -> None:
        self.ask(tool, risky)

    @precondition(lambda self: self.is_open and self.messages and not self.edits)
    @rule(risky=st.booleans())
    def caller_comes_back(self, risky: bool) -> None:
        self.happen(Asked(self.request, risks=(RISK,) if risky else ()))

    # Telegram

    @precondition(lambda self: self.posts)
    @rule(number=NUMBER, fate=st.sampled_from(["shown", "shown", "shown", "refused", "unsure"]))
    def post_ends(self, number: int, fate: str) -> None:
        chat_id = sorted(self.posts)[number % len(self.posts)]
        self.count += 1
        copy, card = Copy(chat_id, self.count), self.posts[chat_id]
        if fate != "unsure":
            del self.posts[chat_id]
        if fate == "refused":
            self.happen(PostFailed(self.request.id, chat_id, "no"))
            return
        self.messages[copy] = card
        done = Posted(self.request.id, copy, card.version)
        self.happen(done if fate == "shown" else PostUnsure(self.request.id, chat_id))

    @precondition(lambda self: self.edits)
    @rule(number=NUMBER, fate=st.sampled_from(["refused", "shown", "refused", "shown", "lost", "deleted"]))
    def edit_ends(self, number: int, fate: str) -> None:
        copy = sorted(self.edits, key=str)[number % len(self.edits)]
        card = self.edits[copy]
        if fate == "lost":  # it took effect, and the answer did not come: tried again later
            self.apply(copy, card)
            return
        del self.edits[copy]
        if copy not in self.messages or fate == "deleted":
            self.messages.pop(copy, None)
            self.happen(CopyGone(self.request.id, copy))
        elif fate == "shown":
            self.apply(copy, card)
            done = Edited(self.request.id, copy, card.version) if card is not None else None
            self.happen(done or Withdrawn(self.request.id, copy))
        elif card is not None:
            self.happen(EditRefused(self.request.id, copy, card.version))

    def apply(self, copy: Copy, card: Card | None) -> None:
        if copy in self.messages:  # of a withdrawn one the buttons go; its words may stay
            self.messages[copy] = card if card is not None else replace(self.messages[copy], choices=())

    @precondition(lambda self: self.desk.stale_copies())
    @rule(seconds=st.sampled_from([1.0, 31.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        self.seconds += seconds
        self.happen(Ticked())

    # People

    @precondition(lambda self: self.messages)
    @rule(number=NUMBER, button=st.integers(0, 11), is_any=st.sampled_from([False] * 5 + [True]))
    def tap(self, number: int, button: int, is_any: bool) -> None:
        """Mostly a button that leads on: a no ends it."""
        copy = sorted(self.messages, key=str)[number % len(self.messages)]
        card = self.messages[copy]
        choices = [choice for choice in card.choices if is_any or not refuses(choice)]
        if choices:
            choice = choices[button % len(choices)]
            self.count += 1
            tap = Tap(f"q{self.count}", copy.chat_id, copy, "raw")
            self.happen(Tapped(tap, self.request.id, choice.key, choice.seal), sees=card)

    @precondition(lambda self: self.messages and self.is_open)
    @rule(number=NUMBER)
    def reply_to_a_card(self, number: int) -> None:
        copy = sorted(self.messages, key=str)[number % len(self.messages)]
        self.say(copy, "yes", self.messages[copy])

    @precondition(lambda self: self.prompts)
    @rule(number=NUMBER)
    def reply_to_a_prompt(self, number: int) -> None:
        copy = sorted(self.prompts, key=str)[number % len(self.prompts)]
        prompt, draft = self.prompts[copy], self.draft
        shown = [card for one, card in self.messages.items() if one.chat_id == copy.chat_id and card.draft == draft]
        # It names its question itself; the answers before stand on a card in the same chat, if anywhere.
        self.say(copy, "npm run lint", shown[0] if shown and prompt.question == draft.at else None)

    def say(self, copy: Copy, text: str, sees: Card | None) -> None:
        self.count += 1
        self.happen(Replied(copy.chat_id, copy.chat_id, 10_000 + self.count, copy.message_id, text), sees=sees)

    # How it is carried out

    @property
    def is_open(self) -> bool:
        return self.desk.cases.by_id[self.request.id].phase is Phase.OPEN

    @property
    def draft(self) -> Draft:
        return self.desk.cases.by_id[self.request.id].draft

    def happen(self, event: Event, *, sees: Card | None = None) -> None:
        found = self.desk.cases.by_id.get(self.request.id)
        before = (_said(found.draft), found.shown_risks()) if found is not None else None
        for effect in self.desk.handle(event, at(self.seconds)):
            match effect:
                case Reply(decision=decision) if decision.verdict is Verdict.ALLOW:
                    if isinstance(event, Asked):
                        continue  # it was decided before
                    assert sees is not None and (_said(sees.draft), sees.risks) == before, (
                        "allowed as it stood on that phone"
                    )
                    assert sees.phase is Phase.OPEN
                case _:
                    self.carry_out(effect)

    def carry_out(self, effect: Effect) -> None:
        match effect:
            case Post(card=card, chats=chats):
                self.posts |= dict.fromkeys(chats, card)
            case Edit(card=card, copies=copies):
                self.edits |= dict.fromkeys(copies, card)
                if card.phase is Phase.SETTLED:
                    self.posts = {chat: one for chat, one in self.posts.items() if one.phase is Phase.SETTLED}
            case Withdraw(copy=copy):
                self.edits[copy] = None
            case Retract(copy=copy):
                pass  # Telegram may refuse that, and the prompt stays on the phone
            case AskText(chat_id=chat_id, prompt=prompt):
                self.count += 1
                copy = Copy(chat_id, self.count)
                self.prompts[copy] = prompt
                self.happen(PromptPosted(self.request.id, copy, prompt))

    @invariant()
    def an_open_request_can_be_seen_or_is_on_its_way(self) -> None:
        found = self.desk.cases.by_id.get(make_request().id)
        if found is not None and found.phase is Phase.OPEN:
            assert found.copies or found.pending, "or it would wait for nobody"


def _said(draft: Draft) -> Draft:
    """Whoever wrote it: the same text by another person is the same text."""
    return replace(draft, author="")


TestPhonesMachine = PhonesMachine.TestCase
TestPhonesMachine.settings = settings(
    max_examples=800,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
