"""Edits of JSON text: the value is as wanted, and every byte around it is as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapgate.hooks import jsontext

NEW = {"type": "command", "command": "é \\ \" 'x'", "timeout": 600, "deep": [{"a": []}, {}]}

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3))
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
SPACES = st.text(alphabet=" \t\n\r", max_size=3)


@st.composite
def texts(draw: st.DrawFn, values: st.SearchStrategy[Any] = OBJECTS) -> tuple[str, Any]:
    """A value, and a text of it with any white space wherever JSON has room for it."""

    def write(value: Any) -> str:
        space = [draw(SPACES) for _ in range(2)]
        if isinstance(value, dict):
            members = ",".join(
                f"{draw(SPACES)}{json.dumps(key, ensure_ascii=draw(st.booleans()))}{draw(SPACES)}:{write(item)}"
                for key, item in value.items()
            )
            return f"{space[0]}{{{members}{draw(SPACES)}}}{space[1]}"
        if isinstance(value, list):
            return f"{space[0]}[{','.join(write(item) for item in value)}{draw(SPACES)}]{space[1]}"
        return space[0] + json.dumps(value, ensure_ascii=draw(st.booleans())) + space[1]

    value = draw(values)
    return write(value), value


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts(), st.text())
def test_adding_a_member_changes_the_value_by_that_member_alone(given: tuple[str, Any], key: str) -> None:
    text, value = given
    if key in value:
        return
    assert jsontext.parse(jsontext.add(text, (), NEW, key=key)) == {**value, key: NEW}


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts(), st.text())
def test_what_was_added_to_something_goes_without_a_trace(given: tuple[str, Any], key: str) -> None:
    text, value = given
    if key in value or not value:  # from an empty object no white space can be told apart from ours
        return
    assert jsontext.remove(jsontext.add(text, (), NEW, key=key), (key,)) == text


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts(st.lists(VALUES, max_size=4)))
def test_items_are_added_and_taken_out_likewise(given: tuple[str, Any]) -> None:
    text, value = given
    added = jsontext.add(text, (), NEW)
    assert jsontext.parse(added) == [*value, NEW]
    assert jsontext.parse(jsontext.remove(added, (len(value),))) == value
    if value:
        assert jsontext.remove(added, (len(value),)) == text


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts(), st.data())
def test_replacing_touches_nothing_else(given: tuple[str, Any], data: st.DataObject) -> None:
    text, value = given
    if not value:
        return
    key = data.draw(st.sampled_from(sorted(value)))
    start = jsontext.locate(text, (key,))
    replaced = jsontext.replace(text, (key,), NEW)
    assert jsontext.parse(replaced) == {**value, key: NEW}
    assert replaced[:start] == text[:start]
    assert list(jsontext.parse(replaced)) == list(jsontext.parse(text))


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts(), st.data())
def test_removing_takes_that_member_alone(given: tuple[str, Any], data: st.DataObject) -> None:
    text, value = given
    if not value:
        return
    key = data.draw(st.sampled_from(sorted(value)))
    assert jsontext.parse(jsontext.remove(text, (key,))) == {name: item for name, item in value.items() if name != key}


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.text())
def test_what_is_read_here_is_what_json_is(text: str) -> None:
    """No text is taken for JSON that Python's own parser refuses, and none refused that it takes."""
    try:
        expected = json.loads(text, parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError):
        with pytest.raises(jsontext.FaultError):
            jsontext.parse(text)
    else:
        assert jsontext.parse(text) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1,"k":{"x":1,"y":[2]}}'),
        ('{"a": 1}', '{"a": 1, "k": {"x": 1, "y": [2]}}'),
        ('{ "a": 1 }', '{ "a": 1, "k": {"x": 1, "y": [2]} }'),
        ("{}", '{\n  "k": {\n    "x": 1,\n    "y": [\n      2\n    ]\n  }\n}'),
        (
            '{\n\t"a": 1\n}\n',
            '{\n\t"a": 1,\n\t"k": {\n\t\t"x": 1,\n\t\t"y": [\n\t\t\t2\n\t\t]\n\t}\n}\n',
        ),
        (
            '{\r\n    "a": 1\r\n}',
            '{\r\n    "a": 1,\r\n    "k": {\r\n        "x": 1,\r\n'
            '        "y": [\r\n            2\r\n        ]\r\n    }\r\n}',
        ),
        ('{\n"a": 1\n}', '{\n"a": 1,\n"k": {\n"x": 1,\n"y": [\n2\n]\n}\n}'),
    ],
)
def test_additions_are_written_as_the_file_is(before: str, after: str) -> None:
    assert jsontext.add(before, (), {"x": 1, "y": [2]}, key="k") == after


def test_of_two_members_with_one_name_the_last_counts() -> None:
    text = '{"a": {"x": 1}, "a": {"y": 2}}'
    assert jsontext.parse(text) == {"a": {"y": 2}}
    assert jsontext.add(text, ("a",), 3, key="z") == '{"a": {"x": 1}, "a": {"y": 2, "z": 3}}'
    assert jsontext.remove(text, ("a",)) == '{"a": {"x": 1}}'


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    text = '{"a": "\\ud83d"}'
    assert jsontext.add(text, (), "\ud83d", key="b") == '{"a": "\\ud83d", "b": "\\ud83d"}'


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("", 1, 1, "expecting value"),
        ("{", 1, 2, "expecting property name"),
        ('{\n  // why\n  "a": 1}', 2, 3, "expecting property name"),
        ('{"a": 1} x', 1, 10, "extra data"),
        ('{\n "a": NaN}', 2, 7, "NaN is not JSON"),
        ('{"NaN": "Infinity", "b": -Infinity}', 1, 26, "-Infinity is not JSON"),
        ('{"a": "x\ny"}', 1, 9, "control character"),
        ("[" * 200_000, 1, 1, "nested too deeply"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(jsontext.FaultError, match=what) as caught:
        jsontext.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_comma_too_many_is_a_fault_at_that_line_or_the_next() -> None:
    """Which of the two depends on Python's version."""
    with pytest.raises(jsontext.FaultError) as caught:
        jsontext.parse('{\n  "a": 1,\n}')
    assert (caught.value.line, caught.value.column) in ((2, 9), (3, 1))


def test_numbers_of_any_length_are_read() -> None:
    assert jsontext.parse(f'{{"a": {"9" * 10_000}}}') == {"a": float("inf")}
