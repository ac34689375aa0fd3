"""Makes a card of a sample: by the real dialect, the real table of risks and the real desk. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tapgate.agents.registry import parse_request
from tapgate.cards.change import change_of
from tapgate.desk.desk import Desk
from tapgate.desk.effects import AskText, Edit, Effect, ShowWhole
from tapgate.desk.events import Asked, CallerConfirmed, Event, Posted, PromptPosted, Replied, Tapped, WholePosted
from tapgate.model import Caller, Card, Context, Copy, Instant, OnDisk, Person, Phase, Request, Risk
from tapgate.model import Tap as Tapping
from tapgate.risk.assess import assess_request
from tapgate.telegram.card import fits
from tapgate.telegram.display import DisplayOptions, FormatTime
from tests.builders import tool_use
from tests.gallery.sample import PROJECT, Confirm, Receive, Sample, Step, Tap, Type

HOME = "/home/dev"
HOLD_S = 590.0
THINKING_S = 7.0


@dataclass(frozen=True, slots=True)
class Exhibit:
    """How the card came and how it stands now; the messages that asked for a text, and the files, where still there."""

    sample: Sample
    setting: DisplayOptions
    came: Card
    card: Card
    asked: tuple[AskText, ...]
    files: tuple[ShowWhole, ...]


def hang(sample: Sample, *, person: Person, now: Instant, clock: FormatTime, number: int = 1) -> Exhibit:
    """`number` makes the request's id: each exhibit on one phone needs its own."""
    setting = DisplayOptions(clock=clock, machine=sample.machine, home=HOME, mask=sample.mask, detail=sample.shows)
    scene = _Scene(person, now, setting)
    requests = [_parse(one, f"{number:024x}{index:08x}") for index, one in enumerate((sample, *sample.beside))]
    for index, (one, request) in enumerate(zip((sample, *sample.beside), requests, strict=True), start=1):
        scene.ask(one, request, message_id=index)
    came = scene.card(requests[0])
    for step in sample.steps:
        scene.do(requests[0], step)
    card = scene.card(requests[0])
    if sample.outcome is not None:
        ended_at = now.wall + THINKING_S * 2
        card = replace(card, phase=Phase.SETTLED, choices=(), outcome=sample.outcome, ended_at=ended_at)
        card = replace(card, ran=sample.ran, detail=sample.detail)
    return Exhibit(sample, setting, came, card, tuple(scene.prompts.values()), tuple(scene.files))


def _parse(sample: Sample, request_id: str) -> Request:
    caller = Caller(agent=sample.agent, deadline_s=HOLD_S, attended=True, project=PROJECT)
    return parse_request(request_id, caller, sample.raw())


class _Scene:
    """A desk of its own, and somebody who does what the sample says."""

    def __init__(self, person: Person, now: Instant, setting: DisplayOptions) -> None:
        self._person = person
        self._now = now
        self._setting = setting
        self._desk = Desk((person,), hold_s=HOLD_S, assess=_assess)
        self._copies: dict[str, Copy] = {}
        self._numbers: Iterator[int] = iter(range(100, 1000))
        self.prompts: dict[Copy, AskText] = {}
        self.files: list[ShowWhole] = []

    def ask(self, sample: Sample, request: Request, *, message_id: int) -> None:
        context = Context(why=sample.why, on_disk=_on_disk(sample, self._now.wall))
        whole = fits(request, context, self._setting)
        self._tell(Asked(request, fits=whole, context=context, risks=_assess(request)))
        self._copies[request.id] = copy = Copy(self._person.chat_id, message_id)
        self._tell(Posted(request.id, copy, 0))

    def card(self, request: Request) -> Card:
        """As it stands in the person's chat."""
        copy = self._copies[request.id]
        # A tap that nobody could have made: the desk answers it by showing the card again.
        shown = self._tell(Tapped(self._tapping(copy), request.id, "?", "?"))
        found = [effect.card for effect in shown if isinstance(effect, Edit) and copy in effect.copies]
        card = found[-1] if found else self._desk.card(request.id)
        assert card is not None
        return card

    def do(self, request: Request, step: Step) -> None:
        self._now = Instant(self._now.mono + THINKING_S, self._now.wall + THINKING_S)
        copy = self._copies[request.id]
        match step:
            case Tap(label):
                choice = next(one for one in self.card(request).choices if one.label.startswith(label))
                self._note(self._tell(Tapped(self._tapping(copy), request.id, choice.key, choice.seal)))
            case Type(text):
                to = next(iter(self.prompts), copy)
                self.prompts.clear()
                self._tell(Replied(self._person.user_id, copy.chat_id, next(self._numbers), to.message_id, text))
            case Confirm():
                self.prompts.clear()
                self._tell(CallerConfirmed(request.id))
            case Receive():
                self._tell(WholePosted(request.id, copy.chat_id))

    def _note(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, AskText):
                copy = Copy(effect.chat_id, next(self._numbers))
                self.prompts[copy] = effect
                self._tell(PromptPosted(effect.card.request.id, copy, effect.prompt))
            elif isinstance(effect, ShowWhole):
                self.files.append(effect)

    def _tell(self, event: Event) -> list[Effect]:
        return self._desk.handle(event, self._now)

    def _tapping(self, copy: Copy) -> Tapping:
        return Tapping(f"query-{next(self._numbers)}", self._person.user_id, copy, "")


def _assess(request: Request) -> tuple[Risk, ...]:
    return assess_request(request, home=HOME)


def _on_disk(sample: Sample, now: float) -> OnDisk | None:
    if sample.on_disk is None:
        return None
    if not sample.on_disk:
        return OnDisk(at=now, is_new=True)
    seen = OnDisk(at=now, size_bytes=len(sample.on_disk.encode()))
    return change_of(tool_use(sample.tool, sample.input), sample.on_disk, seen=seen)
