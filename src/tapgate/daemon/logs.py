"""Logging: one line each to stderr, and never a token in it, in a traceback neither."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from tapgate.errors import redact


class RedactingFormatter(logging.Formatter):
    """Redacts after everything is put together: a filter would miss what a traceback holds."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return redact(super().format(record))
        except (TypeError, ValueError):  # arguments that do not fit: Python would print them to stderr as they are
            record.msg, record.args = f"{record.msg} {record.args!r}", None
            return redact(super().format(record))


def start_logging(level: int = logging.INFO, stream: TextIO | None = None) -> logging.Logger:
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("httpx", "httpcore", "telegram"):  # httpx logs every URL, and so the token, at INFO
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    # It logs a traceback for each answer that is no JSON; what that means is reported by us, in one line.
    logging.getLogger("telegram.request").setLevel(logging.CRITICAL)
    return logging.getLogger("tapgate")
