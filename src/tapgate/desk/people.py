"""Who is listed, in which chats, and what they may do with a choice. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapgate.desk.drafts import stands
from tapgate.model import Action, Choice, Person, Role

_RANK = {Role.VIEWER: 0, Role.APPROVER: 1, Role.OWNER: 2}
LOOK_ONLY = "You can look at the cards here, but not answer them."
ONCE_ONLY = "You can allow this once. Standing permissions are for an owner to give."
NOT_SHOWN = "What is hidden here is for an owner to see."


class Roster:
    def __init__(self, people: Iterable[Person]) -> None:
        self._people = tuple(people)
        self.chats = tuple(dict.fromkeys(person.chat_id for person in self._people))
        self.ranks: Mapping[int, Role] = {
            chat_id: max((person.role for person in self._people if person.chat_id == chat_id), key=_RANK.__getitem__)
            for chat_id in self.chats
        }
        """The most that anybody may do in a chat: so many buttons its cards have."""

    def knows(self, user_id: int) -> bool:
        return any(person.user_id == user_id for person in self._people)

    def person(self, user_id: int, chat_id: int) -> Person | None:
        pairs = (person for person in self._people if (person.user_id, person.chat_id) == (user_id, chat_id))
        return next(pairs, None)


def offered_to(role: Role, choices: Iterable[Choice]) -> tuple[Choice, ...]:
    return tuple(choice for choice in choices if why_not(role, choice) is None)


def why_not(role: Role, choice: Choice | None = None) -> str | None:
    """Why somebody in this role may not take a choice; None where they may. Without a choice: any at all."""
    if role is Role.VIEWER:
        return LOOK_ONLY
    if role is Role.APPROVER and choice is not None and stands(choice):
        return ONCE_ONLY
    if role is not Role.OWNER and choice is not None and choice.action is Action.SHOW_HIDDEN:
        return NOT_SHOWN
    return None
