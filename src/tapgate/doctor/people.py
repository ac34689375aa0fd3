"""The people: is somebody listed who may answer, and can the bot write to them."""

from __future__ import annotations

from collections.abc import Iterator

from tapgate.config import Config
from tapgate.doctor.check import Check, fault, ok, skipped, warning
from tapgate.doctor.scene import ApiAnswer, DoctorBot, UnreachableError
from tapgate.model import Person, Role


def check_people(config: Config | None, bot: DoctorBot | None) -> Iterator[Check]:
    if config is None:
        yield skipped("people.listed", "people", "the config cannot be used")
        return
    people = config.persons()
    yield check_listed(people)
    seen: set[int] = set()
    for person in people:
        if person.chat_id not in seen:
            seen.add(person.chat_id)
            yield check_chat(person, bot)


def check_listed(people: tuple[Person, ...]) -> Check:
    name, label = "people.listed", "people"
    if not people:
        return fault(
            name,
            label,
            "nobody is listed, so nobody could answer",
            advice="run `tapgate pair`, or list yourself under [[people]]",
        )
    roles = {person.role for person in people}
    if roles == {Role.VIEWER}:
        return fault(
            name,
            label,
            "everybody listed is a viewer, so nobody may answer",
            advice='make somebody an owner: role = "owner" under [[people]]',
        )
    if Role.OWNER not in roles:
        return warning(
            name,
            label,
            "nobody is an owner, so no rule can be saved from the phone",
            advice='if you want that, make somebody an owner: role = "owner" under [[people]]',
        )
    return ok(name, label, ", ".join(f"{person.name} ({person.role})" for person in people))


def check_chat(person: Person, bot: DoctorBot | None) -> Check:
    """ "typing…" goes to the chat for a moment: what a card would meet, without a message."""
    name, label = f"people.{person.chat_id}", f"chat of {person.name}"
    if bot is None:
        return skipped(name, label, "Telegram has to take the token first")
    try:
        answer = bot.call("sendChatAction", chat_id=person.chat_id, action="typing")
    except UnreachableError as error:
        return skipped(name, label, f"Telegram stopped answering: {error}")
    if answer.result is not None:
        return ok(name, label, "the bot can write there")
    if answer.status in (400, 403):
        return fault(name, label, f"the bot cannot write there: {answer.description}", advice=_advice(person, answer))
    return skipped(name, label, f"Telegram said {answer.status} {answer.description}")


def _advice(person: Person, answer: ApiAnswer) -> str:
    parameters = (answer.value or {}).get("parameters")
    moved = parameters.get("migrate_to_chat_id") if isinstance(parameters, dict) else None
    if moved:
        return f"the group has a new number: set chat_id = {moved} for {person.name}"
    if "blocked" in answer.description:
        return f"{person.name} has blocked the bot: open its chat on the phone and press Restart"
    if person.chat_id < 0:
        return f"add the bot to the group {person.chat_id} again, or correct chat_id"
    if "initiate" in answer.description:
        return f"{person.name} must open the bot on the phone and press Start once"
    return f"{person.name} must open the bot and press Start; if that is done, the number is wrong: `tapgate pair`"
