"""What helps to decide and stands outside the request: the agent's last words before it."""

from __future__ import annotations

from tapgate.daemon.transcript import read_last_words
from tapgate.model import Background, Request


def look_around(request: Request) -> Background:
    """Blocking: run it in a worker thread. Whatever cannot be read is left out."""
    tool = request.call.tool if request.caller.agent == "claude" else ""  # the others' transcripts are other files
    return Background(why=read_last_words(request.transcript_path, request.call.agent_id, tool=tool))
