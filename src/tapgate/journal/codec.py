"""Values to what a column holds, and back, equal. Pure: knows no connection and no table."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict

from tapgate.model import NO_UID, UNKNOWN_TOOL, Answer, Caller, Decision, Json, Request, Tool, ToolUse, Verdict

COMPRESS_ABOVE_BYTES = 64 * 1024
SUMMARY_CHARS = 200
_TELLING = ("command", "file_path", "notebook_path", "path", "url", "query", "pattern", "plan", "prompt")
"""The inputs that say in one line what a call is about, the most telling first."""

MOST_SECONDS = 1e11  # the year 5138: beyond it clocks overflow

JsonText = str | bytes


def encode_text(text: str) -> JsonText:
    """What SQLite can hold: agents may send lone surrogates, which UTF-8 refuses; such a text is kept as bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def decode_text(held: JsonText) -> str:
    return held.decode("utf-8", "surrogatepass") if isinstance(held, bytes) else str(held)


def decode_number(held: object) -> float:
    """A time or a duration. A column may hold anything, and what is no number must not reach a clock."""
    if not isinstance(held, int | float) or not -MOST_SECONDS < held < MOST_SECONDS:
        raise ValueError(f"{held!r} is no time")
    return held


def readable(held: JsonText) -> str:
    """The same for people: always printable as UTF-8, a lone surrogate as its escape."""
    return decode_text(held).encode("utf-8", "backslashreplace").decode()


def encode_input(raw: bytes) -> tuple[bytes, str]:
    """The bytes as they are stored, and the name of how. The fastest level: somebody waits for the card."""
    if len(raw) > COMPRESS_ABOVE_BYTES:
        return zlib.compress(raw, level=1), "zlib"
    return raw, "raw"


def decode_input(held: bytes, encoding: str) -> bytes:
    if encoding == "zlib":
        return zlib.decompress(held)
    if encoding == "raw":
        return held
    raise ValueError(f"an input stored as {encoding!r}, which this tapgate does not know")


def encode_json(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))  # pure ASCII: a lone surrogate stays what it is


def encode_caller(caller: Caller) -> str:
    return encode_json(asdict(caller))


def decode_caller(held: str, *, own_uid: int = NO_UID) -> Caller:
    """`own_uid` is the daemon's user: rows from before uids were kept are taken for its own."""
    found = json.loads(held)
    return Caller(
        agent=str(found["agent"]),
        deadline_s=decode_number(found["deadline_s"]),
        pid=int(found["pid"]),
        parent_pid=int(found["parent_pid"]),
        attended=found["attended"] is True,
        project=str(found["project"]),
        uid=int(found.get("uid", own_uid)),
    )


def encode_decision(decision: Decision) -> tuple[str, str | None]:
    """The decision without its updated input, and the updated input: the one outlives the other."""
    kept = {
        "verdict": decision.verdict.value,
        "message": decision.message,
        "interrupt": decision.interrupt,
        "updates": list(decision.updates),
    }
    updated = decision.updated_input
    return encode_json(kept), None if updated is None else encode_json(dict(updated))


def decode_decision(held: str, updated_input: str | None) -> Decision:
    found = json.loads(held)
    updated = None if updated_input is None else json.loads(updated_input)
    if updated is not None and not isinstance(updated, dict):
        raise ValueError("the updated input is no object")
    return Decision(
        verdict=Verdict(found["verdict"]),
        message=str(found["message"]),
        interrupt=found["interrupt"],
        updates=tuple(found["updates"]),
        updated_input=updated,
    )


def same_answer(one: Answer, other: Answer) -> bool:
    """Equal as JSON. `==` would call 1, 1.0 and true the same update, and NaN never the same as itself."""
    return _canonical(one) == _canonical(other)


def _canonical(answer: Answer) -> str:
    decision = answer.decision
    return json.dumps(
        [
            [answer.person, answer.user_id, answer.choice_key, answer.label, answer.saved],
            [float(answer.at), float(answer.after_s)],
            [decision.verdict, decision.message, decision.interrupt, list(decision.updates)],
            None if decision.updated_input is None else dict(decision.updated_input),
        ],
        sort_keys=True,
    )


def summary_of(request: Request) -> str:
    """What the call is about, in its own first characters."""
    return summary_of_input(request.input, request.tool)


def summary_of_input(tool_input: Mapping[str, Json], tool: Tool = UNKNOWN_TOOL) -> str:
    return (_telling(ToolUse("", tool_input, tool)) or _beginning(tool_input))[:SUMMARY_CHARS]


def _beginning(tool_input: Mapping[str, Json]) -> str:
    """How the input begins as JSON. Encoded piece by piece: all of 16 MiB would hold up every other thread."""
    cut = {key: value[:SUMMARY_CHARS] if isinstance(value, str) else value for key, value in tool_input.items()}
    beginning = ""
    for piece in json.JSONEncoder(separators=(",", ":")).iterencode(cut) if cut else ():
        beginning += piece
        if len(beginning) >= SUMMARY_CHARS:
            break
    return beginning


def _telling(use: ToolUse) -> str:
    for name in _TELLING:
        value = use.value(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return " ".join(value)  # a command as its words
    questions = use.value("questions")
    if isinstance(questions, list) and questions and isinstance(questions[0], dict):
        question = questions[0].get("question")
        return question if isinstance(question, str) else ""
    return ""
