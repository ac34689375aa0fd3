"""Claude Code's tools. The names of fields in model.ToolKind are Claude Code's own, so none has to be translated."""

from __future__ import annotations

from collections.abc import Mapping

from tapgate.model import Tool, ToolKind

COMMAND, PLAN, QUESTIONS = "Bash", "ExitPlanMode", "AskUserQuestion"

TOOLS: Mapping[str, Tool] = {
    # Other calls of one session may be asked in parallel.
    COMMAND: Tool(ToolKind.COMMAND, editable="command", one_by_one=True),
    "Write": Tool(ToolKind.WRITE, editable="content"),
    "Edit": Tool(ToolKind.EDIT, editable="new_string"),
    "MultiEdit": Tool(ToolKind.EDITS),
    "NotebookEdit": Tool(ToolKind.NOTEBOOK),
    "Read": Tool(ToolKind.READ),
    "Glob": Tool(ToolKind.FIND),
    "Grep": Tool(ToolKind.SEARCH),
    "LS": Tool(ToolKind.LIST),
    "WebFetch": Tool(ToolKind.FETCH, editable="url"),
    "WebSearch": Tool(ToolKind.WEB_SEARCH, editable="query"),
    "Task": Tool(ToolKind.TASK, editable="prompt"),
    "Agent": Tool(ToolKind.TASK, editable="prompt"),
    "Skill": Tool(ToolKind.SKILL),
    PLAN: Tool(ToolKind.PLAN, title="Plan"),
    QUESTIONS: Tool(ToolKind.ASK, title="Question"),
}
"""By the names that it sends. Tools that are not here are shown field by field."""
