"""Whatever comes on stdin: a request that can be answered, or an InputError that quotes none of it. Nothing else."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.agents.dialect import MOST_DEPTH, MOST_VALUES
from tapgate.agents.registry import BUILT_IN
from tapgate.errors import InputError
from tapgate.model import Action, Decision, Request, Verdict
from tapgate.wire import MAX_BODY_BYTES

from .captures import CLAUDE, CODEX, ask, event, hear

SECRET = "hunter2-hunter2"
AGENTS = sorted(BUILT_IN)

texts = st.text(st.characters(exclude_categories=()), max_size=8) | st.just(SECRET)  # surrogates as well
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars | st.just(10**40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
captures = [json.loads(path.read_bytes()) for path in (*CLAUDE, *CODEX)]
fields = sorted({key for value in captures for key in value} | {"decision_reason", "blocked_path", "tool_output"})


def listen(raw: bytes, agent: str) -> str | None:
    """The refusal, if it is one. A request must be answerable in every way its buttons offer."""
    try:
        heard = hear(raw, agent)
    except InputError as error:
        return str(error)
    if isinstance(heard, Request):
        for choice in heard.choices:
            if choice.action not in (Action.DECIDE, Action.CONFIRM, Action.ASK_REASON):
                continue
            output = BUILT_IN[agent].render(heard, choice.decision)
            assert json.loads(output)
            assert output.isascii()
        assert json.loads(BUILT_IN[agent].render(heard, Decision(Verdict.NONE)) or b"{}") is not None
    return None


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "nothing came on stdin"),
        (b" \n\t ", "nothing came on stdin"),
        (b"hunter2-hunter2", "what came on stdin is not JSON (line 1, column 1)"),
        (b'{"hook_event_name":\n hunter2-hunter2}', "what came on stdin is not JSON (line 2, column 2)"),
        (bytes(range(256)), "what came on stdin is not JSON (line 1, column 1)"),
        (b'"\xff\xfe\xfd"', "what came on stdin is not JSON"),
        (b'["hunter2-hunter2"]', "the JSON on stdin is not an object"),
        (b'"hunter2-hunter2"', "the JSON on stdin is not an object"),
        (b"null", "the JSON on stdin is not an object"),
        (b"17", "the JSON on stdin is not an object"),
        (b"{}", "the JSON on stdin is not a hook event: it has no hook_event_name"),
        (b'{"hook_event_name": 5}', "the JSON on stdin is not a hook event: it has no hook_event_name"),
        (b'{"hook_event_name": null}', "the JSON on stdin is not a hook event: it has no hook_event_name"),
        (event(tool_input={"n": float("nan")}), "what came on stdin is not JSON"),
        (event(tool_input={"n": float("inf")}), "what came on stdin is not JSON"),
        (event(tool_input={"n": -float("inf")}), "what came on stdin is not JSON"),
        (event(tool_input={"n": 17}).replace(b"17", b"1e999"), "what came on stdin is not JSON"),
        (event(tool_input={"n": 17}).replace(b"17", b"1" * 5000), "what came on stdin is not JSON"),
        (event(tool_input=None), "the PermissionRequest event's tool_input is not as expected"),
        (event(tool_name=["hunter2-hunter2"]), "the PermissionRequest event's tool_name is not as expected"),
        (event(session_id=5), "the PermissionRequest event's session_id is not as expected"),
        (event(hook_event_name="hunter2-hunter2", cwd=5), "the hook event's cwd is not as expected"),
        (b'{"hook_event_name": "PermissionRequest"}', "the PermissionRequest event's tool_name is not as expected"),
    ],
)
def test_what_is_no_event_is_refused_with_a_sentence(raw: bytes, sentence: str, agent: str) -> None:
    with pytest.raises(InputError) as refused:
        hear(raw, agent)
    assert str(refused.value).startswith(sentence)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None  # it would bring the content along in a traceback


@pytest.mark.parametrize("field", fields)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_field_of_any_wrong_type_does_no_harm(field: str, agent: str) -> None:
    wrongs: list[Any] = [None, True, 5, 0.5, SECRET, [SECRET], {SECRET: SECRET}, [[{}]]]
    for value in captures:
        for wrong in wrongs:
            refusal = listen(json.dumps({**value, field: wrong}).encode(), agent)
            assert SECRET not in (refusal or "")


def test_at_the_deepest_that_is_taken_everything_still_works() -> None:
    for depth in (10, MOST_DEPTH - 4, MOST_DEPTH - 3):
        nested: Any = "x"
        for _ in range(depth):
            nested = [nested]
        request = ask(event(tool_input={"a": nested}, permission_suggestions=[{"type": "addRules", "rules": nested}]))
        assert request.input == {"a": nested}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("depth", [MOST_DEPTH, 500, 985, 990, 995, 1500, 100_000, 1_000_000])
@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("field", ["tool_input", "permission_suggestions", "mcp_server", "unknown"])
def test_deep_nesting_is_refused(field: str, brackets: tuple[bytes, bytes], depth: int, agent: str) -> None:
    """However deep the caller's own stack is at that moment: never a RecursionError."""
    inner = brackets[0] * depth + b"1" + brackets[1] * depth
    raw = event(**{field: {"k": "HERE"}}).replace(b'"HERE"', inner)
    too_many = f"more than {MOST_VALUES} values"  # told from the bytes, before anything is parsed
    with pytest.raises(InputError, match=too_many if depth > MOST_VALUES else "nested too deeply"):
        hear(raw, agent)


def test_a_wide_input_is_not_mistaken_for_a_deep_one() -> None:
    wide: list[Any] = [[[]] for _ in range(5000)]
    assert ask(event(tool_input={"a": wide})).input == {"a": wide}


def test_of_a_key_given_twice_the_last_one_counts_as_it_does_for_the_agent() -> None:
    raw = b'{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls","command":"id"}}'
    assert ask(raw).input == {"command": "id"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_json_in_another_encoding_is_read(encoding: str) -> None:
    assert ask(event(tool_input={"command": "echo ✅"}).decode().encode(encoding)).input == {"command": "echo ✅"}


def test_16_mib_are_read_in_seconds() -> None:
    raw = event(tool_name="Write", tool_input={"file_path": "/x", "content": "y" * (16 * 1024 * 1024 - 200)})
    begun = time.perf_counter()
    assert len(ask(raw).input["content"]) == 16 * 1024 * 1024 - 200
    assert time.perf_counter() - begun < 10


def test_very_many_brackets_are_read_up_to_a_number_and_refused_beyond_it() -> None:
    flat = b'{"hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"a":[%s]}}'
    ask(flat % b",".join([b"[]"] * (MOST_VALUES // 2 - 10)))
    with pytest.raises(InputError, match=f"more than {MOST_VALUES} values"):
        ask(flat % b",".join([b"[]"] * (MAX_BODY_BYTES // 3 - 100)))


@given(values, st.sampled_from(AGENTS))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_any_json_is_refused_without_being_quoted(value: Any, agent: str) -> None:
    refusal = listen(json.dumps(value).encode(), agent)
    assert refusal is not None
    assert SECRET not in refusal


@given(
    st.sampled_from(captures),
    st.dictionaries(st.sampled_from(fields) | texts, values, max_size=3),
    st.sets(st.sampled_from(fields), max_size=2),
    st.sampled_from(AGENTS),
)
@settings(max_examples=400, derandomize=True, deadline=None)
def test_a_changed_recording_is_read_or_refused(
    value: dict[str, Any], changed: dict[str, Any], dropped: set[str], agent: str
) -> None:
    mutated = {key: item for key, item in {**value, **changed}.items() if key not in dropped}
    refusal = listen(json.dumps(mutated).encode(), agent)
    assert SECRET not in (refusal or "")


@given(st.sampled_from(captures), st.data(), st.sampled_from(AGENTS))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_a_damaged_recording_is_read_or_refused(value: dict[str, Any], data: st.DataObject, agent: str) -> None:
    raw = bytearray(json.dumps(value).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(raw)))
        end = data.draw(st.integers(start, min(len(raw), start + 20)))
        raw[start:end] = data.draw(st.binary(max_size=6))
    listen(bytes(raw), agent)


@given(st.binary(max_size=60), st.sampled_from(AGENTS))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_any_bytes_are_refused(raw: bytes, agent: str) -> None:
    assert listen(raw, agent) is not None
