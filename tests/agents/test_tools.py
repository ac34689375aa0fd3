"""A tool's row tells what a call would do, whatever the agent calls the tool and its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tapgate.agents.registry import BUILT_IN
from tapgate.cards.change import change_of, changed_path
from tapgate.desk.matching import Kin, kin_of, supersedes
from tapgate.model import UNKNOWN_TOOL, OnDisk, Request, Tool, ToolKind, ToolUse
from tapgate.risk.assess import assess, hidden_texts
from tapgate.telegram.content import content_of, gist_of
from tests.builders import make_request
from tests.telegram.cards import SETTING

USES: dict[ToolKind, tuple[str, dict[str, Any]]] = {
    ToolKind.COMMAND: ("Bash", {"command": "sudo rm -rf ~/x", "timeout": 9000, "run_in_background": True}),
    ToolKind.WRITE: ("Write", {"file_path": "/home/dev/.ssh/config", "content": "Host *\n"}),
    ToolKind.EDIT: ("Edit", {"file_path": "/a/b.py", "old_string": "a", "new_string": "b", "replace_all": True}),
    ToolKind.EDITS: ("MultiEdit", {"file_path": "/a/b.py", "edits": [{"old_string": "a", "new_string": "b"}]}),
    ToolKind.NOTEBOOK: ("NotebookEdit", {"notebook_path": "/a/n.ipynb", "cell_id": "c", "new_source": "x = 1"}),
    ToolKind.PATCH: ("apply_patch", {"command": "*** Update File: ../.bashrc\n@@\n+x"}),
    ToolKind.READ: ("Read", {"file_path": "/home/dev/.ssh/id_rsa", "offset": 3, "limit": 4}),
    ToolKind.FIND: ("Glob", {"pattern": "*.py", "path": "/a"}),
    ToolKind.SEARCH: ("Grep", {"pattern": "x", "path": "/a", "glob": "*.py"}),
    ToolKind.LIST: ("LS", {"path": "/a", "ignore": ["b"]}),
    ToolKind.FETCH: ("WebFetch", {"url": "http://10.0.0.1/", "prompt": "What is there?"}),
    ToolKind.WEB_SEARCH: ("WebSearch", {"query": "cats"}),
    ToolKind.TASK: ("Task", {"prompt": "Look around.", "subagent_type": "scout"}),
    ToolKind.SKILL: ("Skill", {"skill": "deploy", "args": "now"}),
    ToolKind.PLAN: ("ExitPlanMode", {"plan": "# Do it"}),
    ToolKind.ASK: ("AskUserQuestion", {"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}),
}


def renamed(value: Any) -> Any:
    """The same with other names of fields, in lists of edits and questions as well."""
    if isinstance(value, dict):
        return {f"my_{key}": renamed(item) for key, item in value.items()}
    return [renamed(item) for item in value] if isinstance(value, list) else value


def names_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(name for item in value.values() for name in names_in(item))}
    return {name for item in value for name in names_in(item)} if isinstance(value, list) else set()


def in_other_words(request: Request) -> Request:
    """The request of an agent whose tool does the same and names its fields otherwise."""
    names = {name: f"my_{name}" for name in names_in(dict(request.input))}
    return replace(request, input=renamed(dict(request.input)), tool=replace(request.tool, names=names))


def request_of(kind: ToolKind) -> Request:
    tool, fields = USES[kind]
    return make_request(tool=tool, tool_input=fields, suggestions=())


def test_each_kind_is_in_a_built_in_table() -> None:
    kinds = {tool.kind for agent in BUILT_IN.values() for tool in agent.tools.values()}
    assert {*USES} == kinds == {*ToolKind} - {ToolKind.OTHER}
    assert [kind for kind in USES if request_of(kind).tool.kind is not kind] == []


@pytest.mark.parametrize("kind", USES)
def test_other_names_of_fields_change_nothing_on_the_card(kind: ToolKind) -> None:
    request = request_of(kind)
    other = in_other_words(request)
    assert content_of(other, SETTING) == content_of(request, SETTING)
    assert gist_of(other) == gist_of(request)


@pytest.mark.parametrize("kind", USES)
def test_other_names_of_fields_change_no_risk(kind: ToolKind) -> None:
    request = request_of(kind)

    def risks(use: ToolUse) -> list[str]:
        return [risk.name for risk in assess(use, cwd="/home/dev/shop", project="/home/dev/shop", home="/home/dev")]

    assert risks(in_other_words(request).tool_use) == risks(request.tool_use)


@pytest.mark.parametrize("kind", [ToolKind.WRITE, ToolKind.EDIT, ToolKind.EDITS, ToolKind.NOTEBOOK])
def test_other_names_of_fields_change_the_file_alike(kind: ToolKind) -> None:
    use, other = request_of(kind).tool_use, in_other_words(request_of(kind)).tool_use
    notebook = '{"cells": [{"id": "c", "source": "x = 0"}]}'
    text = notebook if kind is ToolKind.NOTEBOOK else "a\n"
    assert changed_path(use) == changed_path(other) != ""
    change = change_of(use, text, seen=OnDisk(at=0.0))
    assert change == change_of(other, text, seen=OnDisk(at=0.0)) != OnDisk(at=0.0)


def test_what_a_command_hides_is_found_under_another_name() -> None:
    fields = {"script": "sshpass -p 'hunter two' ssh h"}
    (hidden,) = hidden_texts(ToolUse("run", fields, Tool(ToolKind.COMMAND, names={"command": "script"})))
    assert hidden.text == "hunter two"


def test_a_changed_input_is_another_use() -> None:
    """A text that a person puts in is judged and shown, never the one that it replaces."""
    request = request_of(ToolKind.COMMAND)
    changed = replace(request, input={"command": "ls"})
    assert changed.tool_use.command == "ls"
    assert gist_of(changed) == "ls"


def test_a_tool_that_nobody_knows_is_read_by_the_names_of_its_fields() -> None:
    request = make_request(tool="mcp__box__run", tool_input={"command": "sudo ls", "path": "/etc"}, suggestions=())
    assert request.tool == UNKNOWN_TOOL
    assert (request.tool_use.command, request.tool_use.path) == ("sudo ls", "/etc")


def test_only_tools_that_are_asked_one_by_one_supersede_each_other() -> None:
    def ask(number: int, agent: str, tool: str) -> Kin:
        fields = {"command": str(number)}
        return kin_of(make_request(number, agent=agent, tool=tool, tool_input=fields, suggestions=()))

    assert supersedes(ask(2, "claude", "Bash"), ask(1, "claude", "Bash"))
    assert not supersedes(ask(2, "claude", "Write"), ask(1, "claude", "Write"))
    assert not supersedes(ask(2, "claude", "Bash"), ask(1, "claude", "Write"))
    assert not supersedes(ask(2, "codex", "Bash"), ask(1, "codex", "Bash"))
