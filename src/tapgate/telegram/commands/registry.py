"""The table of phone commands, and who may use them. A file beside this one adds a row with `@command`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tapgate.errors import TapgateError
from tapgate.model import Person
from tapgate.telegram.commands.context import CommandContext

AnswerCommand = Callable[[CommandContext], Awaitable[str]]
_NAME = re.compile(r"[a-z0-9_]{1,32}")  # Telegram's limits for setMyCommands
_MOST_DESCRIPTION = 256
_FALLBACK = "help"  # also for /start, and for whatever else is no command


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    description: str  # one line, for /help and for Telegram's menu
    answer: AnswerCommand  # gives Telegram HTML


COMMANDS: dict[str, Command] = {}


def command(name: str, description: str) -> Callable[[AnswerCommand], AnswerCommand]:
    """Register the function below it as the command of this name."""
    if not _NAME.fullmatch(name) or not 1 <= len(description) <= _MOST_DESCRIPTION:
        raise ValueError(f"Telegram would refuse the command {name!r}")
    if name in COMMANDS:
        raise ValueError(f"there are two commands {name!r}")

    def register(answer: AnswerCommand) -> AnswerCommand:
        COMMANDS[name] = Command(name, description, answer)
        return answer

    return register


def menu_of() -> list[tuple[str, str]]:
    """Names and descriptions, in the order in which people see them."""
    return [(name, COMMANDS[name].description) for name in sorted(COMMANDS)]


class PhoneCommands:
    def __init__(self, people: Sequence[Person], context: CommandContext, *, report: Callable[[str], None]) -> None:
        self._listed = {(person.user_id, person.chat_id) for person in people}
        self._context = context
        self._report = report

    async def answer(self, name: str, user_id: int, chat_id: int) -> str | None:
        """The answer as Telegram HTML; None for strangers, who are not to learn that somebody listens."""
        if (user_id, chat_id) not in self._listed:
            return None
        try:
            return await COMMANDS.get(name, COMMANDS[_FALLBACK]).answer(self._context)
        except TapgateError as error:
            self._report(f"/{name} could not be answered: {error}")
            return "This cannot be told just now. <code>tapgate status</code> on the machine says why."
