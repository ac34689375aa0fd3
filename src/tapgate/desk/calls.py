"""Tells one tool call from another: the permission event carries no call id. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from tapgate.desk.drafts import edited_text
from tapgate.model import Answer, Json, Request, ToolCall


def identify(tool: str, tool_input: Mapping[str, Json], *, session_id: str, agent_id: str) -> ToolCall:
    text = json.dumps([session_id, agent_id, tool, tool_input], sort_keys=True)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return ToolCall(session_id=session_id, agent_id=agent_id, tool=tool, fingerprint=fingerprint)


def edited_fingerprint(request: Request, answer: Answer | None) -> str:
    """Of the call with the text that a person put in, which is how the agent reports it. "" where it is as asked."""
    if answer is None or answer.decision.updated_input is None or edited_text(request, answer.decision) is None:
        return ""
    call = request.call
    changed = identify(call.tool, answer.decision.updated_input, session_id=call.session_id, agent_id=call.agent_id)
    return changed.fingerprint
