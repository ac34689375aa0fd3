"""The doctor's own Bot API client, at a real server and where there is none. Whatever happens, the token stays out."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from tapgate.config import Config, Telegram
from tapgate.doctor.bot import HttpBot
from tapgate.doctor.scene import UnreachableError
from tests.simulator.driver import ADA, TOKEN, running


@pytest.fixture
def url() -> Iterator[str]:
    with running() as url:
        yield url


def bot_at(base_url: str, *, token: str = TOKEN, proxy: str | None = None, patience_s: float = 10.0) -> HttpBot:
    return HttpBot(Config(telegram=Telegram(base_url=base_url, proxy=proxy)), token, patience_s=patience_s)


def refused(bot: HttpBot) -> UnreachableError:
    with pytest.raises(UnreachableError) as caught:
        bot.call("getMe")
    error = caught.value
    assert TOKEN not in f"{error} {error.advice} {error.__cause__!r}"
    assert error.__suppress_context__, "a traceback would show the address, and so the token"
    return error


def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def test_an_answer_with_the_servers_date(url: str) -> None:
    answer = bot_at(url).call("getMe")
    assert answer.status == 200 and answer.result["username"]
    assert answer.date is not None and abs(answer.date - time.time()) < 60


def test_refusals_are_answers(url: str) -> None:
    answer = bot_at(url, token="1234567:wrong-token").call("getMe")
    assert (answer.status, answer.description, answer.result) == (401, "Unauthorized", None)
    answer = bot_at(url).call("sendChatAction", chat_id=999, action="typing")
    assert answer.status == 400 and "chat not found" in answer.description
    assert bot_at(url).call("sendChatAction", chat_id=ADA, action="typing").result is True


@pytest.mark.parametrize("kind", ["404html", "502", "garbage", "empty"])
def test_what_is_no_answer_of_the_bot_api_is_seen_as_such(url: str, kind: str) -> None:
    httpx.post(f"{url}/control/faults", json={"method": "getMe", "kind": kind}, trust_env=False).raise_for_status()
    answer = bot_at(url).call("getMe")
    assert answer.value is None and answer.result is None and "not the Bot API's" in answer.description


def test_nobody_listens() -> None:
    error = refused(bot_at(f"http://127.0.0.1:{closed_port()}"))
    assert "nobody listens at 127.0.0.1" in str(error) and "[telegram] proxy" in error.advice


def test_a_name_that_is_not_known() -> None:
    error = refused(bot_at("https://no-such-host.invalid"))
    assert "no-such-host.invalid is not known" in str(error) and "DNS" in error.advice


def test_a_dropped_connection_and_one_that_stalls(url: str) -> None:
    httpx.post(f"{url}/control/faults", json={"method": "getMe", "kind": "drop"}, trust_env=False).raise_for_status()
    assert "broke" in str(refused(bot_at(url)))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = refused(bot_at(f"http://127.0.0.1:{silent.getsockname()[1]}", patience_s=0.2))
    assert "did not answer within 0.2 s" in str(error)


def test_a_certificate_that_is_not_accepted(url: str) -> None:
    """A server that speaks no TLS at all fails in the same place."""
    error = refused(bot_at(url.replace("http://", "https://")))
    assert "certificate" in str(error) and "clock" in error.advice
    assert issubclass(ssl.SSLCertVerificationError, ssl.SSLError)


def test_a_proxy_that_is_gone_or_refuses(url: str) -> None:
    gone = f"http://user:password@127.0.0.1:{closed_port()}"
    error = refused(bot_at(url, proxy=gone))
    assert "the proxy 127.0.0.1" in str(error) and "[telegram] proxy" in error.advice
    assert "password" not in f"{error} {error.advice}"
    # The simulator is a web server and no proxy: it refuses CONNECT.
    error = refused(bot_at("https://api.telegram.org", proxy=url))
    assert "proxy" in str(error) and "[telegram] proxy" in error.advice


def test_proxies_of_the_environment_are_ignored(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    assert bot_at(url).call("getMe").status == 200


def test_a_poll_may_be_held_longer_than_other_calls(url: str) -> None:
    with closing(httpx.Client(base_url=url, trust_env=False)):
        answer = bot_at(url, patience_s=0.5).call("getUpdates", wait_s=30, timeout=1, limit=1)
    assert answer.result == []
