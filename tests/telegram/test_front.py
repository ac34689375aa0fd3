"""The edge: what the desk wants done reaches Telegram, and what came of it reaches the desk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import anyio
import pytest
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter, TelegramError, TimedOut

from tapgate.desk.effects import AnswerTap, AskText, Edit, Post, Retract, Say, ShowHidden, ShowWhole, Sweep, Withdraw
from tapgate.desk.events import (
    CopyGone,
    Edited,
    EditRefused,
    Event,
    PollResumed,
    Posted,
    PostFailed,
    PostUnsure,
    PromptPosted,
    Replied,
    Tapped,
    Ticked,
    WholePosted,
    Withdrawn,
)
from tapgate.model import Copy, Outcome, Prompt
from tapgate.telegram.api import Api
from tapgate.telegram.front import TelegramFront
from tests.builders import make_request

from . import timelapse
from .cards import SETTING, open_card, settled_card
from .test_updates import MESSAGE, QUERY

ADA, GROUP = 1001, -500


@pytest.fixture(autouse=True)
def _timedelta(monkeypatch: pytest.MonkeyPatch) -> None:
    """What python-telegram-bot warns about unless it is asked for."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


class FakeApi(Api):
    """The real client with the network cut off below it: remembers each call, and answers or fails as told."""

    def __init__(self) -> None:
        super().__init__(token="12345:abcdefgh", base_url="http://127.0.0.1:1", proxy=None)
        self._made: list[tuple[str, dict[str, Any], float]] = []
        self._errors: dict[str, list[Exception | object]] = {}
        self._updates: list[dict[str, Any]] = []

    async def _post(self, endpoint: str, data: Any = None, **options: object) -> Any:
        if endpoint == "getUpdates":
            if self._updates:
                updates, self._updates = self._updates, []
                return updates
            await anyio.sleep(data["timeout"] or 0.1)
            return []
        self._made.append((endpoint, dict(data), timelapse.now()))
        if self._errors.get(endpoint):
            outcome = self._errors[endpoint].pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        if endpoint in ("answerCallbackQuery", "deleteMessage"):
            return True
        chat = {"id": data["chat_id"], "type": "private", "first_name": "Ada"}
        return {"message_id": data.get("message_id", 70 + len(self._made)), "date": 0, "chat": chat}

    @property
    def made(self) -> list[tuple[str, dict[str, Any]]]:
        return [(endpoint, data) for endpoint, data, _ in self._made]

    def refuse(self, endpoint: str, *outcomes: Exception | object) -> None:
        self._errors[endpoint] = list(outcomes)


class Edge:
    def __init__(self, api: FakeApi | None = None) -> None:
        self.api = api or FakeApi()
        self.events: list[tuple[Event, int | None]] = []
        self.commands: list[tuple[str, int, int]] = []
        self.reports: list[str] = []
        self.front = TelegramFront(
            self.api,
            emit=self._emit,
            command=self._command,
            setting=SETTING,
            per_chat_s=1.0,
            offset=None,
            last_poll=None,
            wall=lambda: 1_800_000_000.0,
            mono=lambda: asyncio.get_running_loop().time(),
            report=self.reports.append,
        )

    async def _emit(self, event: Event, offset: int | None) -> None:
        if not isinstance(event, PollResumed):
            self.events.append((event, offset))

    async def _command(self, name: str, user_id: int, chat_id: int) -> str | None:
        self.commands.append((name, user_id, chat_id))
        return "<b>told</b>" if name == "help" else None

    @property
    def heard(self) -> list[Event]:
        return [event for event, _ in self.events]


def at_the_edge(main: Callable[[Edge], Coroutine[Any, Any, None]], *, api: FakeApi | None = None) -> Edge:
    async def both() -> Edge:
        edge = Edge(api)
        async with anyio.create_task_group() as group:
            await group.start(edge.front.run)
            await main(edge)
            await edge.front.outbox.drain()
            await anyio.sleep(10)
            group.cancel_scope.cancel()
        return edge

    return timelapse.run(both)


# Cards


def test_a_posted_card_tells_where_it_stands() -> None:
    request = make_request()
    card = replace(open_card(request), version=3)

    async def main(edge: Edge) -> None:
        edge.front.post(Post(card, (ADA, GROUP)))

    edge = at_the_edge(main)
    assert edge.heard == [Posted(request.id, Copy(ADA, 71), 3), Posted(request.id, Copy(GROUP, 72), 3)]
    endpoint, data = edge.api.made[0]
    assert endpoint == "sendMessage"
    assert data["parse_mode"] == "HTML"
    assert data["text"].startswith("🔐 <b>shop</b>")
    assert data["link_preview_options"].is_disabled
    buttons = [button for row in data["reply_markup"].inline_keyboard for button in row]
    assert [button.text for button in buttons][:2] == ["Allow", "Deny"]
    assert [button.style for button in buttons][:3] == ["success", "danger", None]


def test_a_card_whose_html_is_refused_is_sent_without_formatting() -> None:
    request = make_request(tool_input={"command": "a < b && c"})

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", BadRequest("Can't parse entities: Unsupported start tag"))
        edge.front.post(Post(open_card(request), (ADA,)))

    edge = at_the_edge(main)
    assert edge.heard == [Posted(request.id, Copy(ADA, 72), 0)]
    data = edge.api.made[1][1]
    assert data["parse_mode"] != "HTML"
    assert "\na < b && c\n" in data["text"]
    assert data["reply_markup"] is not None
    assert "without formatting" in edge.reports[0]


@pytest.mark.parametrize("error", [Forbidden("bot was blocked by the user"), BadRequest("Chat not found")])
def test_a_card_that_will_never_arrive_is_told(error: TelegramError) -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", error)
        edge.front.post(Post(open_card(request), (ADA,)))

    edge = at_the_edge(main)
    assert edge.heard == [PostFailed(request.id, ADA, error.message)]
    assert len(edge.api.made) == 1


def test_a_card_that_may_have_arrived_is_told_and_sent_again() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", TimedOut())
        edge.front.post(Post(open_card(request), (ADA,)))

    assert at_the_edge(main).heard == [PostUnsure(request.id, ADA), Posted(request.id, Copy(ADA, 72), 0)]


@pytest.mark.parametrize("nonsense", ["fine", True, [], {"message_id": "x"}, {}])
def test_an_answer_that_makes_no_sense_ends_in_a_failure_and_not_in_a_crash(nonsense: object) -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", *[nonsense] * 9)
        edge.front.post(Post(open_card(request), (ADA,)))
        await edge.front.outbox.drain()
        edge.api.refuse("sendMessage")
        edge.front.post(Post(open_card(make_request(2)), (ADA,)))

    edge = at_the_edge(main)
    failed = [event for event in edge.heard if isinstance(event, PostFailed)]
    assert [event.request_id for event in failed] == [request.id]
    assert [event.request_id for event in edge.heard if isinstance(event, Posted)] == [make_request(2).id]


def test_an_edit_is_told_when_it_is_done() -> None:
    request = make_request()
    card = replace(settled_card(request, Outcome.EXPIRED), version=4)

    async def main(edge: Edge) -> None:
        edge.front.edit(Edit(card, (Copy(ADA, 5), Copy(GROUP, 6))))

    edge = at_the_edge(main)
    assert edge.heard == [Edited(request.id, Copy(ADA, 5), 4), Edited(request.id, Copy(GROUP, 6), 4)]
    endpoint, data = edge.api.made[0]
    assert (endpoint, data["chat_id"], data["message_id"]) == ("editMessageText", ADA, 5)
    assert data.get("reply_markup") is None  # the buttons are gone


UNCHANGED = BadRequest("Message is not modified: specified new message content and reply markup are the same")
LOST = BadRequest("Message to edit not found")
REFUSED = BadRequest("Message can't be edited")


@pytest.mark.parametrize(
    ("error", "heard", "reported"),
    [
        (UNCHANGED, Edited(make_request().id, Copy(ADA, 5), 0), False),
        (LOST, CopyGone(make_request().id, Copy(ADA, 5)), True),
    ],
)
def test_an_unchanged_card_is_shown_and_a_deleted_one_is_told(error: Exception, heard: Event, reported: bool) -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", error)
        edge.front.edit(Edit(settled_card(make_request(), Outcome.EXPIRED), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    assert edge.heard == [heard]
    assert bool(edge.reports) is reported
    assert len(edge.api.made) == 1


# Edits that are refused


def test_an_edit_whose_formatting_is_refused_is_made_without() -> None:
    request = make_request(tool_input={"command": "a < b && c"})

    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", BadRequest("Can't parse entities: unsupported start tag"))
        edge.front.edit(Edit(open_card(request), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    assert edge.heard == [Edited(request.id, Copy(ADA, 5), 0)]
    data = edge.api.made[1][1]
    assert data["parse_mode"] != "HTML" and "\na < b && c\n" in data["text"]
    assert data["reply_markup"] is not None and data["link_preview_options"].is_disabled


def test_an_open_card_that_cannot_be_edited_keeps_its_buttons_and_is_not_called_shown() -> None:
    """A new message comes first: without its buttons nobody could say no meanwhile."""
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", *[REFUSED] * 9)
        edge.front.edit(Edit(replace(open_card(request), version=4), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    assert edge.heard == [EditRefused(request.id, Copy(ADA, 5), 4)]
    assert [endpoint for endpoint, _ in edge.api.made] == ["editMessageText"] * 2


def test_a_settled_card_that_cannot_be_edited_loses_its_buttons_and_is_not_called_shown() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", *[REFUSED] * 9)
        edge.front.edit(Edit(settled_card(request, Outcome.DENIED), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    assert edge.heard == [EditRefused(request.id, Copy(ADA, 5), 0)]
    assert [endpoint for endpoint, _ in edge.api.made] == ["editMessageText"] * 2 + ["editMessageReplyMarkup"]


def test_a_blocked_bot_does_not_try_every_way_to_edit() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", Forbidden("bot was blocked by the user"))
        edge.front.edit(Edit(settled_card(request, Outcome.DENIED), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    assert edge.heard == [EditRefused(request.id, Copy(ADA, 5), 0, is_blocked=True)]
    assert len(edge.api.made) == 1


def test_an_edit_that_is_answered_with_nonsense_is_not_called_shown() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", *[{"message_id": "x"}] * 9)
        edge.front.edit(Edit(open_card(request), (Copy(ADA, 5),)))

    assert at_the_edge(main).heard == [EditRefused(request.id, Copy(ADA, 5), 0)]


def test_a_429_in_the_middle_goes_on_where_it_was() -> None:
    """Otherwise a Telegram that refuses and slows down in turn would be asked again without end."""
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", REFUSED, RetryAfter(5), REFUSED)
        edge.api.refuse("editMessageReplyMarkup", RetryAfter(5), UNCHANGED)
        edge.front.edit(Edit(settled_card(request, Outcome.DENIED), (Copy(ADA, 5),)))
        await anyio.sleep(60)

    edge = at_the_edge(main)
    assert edge.heard == [EditRefused(request.id, Copy(ADA, 5), 0)]
    modes = [data.get("parse_mode") for endpoint, data in edge.api.made if endpoint == "editMessageText"]
    assert [mode == "HTML" for mode in modes] == [True, False, False]
    assert len(edge.api.made) == 5


def test_a_refused_edit_does_not_hold_up_what_comes_after_it() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageText", *[REFUSED] * 9)
        edge.front.edit(Edit(open_card(make_request()), (Copy(ADA, 5),)))
        edge.front.post(Post(open_card(make_request(2)), (ADA,)))

    assert Posted(make_request(2).id, Copy(ADA, 73), 0) in at_the_edge(main).heard


def test_a_card_that_replaces_another_says_which_and_one_that_tells_an_end_is_silent() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.front.post(Post(open_card(request), (ADA,), reply_to=5))
        edge.front.post(Post(settled_card(request, Outcome.DENIED), (ADA,), reply_to=5, is_silent=True))

    (_, first), (_, second) = at_the_edge(main).api.made
    assert first["reply_parameters"].message_id == second["reply_parameters"].message_id == 5
    assert not first.get("disable_notification") and second["disable_notification"]


def test_the_message_that_tells_an_end_is_not_taken_back_by_the_next_edit() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", RetryAfter(30))
        edge.front.post(Post(settled_card(request, Outcome.DENIED), (ADA,), reply_to=5, is_silent=True))
        await anyio.sleep(5)
        edge.front.edit(Edit(settled_card(request, Outcome.DENIED), (Copy(ADA, 5),)))
        await anyio.sleep(60)

    assert any(isinstance(event, Posted) for event in at_the_edge(main).heard)


@pytest.mark.parametrize(
    ("errors", "heard"),
    [
        ({}, Withdrawn(make_request().id, Copy(ADA, 5))),
        ({"editMessageText": REFUSED}, Withdrawn(make_request().id, Copy(ADA, 5))),
        ({"editMessageText": LOST}, CopyGone(make_request().id, Copy(ADA, 5))),
        ({"editMessageText": REFUSED, "editMessageReplyMarkup": UNCHANGED}, Withdrawn(make_request().id, Copy(ADA, 5))),
        ({"editMessageText": REFUSED, "editMessageReplyMarkup": REFUSED}, None),
    ],
)
def test_a_replaced_card_is_withdrawn_once_telegram_says_so(errors: dict[str, Exception], heard: Event | None) -> None:
    async def main(edge: Edge) -> None:
        for endpoint, error in errors.items():
            edge.api.refuse(endpoint, error)
        edge.front.withdraw(Withdraw(make_request().id, Copy(ADA, 5)))

    edge = at_the_edge(main)
    assert edge.heard == ([heard] if heard is not None else [])
    assert edge.api.made[0][1].get("reply_markup") is None
    assert bool(edge.reports) is (heard is None)


def test_a_card_that_is_refused_with_its_formatting_for_any_reason_is_tried_without() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", BadRequest("ENTITY_BOUNDS_INVALID"))
        edge.front.post(Post(open_card(make_request()), (ADA,)))

    assert at_the_edge(main).heard == [Posted(make_request().id, Copy(ADA, 72), 0)]


def test_a_card_that_cannot_be_posted_with_its_buttons_is_not_posted() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", *[BadRequest("BUTTON_DATA_INVALID")] * 9)
        edge.front.post(Post(open_card(make_request()), (ADA,)))

    edge = at_the_edge(main)
    assert edge.heard == [PostFailed(make_request().id, ADA, "BUTTON_DATA_INVALID")]
    assert len(edge.api.made) == 2


def test_a_card_that_is_settled_before_it_was_sent_is_not_sent_at_all() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", RetryAfter(30))
        edge.front.post(Post(open_card(request), (ADA,)))
        await anyio.sleep(5)
        edge.front.edit(Edit(settled_card(request, Outcome.TERMINAL_ALLOWED), ()))
        await anyio.sleep(100)

    edge = at_the_edge(main)
    assert len(edge.api.made) == 1
    assert edge.heard == []


def test_of_several_edits_of_a_card_the_last_one_is_sent() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        for version in range(1, 9):
            edge.front.edit(Edit(replace(open_card(request), version=version), (Copy(ADA, 5),)))

    assert at_the_edge(main).heard == [Edited(request.id, Copy(ADA, 5), 8)]


# Taps are answered at once


def answered(text: str, *, alert: bool = False) -> dict[str, Any]:
    async def main(edge: Edge) -> None:
        edge.front.answer_tap(AnswerTap("q1", text, alert))

    ((endpoint, data),) = at_the_edge(main).api.made
    assert endpoint == "answerCallbackQuery"
    assert data["callback_query_id"] == "q1"
    return data


def test_a_tap_is_answered_with_its_words() -> None:
    assert answered("Allow: sending…")["text"] == "Allow: sending…"
    assert answered("No.", alert=True)["show_alert"] is True
    assert answered("").get("text") is None


def test_an_answer_is_never_longer_than_telegram_takes_and_always_sendable() -> None:
    assert answered("🎉" * 150)["text"] == "🎉" * 100
    assert answered("x" * 500)["text"] == "x" * 200
    text = answered("Always allow `\ud800\u202e`")["text"]
    assert text == "Always allow `⟨U+D800⟩⟨U+202E⟩`"


def test_no_secret_of_a_rule_stands_in_a_tap_s_answer_or_in_what_is_said() -> None:
    """Both quote the answer's label, which holds the rule. Cut in two a secret looks like none, so masks come first."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    for before in (10, 160, 180):
        label = f"Always allow `curl {'x' * before} -H 'X: {token}'` in this project: sending…"
        assert token[4:16] not in answered(label)["text"]

    async def main(edge: Edge) -> None:
        edge.front.say(Say(ADA, 5, f"Bob was first: Always allow `curl {token}`. {'x' * 9000}"))

    ((_, data),) = at_the_edge(main).api.made
    assert token[4:16] not in data["text"] and len(data["text"]) <= 4096


def test_a_tap_s_answer_does_not_wait_behind_messages() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", RetryAfter(60))
        for number in range(9):
            edge.front.post(Post(open_card(make_request(number)), (ADA,)))
        await anyio.sleep(2)
        edge.front.answer_tap(AnswerTap("q1", "sending…"))
        await anyio.sleep(0)

    made = at_the_edge(main).api._made
    assert [when for endpoint, _, when in made if endpoint == "answerCallbackQuery"] == [2]


def test_a_tap_that_is_too_old_is_let_go_and_an_outage_tried_once_more() -> None:
    async def old(edge: Edge) -> None:
        edge.api.refuse("answerCallbackQuery", BadRequest("Query is too old and response timeout expired"))
        edge.front.answer_tap(AnswerTap("q1", "x"))

    async def down(edge: Edge) -> None:
        edge.api.refuse("answerCallbackQuery", NetworkError("down"), NetworkError("down"))
        edge.front.answer_tap(AnswerTap("q1", "x"))

    async def strange(edge: Edge) -> None:
        edge.api.refuse("answerCallbackQuery", ZeroDivisionError("?"))
        edge.front.answer_tap(AnswerTap("q1", "x"))

    assert len(at_the_edge(old).api.made) == 1
    assert len(at_the_edge(down).api.made) == 2
    assert len(at_the_edge(strange).api.made) == 1


# Prompts, files, lines


def test_a_reason_is_asked_for_with_a_forced_reply() -> None:
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.front.ask_text(AskText(open_card(request), ADA, 5, Prompt(ADA)))

    edge = at_the_edge(main)
    ((endpoint, data),) = edge.api.made
    assert endpoint == "sendMessage"
    assert data["text"] == "Why not? Reply to this message; the agent gets your words."
    assert data["reply_markup"].force_reply
    assert data["reply_parameters"].message_id == 5
    assert edge.heard == [PromptPosted(request.id, Copy(ADA, 71), Prompt(ADA))]


def test_in_a_group_the_person_who_tapped_is_named() -> None:
    async def main(edge: Edge) -> None:
        edge.front.ask_text(AskText(open_card(make_request()), GROUP, 5, Prompt(ADA)))

    text = at_the_edge(main).api.made[0][1]["text"]
    assert text.startswith('<a href="tg://user?id=1001">You</a>: why not? ')


def test_the_whole_content_goes_out_as_a_file() -> None:
    request = make_request(tool_input={"command": "x" * 9000})

    async def main(edge: Edge) -> None:
        edge.front.show_whole(ShowWhole(open_card(request), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    ((endpoint, data),) = edge.api.made
    assert endpoint == "sendDocument"
    assert data["document"].input_file_content.startswith(b"x" * 9000)
    assert data["reply_parameters"].message_id == 5
    assert edge.heard == [WholePosted(request.id, ADA)]


def test_what_no_file_can_hold_is_said_and_not_called_seen() -> None:
    request = make_request()
    flood = replace(request, input={"command": "\x7f" * 5_000_000})

    async def main(edge: Edge) -> None:
        edge.front.show_whole(ShowWhole(replace(open_card(request), request=flood), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    ((endpoint, data),) = edge.api.made
    assert endpoint == "sendMessage"
    assert "This cannot be shown" in data["text"]
    assert edge.heard == []


def test_a_file_that_was_not_taken_is_not_called_seen() -> None:
    """Otherwise content would be allowed that nobody could look at."""

    async def main(edge: Edge) -> None:
        edge.api.refuse("sendDocument", BadRequest("file is too big"))
        edge.front.show_whole(ShowWhole(open_card(make_request()), (Copy(ADA, 5),)))

    edge = at_the_edge(main)
    assert edge.heard == []
    assert edge.reports == ["a file could not be sent to chat 1001: file is too big"]
    assert edge.api.made[1][1]["text"] == "The file could not be sent: file is too big."


def test_a_prompt_is_deleted_and_one_that_is_gone_is_no_trouble() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("deleteMessage", BadRequest("Message to delete not found"))
        edge.front.retract(Retract(Copy(ADA, 5)))
        edge.front.retract(Retract(Copy(ADA, 6)))

    edge = at_the_edge(main)
    assert [(endpoint, data["message_id"]) for endpoint, data in edge.api.made] == [
        ("deleteMessage", 5),
        ("deleteMessage", 6),
    ]
    assert edge.reports == []


class SlowApi(FakeApi):
    """A first send that takes its time, and then fails."""

    async def _post(self, endpoint: str, data: Any = None, **options: object) -> Any:
        if endpoint == "sendMessage" and not self.made:
            self._made.append((endpoint, dict(data), timelapse.now()))
            await anyio.sleep(5)
            raise TimedOut
        return await super()._post(endpoint, data, **options)


def test_no_card_is_sent_again_for_a_request_that_ended_while_it_was_on_its_way() -> None:
    """It would wake somebody with buttons that count for nothing."""
    request = make_request()

    async def main(edge: Edge) -> None:
        edge.front.post(Post(open_card(request), (ADA,)))
        await anyio.sleep(1)
        edge.front.edit(Edit(settled_card(request, Outcome.SESSION_ENDED), ()))

    edge = at_the_edge(main, api=SlowApi())
    assert [endpoint for endpoint, _ in edge.api.made] == ["sendMessage"]
    assert edge.heard == [PostUnsure(request.id, ADA)], "but it may have arrived, and is looked for"


def test_a_line_is_said_as_it_is_unless_it_is_meant_as_html() -> None:
    """A name or a label in it must not become markup."""

    async def main(edge: Edge) -> None:
        edge.front.say(Say(ADA, 5, "Ada was first: Always allow `<b>a & c</b>`."))
        edge.front.say(Say(ADA, 6, "<b>shop</b>", is_html=True))

    edge = at_the_edge(main)
    (_, first), (_, second) = edge.api.made
    assert first["text"] == "Ada was first: Always allow `&lt;b&gt;a &amp; c&lt;/b&gt;`."
    assert second["text"] == "<b>shop</b>"
    assert first["parse_mode"] == second["parse_mode"] == "HTML"
    assert first["reply_parameters"].message_id == 5


def test_a_line_that_is_refused_for_another_reason_is_not_said_twice() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", Forbidden("bot was blocked by the user"))
        edge.front.say(Say(ADA, 5, "hello"))

    edge = at_the_edge(main)
    assert len(edge.api.made) == 1
    assert edge.reports == ["Telegram refused: bot was blocked by the user"]


def test_unknown_copies_lose_their_buttons_and_known_ones_keep_them() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("editMessageReplyMarkup", BadRequest("message can't be edited"))
        edge.front.sweep(Sweep(ADA, after=10, before=14, known=frozenset({12})))
        await anyio.sleep(10)

    edge = at_the_edge(main)
    assert [(endpoint, data["message_id"]) for endpoint, data in edge.api.made] == [
        ("editMessageReplyMarkup", 13),  # not ours: nothing happened to it
        ("editMessageReplyMarkup", 11),
        ("editMessageText", 11),
    ]


# In


def test_taps_replies_and_commands_come_in_with_their_offset() -> None:
    async def main(edge: Edge) -> None:
        plain = {key: value for key, value in MESSAGE.items() if key != "reply_to_message"}
        edge.api._updates = [
            {"update_id": 5, "callback_query": QUERY},
            {"update_id": 6, "message": MESSAGE},
            {"update_id": 7, "message": {**plain, "text": "/history"}},
            {"update_id": 8, "message": {**plain, "text": "hello"}},
            {"update_id": 9, "callback_query": {"id": "no sender"}},
            {"update_id": 10, "callback_query": QUERY},
        ]
        await anyio.sleep(30)

    edge = at_the_edge(main)
    assert [(type(event), offset) for event, offset in edge.events] == [
        (Tapped, 6),
        (Replied, 7),
        (Ticked, 8),
        (Ticked, 9),
        (Tapped, 11),
    ]
    assert edge.commands == [("history", 1001, 1001)]
    assert len(edge.reports) == 1
    assert "update 9 could not be taken" in edge.reports[0]


def test_the_last_moments_are_not_longer_than_they_may_be() -> None:
    async def main(edge: Edge) -> None:
        edge.api.refuse("sendMessage", *[NetworkError("down")] * 99)
        edge.front.post(Post(open_card(make_request()), (ADA,)))
        begun = timelapse.now()
        await edge.front.drain(8)
        assert timelapse.now() - begun == 8
        edge.api.refuse("sendMessage")

    at_the_edge(main)


def test_nothing_goes_out_that_has_no_utf_8_form() -> None:
    """python-telegram-bot would call it a network error, and it would be tried for ever."""
    request = make_request(
        tool="\ud800", tool_input={"command": "\ud800\udc00 \ud800"}, suggestions=({"type": "\ud800"},)
    )

    async def main(edge: Edge) -> None:
        edge.front.post(Post(open_card(request), (ADA,)))
        edge.front.say(Say(ADA, 5, "Ada was first: Allow with “\ud800”."))
        edge.front.show_whole(ShowWhole(open_card(request), (Copy(ADA, 5),)))

    made = at_the_edge(main).api.made
    assert [endpoint for endpoint, _ in made] == ["sendMessage", "sendMessage", "sendDocument"]
    assert made[1][1]["text"] == "Ada was first: Allow with “⟨U+D800⟩”."
    for _, data in made[:2]:
        assert data["text"].encode()
    assert all(button.text.encode() for row in made[0][1]["reply_markup"].inline_keyboard for button in row)
    assert made[2][1]["document"].filename.encode()


# What is hidden

TWO_WORDS = "hunter two"


def hidden_card(command: str) -> Any:
    return open_card(make_request(tool_input={"command": command}, suggestions=()))


def test_what_is_hidden_goes_out_in_the_clear_as_a_reply_to_the_card() -> None:
    async def main(edge: Edge) -> None:
        edge.front.show_hidden(ShowHidden(hidden_card(f"sshpass -p '{TWO_WORDS}' ssh h"), Copy(ADA, 5)))

    ((endpoint, data),) = at_the_edge(main).api.made
    assert endpoint == "sendMessage"
    assert data["text"] == (f"🔓 <b>Hidden on this card, here in the clear:</b>\na password:\n<pre>{TWO_WORDS}</pre>")
    assert (data["chat_id"], data["reply_parameters"].message_id) == (ADA, 5)


def test_much_that_is_hidden_goes_out_as_a_file() -> None:
    words = "hunter two " * 360

    async def main(edge: Edge) -> None:
        edge.front.show_hidden(ShowHidden(hidden_card(f"sshpass -p '{words}' ssh h"), Copy(ADA, 5)))

    ((endpoint, data),) = at_the_edge(main).api.made
    assert endpoint == "sendDocument"
    assert words.encode() in data["document"].input_file_content


def test_one_token_is_not_sent_whoever_asks() -> None:
    async def main(edge: Edge) -> None:
        edge.front.show_hidden(ShowHidden(hidden_card("DB_PASSWORD=Qx9zKp2mW7 ls"), Copy(ADA, 5)))

    ((_, data),) = at_the_edge(main).api.made
    assert "Qx9zKp2mW7" not in data["text"]


def test_the_answer_to_a_command_goes_to_the_message_that_asked() -> None:
    async def main(edge: Edge) -> None:
        plain = {key: value for key, value in MESSAGE.items() if key != "reply_to_message"}
        edge.api._updates = [
            {"update_id": 7, "message": {**plain, "text": "/help"}},
            {"update_id": 8, "message": {**plain, "text": "/history"}},
        ]
        await anyio.sleep(30)

    edge = at_the_edge(main)
    [(endpoint, data)] = edge.api.made
    assert (endpoint, data["chat_id"], data["text"]) == ("sendMessage", 1001, "<b>told</b>")
    assert data["reply_parameters"].message_id == 9
