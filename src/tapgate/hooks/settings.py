"""The agents' settings, as the commands use them: where they are, what to change in them, what is wrong with them."""

from __future__ import annotations

from tapgate.hooks.change import Change, apply
from tapgate.hooks.inspection import Finding, Severity, inspect
from tapgate.hooks.registration import check_gate, events_of, plan_install, plan_uninstall
from tapgate.hooks.scopes import AGENTS, TITLES, Scope, agent_dir, settings_path

__all__ = [
    "AGENTS",
    "TITLES",
    "Change",
    "Finding",
    "Scope",
    "Severity",
    "agent_dir",
    "apply",
    "check_gate",
    "events_of",
    "inspect",
    "plan_install",
    "plan_uninstall",
    "settings_path",
]
