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


def always(rule: str) -> str:
    return f"Always allow `{rule}` in this project"


def folder(path: object) -> str:
    return f"Allow {path} for this session"


# Settled cards

ALLOWED = "Allowed by Ada"
DENIED = "Denied by Ada"
STOPPED_TURN = "The turn was stopped."
TERMINAL_ALLOWED = "Allowed at the terminal"
TERMINAL_DENIED = "Denied at the terminal"
MOVED_ON = "The session moved on"
SESSION_ENDED = "The session ended"
AGENT_DIED = "The agent's process died"
EXPIRED = "Nobody answered in time"
DAEMON_STOPPED = "tapgate was stopped"
ASKS_AT_TERMINAL = "The agent asks at the terminal."
STOPPED_WAITING = "The agent stopped waiting"


def written(what: str) -> str:
    return f"Written: {what}"


def answered(option: str) -> str:
    return f"Answered “{option}” by Ada"


# What the agent tells its model

TOLD_DENIED = "Denied from the phone."


# What the agents' own terminals show

CLAUDE_ASKS = "Do you want to proceed?"
CLAUDE_HOOK_ALLOWED = "Allowed by PermissionRequest hook"
CLAUDE_INTERRUPTED = "What should Claude do instead?"
CODEX_ASKS = "Would you like to run the following command?"
CODEX_BLOCKED = "Blocked by hook"
CODEX_INTERRUPTED = "Conversation interrupted"
CODEX_REVIEWS_HOOKS = "Hooks need review"
CODEX_TRUST_ALL = "› 2. Trust all and continue"
