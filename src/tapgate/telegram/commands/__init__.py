"""What a listed person can ask in the chat: one file a command, which registers itself when it is imported here."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tapgate.telegram.commands.context import CommandContext, DaemonHealth, PastAnswer
from tapgate.telegram.commands.registry import COMMANDS, Command, PhoneCommands, menu_of

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["COMMANDS", "Command", "CommandContext", "DaemonHealth", "PastAnswer", "PhoneCommands", "menu_of"]
