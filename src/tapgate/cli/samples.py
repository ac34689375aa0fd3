"""The sample project's requests for `tapgate demo`, in the form that Claude Code sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    title: str
    tool: str
    input: dict[str, Any]
    suggestions: tuple[dict[str, Any], ...] = ()
    tap: str = "Allow"  # which button `--script` presses
    reason: str = ""  # and what it types afterwards
    behavior: str = "allow"

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


def samples(project: str) -> tuple[Sample, ...]:
    return (
        Sample(
            "run the tests",
            "Bash",
            {"command": "npm test -- --coverage", "description": "Run the tests with coverage"},
            (
                {
                    "type": "addRules",
                    "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}],
                    "behavior": "allow",
                    "destination": "localSettings",
                },
            ),
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
            ({"type": "setMode", "mode": "acceptEdits", "destination": "session"},),
            tap="Accept edits",
        ),
        Sample(
            "do something risky",
            "Bash",
            {
                "command": "rm -rf build && sudo systemctl restart nginx",
                "description": "Clean up and restart the server",
                "run_in_background": True,
            },
            tap="Deny",
            behavior="deny",
        ),
        Sample(
            "write outside the project",
            "Bash",
            {"command": "cat report.csv > /var/tmp/report.csv", "description": "Copy the report"},
            ({"type": "addDirectories", "directories": ["/var/tmp"], "destination": "session"},),  # noqa: S108
            tap="Deny with a reason",
            reason="Keep it inside the project, please.",
            behavior="deny",
        ),
        Sample(
            "read a web page",
            "WebFetch",
            {"url": "https://example.com/docs/api", "prompt": "Which endpoints need a token?"},
            (
                {
                    "type": "addRules",
                    "rules": [{"toolName": "WebFetch", "ruleContent": "domain:example.com"}],
                    "behavior": "allow",
                    "destination": "localSettings",
                },
            ),
            tap="Always allow",
        ),
    )
