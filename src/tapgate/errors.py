"""The one error base class. Each error says what is wrong and what to do next, in words for a person."""

from __future__ import annotations

import re

# Without \b: in a URL the token follows "bot" directly, and its colon may be encoded there.
_TOKEN = re.compile(r"\d{5,}(?::|%3[Aa])[A-Za-z0-9_-]{8,}")


def redact(text: str) -> str:
    """Without anything that looks like a bot token, wherever it got in."""
    return _TOKEN.sub("<token>", text)


class TapgateError(Exception):
    """Anything tapgate itself reports. `str(error)` is a sentence that can be shown as it is."""


class ConfigError(TapgateError):
    """The config file, or a value in it, cannot be used."""


class FrameError(TapgateError):
    """Bytes on the socket that are not a frame of this version."""


class InputError(TapgateError):
    """What the agent sent on stdin cannot be read as one of its events."""


class LockedError(TapgateError):
    """Another daemon is running."""


class NotRunningError(TapgateError):
    """Nobody listens where the daemon should."""


class SocketError(TapgateError):
    """The socket or its directory cannot be used safely."""


class JournalError(TapgateError):
    """Something could not be recorded."""


class JournalFaultError(JournalError):
    """The journal's file takes nothing just now, whatever it is: full, read-only, locked."""


class JournalBusyError(JournalFaultError):
    """Another program holds the journal locked, and it was waited for in vain."""


class FrontError(TapgateError):
    """Telegram refused for good. `str(error)` is the reason in words."""


class ServiceError(TapgateError):
    """The system's service manager cannot be used, or refused."""


class SettingsError(TapgateError):
    """An agent's settings cannot be read, or must not be written as they are."""
