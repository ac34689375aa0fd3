"""No log line holds a bot token: not in a message, a URL, an argument or a traceback, at any level."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from telegram.error import InvalidToken

from tapgate.daemon.logs import start_logging
from tapgate.errors import redact
from tapgate.telegram.api import Api, OutageError, calling

TOKEN = "123456789:AAH-secret_secret_secret_secret_s"
SECRET = TOKEN.partition(":")[2]


class Log(io.StringIO):
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()


@pytest.fixture
def log() -> Iterator[Log]:
    """Logging at DEBUG into a string; everything is put back afterwards."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    levels = {name: logging.getLogger(name).level for name in ("httpx", "httpcore", "telegram")}
    stream = Log()
    start_logging(logging.DEBUG, stream)
    yield stream
    root.handlers[:], level = before
    root.setLevel(level)
    for name, found in levels.items():
        logging.getLogger(name).setLevel(found)


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"https://api.telegram.org/bot{TOKEN}/sendMessage",
        f"https://api.telegram.org/bot{quote(TOKEN, safe='')}/sendMessage",
        f"https://api.telegram.org/bot{quote(TOKEN, safe='').lower()}/sendMessage",
        f"The token `{TOKEN}` was rejected",
        f"x{TOKEN}x",
        f'{{"token":"{TOKEN}"}}',
        f"{TOKEN} and {TOKEN}",
        "12345:abcdefgh",
    ],
)
def test_a_token_is_taken_out_wherever_it_stands(text: str) -> None:
    shown = redact(text)
    assert "<token>" in shown
    assert SECRET.lower() not in shown.lower()
    assert "abcdefgh" not in shown


@pytest.mark.parametrize("text", ["12:30:45", "10.0.0.1:8080", "1234:abcdefgh", "pid 12345: gone", "12345:abc", ""])
def test_what_is_no_token_stays(text: str) -> None:
    assert redact(text) == text


def test_a_message_and_its_arguments_are_redacted(log: Log) -> None:
    logging.getLogger("tapgate").warning("polling %s as %r", f"/bot{TOKEN}/getUpdates", {"token": TOKEN})
    assert SECRET not in log.getvalue()
    assert "polling /bot<token>/getUpdates as {'token': '<token>'}" in log.getvalue()


def test_a_traceback_is_redacted_with_its_causes_and_its_source_lines(log: Log) -> None:
    try:
        try:
            raise InvalidToken(f"The token `{TOKEN}` was rejected by the server.")
        except InvalidToken as error:
            raise OSError(f"cannot reach https://api.telegram.org/bot{TOKEN}/getMe") from error
    except OSError:
        logging.getLogger("tapgate").exception("it failed")
    assert "Traceback" in log.getvalue()
    assert "InvalidToken: The token `<token>` was rejected" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_a_group_of_exceptions_and_a_stack_are_redacted(log: Log) -> None:
    logger = logging.getLogger("tapgate")
    try:
        raise ExceptionGroup("several", [ValueError(TOKEN), ExceptionGroup(TOKEN, [KeyError(TOKEN)])])
    except ExceptionGroup:
        logger.error("it failed", exc_info=True, stack_info=True)
    assert "ExceptionGroup: several" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_a_message_that_cannot_be_put_together_is_redacted_too(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """Python would print the message and its arguments to stderr as they are."""
    start_logging(logging.DEBUG, log)  # pytest's own handlers, which would raise, are off now
    logging.getLogger("tapgate").warning("%s of %s", f"/bot{TOKEN}/")
    logging.getLogger("tapgate").warning("%d", TOKEN)
    printed = capsys.readouterr()
    assert SECRET not in log.getvalue() + printed.err + printed.out
    assert len(log.lines()) == 2
    assert "%s of %s" in log.lines()[0]


def test_other_loggers_are_redacted_as_well(log: Log) -> None:
    for name in ("asyncio", "httpx", "httpcore.http11", "telegram.ext.ExtBot", "uvicorn", "some.library"):
        logging.getLogger(name).error("POST https://api.telegram.org/bot%s/sendMessage", TOKEN)
    assert len(log.lines()) == 6
    assert SECRET not in log.getvalue()


@pytest.mark.parametrize("name", ["httpx", "httpcore", "httpcore.connection", "telegram", "telegram.Bot"])
def test_the_libraries_that_log_every_address_are_quiet_even_at_debug(log: Log, name: str) -> None:
    logging.getLogger(name).debug("x")
    logging.getLogger(name).info("x")
    assert log.lines() == []
    logging.getLogger(name).warning("x")
    assert len(log.lines()) == 1


async def test_a_real_call_that_fails_leaves_no_token_in_the_log(log: Log) -> None:
    """The whole client, at DEBUG, against a port where nobody listens."""
    api = Api(token=TOKEN, base_url="http://127.0.0.1:1", proxy=None)
    await api.start()
    try:
        with pytest.raises(OutageError) as caught:
            await calling(api.fetch(offset=None, timeout_s=0))
        logging.getLogger("tapgate").warning("%s", caught.value, exc_info=caught.value)
        logging.getLogger("tapgate").debug("%r %s", api, api.base_url)
    finally:
        await api.stop()
    assert "Telegram cannot be reached (ConnectError)" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_what_httpx_says_of_a_request_is_redacted_when_it_is_let_through(log: Log) -> None:
    logging.getLogger("httpx").setLevel(logging.DEBUG)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200)

    with httpx.Client(transport=httpx.MockTransport(answer), trust_env=False) as client:
        client.get(f"https://api.telegram.org/bot{TOKEN}/getMe")
    assert "/bot<token>/getMe" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_each_line_says_when_how_bad_and_where_from(log: Log) -> None:
    logging.getLogger("tapgate").warning("hello")
    (line,) = log.lines()
    assert line.endswith(" WARNING tapgate: hello")
    assert line[:4].isdigit()
