"""Cards in every state, and the check that Telegram (as the simulator knows it) takes them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tapgate.agents.registry import BUILT_IN
from tapgate.desk.case import Case
from tapgate.model import (
    NO_CONTEXT,
    Action,
    Answer,
    Caller,
    Card,
    Choice,
    Context,
    Draft,
    Outcome,
    Phase,
    Ran,
    Request,
)
from tapgate.simulator.html import parse_html
from tapgate.simulator.limits import check_text
from tapgate.simulator.markup import parse_reply_markup
from tapgate.telegram import card as front_card
from tapgate.telegram import content
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.forms.content import Content
from tapgate.telegram.keyboard import keyboard_of
from tests.builders import at

FOLDER = Path(__file__).parent.parent / "data" / "captures"


def clock(wall: float) -> str:
    return time.strftime("%H:%M", time.gmtime(wall))


SETTING = DisplayOptions(clock=clock, home="/home/dev")


def render_card(card: Card, setting: DisplayOptions = SETTING) -> str:
    return front_card.render_card(card, setting)


def fits(request: Request, context: Context = NO_CONTEXT, setting: DisplayOptions = SETTING) -> bool:
    return front_card.fits(request, context, setting)


def whole_of(request: Request, context: Context = NO_CONTEXT, setting: DisplayOptions = SETTING) -> tuple[str, bytes]:
    return content.whole_of(request, context, setting)


def content_of(request: Request, setting: DisplayOptions = SETTING) -> Content:
    return content.content_of(request, setting)


def captured() -> dict[str, Request]:
    """Every recorded question of every agent."""
    found: dict[str, Request] = {}
    for path in sorted(FOLDER.glob("*/*.json")):
        agent = path.parent.name.partition("-")[0]
        if agent not in BUILT_IN or path.name == "decision-matrix.json":
            continue
        caller = Caller(agent=agent, deadline_s=590.0, project="/home/dev/shop")
        heard = BUILT_IN[agent].parse(f"{len(found):032x}", caller, path.read_bytes())
        if isinstance(heard, Request):
            found[f"{agent}-{path.stem}"] = heard
    return found


def open_card(
    request: Request,
    *,
    seen: bool = False,
    refreshed: bool = False,
    context: Context = NO_CONTEXT,
    setting: DisplayOptions = SETTING,
) -> Card:
    """The card as the desk would have it posted: what does not fit offers no way to allow it until it was seen."""
    case = _case(request)
    case.fits = seen or fits(request, context, setting)
    case.refreshed = refreshed
    case.context = context
    return case.card()


def shown_in_steps(request: Request) -> str:
    """Everything that a card shows in the course of its questions."""
    steps = range(len(request.form.questions) if request.form is not None else 1)
    return "\n".join(shown(replace(open_card(request), draft=Draft(at=step))) for step in steps)


def _case(request: Request) -> Case:
    return Case(request=request, asked=at(0), deadline=at(590).mono, chats=(1001,))


def answer_by(choice: Choice, person: str = "Ada", *, message: str = "") -> Answer:
    decision = replace(choice.decision, message=message) if message else choice.decision
    return Answer(person, 1001, choice.key, choice.label, decision, at(65).wall, 65.0, choice.saved)


def sending_card(request: Request, answer: Answer) -> Card:
    return replace(_case(request).card(), phase=Phase.SENDING, choices=(), answer=answer)


def settled_card(
    request: Request, outcome: Outcome, *, answer: Answer | None = None, ran: Ran = Ran.UNKNOWN, detail: str = ""
) -> Card:
    return replace(
        _case(request).card(),
        phase=Phase.SETTLED,
        choices=(),
        answer=answer,
        outcome=outcome,
        ended_at=at(65).wall,
        ran=ran,
        detail=detail,
    )


def every_state(request: Request) -> Iterator[Card]:
    yield open_card(request)
    yield open_card(request, seen=True, refreshed=True)
    for choice in request.choices:
        if choice.action is Action.DECIDE:
            yield sending_card(request, answer_by(choice))
    for outcome in Outcome:
        for ran in Ran:
            for answer in (None, answer_by(request.choices[0]), answer_by(request.choices[-1], message="Use pnpm.")):
                yield settled_card(request, outcome, answer=answer, ran=ran, detail="why")


def shown(card: Card, setting: DisplayOptions = SETTING) -> str:
    """The text on the phone. Fails where Telegram would refuse the card."""
    text, entities = parse_html(render_card(card, setting))
    check_text(text, entities)
    rows = [
        [{"text": key.text, "callback_data": key.data, **({"style": key.style} if key.style else {})} for key in row]
        for row in keyboard_of(card)
    ]
    parse_reply_markup({"inline_keyboard": rows})
    return text
