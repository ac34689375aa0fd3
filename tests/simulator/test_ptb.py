"""python-telegram-bot works against the simulator as it does against Telegram."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from telegram import ForceReply, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, ReplyParameters
from telegram.constants import ParseMode
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from .driver import ADA, LINUS, TOKEN, Driver

PLAIN = {"trust_env": False}


def make_bot(sim: Driver, token: str = TOKEN) -> ExtBot[None]:
    return ExtBot(
        token,
        base_url=f"{sim.url}/bot",
        base_file_url=f"{sim.url}/file/bot",
        request=HTTPXRequest(httpx_kwargs=PLAIN),
        get_updates_request=HTTPXRequest(httpx_kwargs=PLAIN),
    )


@pytest.fixture(autouse=True)
def timedelta(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PTB warns about unless it is asked for."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


@pytest.fixture
async def bot(sim: Driver) -> AsyncIterator[ExtBot[None]]:
    async with make_bot(sim) as bot:
        yield bot


async def test_send_tap_answer_edit(sim: Driver, bot: ExtBot[None]) -> None:
    keyboard = InlineKeyboardMarkup(
        [
            [
                InlineKeyboardButton("Allow", callback_data="a", style="success"),
                InlineKeyboardButton("Deny", callback_data="d", style="danger"),
            ],
            [InlineKeyboardButton("Docs", url="https://example.org/docs")],
        ]
    )
    message = await bot.send_message(
        ADA,
        '<b>Bash</b>\n<pre><code class="language-bash">ls &amp;&amp; pwd</code></pre>',
        parse_mode=ParseMode.HTML,
        reply_markup=keyboard,
        disable_notification=True,
        link_preview_options=LinkPreviewOptions(is_disabled=True),
    )
    assert message.text == "Bash\nls && pwd"
    assert message.reply_markup == keyboard
    assert message.entities[1].language == "bash"
    assert (await sim.read("calls"))["calls"][-1]["unknown_params"] == []

    await sim.tap(message.message_id, label="Allow")
    [update] = await bot.get_updates(timeout=5, allowed_updates=["message", "callback_query"])
    query = update.callback_query
    assert query is not None and query.data == "a" and query.from_user.id == ADA
    assert query.message is not None and query.message.message_id == message.message_id
    assert await query.answer("Allowed")
    assert (await sim.read(f"answers/{query.id}"))["text"] == "Allowed"

    edited = await bot.edit_message_text("Allowed by Ada", ADA, message.message_id)
    assert not isinstance(edited, bool)
    assert edited.text == "Allowed by Ada" and edited.edit_date and edited.reply_markup is None
    with pytest.raises(BadRequest, match="Message is not modified"):
        await bot.edit_message_text("Allowed by Ada", ADA, message.message_id)
    assert await bot.get_updates(offset=update.update_id + 1) == ()


async def test_a_forced_reply_comes_back_as_a_reply(sim: Driver, bot: ExtBot[None]) -> None:
    prompt = await bot.send_message(ADA, "Why?", reply_markup=ForceReply(input_field_placeholder="Reason"))
    await sim.say("Too risky", reply_to_message_id=prompt.message_id)
    [update] = await bot.get_updates()
    assert update.message is not None and update.message.reply_to_message is not None
    assert update.message.text == "Too risky"
    assert update.message.reply_to_message.message_id == prompt.message_id
    answer = await bot.send_message(ADA, "Noted", reply_parameters=ReplyParameters(update.message.message_id))
    assert answer.reply_to_message is not None


async def test_documents(sim: Driver, bot: ExtBot[None]) -> None:
    keyboard = InlineKeyboardMarkup.from_button(InlineKeyboardButton("Allow", callback_data="a"))
    message = await bot.send_document(
        ADA,
        document=b"+ line\r\n" * 500,
        filename="Änderung.diff",
        caption="<b>All</b> of it",
        parse_mode=ParseMode.HTML,
        reply_markup=keyboard,
    )
    assert message.document is not None
    assert (message.document.file_name, message.document.file_size) == ("Änderung.diff", 4000)
    assert (message.caption, message.reply_markup) == ("All of it", keyboard)
    [stored] = await sim.messages()
    assert (await sim.client.get(stored["document"]["url"])).content == b"+ line\r\n" * 500
    edited = await bot.edit_message_caption(ADA, message.message_id, caption="Done")
    assert not isinstance(edited, bool) and edited.caption == "Done"
    with pytest.raises(BadRequest, match="no text in the message to edit"):
        await bot.edit_message_text("x", ADA, message.message_id)


async def test_the_small_methods(sim: Driver, bot: ExtBot[None]) -> None:
    message = await bot.send_message(ADA, "x")
    assert (await bot.get_me()).username == "tapgate_bot"
    assert (await bot.get_chat(ADA)).first_name == "Ada"
    assert await bot.set_my_commands([("status", "What is open")])
    assert [command.command for command in await bot.get_my_commands()] == ["status"]
    assert await bot.send_chat_action(ADA, "typing")
    assert await bot.set_message_reaction(ADA, message.message_id, "👍")
    assert await bot.pin_chat_message(ADA, message.message_id)
    assert await bot.unpin_chat_message(ADA)
    assert await bot.edit_message_reply_markup(
        ADA,
        message.message_id,
        reply_markup=InlineKeyboardMarkup.from_button(InlineKeyboardButton("A", callback_data="a")),
    )
    assert await bot.delete_message(ADA, message.message_id)
    assert await bot.delete_webhook()
    assert (await bot.get_webhook_info()).url == ""
    unknown = {name for call in (await sim.read("calls"))["calls"] for name in call["unknown_params"]}
    assert unknown == set()


async def test_refusals_become_ptbs_exceptions(sim: Driver, bot: ExtBot[None]) -> None:
    await sim.control("block", user_id=LINUS, blocked=True)
    with pytest.raises(Forbidden):
        await bot.send_message(LINUS, "x")
    await sim.control("faults", kind="429", retry_after=4)
    with pytest.raises(RetryAfter):
        await bot.send_message(ADA, "x")
    await sim.control("faults", kind="409")
    with pytest.raises(Conflict):
        await bot.get_updates()
    errors = {"500": NetworkError, "502": NetworkError, "drop": NetworkError, "garbage": TelegramError}
    for kind, error in errors.items():
        await sim.control("faults", kind=kind)
        with pytest.raises(error):
            await bot.send_message(ADA, "x")
    assert await sim.messages() == []
    stranger = make_bot(sim, "12345:other")
    with pytest.raises(InvalidToken):
        await stranger.initialize()
    await stranger.shutdown()
