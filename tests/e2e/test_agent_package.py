"""An agent of an installed package is heard like a built-in one: real processes, and no line of tapgate changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.world import World, finish

MODULE = '''
"""Pochi: an agent with a language, tools and fields of its own."""

import json

from tapgate.agents.agent import Agent, Ignored
from tapgate.desk.calls import identify
from tapgate.desk.seals import sealed
from tapgate.errors import InputError
from tapgate.model import Action, Choice, Decision, Request, Tone, Tool, ToolKind, Verdict


def parse(request_id, caller, raw):
    try:
        event = json.loads(raw)
        if event["what"] != "may-i":
            return Ignored(event["what"])
        choices = (
            Choice("a", "Allow", Action.DECIDE, Decision(Verdict.ALLOW), Tone.GOOD),
            Choice("d", "Deny", Action.DECIDE, Decision(Verdict.DENY), Tone.BAD),
        )
        return Request(
            id=request_id,
            caller=caller,
            event=event["what"],
            call=identify(event["tool"], event["args"], session_id=event["run"], agent_id=""),
            input=event["args"],
            choices=sealed(choices, raw.hex()),
            digest=raw.hex(),
            raw=raw,
            cwd=event["in"],
        )
    except (ValueError, KeyError, TypeError):
        raise InputError("this is not Pochi's language") from None


def render(request, decision):
    return b"" if decision.verdict is Verdict.NONE else b"go\\n" if decision.verdict is Verdict.ALLOW else b"stop\\n"


AGENT = Agent(
    name="pochi",
    title="Pochi",
    parse_event=parse,
    render=render,
    tools={
        "run": Tool(ToolKind.COMMAND, names={"command": "script", "timeout": ""}),
        "put": Tool(ToolKind.WRITE, title="Put", names={"file_path": "target", "content": "body"}),
    },
)
'''


@pytest.fixture
def pochi(quiet_world: World, tmp_path: Path) -> World:
    """The daemon with a package beside it as an installer leaves one: a module and its metadata."""
    metadata = tmp_path / "tapgate_pochi-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tapgate-pochi\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[tapgate.agents]\npochi = tapgate_pochi:AGENT\nshiba = tapgate_shiba:AGENT\n"
    )
    (tmp_path / "tapgate_pochi.py").write_text(MODULE)
    quiet_world.environ["PYTHONPATH"] = str(tmp_path)
    quiet_world.start_daemon()
    return quiet_world


def event(tool: str, **args: Any) -> bytes:
    return json.dumps({"what": "may-i", "run": "r1", "tool": tool, "args": args, "in": "/home/dev/shop"}).encode()


def test_its_question_is_shown_and_answered(pochi: World) -> None:
    """The card names the agent, shows the command as one with its risk, and the agent gets its own answer."""
    caller = pochi.ask(event("run", script="sudo make install", timeout=3), agent="pochi")
    card = pochi.open_card("sudo make install")
    assert "Pochi" in card["text"]
    assert card["text"].startswith("⚠️"), "its risks are told as those of any command"
    assert "timeout: 3" in card["text"], "what a field means that it gave away, nobody claims to know"
    pochi.tap(card, "Allow")
    assert finish(caller) == (b"go\n", b"", 0)
    pochi.says(card, "Allowed by Ada")


def test_its_write_is_shown_as_a_file_and_denied(pochi: World) -> None:
    caller = pochi.ask(event("put", target="/home/dev/shop/notes.py", body="print('a')\n"), agent="pochi")
    card = pochi.open_card("notes.py")
    assert "11 bytes" in card["text"]
    pochi.tap(card, "Deny")
    assert finish(caller) == (b"stop\n", b"", 0)


def test_what_it_cannot_read_gets_no_opinion(pochi: World) -> None:
    """No failure becomes an allow: the hook stays silent and says why on stderr."""
    output, errors, code = finish(pochi.ask(b'{"what": "may-i"}', agent="pochi"))
    assert (output, code) == (b"", 0)
    assert b"this is not Pochi's language" in errors


def test_a_built_in_agent_is_heard_beside_a_package_that_is_broken(pochi: World) -> None:
    """The package names a second agent, whose module is missing: doctor tells it, and nobody else is harmed."""
    doctor = pochi.tapgate("doctor", "--config", str(pochi.config_path), "--json")
    checks = json.loads(doctor.communicate()[0])["checks"]
    found = {check["name"]: (check["status"], check["detail"]) for check in checks}
    assert found["agents.pochi"] == ("ok", "an installed package offers it")
    assert found["agents.packages"] == (
        "fault",
        "shiba = tapgate_shiba:AGENT, of tapgate-pochi: "
        "it cannot be loaded (ModuleNotFoundError: No module named 'tapgate_shiba')",
    )
    output, errors, code = finish(pochi.ask(b"{}", agent="shiba"))
    assert (output, code) == (b"", 0)
    assert b"does not know the agent 'shiba'" in errors
