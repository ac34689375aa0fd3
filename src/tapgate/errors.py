"""The one error base class. Each error says what is wrong and what to do next, in words for a person."""

from __future__ import annotations


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


class SocketError(TapgateError):
    """The socket or its directory cannot be used safely."""


class JournalError(TapgateError):
    """Something could not be recorded."""


class FrontError(TapgateError):
    """Telegram refused for good. `str(error)` is the reason in words."""
