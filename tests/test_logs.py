"""No log line holds a bot token or a masked value: not in a message, an argument or a traceback, in no form."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import socket
import tomllib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from telegram.error import InvalidToken

from tapgate.cli.daemon import FormatOption, LevelOption
from tapgate.daemon.logs import LogFormat, LogLevel, settle_format, start_logging
from tapgate.errors import redact
from tapgate.telegram.api import Api, OutageError, calling
from tests.builders import event_bytes
from tests.e2e.world import World, finish, new_world
from tests.secrets import found_in
from tests.simulator.driver import TOKEN as TOKEN_OF_WORLD

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
    levels = {name: logging.getLogger(name).level for name in ("httpx", "httpcore", "telegram", "asyncio")}
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


# The forms


@pytest.fixture
def logged(log: Log) -> Callable[[LogFormat], Log]:
    """Logging in another form, into the same string."""

    def start(form: LogFormat) -> Log:
        start_logging(logging.DEBUG, log, form=form)
        return log

    return start


def fail_with(text: str) -> None:
    try:
        raise OSError(text)
    except OSError:
        logging.getLogger("tapgate").exception("it failed:\n%s", text)


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.DEBUG, 7), (logging.INFO, 6), (logging.WARNING, 4), (logging.ERROR, 3), (logging.CRITICAL, 2)],
)
def test_the_journal_gets_each_line_with_its_priority(
    logged: Callable[[LogFormat], Log], level: int, priority: int
) -> None:
    log = logged(LogFormat.JOURNAL)
    logging.getLogger("tapgate").log(level, "hello")
    logging.getLogger("a.library").log(level, "hello")
    assert log.lines() == [f"<{priority}>hello", f"<{priority}>a.library: hello"]


def test_the_journal_gets_one_line_for_each_record_also_for_a_traceback(logged: Callable[[LogFormat], Log]) -> None:
    """Otherwise every line of it would be an entry of its own, and a line could give itself a priority."""
    log = logged(LogFormat.JOURNAL)
    fail_with("first\n<0>second\r<0>third\u2028<0>fourth")
    (line,) = log.lines()
    assert line.startswith("<3>it failed: | first | <0>second") and "Traceback" in line


def test_json_has_one_object_a_line_with_time_level_logger_and_message(logged: Callable[[LogFormat], Log]) -> None:
    log = logged(LogFormat.JSON)
    logging.getLogger("tapgate").warning('say "%s"', "hello\nü")
    fail_with("why")
    logging.getLogger("tapgate").warning("%d", "no number")
    first, second, third = (json.loads(line) for line in log.getvalue().splitlines())
    assert set(first) == {"time", "level", "logger", "message"}
    assert (first["level"], first["logger"], first["message"]) == ("warning", "tapgate", 'say "hello\nü"')
    assert datetime.fromisoformat(first["time"]).tzinfo is not None
    assert "OSError: why" in second["traceback"]
    assert "no number" in third["message"]


@pytest.mark.parametrize("form", [LogFormat.HUMAN, LogFormat.JOURNAL, LogFormat.JSON])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"https://api.telegram.org/bot{TOKEN}/getMe", SECRET),
        ("curl -H 'Authorization: Bearer abcDEF123456ghiJKL789'", "abcDEF123456ghiJKL789"),
        ("PGPASSWORD=correct-horse-battery psql", "correct-horse-battery"),
        ("postgres://ada:correct-horse-battery@db/shop", "correct-horse-battery"),
        ('{"password": "correct-horse-battery"}', "correct-horse-battery"),
    ],
)
def test_neither_a_token_nor_what_a_card_would_mask_is_logged_in_any_form(
    logged: Callable[[LogFormat], Log], form: LogFormat, text: str, secret: str
) -> None:
    log = logged(form)
    logger = logging.getLogger("tapgate")
    logger.warning("%s", text)
    logger.warning(text.replace("%", "%%"))
    logger.warning("%s and %s", text)
    logger.warning("stack", stack_info=True)
    fail_with(text)
    assert secret not in log.getvalue()
    assert len(log.lines()) >= 5


@pytest.mark.parametrize("form", [LogFormat.HUMAN, LogFormat.JOURNAL, LogFormat.JSON])
def test_every_secret_of_the_corpus_is_kept_out_of_every_form(
    logged: Callable[[LogFormat], Log], form: LogFormat
) -> None:
    log = logged(form)
    entries = tomllib.loads((Path(__file__).parent / "data" / "secrets.toml").read_text(encoding="utf-8"))["hidden"]
    lines = [line.replace("¦", "").replace("⟦", "").replace("⟧", "") for entry in entries for line in entry["lines"]]
    assert found_in("\n".join(lines)), "the search finds what is there"
    for line in lines:
        logging.getLogger("tapgate").warning("a caller was dropped (ValueError: %s)", line)
    assert found_in(log.getvalue()) == []


def test_the_form_is_the_journals_only_where_stderr_goes_there(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        found = os.fstat(file.fileno())
        here = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
        assert settle_format(LogFormat.AUTO, environ=here, fd=file.fileno()) is LogFormat.JOURNAL
        for other in ({}, {"JOURNAL_STREAM": "1:1"}, {"JOURNAL_STREAM": ""}):
            assert settle_format(LogFormat.AUTO, environ=other, fd=file.fileno()) is LogFormat.HUMAN
        assert settle_format(LogFormat.JSON, environ=here, fd=file.fileno()) is LogFormat.JSON
        fd = file.fileno()
    assert settle_format(LogFormat.AUTO, environ=here, fd=fd) is LogFormat.HUMAN, "closed"


def test_the_command_line_offers_the_same_forms_and_levels() -> None:
    assert [form.value for form in FormatOption] == [form.value for form in LogFormat]
    assert [level.value for level in LevelOption] == [level.value for level in LogLevel]
    assert LogLevel.DEBUG.number == logging.DEBUG and LogLevel.ERROR.number == logging.ERROR


# The real daemon


def speak_of_secrets(world: World) -> None:
    """All that a daemon complains about, with a secret in each."""
    secret = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
    for body in (
        event_bytes(tool_input={"command": f"GITHUB_TOKEN={secret} gh pr list"}, event=f"Unknown{secret}"),
        event_bytes(tool=f"Bash{secret}", tool_input={"x": [secret]}, suggestions=({"type": secret},)),
        b'{"hook_event_name": 5, "token": "' + secret.encode() + b'"}',
        b"token=" + secret.encode(),
    ):
        caller = world.ask(body, deadline_s=1)
        finish(caller)
    finish(world.ask(event_bytes(), agent=f"agent-{secret}", deadline_s=1))
    with socket.socket(socket.AF_UNIX) as guest:
        guest.connect(str(world.socket_path))
        guest.sendall(f"tapgate/1 ask 5 id={secret} token={secret}\nxx".encode())
    world.post("faults", method="sendMessage", kind="garbage", times=2)
    caller = world.ask(event_bytes(tool_input={"command": f"curl -H 'Authorization: Bearer {secret}' x"}))
    card = world.open_card()
    world.tap(card, "Deny with a reason…")
    world.reply(f"the password is {secret}", world.prompt())
    assert secret.encode() in finish(caller)[0], "the agent gets it as it is"
    assert secret not in world.errors() and TOKEN_OF_WORLD not in world.errors()


@pytest.mark.parametrize("form", ["human", "journal", "json"])
def test_a_whole_session_at_debug_leaves_no_secret_in_the_daemons_log(form: str) -> None:
    with new_world() as world:
        world.daemon_words = ("--log-format", form)
        world.start_daemon(ready=form == "human")
        world.until(lambda: world.get("state")["pollers"])
        speak_of_secrets(world)
        assert world.stop_daemon() == 0
        lines = world.errors().splitlines()
        assert [line for line in lines if "caller" in line], "it did speak"
        if form == "json":
            assert all(json.loads(line)["message"] for line in lines)
            assert "tapgate is ready" in world.errors()
        if form == "journal":
            assert all(re.match(r"<[2-7]>\S", line) for line in lines)
