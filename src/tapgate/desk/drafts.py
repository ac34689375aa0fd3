"""Cards that take more than one tap: which buttons stand on them now, and what a tap or a text makes of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tapgate.desk.seals import sealed
from tapgate.model import (
    NO_DRAFT,
    Action,
    Choice,
    Decision,
    Draft,
    Form,
    Given,
    Json,
    Question,
    Request,
    Tone,
    Verdict,
)

ANSWERED = "o"
"""The key of an answer to questions, whichever button was the last one."""

EDITED = "y"
"""The key of the button that allows a changed text."""

BACK = Choice("z", "Back", Action.BACK, seal="back")
_NOTHING = Given()


def choices_of(
    request: Request, draft: Draft, *, risky: bool, twice: bool = False, listed: tuple[str, ...] = ()
) -> tuple[Choice, ...]:
    """The buttons for the card as it stands. What is risky allows nothing for good with one tap.

    `twice`: it allows nothing at all with one tap. `listed` are the digests of the requests that the draft lists.
    """
    if draft.confirming:
        return _confirming(request, draft)
    if draft.listed:
        label = f"Allow all {len(draft.listed)}"
        return (
            *sealed([Choice("y", label, Action.ALLOW_LISTED, tone=Tone.GOOD)], list(draft.listed), list(listed)),
            BACK,
        )
    if draft.text is not None:
        return _edited(request, draft, risky=risky, twice=twice)
    if request.form is not None:
        return (*_options(request.form, draft, request.digest), *request.choices)
    choices = tuple(_asking_twice(_careful(choice) if risky else choice) for choice in request.choices)
    return tuple(_twice(choice, request.digest) for choice in choices) if twice else choices


def refuses(choice: Choice) -> bool:
    """Whether it can be offered on a card that did not show everything: it allows nothing, and leads to no allowing."""
    if choice.action is Action.DECIDE:
        return choice.decision.verdict is Verdict.DENY
    return choice.action in (Action.ASK_REASON, Action.RELEASE)


def leads_to_allow(choice: Choice) -> bool:
    """Whether it allows something, or answers a part of what will: then everything it stands under must be seen."""
    if choice.action is Action.DECIDE:
        return choice.decision.verdict is Verdict.ALLOW
    return choice.action in (Action.CONFIRM, Action.ALLOW_LISTED, Action.PICK, Action.NEXT)


def stands(choice: Choice) -> bool:
    """Whether more than this one call is allowed by it."""
    return bool(choice.saved or choice.decision.updates)


# Questions


def given_at(draft: Draft, number: int) -> Given:
    return draft.given[number] if number < len(draft.given) else _NOTHING


def with_pick(form: Form, draft: Draft, number: int) -> Draft:
    """An option was tapped: of several it is checked or unchecked, of one the next question comes."""
    question, given = form.questions[draft.at], given_at(draft, draft.at)
    if not question.many:
        return _onward(form, _with(draft, Given((number,))))
    picks = set(given.picks) ^ {number}
    return _with(draft, replace(given, picks=tuple(sorted(picks))))


def with_typed(form: Form, draft: Draft, text: str) -> Draft:
    if form.questions[draft.at].many:
        return _with(draft, replace(given_at(draft, draft.at), typed=text))
    return _onward(form, _with(draft, Given(typed=text)))


def with_next(form: Form, draft: Draft) -> Draft:
    return _onward(form, draft)


def with_back(draft: Draft) -> Draft:
    """Out of what the card asks now: a second tap, an edited text, a list, or the last question."""
    if draft.confirming:
        return replace(draft, confirming="")
    if draft.listed:
        return replace(draft, listed=())
    if draft.text is not None:
        return NO_DRAFT
    return replace(draft, at=max(0, draft.at - 1))


def is_complete(form: Form, draft: Draft) -> bool:
    return draft.at >= len(form.questions)


def answer_of(request: Request, draft: Draft) -> Choice:
    """The whole answer to a form, as the choice that a person has put together."""
    assert request.form is not None
    answers = {question.text: _said(question, given_at(draft, n)) for n, question in enumerate(request.form.questions)}
    updated = {**request.input, request.form.field: answers}
    label = "; ".join(answers.values())
    return Choice(ANSWERED, label, Action.DECIDE, Decision(Verdict.ALLOW, updated_input=updated))


def _said(question: Question, given: Given) -> str:
    return ", ".join([*(question.options[pick].label for pick in given.picks), *([given.typed] if given.typed else [])])


def _with(draft: Draft, given: Given) -> Draft:
    so_far = [given_at(draft, number) for number in range(max(len(draft.given), draft.at + 1))]
    so_far[draft.at] = given
    return replace(draft, given=tuple(so_far))


def _onward(form: Form, draft: Draft) -> Draft:
    return replace(draft, at=min(draft.at + 1, len(form.questions)))


def _options(form: Form, draft: Draft, digest: str) -> tuple[Choice, ...]:
    """Numbered, so that an option called “Deny” cannot be taken for the button of that name."""
    number = min(draft.at, len(form.questions) - 1)
    question, given = form.questions[number], given_at(draft, number)
    choices = []
    for index, option in enumerate(question.options):
        chosen = index in given.picks
        mark = ("☑ " if chosen else "☐ ") if question.many else "● " if chosen else ""
        choices.append(Choice(f"o{index}", f"{mark}{index + 1}. {option.label}", Action.PICK))
    choices.append(Choice("q", f"Other: {given.typed}" if given.typed else "Other…", Action.ASK_ANSWER))
    if question.many and given != _NOTHING:
        is_last = number == len(form.questions) - 1
        choices.append(Choice("k", "Done" if is_last else "Next", Action.NEXT, tone=Tone.GOOD))
    if number > 0:
        choices.append(Choice("z", "Back", Action.BACK))
    # What goes on to the next question, or sends the answers, takes all answers so far with it: it fits only a card
    # that shows them as they are. A check mark can be set on a card that does not show the last one yet.
    so_far: Json = [[list(given.picks), given.typed] for given in draft.given]
    goes_on = [
        choice.action is Action.NEXT or (choice.action is Action.PICK and not question.many) for choice in choices
    ]
    return tuple(
        one
        for choice, bound in zip(choices, goes_on, strict=True)
        for one in (sealed([choice], number, digest, so_far) if bound else sealed([choice], number, digest))
    )


# A changed text


def as_typed(request: Request, text: str) -> str:
    """A text from a phone, with the blanks around what it replaces: Telegram takes them off both ends of a message."""
    old = request.input.get(request.editable)
    if not isinstance(old, str) or not old.strip():
        return text
    inner = old.strip("\n\t ")
    start = old.index(inner)
    return old[:start] + text + old[start + len(inner) :]


def edited_input(request: Request, text: str) -> Mapping[str, Json]:
    """The input with the new text; every other field as it came."""
    return {**request.input, request.editable: text}


def edited_text(request: Request, decision: Decision) -> str | None:
    """The text that was allowed in the place of the one that was asked for, if it is another."""
    if not request.editable or decision.updated_input is None:
        return None
    text = decision.updated_input.get(request.editable)
    return text if isinstance(text, str) and text != request.input.get(request.editable) else None


def _edited(request: Request, draft: Draft, *, risky: bool, twice: bool) -> tuple[Choice, ...]:
    (run,) = sealed(
        [_allow_edited(request, draft, tone=Tone.BAD if risky else Tone.GOOD)], request.digest, draft.author
    )
    again = (choice for choice in request.choices if choice.action is Action.ASK_EDIT)
    return (_twice(run, request.digest) if twice else run, *again, BACK, *_denials(request))


def _allow_edited(request: Request, draft: Draft, *, tone: Tone) -> Choice:
    assert draft.text is not None
    decision = Decision(Verdict.ALLOW, updated_input=edited_input(request, draft.text))
    word = "Run it as edited" if request.editable == "command" else "Allow it as edited"
    return Choice(EDITED, word, Action.DECIDE, decision, tone)


# A second tap


def _careful(choice: Choice) -> Choice:
    """On a risky card: the colour warns, and what stands for more than this call wants a second tap."""
    if choice.decision.verdict is not Verdict.ALLOW:
        return choice
    if stands(choice) and choice.action is Action.DECIDE:
        return replace(choice, action=Action.CONFIRM)
    return replace(choice, tone=Tone.BAD) if choice.tone is Tone.GOOD else choice


def _asking_twice(choice: Choice) -> Choice:
    """Its words end like those of other buttons that decide nothing yet."""
    return replace(choice, label=f"{choice.label}…") if choice.action is Action.CONFIRM else choice


def _twice(choice: Choice, digest: str) -> Choice:
    """On a card that takes two taps for whatever it allows. The seal tells this button from the one that takes one."""
    if choice.decision.verdict is not Verdict.ALLOW or choice.action not in (Action.DECIDE, Action.CONFIRM):
        return choice
    label = choice.label if choice.action is Action.CONFIRM else f"{choice.label}…"
    return sealed([replace(choice, action=Action.CONFIRM, label=label)], "twice", digest)[0]


def confirmed_choice(request: Request, draft: Draft) -> Choice | None:
    """The choice that wants a second tap."""
    if draft.text is not None:
        return _allow_edited(request, draft, tone=Tone.BAD) if draft.confirming == EDITED else None
    return next((choice for choice in request.choices if choice.key == draft.confirming), None)


def _confirming(request: Request, draft: Draft) -> tuple[Choice, ...]:
    choice = confirmed_choice(request, draft)
    if choice is None:
        return (BACK, *_denials(request))
    sure = replace(choice, key="y", label=f"Yes: {choice.label}", action=Action.DECIDE, tone=Tone.BAD)
    return (*sealed([sure], draft.confirming, request.digest), BACK, *_denials(request))


def _denials(request: Request) -> tuple[Choice, ...]:
    return tuple(choice for choice in request.choices if refuses(choice))
