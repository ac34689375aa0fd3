"""Whether Codex will run a hook: it runs nothing that the user has not trusted as it stands.

The trust lies in $CODEX_HOME/config.toml, by the hook's place and a digest of its entry (seen in 0.166.0). tapgate only
looks: to trust a command is the user's to decide.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from tapgate.errors import SettingsError
from tapgate.hooks.registration import EntryPlace

EVENTS = {"PermissionRequest": "permission_request", "PreToolUse": "pre_tool_use"}


class Trust(Enum):
    TRUSTED = "trusted"
    DISABLED = "disabled"
    CHANGED = "changed"
    UNKNOWN = "unknown"


def read_config(path: Path) -> Mapping[str, Any]:
    """Codex's own config; empty where there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):  # without the error's text: this file may hold keys
        raise SettingsError(f"{path}: cannot be read as TOML") from None


def trust_of(config: Mapping[str, Any], path: Path, place: EntryPlace) -> Trust:
    """What the config says about the handler at this place of this hooks.json."""
    states = _table(_table(config, "hooks"), "state")
    tail = f"{path.name}:{EVENTS.get(place.event, place.event)}:{place.group}:{place.number}"
    # Codex resolves the directory where CODEX_HOME names it, and takes ~/.codex as it is.
    state = _table(states, str(path.parent / tail)) or _table(states, str(path.parent.resolve() / tail))
    if state.get("enabled") is False:
        return Trust.DISABLED
    trusted = state.get("trusted_hash")
    if trusted is None:
        return Trust.UNKNOWN
    return Trust.TRUSTED if trusted == digest_of(place) else Trust.CHANGED


def digest_of(place: EntryPlace) -> str:
    """What Codex compares: the entry with its defaults filled in, as compact JSON with sorted keys."""
    handler = {"type": "command", "timeout": 600, "async": False, **place.handler}
    identity: dict[str, Any] = {"event_name": EVENTS.get(place.event, place.event), "hooks": [handler]}
    if place.matcher:
        identity["matcher"] = place.matcher
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hooks_are_off(config: Mapping[str, Any]) -> bool:
    return _table(config, "features").get("hooks") is False


def trusts_project(config: Mapping[str, Any], folder: Path) -> bool:
    """Whether Codex reads what a project brings along: only where the user trusts this directory or its repository."""
    projects = _table(config, "projects")
    real = folder.resolve()
    root = next((one for one in (real, *real.parents) if (one / ".git").exists()), real)
    return any(_table(projects, str(one)).get("trust_level") == "trusted" for one in (folder, real, root))


def never_asks(config: Mapping[str, Any]) -> bool:
    return config.get("approval_policy") == "never"


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}
