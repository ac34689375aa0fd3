"""What helps to decide and stands outside the request: the agent's last words, the file that would change."""

from __future__ import annotations

from tapgate.cards.change import change_of, changed_path
from tapgate.daemon.disk import read_in_project
from tapgate.daemon.transcript import read_last_words
from tapgate.model import Context, OnDisk, Request


def gather_context(request: Request, *, home: str, now: float, own_home: str = "") -> Context:
    """Blocking: run it in a worker thread. Whatever cannot be read is left out."""
    tool = request.call.tool if request.caller.agent == "claude" else ""  # the others' transcripts are other files
    return Context(
        why=read_last_words(request.transcript_path, request.call.agent_id, tool=tool),
        on_disk=_on_disk(request, home, own_home, now),
    )


def _on_disk(request: Request, home: str, own_home: str, now: float) -> OnDisk | None:
    path = changed_path(request.call.tool, request.input)
    found = read_in_project(path, project=request.project, home=home, own_home=own_home) if path else None
    if found is None:
        return None
    seen = OnDisk(at=now, is_new=found.is_new, size_bytes=found.size_bytes)
    return seen if found.text is None else change_of(request.call.tool, request.input, found.text, seen=seen)
