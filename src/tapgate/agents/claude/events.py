"""Claude Code's language: its hook events in, its decision JSON out. Older forms are read too."""

from __future__ import annotations

from typing import Any

from tapgate.agents.agent import AgentEvent, Ignored
from tapgate.agents.claude import suggestions
from tapgate.agents.claude.tools import PLAN, QUESTIONS, TOOLS
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
from tapgate.desk.events import Move, SessionEnded, SessionMoved, ToolEnded
from tapgate.desk.seals import sealed
from tapgate.model import UNKNOWN_TOOL, Action, Caller, Choice, Decision, Form, Option, Question, Request, Tone, Verdict

ALLOWED = "Allowed from the phone."
UNANSWERED = "No answer from the phone."
ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
SKIPPED = "The person saw the question on the phone and skipped it. Go on without an answer, as you think best."
MOST_OPTIONS = 20  # more buttons than this no thumb would scroll through
MOST_QUESTIONS = 10


class PermissionRequest(HookToolEvent):
    permission_suggestions: list[Any] | None = None
    decision_reason: str | None = None
    blocked_path: str | None = None
    mcp_server: Any = None


class PreToolUse(HookToolEvent):
    tool_use_id: str | None = None


class PostToolUse(HookToolEvent):
    """PostToolUse and PostToolUseFailure. Older versions gave `tool_output` in the place of `tool_response`."""

    tool_use_id: str | None = None
    tool_response: Any = None
    tool_output: Any = None
    error: Any = None
    duration_ms: float | None = None


class Stop(HookEvent):
    """Stop and SubagentStop."""

    stop_hook_active: bool = False
    last_assistant_message: str | None = None


class UserPromptSubmit(HookEvent):
    prompt: str = ""


class SessionStart(HookEvent):
    source: str = ""


class SessionEnd(HookEvent):
    reason: str = ""


class Notification(HookEvent):
    message: str = ""
    notification_type: str = ""


class PreCompact(HookEvent):
    trigger: str = ""
    custom_instructions: str | None = None


def parse(request_id: str, caller: Caller, raw: bytes) -> AgentEvent:
    """What the agent says. Raises InputError for anything that is not one of its events."""
    value = read_object(raw)
    name = value["hook_event_name"]
    match name:
        case "PermissionRequest":
            return _permission(request_id, caller, raw, read_event(PermissionRequest, value))
        case "PreToolUse":
            return _gate(request_id, caller, raw, read_event(PreToolUse, value))
        case "PostToolUse" | "PostToolUseFailure":
            if "tool_input" not in value:  # then it cannot be told which call has ended
                return Ignored(name)
            ended = read_event(PostToolUse, value)
            return ToolEnded(
                call=call_of(_as_asked(ended)),
                failed=name == "PostToolUseFailure",
                duration_s=None if ended.duration_ms is None else ended.duration_ms / 1000,
            )
        case "Stop" | "SubagentStop":
            stop = read_event(Stop, value)
            if name == "SubagentStop" and not stop.agent_id:  # older versions: one of them, but never the main thread
                return Ignored(name)
            return SessionMoved(stop.session_id, stop.agent_id or "", Move.STOP, stop.prompt_id or "")
        case "UserPromptSubmit":
            prompt = read_event(UserPromptSubmit, value)
            return SessionMoved(prompt.session_id, "", Move.PROMPT, prompt.prompt_id or "")
        case "SessionStart":
            start = read_event(SessionStart, value)
            if start.source == "compact":  # the session goes on with a shorter memory, open questions and all
                return Ignored(name)
            return SessionMoved(start.session_id, "", Move.RESTART)
        case "SessionEnd":
            end = read_event(SessionEnd, value)
            return SessionEnded(end.session_id, end.reason)
        case "Notification":
            read_event(Notification, value)
        case "PreCompact":
            read_event(PreCompact, value)
        case _:
            read_event(HookEvent, value)
    return Ignored(name)


def render(request: Request, decision: Decision) -> bytes:
    """The bytes for stdout. Claude Code drops an output that it cannot read whole, so nothing optional is added."""
    if request.event == "PreToolUse":
        return _render_gate(decision)
    if decision.verdict is Verdict.NONE:
        return b""
    answer: dict[str, Any] = {"behavior": decision.verdict.value}
    if decision.verdict is Verdict.ALLOW:
        if decision.updated_input is not None:
            answer["updatedInput"] = dict(decision.updated_input)
        if decision.updates:
            answer["updatedPermissions"] = list(decision.updates)
    else:
        answer["message"] = decision.message or DENIED
        answer["interrupt"] = decision.interrupt
    return write_json({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": answer}})


def _render_gate(decision: Decision) -> bytes:
    word, reason = {
        Verdict.ALLOW: ("allow", decision.message or ALLOWED),
        Verdict.DENY: ("deny", decision.message or DENIED),
        Verdict.NONE: ("ask", decision.message or UNANSWERED),
    }[decision.verdict]
    output: dict[str, Any] = {
        "hookEventName": "PreToolUse",
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    }
    if decision.verdict is Verdict.ALLOW and decision.updated_input is not None:
        output["updatedInput"] = dict(decision.updated_input)
    return write_json({"hookSpecificOutput": output})


def _permission(request_id: str, caller: Caller, raw: bytes, event: PermissionRequest) -> Request:
    note = ""
    form = None
    choices: tuple[Choice, ...]
    if event.tool_name == QUESTIONS:
        form = _form(event.tool_input)
        # No answer goes back with a deny, so what was answered before is lost with it: the button says so.
        skip = "Skip all" if form is not None and len(form.questions) > 1 else "Skip"
        note = "" if form else "These questions cannot be shown here: answer them at the terminal, or skip them."
        choices = (
            Choice("d", skip, Action.DECIDE, Decision(Verdict.DENY, SKIPPED), Tone.BAD),
            Choice("x", f"{skip} and stop", Action.DECIDE, Decision(Verdict.DENY, SKIPPED, interrupt=True)),
        )
    elif event.tool_name == PLAN:
        # A plain allow is ignored here and the dialog stays; with the received input given back it is taken.
        choices = (
            Choice(
                "a",
                "Approve the plan",
                Action.DECIDE,
                Decision(Verdict.ALLOW, updated_input=event.tool_input),
                Tone.GOOD,
            ),
            Choice(
                "e",
                "Approve, and accept edits",
                Action.DECIDE,
                Decision(Verdict.ALLOW, updates=(ACCEPT_EDITS,), updated_input=event.tool_input),
                saved="mode acceptEdits, for this session only",
            ),
            Choice("d", "Reject", Action.DECIDE, Decision(Verdict.DENY, DENIED), Tone.BAD),
            Choice("r", "Revise…", Action.ASK_REASON, Decision(Verdict.DENY)),
        )
    else:
        choices = (
            Choice("a", "Allow", Action.DECIDE, Decision(Verdict.ALLOW), Tone.GOOD),
            Choice("d", "Deny", Action.DECIDE, Decision(Verdict.DENY, DENIED), Tone.BAD),
            *_edit(event),
            Choice("r", "Deny with a reason…", Action.ASK_REASON, Decision(Verdict.DENY)),
            Choice("x", "Deny and stop", Action.DECIDE, Decision(Verdict.DENY, DENIED, interrupt=True)),
            *suggestions.choices_of(event.permission_suggestions or (), project=caller.project or event.cwd),
        )
    if event.agent_id:  # a subagent in the background shows no dialog while its hook waits
        choices = (*choices, release_choice())
    server = event.mcp_server
    return _request(
        request_id,
        caller,
        raw,
        event,
        choices,
        form=form,
        decision_reason=event.decision_reason or "",
        blocked_path=event.blocked_path or "",
        mcp_server=str(server.get("name", "")) if isinstance(server, dict) else str(server or ""),
        note=note,
        shows_own_prompt=_shows_own_prompt(caller, event),
    )


def _shows_own_prompt(caller: Caller, event: PermissionRequest) -> bool:
    """Whether the dialog is open at the terminal while the hook waits: in the main thread of an interactive session.

    A subagent's dialog comes only after its hook, `-p` has none, and `dontAsk` denies in its place.
    """
    return caller.attended and not event.agent_id and event.permission_mode != "dontAsk"


def _gate(request_id: str, caller: Caller, raw: bytes, event: PreToolUse) -> Request:
    choices = (
        Choice("a", "Allow", Action.DECIDE, Decision(Verdict.ALLOW), Tone.GOOD),
        Choice("d", "Deny", Action.DECIDE, Decision(Verdict.DENY, DENIED), Tone.BAD),
        *_edit(event),
        Choice("r", "Deny with a reason…", Action.ASK_REASON, Decision(Verdict.DENY)),
        release_choice(),
    )
    return _request(request_id, caller, raw, event, choices)


def _edit(event: HookToolEvent) -> tuple[Choice, ...]:
    is_text = isinstance(event.tool_input.get(_editable(event.tool_name)), str)
    return (Choice("m", "Edit…", Action.ASK_EDIT),) if is_text else ()


def _editable(tool: str) -> str:
    """The one text of the tool's input that a person may want to change before it is allowed."""
    return TOOLS.get(tool, UNKNOWN_TOOL).editable


def _request(
    request_id: str, caller: Caller, raw: bytes, event: HookToolEvent, choices: tuple[Choice, ...], **more: Any
) -> Request:
    digest = digest_of(raw)
    return Request(
        id=request_id,
        caller=caller,
        event=event.hook_event_name,
        call=call_of(_as_asked(event)),
        input=event.tool_input,
        choices=sealed(choices, digest, *caller.facts),
        digest=digest,
        raw=raw,
        cwd=event.cwd,
        transcript_path=event.transcript_path or "",
        agent_type=event.agent_type or "",
        prompt_id=event.prompt_id or "",
        permission_mode=event.permission_mode or "",
        editable=_editable(event.tool_name) if any(choice.action is Action.ASK_EDIT for choice in choices) else "",
        **more,
    )


def _form(tool_input: dict[str, Any]) -> Form | None:
    """The questions, where all of them can be put on a card and told apart afterwards."""
    found = tool_input.get("questions")
    if not isinstance(found, list) or not 0 < len(found) <= MOST_QUESTIONS:
        return None
    questions = [_question(value) for value in found]
    texts = {question.text for question in questions if question is not None}
    # The answers are told apart by the question's text alone.
    if len(texts) < len(found):
        return None
    return Form(tuple(question for question in questions if question is not None), field="answers")


def _question(value: Any) -> Question | None:
    if not isinstance(value, dict) or not isinstance(value.get("question"), str) or not value["question"].strip():
        return None
    options, header = value.get("options", []), value.get("header")
    if not isinstance(options, list) or len(options) > MOST_OPTIONS:
        return None
    labels = [option.get("label") if isinstance(option, dict) else None for option in options]
    if not all(isinstance(label, str) and label.strip() for label in labels):
        return None
    return Question(
        text=value["question"],
        options=tuple(
            Option(option["label"], option["description"] if isinstance(option.get("description"), str) else "")
            for option in options
        ),
        header=header if isinstance(header, str) else "",
        many=value.get("multiSelect") is True,
    )


def _as_asked(event: HookToolEvent) -> HookToolEvent:
    """The call in what its permission event and its report have in common.

    Answers are written into the input of a question afterwards. A plan is put into its input for the person who is
    asked, and is not in the report; there is one plan at a time.
    """
    if event.tool_name == QUESTIONS:
        common = {key: value for key, value in event.tool_input.items() if key not in ("answers", "annotations")}
    elif event.tool_name == PLAN:
        common = {}
    else:
        return event
    return event.model_copy(update={"tool_input": common})
