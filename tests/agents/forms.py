"""Forms that older and patched versions of Claude Code send, beside the recorded ones."""

from __future__ import annotations

from typing import Any

_COMMON = {
    "session_id": "abc123",
    "transcript_path": "$CODEX_HOME/projects/.../session.jsonl",
    "cwd": "/Users/username/project",
    "permission_mode": "default",
}

BARE_PERMISSION: dict[str, Any] = {
    "hook_event_name": "PermissionRequest",
    "tool_name": "Bash",
    "tool_input": {"command": "ls /etc"},
}

PERMISSIONS: dict[str, dict[str, Any]] = {
    "bare": BARE_PERMISSION,
    "decision_reason": {**BARE_PERMISSION, "decision_reason": "Path is outside allowed working directories"},
    "blocked_path": {**BARE_PERMISSION, "blocked_path": "/etc"},
    "subagent": {**BARE_PERMISSION, "agent_id": "a4070f207b913ceb9"},
    "all of them": {
        **BARE_PERMISSION,
        "decision_reason": "Path is outside allowed working directories",
        "blocked_path": "/etc",
        "agent_id": "a4070f207b913ceb9",
    },
    "toolAlwaysAllow": {
        **_COMMON,
        **BARE_PERMISSION,
        "permission_suggestions": [
            {"type": "toolAlwaysAllow", "tool": "Bash"},
            {"type": "toolAlwaysAllow", "tool": "Write"},
        ],
    },
    "no suggestions": {**_COMMON, **BARE_PERMISSION, "permission_suggestions": []},
    "null suggestions": {**_COMMON, **BARE_PERMISSION, "permission_suggestions": None},
    **{
        f"mode {mode}": {**_COMMON, **BARE_PERMISSION, "permission_mode": mode}
        for mode in ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "aModeOfTomorrow")
    },
}

TOOL_INPUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Bash": ("Bash", {"command": "go test ./..."}),
    "Bash with all": (
        "Bash",
        {
            "command": "npm install",
            "description": "Install dependencies",
            "timeout": 120000,
            "run_in_background": False,
        },
    ),
    "Write": ("Write", {"file_path": "/path/to/file.js", "content": "const x = 1;"}),
    "Write of Go": (
        "Write",
        {"file_path": "/path/to/new/file.go", "content": "package main\n\nfunc main() {\n\t// New file content\n}"},
    ),
    "Edit": (
        "Edit",
        {"file_path": "/path/to/file.go", "old_string": "original content", "new_string": "replacement content"},
    ),
    "Edit of all": (
        "Edit",
        {
            "file_path": "/path/to/file.js",
            "old_string": "const x = 1;",
            "new_string": "const x = 2;",
            "replace_all": True,
        },
    ),
    "MultiEdit": (
        "MultiEdit",
        {
            "file_path": "/path/to/primary/file.go",
            "edits": [
                {"file_path": "/path/to/file1.go", "old_string": "original1", "new_string": "replacement1"},
                {"file_path": "/path/to/file2.go", "old_string": "original2", "new_string": "replacement2"},
            ],
        },
    ),
    "Read": ("Read", {"file_path": "/path/to/file.go", "offset": 0, "limit": 100}),
    "Grep": ("Grep", {"pattern": "func.*Test", "path": "/path/to/search", "glob": "*.go"}),
    "Grep with a mode": ("Grep", {"pattern": "function.*", "path": "/path/to/search", "output_mode": "content"}),
    "Glob": ("Glob", {"pattern": "**/*.go", "path": "/path/to/search"}),
    "LS": ("LS", {"path": "/path/to/directory", "ignore": [".git", "node_modules"]}),
    "WebFetch": ("WebFetch", {"url": "https://example.com/docs", "prompt": "Summarise"}),
    "WebSearch": ("WebSearch", {"query": "python telegram bot limits"}),
    "Task": (
        "Task",
        {
            "prompt": "Find the failing test",
            "description": "Look around",
            "subagent_type": "general-purpose",
            "model": "opus",
        },
    ),
    "MCP": ("mcp__memory__create_entities", {"entities": [{"name": "x", "tags": ["a", "b"]}]}),
    "MCP without input": ("mcp__memory__list", {}),
}

PRE_TOOL_USE: dict[str, Any] = {
    **_COMMON,
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "npm install", "description": "Install dependencies"},
}

_WRITTEN = {
    **_COMMON,
    "hook_event_name": "PostToolUse",
    "tool_name": "Write",
    "tool_input": {"file_path": "/path/to/file.js", "content": "const x = 1;"},
}

TOOL_ENDS: dict[str, dict[str, Any]] = {
    "tool_output": {**_WRITTEN, "tool_output": "File created successfully at: /path/to/file.js"},
    "tool_response": {**_WRITTEN, "tool_response": {"filePath": "/path/to/file.js", "success": True}},
    "a text as tool_response": {**_WRITTEN, "tool_response": "ok"},
    "neither": _WRITTEN,
}

TOOL_END_WITHOUT_INPUT: dict[str, Any] = {
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_use_id": "toolu_01",
    "tool_response": {"exit_code": 0, "stdout": "", "stderr": ""},
}

PROMPT: dict[str, Any] = {
    **_COMMON,
    "hook_event_name": "UserPromptSubmit",
    "prompt": "Write a function to calculate factorial",
}
STOP: dict[str, Any] = {**_COMMON, "hook_event_name": "Stop", "stop_hook_active": False}
SUBAGENT_STOP: dict[str, Any] = {**_COMMON, "hook_event_name": "SubagentStop", "stop_hook_active": False}
SESSION_STARTS: dict[str, dict[str, Any]] = {
    source: {**_COMMON, "hook_event_name": "SessionStart", "source": source}
    for source in ("startup", "continue", "checkpoint", "resume", "clear")
}
SESSION_ENDS: dict[str, dict[str, Any]] = {
    reason: {**_COMMON, "hook_event_name": "SessionEnd", "reason": reason}
    for reason in ("exit", "error", "timeout", "compact")
}
UNHEEDED: dict[str, dict[str, Any]] = {
    "Notification": {**_COMMON, "hook_event_name": "Notification"},
    "PreCompact by hand": {
        **_COMMON,
        "hook_event_name": "PreCompact",
        "trigger": "manual",
        "custom_instructions": "Preserve all git commit messages",
    },
    "PreCompact by itself": {**_COMMON, "hook_event_name": "PreCompact", "trigger": "auto"},
    "an event of tomorrow": {**_COMMON, "hook_event_name": "TeaIsReady", "cups": 2},
}

QUESTION: dict[str, Any] = {
    **_COMMON,
    "hook_event_name": "PermissionRequest",
    "tool_name": "AskUserQuestion",
    "tool_input": {
        "questions": [
            {
                "question": "Which database should we use?",
                "header": "Database",
                "options": [
                    {"label": "Postgres", "description": "Relational"},
                    {"label": "SQLite", "description": "Embedded"},
                ],
                "multiSelect": False,
            }
        ]
    },
}
