"""Why the agent asks: its last words before the call, from the end of its transcript. Failures leave them out."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

MOST_BYTES = 256 * 1024  # read from the end; some lines are very long, and live without the rest
MOST_CHARACTERS = 10_000  # a card shows far less, but a secret must not be cut in two before it is masked


def read_last_words(transcript_path: str, agent_id: str = "") -> str:
    """The newest text that the agent wrote, or "". Blocking: run it in a worker thread."""
    if not transcript_path:
        return ""
    try:
        path = Path(transcript_path)
        if agent_id and agent_id.isalnum():
            own = path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
            path = own if own.is_file() else path
        return find_last_words(_read_tail(path))
    except (OSError, ValueError):
        return ""


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
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    found = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    return found[-1] if found else ""


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
