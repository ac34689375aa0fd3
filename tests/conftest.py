"""Everything that is logged while a test runs, at DEBUG and in each of the daemon's forms, is searched for secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tapgate.daemon.logs import LogFormat, formatter_of
from tests.secrets import assert_clean

FORMS = [formatter_of(form) for form in (LogFormat.HUMAN, LogFormat.JOURNAL, LogFormat.JSON)]


class Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [form.format(record) for form in FORMS]


@pytest.fixture(autouse=True)
def _nothing_secret_is_logged() -> Iterator[None]:
    collector = Collector()
    root = logging.getLogger()
    before = root.level
    root.addHandler(collector)
    root.setLevel(logging.DEBUG)
    for handler in root.handlers:
        if handler is not collector and handler.level == logging.NOTSET:
            handler.setLevel(logging.INFO)  # pytest's own: what it prints of a failed test stays readable
    yield
    root.setLevel(before)
    root.removeHandler(collector)
    assert_clean("\n".join(collector.lines))
