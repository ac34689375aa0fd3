"""How many files the daemon may have open: each caller is one. Raised at start as far as the system allows."""

from __future__ import annotations

import resource

MOST_FILES = 65_536
SPARE_FILES = 128  # the journal, connections to Telegram, what is read for cards
_MACOS_MOST = 10_240  # OPEN_MAX: more is refused there, even where the hard limit is infinite


def raise_file_limit() -> int:
    """Raise the soft limit to the hard one, at most to MOST_FILES; gives what holds now. Never lowers it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (MOST_FILES, _MACOS_MOST):
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
        except (OSError, ValueError):
            pass  # a sandbox may forbid it, and macOS such a number; the unit sets a limit of its own
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def files_needed(callers: int) -> int:
    return callers + SPARE_FILES
