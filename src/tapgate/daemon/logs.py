"""Logging: one line each, for a terminal, the journal or a program; and never a token or a masked value in it."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO

from tapgate.errors import redact
from tapgate.masking.mask import mask_text

_QUOTING = re.compile(r"(\w*(?:Error|Exception): |\)(?=\s|$))")


class LogFormat(StrEnum):
    AUTO = "auto"  # the journal's where stderr goes there, otherwise human
    HUMAN = "human"
    JOURNAL = "journal"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        return logging.getLevelNamesMapping()[self.name]


class RedactingFormatter(logging.Formatter):
    """Redacts after everything is put together: a filter would miss what a traceback holds."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return _clean(self.put_together(record))
        except (TypeError, ValueError):  # arguments that do not fit: Python would print them to stderr as they are
            record.msg, record.args = f"{record.msg} {record.args!r}", None
            return _clean(self.put_together(record))

    def put_together(self, record: logging.LogRecord) -> str:
        return super().format(record)


class JournalFormatter(RedactingFormatter):
    """One line with its priority in front, as journald reads it. It adds the time and who spoke by itself."""

    def put_together(self, record: logging.LogRecord) -> str:
        name = "" if record.name == "tapgate" else f"{record.name}: "
        text = " | ".join(line for line in super().put_together(record).splitlines() if line.strip())
        return f"<{_priority(record.levelno)}>{name}{text}"


class JsonFormatter(RedactingFormatter):
    """One object a line."""

    def put_together(self, record: logging.LogRecord) -> str:
        found = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        if record.exc_info:
            found["traceback"] = _clean(self.formatException(record.exc_info))
        if record.stack_info:
            found["stack"] = _clean(self.formatStack(record.stack_info))
        return json.dumps(found)

    def format(self, record: logging.LogRecord) -> str:
        """Each part is cleaned before it is quoted: a mask over the quotes would break the line."""
        try:
            return redact(self.put_together(record))
        except (TypeError, ValueError):
            record.msg, record.args = f"{record.msg} {record.args!r}", None
            return redact(self.put_together(record))


def start_logging(
    level: int = logging.INFO, stream: TextIO | None = None, *, form: LogFormat = LogFormat.HUMAN
) -> logging.Logger:
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter_of(form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("httpx", "httpcore", "telegram"):  # httpx logs every URL, and so the token, at INFO
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    logging.getLogger("asyncio").setLevel(max(level, logging.INFO))  # below that it names its selector, and no more
    # It logs a traceback for each answer that is no JSON; what that means is reported by us, in one line.
    logging.getLogger("telegram.request").setLevel(logging.CRITICAL)
    return logging.getLogger("tapgate")


def settle_format(asked: LogFormat, *, environ: Mapping[str, str], fd: int) -> LogFormat:
    """What `auto` means for this file descriptor: JOURNAL_STREAM names the journal's, by device and inode."""
    if asked is not LogFormat.AUTO:
        return asked
    try:
        found = os.fstat(fd)
    except OSError:
        return LogFormat.HUMAN
    is_journal = environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
    return LogFormat.JOURNAL if is_journal else LogFormat.HUMAN


def formatter_of(form: LogFormat) -> logging.Formatter:
    match form:
        case LogFormat.JSON:
            return JsonFormatter()
        case LogFormat.JOURNAL:
            return JournalFormatter("%(message)s")
        case _:
            return RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def _priority(level: int) -> int:
    """syslog's numbers."""
    if level >= logging.CRITICAL:
        return 2
    if level >= logging.ERROR:
        return 3
    if level >= logging.WARNING:
        return 4
    return 6 if level >= logging.INFO else 7


def _clean(text: str) -> str:
    """What an error quotes is masked as a text of its own, too: some secrets are known by what begins their line."""
    parts = _QUOTING.split(mask_text(redact(text)).text)
    return parts[0] + "".join(
        part if number % 2 == 0 else mask_text(part).text for number, part in enumerate(parts[1:])
    )
