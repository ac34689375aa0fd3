"""Why the agent asks: its last words before the call, from the end of its transcript. Failures leave them out."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from tapgate.model import Request

MOST_BYTES = 256 * 1024  # read from the end; some lines are very long, and live without the rest
MOST_CHARACTERS = 10_000  # a card shows far less, but a secret must not be cut in two before it is masked
LATE_S = (0.02, 0.03, 0.05, 0.1, 0.2)  # Claude Code runs the hook a little before its transcript holds the call


def read_request_words(request: Request) -> str:
    """What the agent wrote last before it asked this. Blocking: run it in a worker thread."""
    return read_last_words(request.transcript_path, request.call.agent_id, tool=request.call.tool)


def read_last_words(
    transcript_path: str, agent_id: str = "", *, tool: str = "", pause: Callable[[float], None] = time.sleep
) -> str:
    """The newest text that the agent wrote, or "". Blocking: run it in a worker thread.

    With a tool's name it waits, for a moment, until the transcript holds a call of it that has no result yet: before
    that, the newest text belongs to what the agent did earlier.
    """
    if not transcript_path:
        return ""
    try:
        tail = _read_own_tail(transcript_path, agent_id)
        for late_s in LATE_S if tool and _is_expected(transcript_path) else ():
            if holds_call(tail, tool):
                break
            pause(late_s)
            tail = _read_own_tail(transcript_path, agent_id)
        return find_last_words(tail)
    except (OSError, ValueError):
        return ""


def holds_call(tail: bytes, tool: str) -> bool:
    """Whether a call of this tool stands there without its result."""
    ended: set[str] = set()
    for line in reversed(tail.split(b"\n")):
        if b'"tool_use' not in line:  # a result names its tool_use_id, so this finds both
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for block in _blocks_of(value):
            if block.get("type") == "tool_result":
                ended.add(str(block.get("tool_use_id")))
            elif block.get("type") == "tool_use" and block.get("name") == tool and str(block.get("id")) not in ended:
                return True
    return False


def find_last_words(tail: bytes) -> str:
    """The last text block of the last assistant line that has one. Lines of other kinds come and go."""
    for line in reversed(tail.split(b"\n")):
        if b'"assistant"' not in line:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # cut off at the beginning of the tail, or being written just now
        text = _text_of(value)
        if text:
            return text[-MOST_CHARACTERS:]
    return ""


def _text_of(value: object) -> str:
    if not isinstance(value, dict) or value.get("type") != "assistant":
        return ""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content.strip()
    texts = [block.get("text") for block in _blocks_of(value) if block.get("type") == "text"]
    found = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    return found[-1] if found else ""


def _blocks_of(value: object) -> list[dict[str, object]]:
    message = value.get("message") if isinstance(value, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_expected(transcript_path: str) -> bool:
    """Whether it is where Claude Code keeps them. A session's first call is asked before its file is there."""
    above = Path(transcript_path).parents  # CONFIG/projects/PROJECT/SESSION.jsonl
    return len(above) > 2 and above[2].is_dir()


def _read_own_tail(transcript_path: str, agent_id: str) -> bytes:
    """The end of the thread's own transcript; nothing while there is none."""
    path = Path(transcript_path)
    own = path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
    if agent_id and agent_id.isalnum() and own.is_file():
        path = own
    try:
        return _read_tail(path)
    except FileNotFoundError:
        return b""


def _read_tail(path: Path) -> bytes:
    # O_NONBLOCK: the path comes from the agent, and opening a pipe must not wait for somebody to write to it.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return b""
        return os.pread(fd, MOST_BYTES, max(0, found.st_size - MOST_BYTES))
    finally:
        os.close(fd)
