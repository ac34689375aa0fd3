"""Codex CLI's language. It accepts a behavior and a deny's message and nothing else: any further key fails its hook."""

from __future__ import annotations

from typing import Any

from tapgate.agents.agent import AgentEvent, Ignored
from tapgate.agents.dialect import (
    DENIED,
    HookEvent,
    HookToolEvent,
    call_of,
    digest_of,
    read_event,
    read_object,
    release_choice,
    write_json,
)
from tapgate.desk.seals import sealed
from tapgate.model import Action, Caller, Choice, Decision, Request, Tone, Verdict


class PermissionRequest(HookToolEvent):
    turn_id: str | None = None
    model: str | None = None


def parse(request_id: str, caller: Caller, raw: bytes) -> AgentEvent:
    value = read_object(raw)
    if value["hook_event_name"] != "PermissionRequest":
        return Ignored(read_event(HookEvent, value).hook_event_name)
    event = read_event(PermissionRequest, value)
    choices = (
        Choice("a", "Allow", Action.DECIDE, Decision(Verdict.ALLOW), Tone.GOOD),
        Choice("d", "Deny", Action.DECIDE, Decision(Verdict.DENY, DENIED), Tone.BAD),
        Choice("r", "Deny with a reason…", Action.ASK_REASON, Decision(Verdict.DENY)),
        release_choice(),  # while Codex waits for the hook, its own prompt is hidden
    )
    digest = digest_of(raw)
    return Request(
        id=request_id,
        caller=caller,
        event=event.hook_event_name,
        call=call_of(event),
        input=event.tool_input,
        choices=sealed(choices, digest, *caller.facts),
        digest=digest,
        raw=raw,
        cwd=event.cwd,
        transcript_path=event.transcript_path or "",
        agent_type=event.agent_type or "",
        prompt_id=event.turn_id or "",
        permission_mode=event.permission_mode or "",
    )


def render(request: Request, decision: Decision) -> bytes:
    if decision.verdict is Verdict.NONE:
        return b""
    answer: dict[str, Any] = {"behavior": decision.verdict.value}
    if decision.verdict is Verdict.DENY:
        answer["message"] = decision.message or DENIED
    return write_json({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": answer}})
