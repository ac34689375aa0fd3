"""Codex's tools. It accepts no changed input, so nothing of them can be edited."""

from __future__ import annotations

from collections.abc import Mapping

from tapgate.model import Tool, ToolKind

TOOLS: Mapping[str, Tool] = {
    "Bash": Tool(ToolKind.COMMAND),
    "apply_patch": Tool(ToolKind.PATCH),
    # The model's own names; hooks are told "Bash" in their place. A command may be a list of words here.
    "shell": Tool(ToolKind.COMMAND),
    "local_shell": Tool(ToolKind.COMMAND),
    "exec_command": Tool(ToolKind.COMMAND, names={"command": "cmd"}),
    "unified_exec": Tool(ToolKind.COMMAND),
}
"""By the names that it sends. Tools that are not here are shown field by field."""
