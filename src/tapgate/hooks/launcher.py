"""`tapgate-hook`: the caller for the plugin, which cannot name the socket. Finds it, and becomes the caller.

It reads two keys of the config by itself: checking all of it would cost a hundred milliseconds at each of the agent's
calls. What it cannot make out is no opinion.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tapgate import paths

CONFIG_VARIABLE = "TAPGATE_CONFIG"
HOOK_FILE = Path(__file__).resolve().parent.parent / "hook.py"
MARGIN_S = 10.0  # as in config.py: the caller gives up this long before the agent would kill it


def main() -> None:
    try:
        words = caller_words(sys.argv[1:], environ=os.environ)
        os.execv(words[0], words)  # noqa: S606  no shell: the words are ours
    except Exception as error:  # no failure may look like an answer
        os.write(2, f"tapgate: {' '.join(str(error).split())}; no opinion\n".encode("utf-8", "replace"))
        os._exit(0)


def caller_words(given: Sequence[str], *, environ: Mapping[str, str]) -> list[str]:
    """The caller's command: `given` may name the agent, and how long it may wait at most."""
    options = dict(zip(given[::2], given[1::2], strict=True))
    found = _config(environ)
    timeout_s = found.get("timeout_s", 600)
    deadline_s = min(timeout_s - min(MARGIN_S, timeout_s / 5), float(options.get("--deadline-s", "590")))
    return [
        *(sys.executable, "-I", "-S", str(HOOK_FILE)),
        *("--socket", str(found.get("socket_path") or paths.default_socket_path())),
        *("--agent", options.get("--agent", "claude")),
        *("--deadline-s", f"{deadline_s:g}"),
    ]


def _config(environ: Mapping[str, str]) -> dict[str, Any]:
    """The config's own words, unchecked; none where there is no config."""
    named = environ.get(CONFIG_VARIABLE)
    path = Path(named) if named else paths.default_config_path()
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named:
            raise
        return {}
    except ValueError:  # its text may hold a token
        raise ValueError(f"{path} is not valid TOML") from None
    if "socket_path" in found:
        found["socket_path"] = path.absolute().parent / Path(found["socket_path"]).expanduser()
    return found
