"""The words on buttons and cards that these tests tap and look for, all in one place: only here they may change."""

from __future__ import annotations

# Buttons

ALLOW = "Allow"
DENY = "Deny"
DENY_REASON = "Deny with a reason…"
DENY_STOP = "Deny and stop"
ACCEPT_EDITS = "Accept edits in this session"
APPROVE_PLAN = "Approve the plan"
APPROVE_PLAN_EDITS = "Approve, and accept edits"
REJECT_PLAN = "Reject"
REVISE_PLAN = "Revise…"
SKIP = "Skip"
OTHER = "Other…"
DONE = "Done"
NEXT = "Next"
EDIT = "Edit…"
RUN_EDITED = "Run it as edited"
ALLOW_EDITED = "Allow it as edited"
AT_THE_TERMINAL = "Ask at the terminal"


def always(rule: str) -> str:
    return f"Always allow `{rule}` in this project"


def session_only(rule: str) -> str:
    return f"Always allow `{rule}` in this session"


def folder(path: object) -> str:
    return f"Allow {path} for this session"


def these(count: int) -> str:
    return f"Allow these {count}…"


def all_of(count: int) -> str:
    return f"Allow all {count}"


def option(number: int, words: str, *, chosen: bool | None = None) -> str:
    """One of a question's options; `chosen` or not where several may be."""
    mark = "" if chosen is None else "☑ " if chosen else "☐ "
    return f"{mark}{number}. {words}"


def sure(label: str) -> str:
    """The second tap, for what would last on a risky card."""
    return f"Yes: {label}"


# Settled cards

ALLOWED = "Allowed by Ada"
DENIED = "Denied by Ada"
SKIPPED = "Skipped by Ada"
STOPPED_TURN = "the turn was stopped"
TERMINAL_ALLOWED = "Allowed at the terminal"
TERMINAL_ANSWERED = "Answered at the terminal"
TERMINAL_DENIED = "Denied at the terminal"
MOVED_ON = "The session moved on"
SESSION_ENDED = "The session ended"
AGENT_DIED = "The agent's process died"
EXPIRED = "Nobody answered in time"
DAEMON_STOPPED = "tapgate was stopped"
ASKS_AT_TERMINAL = "the agent asks at the terminal"
STOPPED_WAITING = "The agent stopped waiting"
HANDED_BACK = "Handed back to the terminal (by Ada)"
CHANGED = "Allowed by Ada, with a changed text"
TERMINAL_FIRST = "the terminal was first"


def answered(option: str) -> str:
    return f"Answered “{option}” by Ada"


# What the agent tells its model

TOLD_DENIED = "Denied from the phone."


# What the agents' own terminals show

CLAUDE_ASKS = "Do you want to proceed?"
CLAUDE_PLAN_ASKS = "Would you like to proceed?"
CLAUDE_HOOK_ALLOWED = "Allowed by PermissionRequest hook"
CLAUDE_INTERRUPTED = "What should Claude do instead?"
CODEX_ASKS = "Would you like to run the following command?"
CODEX_BLOCKED = "Blocked by hook"
CODEX_INTERRUPTED = "Conversation interrupted"
CODEX_REVIEWS_HOOKS = "Hooks need review"
CODEX_TRUST_ALL = "› 2. Trust all and continue"
