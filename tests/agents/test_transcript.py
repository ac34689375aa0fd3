"""The agent's last words: found from the end, bounded, and left out wherever anything is odd."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.agents.claude.transcript import (
    LATE_S,
    MOST_BYTES,
    MOST_CHARACTERS,
    find_last_words,
    holds_call,
    read_last_words,
)


def line(text: str, kind: str = "assistant") -> bytes:
    content = [{"type": "text", "text": text}, {"type": "tool_use", "name": "Bash", "input": {}}]
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}}).encode() + b"\n"


def test_the_last_text_of_the_last_assistant_line_is_why(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    tool = json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}}).encode()
    path.write_bytes(line("first") + line("I will run the tests.") + line("typed", "user") + tool + b"\n")
    assert read_last_words(str(path)) == "I will run the tests."


def test_a_subagents_own_transcript_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line("the main thread"))
    own = tmp_path / "t" / "subagents" / "agent-a407.jsonl"
    own.parent.mkdir(parents=True)
    own.write_bytes(line("the subagent"))
    assert read_last_words(str(path), "a407") == "the subagent"
    assert read_last_words(str(path), "other") == "the main thread"
    assert read_last_words(str(path), "../../x") == "the main thread"


def test_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line("too far back") + b"x" * (MOST_BYTES + 10) + b"\n")
    assert read_last_words(str(path)) == ""
    path.write_bytes(b"x" * (MOST_BYTES * 3) + b"\n" + line("near the end"))
    assert read_last_words(str(path)) == "near the end"


def test_long_words_are_cut_from_the_front(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line("a" * 20_000 + "the end"))
    found = read_last_words(str(path))
    assert len(found) == MOST_CHARACTERS and found.endswith("the end")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"not json", b'{"type":"assistant"}', b'{"type":"assistant","message":7}']
)
def test_odd_files_give_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    assert read_last_words(str(path)) == ""


def test_what_is_no_file_gives_nothing_and_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("", "/no/such/file", str(tmp_path), str(tmp_path / "pipe"), "/dev/zero", "bad\0name", "/", "."):
        assert read_last_words(path) == ""
        assert read_last_words(path, "a407") == ""


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_text(tail: bytes) -> None:
    assert isinstance(find_last_words(b'{"type":"assistant",' + tail + b"\n" + tail), str)


def said(*blocks: dict[str, str], kind: str = "assistant") -> bytes:
    return json.dumps({"type": kind, "message": {"role": kind, "content": list(blocks)}}).encode() + b"\n"


EARLIER = said({"type": "text", "text": "earlier"}, {"type": "tool_use", "name": "Bash", "id": "1"})
RESULT = said({"type": "tool_result", "tool_use_id": "1"}, kind="user")
CALL = said({"type": "text", "text": "why"}) + said({"type": "tool_use", "name": "Bash", "id": "2"})


def test_a_call_that_is_written_late_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(EARLIER + RESULT)
    pauses: list[float] = []

    def pause(late_s: float) -> None:
        pauses.append(late_s)
        if len(pauses) == 2:
            path.write_bytes(EARLIER + RESULT + CALL)

    assert read_last_words(str(path), tool="Bash", pause=pause) == "why"
    assert pauses == list(LATE_S[:2])


def test_a_call_that_is_never_written_is_waited_for_briefly(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(EARLIER + RESULT)
    pauses: list[float] = []
    assert read_last_words(str(path), tool="Bash", pause=pauses.append) == "earlier"
    assert pauses == list(LATE_S) and sum(pauses) < 0.5


def test_a_sessions_first_call_is_asked_before_its_file_is_there(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-home-dev-shop" / "t.jsonl"

    def pause(late_s: float) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CALL)

    assert read_last_words(str(path), tool="Bash", pause=pause) == "why"


def test_nothing_is_waited_for_where_there_are_no_transcripts(tmp_path: Path) -> None:
    pauses: list[float] = []
    for path in ("/", "/t.jsonl", "t.jsonl", str(tmp_path / "no" / "such" / "folder" / "t.jsonl"), "bad\0name"):
        assert read_last_words(path, tool="Bash", pause=pauses.append) == ""
    assert pauses == []


def test_only_a_call_without_its_result_is_the_one_in_question() -> None:
    assert not holds_call(EARLIER + RESULT, "Bash")
    assert holds_call(EARLIER + RESULT + CALL, "Bash")
    assert not holds_call(EARLIER + RESULT + CALL, "Write")
    assert not holds_call(b'{"tool_use":' + EARLIER[:20] + b"\n" + b'"tool_use"\n[7,"tool_use"]\n', "Bash")
