"""/help: every command with its line. Also the answer to /start, and to a command that does not exist."""

from __future__ import annotations

from tapgate.telegram.commands.context import CommandContext
from tapgate.telegram.commands.registry import command, menu_of
from tapgate.telegram.text import escape


@command("help", "what you can ask here")
async def answer_help(context: CommandContext) -> str:
    lines = [f"/{name} – {escape(description)}" for name, description in menu_of()]
    return "\n".join(["tapgate posts your coding agent's questions here; answer them with their buttons.", *lines])
