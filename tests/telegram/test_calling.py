"""What python-telegram-bot raises becomes one of four errors, each with a sentence, none with the token."""

from __future__ import annotations

import traceback

import httpx
import pytest
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from tapgate.errors import FrontError
from tapgate.telegram.api import Api, BusyError, ConflictError, OutageError, RefusedError, calling

TOKEN = "123456789:AAH-secret_secret_secret_secret_s"


async def raised(error: Exception, cause: Exception | None = None) -> FrontError:
    async def call() -> None:
        raise error from cause

    with pytest.raises(FrontError) as caught:
        await calling(call())
    return caught.value


async def test_a_result_is_passed_on() -> None:
    async def call() -> str:
        return "fine"

    assert await calling(call()) == "fine"


async def test_429_says_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    error = await raised(RetryAfter(17))
    assert isinstance(error, BusyError)
    assert error.retry_after_s == 17


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
async def test_429_is_understood_in_the_library_s_older_form_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PTB_TIMEDELTA", raising=False)
    error = await raised(RetryAfter(17))
    assert isinstance(error, BusyError)
    assert error.retry_after_s == 17


async def test_409_says_that_somebody_else_polls() -> None:
    error = await raised(Conflict("terminated by other getUpdates request"))
    assert isinstance(error, ConflictError)
    assert error.slow
    assert "another program polls with this bot's token" in str(error)


async def test_a_wrong_token_is_an_outage_to_wait_out_and_not_quoted() -> None:
    error = await raised(InvalidToken(f"The token `{TOKEN}` was rejected by the server."))
    assert isinstance(error, OutageError)
    assert error.slow
    assert not error.unsure
    assert "check [telegram] token" in str(error)
    assert TOKEN not in "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize(
    "error", [BadRequest("Chat not found"), Forbidden("bot was blocked by the user"), ChatMigrated(-100500)]
)
async def test_what_telegram_refuses_is_refused_with_its_words(error: TelegramError) -> None:
    refused = await raised(error)
    assert isinstance(refused, RefusedError)
    assert str(refused) == error.message


@pytest.mark.parametrize(
    ("error", "cause", "unsure"),
    [
        (TimedOut(), None, True),
        (TimedOut(), httpx.ReadTimeout(""), True),
        (TimedOut(), httpx.WriteTimeout(""), True),
        (TimedOut(), httpx.ConnectTimeout(""), False),
        (TimedOut(), httpx.PoolTimeout(""), False),
        (NetworkError("x"), httpx.ReadError(""), True),
        (NetworkError("x"), httpx.RemoteProtocolError(""), True),
        (NetworkError("Bad Gateway"), None, True),
        (NetworkError("x"), httpx.ConnectError(""), False),
        (NetworkError("x"), httpx.ProxyError(""), False),
        (NetworkError("x"), httpx.UnsupportedProtocol(""), False),
        (TelegramError("Invalid server response"), None, True),
    ],
)
async def test_an_outage_knows_whether_the_call_may_have_arrived(
    error: Exception, cause: Exception | None, unsure: bool
) -> None:
    """A message that may have arrived may stand there twice; one that was never sent cannot."""
    outage = await raised(error, cause)
    assert isinstance(outage, OutageError)
    assert outage.unsure is unsure
    assert not outage.slow


async def test_what_cannot_be_encoded_is_refused_and_not_tried_for_ever() -> None:
    try:
        "\ud800".encode()
    except UnicodeEncodeError as cause:
        error = await raised(NetworkError(f"Unknown error in HTTP implementation: {cause!r}"), cause)
    assert isinstance(error, RefusedError)
    assert str(error) == "this cannot be sent (UnicodeEncodeError)"


async def test_an_outage_names_the_kind_and_not_the_address() -> None:
    cause = httpx.ConnectError(f"https://api.telegram.org/bot{TOKEN}/sendMessage")
    error = await raised(NetworkError(f"httpx.ConnectError: {cause}"), cause)
    assert str(error) == "Telegram cannot be reached (ConnectError)"
    assert TOKEN not in "".join(traceback.format_exception(error))


class ScriptedApi(Api):
    """The real client with the network cut off below it."""

    def __init__(self, result: object) -> None:
        super().__init__(token=TOKEN, base_url="http://127.0.0.1:1/", proxy=None)
        self._result = result
        self._asked: list[tuple[str, object, object]] = []

    async def _post(self, endpoint: str, data: object = None, **options: object) -> object:
        self._asked.append((endpoint, data, options))
        return self._result


async def test_each_poll_names_the_updates_it_wants_and_outlasts_its_own_timeout() -> None:
    api = ScriptedApi([{"update_id": 5}])
    assert await api.fetch(offset=5, timeout_s=20) == [{"update_id": 5}]
    assert api._asked == [
        (
            "getUpdates",
            {"offset": 5, "timeout": 20, "allowed_updates": ["message", "callback_query"]},
            {"read_timeout": 35.0},
        )
    ]


async def test_updates_that_are_no_objects_are_dropped() -> None:
    assert await ScriptedApi([5, {"update_id": 5}, None, "x"]).fetch(offset=None, timeout_s=0) == [{"update_id": 5}]


@pytest.mark.parametrize("result", [True, None, "x", {"update_id": 5}])
async def test_an_answer_that_is_no_list_is_an_outage(result: object) -> None:
    with pytest.raises(OutageError, match="makes no sense"):
        await ScriptedApi(result).fetch(offset=None, timeout_s=0)


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1", "http://127.0.0.1:1/"])
async def test_the_token_follows_bot_directly(base_url: str) -> None:
    api = Api(token=TOKEN, base_url=base_url, proxy=None)
    assert api.base_url == f"http://127.0.0.1:1/bot{TOKEN}"
    assert api.base_file_url == f"http://127.0.0.1:1/file/bot{TOKEN}"


async def test_a_proxy_in_the_environment_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token would go there."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    api = Api(token=TOKEN, base_url="https://api.telegram.org", proxy=None)
    proxied = Api(token=TOKEN, base_url="https://api.telegram.org", proxy="http://127.0.0.1:8")
    for request in api._request:
        assert not request._client._mounts  # type: ignore[attr-defined]
        assert request._client.trust_env is False  # type: ignore[attr-defined]
    for request in proxied._request:
        assert request._client._mounts  # type: ignore[attr-defined]


async def test_the_pool_for_polls_can_be_made_anew_even_if_it_cannot_be_closed() -> None:
    api = Api(token=TOKEN, base_url="http://127.0.0.1:1", proxy=None)
    await api.start()
    before = api._polls._client
    await api.rebuild_polls()
    assert before.is_closed
    assert not api._polls._client.is_closed

    async def broken() -> None:
        await type(wedged).aclose(wedged)
        raise RuntimeError("wedged")

    wedged = api._polls._client
    wedged.aclose = broken  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="wedged"):
        await api.rebuild_polls()
    assert not api._polls._client.is_closed
    await api.stop()
