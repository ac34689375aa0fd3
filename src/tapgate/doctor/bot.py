"""The Bot API for the doctor: one plain call at a time, with the server's Date. Never sends what it was not told to.

The daemon's client hides headers and mends what it can; here both would be in the way.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from tapgate.config import Config
from tapgate.doctor.scene import ApiAnswer, UnreachableError

PATIENCE_S = 10.0


class HttpBot:
    def __init__(self, config: Config, token: str, *, patience_s: float = PATIENCE_S) -> None:
        self._base = f"{config.telegram.base_url.rstrip('/')}/bot{token}"
        self._host = urlsplit(config.telegram.base_url).netloc.rpartition("@")[2]
        self._proxy = config.telegram.proxy
        self._patience_s = patience_s

    def call(self, method: str, /, *, wait_s: float = 0.0, **params: Any) -> ApiAnswer:
        timeout = httpx.Timeout(self._patience_s, read=self._patience_s + wait_s)
        try:
            # trust_env: as in the daemon, a *_PROXY variable must not decide where the token goes.
            with httpx.Client(proxy=self._proxy, trust_env=False, timeout=timeout) as client:
                response = client.post(f"{self._base}/{method}", json=params)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._explain(error) from None
        return ApiAnswer(response.status_code, _read_object(response.content), _read_date(response.headers.get("date")))

    def _explain(self, error: BaseException) -> UnreachableError:
        """In words. The text of the error itself is never used: it may hold the address, and so the token."""
        causes = {type(cause) for cause in _causes(error)}
        if isinstance(error, httpx.ProxyError):
            return UnreachableError(
                "the proxy refuses or is no proxy",
                "check [telegram] proxy in the config, its name and password included",
            )
        if any(issubclass(cause, ssl.SSLError) for cause in causes):
            return UnreachableError(
                f"the certificate of {self._host} is not accepted",
                "check this machine's clock first; then whether something in between reads your traffic",
            )
        where, advice = self._host, "check the network, and whether a firewall wants a proxy: [telegram] proxy"
        if self._proxy is not None:
            where = f"the proxy {urlsplit(self._proxy).netloc.rpartition('@')[2]}"
            advice = "check that the proxy runs, and [telegram] proxy in the config"
        if any(issubclass(cause, socket.gaierror) for cause in causes):
            return UnreachableError(f"the name of {where} is not known here", f"no network, or no DNS? {advice}")
        if any(issubclass(cause, ConnectionRefusedError) for cause in causes):
            return UnreachableError(f"nobody listens at {where}", advice)
        if isinstance(error, httpx.TimeoutException):
            return UnreachableError(f"{where} did not answer within {self._patience_s:g} s", advice)
        return UnreachableError(f"the connection to {where} broke ({type(error).__name__})", advice)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _read_object(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "ok" in value else None


def _read_date(text: str | None) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
