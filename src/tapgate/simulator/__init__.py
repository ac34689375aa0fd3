"""A strict stand-in for Telegram's Bot API on loopback, with a web page that behaves like the phone."""

from .app import serve

__all__ = ["serve"]
