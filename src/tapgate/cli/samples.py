"""The sample project and its agent's requests for `tapgate demo`, in the form that Claude Code sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CART = """\
from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: int
    count: int = 1


def total(items: list[Item]) -> int:
    return sum(item.price for item in items)


def is_free(items: list[Item]) -> bool:
    return total(items) == 0
"""
PLAN = """\
# Ship the cart

1. **Move** `total()` to `src/money.py`, so that the invoice can use it.
2. Add a test for a cart with several of one item.
3. Run `npm test`, then open a pull request.
"""
QUESTIONS = {
    "questions": [
        {
            "question": "Where should orders be kept?",
            "header": "Database",
            "options": [
                {"label": "Postgres", "description": "A server of its own; grows with the shop"},
                {"label": "SQLite", "description": "One file; enough for a single machine"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which parts shall I build now?",
            "header": "Parts",
            "options": [
                {"label": "Search", "description": "Full text, typos forgiven"},
                {"label": "Reviews", "description": "Stars and texts"},
                {"label": "Coupons", "description": "Percent or fixed"},
            ],
            "multiSelect": True,
        },
    ]
}
ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
NPM_TEST = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}],
    "behavior": "allow",
    "destination": "localSettings",
}


@dataclass(frozen=True, slots=True)
class Sample:
    title: str
    tool: str
    input: Mapping[str, Any]
    why: str  # the agent's words before it asks
    suggestions: tuple[Mapping[str, Any], ...] = ()
    taps: tuple[str, ...] = ("Allow",)  # which buttons `--script` presses, one after another
    typed: str = ""  # and what it types afterwards
    decision: Mapping[str, Any] = field(default_factory=lambda: {"behavior": "allow"})  # what must come back then

    def event(self, project: str) -> dict[str, Any]:
        event: dict[str, Any] = {
            "session_id": "5e55101d-0000-4000-8000-00000000demo",
            "transcript_path": f"{project}/.transcript.jsonl",
            "cwd": project,
            "permission_mode": "default",
            "hook_event_name": "PermissionRequest",
            "tool_name": self.tool,
            "tool_input": self.input,
        }
        if self.suggestions:
            event["permission_suggestions"] = list(self.suggestions)
        return event

    def transcript_line(self) -> str:
        message = {"role": "assistant", "content": [{"type": "text", "text": self.why}]}
        return json.dumps({"type": "assistant", "message": message}) + "\n"


def write_project(project: Path) -> None:
    """What the requests are about: one file is enough for a diff."""
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src" / "cart.py").write_text(CART, encoding="utf-8")


def samples(project: str) -> tuple[Sample, ...]:
    answers = {"Where should orders be kept?": "SQLite", "Which parts shall I build now?": "Search, Coupons"}
    plan = {"plan": PLAN}
    return (
        Sample(
            "run the tests",
            "Bash",
            {"command": "npm test -- --coverage", "description": "Run the tests with coverage"},
            "Before I change anything I run the tests, to see what the cart promises today.",
            (NPM_TEST,),
        ),
        Sample(
            "edit a file",
            "Edit",
            {
                "file_path": f"{project}/src/cart.py",
                "old_string": "    return sum(item.price for item in items)",
                "new_string": "    return sum(item.price * item.count for item in items)",
                "replace_all": False,
            },
            "The total ignores how many of each item there are.",
            (ACCEPT_EDITS,),
            taps=("Accept edits",),
            decision={"behavior": "allow", "updatedPermissions": [ACCEPT_EDITS]},
        ),
        Sample(
            "do something risky",
            "Bash",
            {
                "command": "rm -rf build && sudo systemctl restart nginx",
                "description": "Clean up and restart the server",
                "run_in_background": True,
            },
            "The server still serves the old build. I remove it and restart nginx.",
            taps=("Deny with a reason",),
            typed="Leave nginx alone; just build again.",
            decision={"behavior": "deny", "message": "Leave nginx alone; just build again.", "interrupt": False},
        ),
        Sample(
            "have two questions answered",
            "AskUserQuestion",
            QUESTIONS,
            "The cart is right now. Before I go on I need two decisions from you.",
            taps=("2. SQLite", "☐ 1. Search", "☐ 3. Coupons", "Done"),
            decision={"behavior": "allow", "updatedInput": {**QUESTIONS, "answers": answers}},
        ),
        Sample(
            "have its plan approved",
            "ExitPlanMode",
            plan,
            "This is how I would finish it.",
            taps=("Approve, and accept edits",),
            decision={"behavior": "allow", "updatedInput": plan, "updatedPermissions": [ACCEPT_EDITS]},
        ),
    )
