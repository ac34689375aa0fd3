"""What helps to decide and stands outside the request: the agent's last words, the file that would change."""

from __future__ import annotations

from tapgate.agents.registry import agent_of
from tapgate.cards.change import change_of, changed_path
from tapgate.daemon.disk import read_in_project
from tapgate.model import Context, OnDisk, Request


def gather_context(request: Request, *, home: str, now: float, own_home: str = "") -> Context:
    """Blocking: run it in a worker thread. Whatever cannot be read is left out."""
    return Context(
        why=_last_words(request),
        on_disk=_on_disk(request, home, own_home, now),
    )


def _last_words(request: Request) -> str:
    """They only help to decide: whatever goes wrong, in an agent of another package too, leaves them out."""
    try:
        return agent_of(request.caller.agent).read_last_words(request)
    except Exception:
        return ""


def _on_disk(request: Request, home: str, own_home: str, now: float) -> OnDisk | None:
    path = changed_path(request.tool_use)
    found = read_in_project(path, project=request.project, home=home, own_home=own_home) if path else None
    if found is None:
        return None
    seen = OnDisk(at=now, is_new=found.is_new, size_bytes=found.size_bytes)
    return seen if found.text is None else change_of(request.tool_use, found.text, seen=seen)
