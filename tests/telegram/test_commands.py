"""What a listed person can ask in the chat: who is answered, what the answers show, what the menu offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest

from tapgate.errors import JournalError
from tapgate.model import Card, Detail, Outcome, Person, Phase, Risk
from tapgate.simulator.html import parse_html
from tapgate.simulator.limits import check_commands, check_text
from tapgate.telegram.api import Api, BusyError, OutageError, RefusedError
from tapgate.telegram.commands import COMMANDS, CommandContext, DaemonHealth, PastAnswer, PhoneCommands, menu_of
from tapgate.telegram.commands.pending import MOST
from tapgate.telegram.commands.registry import command
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.menu import PAUSES_S, set_menu
from tests.builders import make_request

from .cards import SETTING, answer_by, open_card, sending_card

NOW = 1_800_000_000.0
ADA = Person(101, 101, "Ada")
SECRET = "gh" + "p_notARealToken0123456789abcdefABCDEF1"
HEALTH = DaemonHealth("0.9", NOW - 7200, NOW - 3, "ok", "ok", 2, 1)


def ask(
    name: str,
    *,
    cards: Sequence[Card] = (),
    answers: Sequence[PastAnswer] | JournalError = (),
    health: DaemonHealth = HEALTH,
    setting: DisplayOptions = SETTING,
    user_id: int = 101,
    chat_id: int = 101,
    reports: list[str] | None = None,
) -> str | None:
    async def past_answers(most: int) -> Sequence[PastAnswer]:
        if isinstance(answers, JournalError):
            raise answers
        return answers[:most]

    context = CommandContext(setting, lambda: NOW, past_answers, lambda: cards, lambda: health)
    commands = PhoneCommands([ADA], context, report=(reports if reports is not None else []).append)
    return anyio.run(commands.answer, name, user_id, chat_id)


def shown(html: str | None) -> str:
    """The text as the phone shows it. Telegram would take the message."""
    assert html is not None
    text, entities = parse_html(html)
    check_text(text, entities)
    return text


def waiting(age_s: float = 60.0, **request: Any) -> Card:
    return replace(open_card(make_request(**request)), asked_at=NOW - age_s)


# Who is answered, and with what


def test_each_file_is_a_command_and_help_lists_them_all() -> None:
    assert sorted(COMMANDS) == ["help", "history", "pending", "status"]
    lines = shown(ask("help")).splitlines()
    assert lines[1:] == [f"/{name} – {description}" for name, description in menu_of()]


@pytest.mark.parametrize("name", ["start", "nonsense"])
def test_anything_else_is_answered_with_help(name: str) -> None:
    assert ask(name) == ask("help")


@pytest.mark.parametrize("name", ["help", "history", "pending", "status", "start"])
@pytest.mark.parametrize(("user_id", "chat_id"), [(666, 666), (666, 101), (101, 666)])
def test_strangers_and_other_chats_are_not_answered(name: str, user_id: int, chat_id: int) -> None:
    assert ask(name, user_id=user_id, chat_id=chat_id, cards=[waiting()]) is None


def test_a_command_that_telegram_would_refuse_is_not_registered() -> None:
    for name, description in (("Bad", "x"), ("a" * 33, "x"), ("good", ""), ("good", "x" * 257), ("help", "twice")):
        with pytest.raises(ValueError):
            command(name, description)
    check_commands(menu_of())


# /history


def test_history_tells_who_answered() -> None:
    answer = PastAnswer(NOW, "/home/dev/shop", "Bash", "npm test", Outcome.ALLOWED, "Ada", instead="npm run smoke")
    text = shown(ask("history", answers=[answer]))
    assert all(words in text for words in ("✅", "shop Bash · Ada", "npm test", "instead: npm run smoke"))
    assert shown(ask("history")) == "Nothing has been answered yet."


def test_a_journal_that_cannot_be_read_is_reported_and_said() -> None:
    reports: list[str] = []
    assert "tapgate status" in shown(ask("history", answers=JournalError("the disk is full"), reports=reports))
    assert reports == ["/history could not be answered: the disk is full"]


# /pending


def test_pending_lists_who_waits_for_what_and_for_how_long() -> None:
    setting = replace(SETTING, machine="studio")
    late = waiting(10, tool="Read", tool_input={"file_path": "/home/dev/shop/cart.py"})
    early = replace(waiting(180), risks=(Risk("privilege", "Runs as root"),))
    assert shown(ask("pending", cards=[late, early], setting=setting)).splitlines() == [
        "2 open",
        "⚠️ shop · Claude Code · studio · Bash npm test · 3 min",
        "🔐 shop · Claude Code · studio · Read cart.py · 10 s",
    ]
    assert shown(ask("pending")) == "Nothing is waiting for an answer."


def test_what_is_answered_already_is_said_to_be_on_its_way() -> None:
    card = sending_card(make_request(), answer_by(make_request().choices[0]))
    assert card.phase is Phase.SENDING
    assert shown(ask("pending", cards=[card])).endswith(" · sending…")


def test_pending_shows_no_secret_and_no_more_than_cards_do() -> None:
    card = waiting(tool_input={"command": f"login --token {SECRET} {SECRET}"}, project=f"/home/dev/{SECRET}")
    for setting in (SETTING, replace(SETTING, machine=SECRET)):
        assert SECRET[4:-4] not in shown(ask("pending", cards=[card], setting=setting))
    assert "--token" in shown(ask("pending", cards=[card]))
    brief = shown(ask("pending", cards=[card], setting=replace(SETTING, detail=Detail.SUMMARY)))
    assert "login" in brief and "--token" not in brief


def test_pending_fits_into_one_message_however_much_is_open() -> None:
    long = "<&\n\u202e𝔘" * 500
    card = waiting(tool=long, tool_input={"command": long}, project=f"/{long}")
    text = shown(ask("pending", cards=[card] * 1000, setting=replace(SETTING, machine=long)))
    assert len(text.splitlines()) == MOST + 2, "no name adds a line of its own"
    assert text.splitlines()[0] == "1000 open"
    assert text.endswith(f"… and {1000 - MOST} more")


# /status


def test_status_tells_how_the_daemon_is() -> None:
    assert shown(ask("status", setting=replace(SETTING, machine="studio"))).splitlines() == [
        "✅ tapgate 0.9 on studio, for 2 h",
        "Telegram: ok, last heard 3 s ago",
        "journal: ok",
        "open: 2 · sessions: 1",
    ]


def test_status_tells_what_is_wrong() -> None:
    health = replace(HEALTH, journal=f"cannot write <{SECRET}>", last_poll_at=None, stale_cards=3)
    lines = shown(ask("status", health=health)).splitlines()
    assert lines[0].startswith("⚠️")
    assert lines[1] == "Telegram: ok, not heard yet"
    assert lines[2].startswith("journal: cannot write <") and SECRET not in lines[2]
    assert lines[-1] == "cards that could not be updated: 3"


# Telegram's menu


class MenuApi(Api):
    def __init__(self, *outcomes: Exception) -> None:
        super().__init__(token="12345:fake", base_url="http://127.0.0.1:9", proxy=None)
        self._outcomes = list(outcomes)
        self._set: list[int] = []

    @property
    def menus(self) -> list[int]:
        return self._set

    async def set_menu(self, chat_id: int, commands: Sequence[tuple[str, str]]) -> None:
        if self._outcomes:
            raise self._outcomes.pop(0)
        self._set.append(chat_id)


def set_up(api: MenuApi) -> tuple[list[int], list[float], list[str]]:
    """The chats whose menu was set, the pauses, the reports."""
    pauses: list[float] = []
    reports: list[str] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def main() -> None:
        await set_menu(api, (1, 2, 1), menu_of(), report=reports.append, sleep=sleep)

    anyio.run(main)
    return api.menus, pauses, reports


def test_each_listed_chat_gets_the_menu_once() -> None:
    assert set_up(MenuApi()) == ([1, 2], [], [])


def test_the_menu_waits_for_telegram_and_gives_up_with_one_report() -> None:
    assert set_up(MenuApi(OutageError("no network"), BusyError(7))) == ([1, 2], [5.0, 30.0], [])
    menus, pauses, reports = set_up(MenuApi(*[OutageError("no network")] * 9))
    assert (menus, pauses) == ([], list(PAUSES_S))
    assert reports == ["the menu of commands could not be set: no network"]


def test_a_chat_that_refuses_the_menu_is_reported_and_the_others_get_it() -> None:
    menus, _, reports = set_up(MenuApi(RefusedError("chat not found")))
    assert (menus, reports) == ([2], ["the menu of commands could not be set in chat 1: chat not found"])
