"""Which agents there are: the built-in ones and those of installed packages, whose faults harm nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tapgate.agents.agent import Agent
from tapgate.agents.dialect import DENIED
from tapgate.agents.registry import BUILT_IN, GROUP, agent_of, is_stock_message, known_agents, load, title_of
from tapgate.doctor.agents import check_packages
from tapgate.doctor.check import Status
from tapgate.errors import InputError

MODULE = """
from tapgate.agents.agent import Agent, Ignored

AGENT = Agent(name="qwen", title="Qwen Code", parse_event=lambda id, caller, raw: Ignored("x"), render=lambda *_: b"")
SECOND = Agent(name="qwen", title="Another", parse_event=AGENT.parse_event, render=AGENT.render)
CLAUDE = Agent(name="claude", title="Not Claude Code", parse_event=AGENT.parse_event, render=AGENT.render)
NOTHING = 7
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path with a package that offers agents; without its metadata."""
    (tmp_path / "tapgate_qwen.py").write_text(MODULE)
    (tmp_path / "tapgate_broken.py").write_text("raise ValueError('half installed')")
    (tmp_path / "tapgate_leaving.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    known_agents.cache_clear()
    yield tmp_path
    known_agents.cache_clear()
    for name in ("tapgate_qwen", "tapgate_broken", "tapgate_leaving"):
        sys.modules.pop(name, None)


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def test_an_installed_package_offers_an_agent(package: Path) -> None:
    metadata = package / "tapgate_qwen-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tapgate-qwen\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nqwen = tapgate_qwen:AGENT\n")
    assert agent_of("qwen").title == title_of("qwen") == "Qwen Code"
    assert [*known_agents().agents] == ["claude", "codex", "qwen"]
    assert known_agents().errors == ()


def test_a_built_in_agent_is_found_without_loading_any_package(package: Path) -> None:
    metadata = package / "tapgate_qwen-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tapgate-qwen\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nqwen = tapgate_qwen:AGENT\n")
    assert agent_of("claude") is BUILT_IN["claude"]
    assert "tapgate_qwen" not in sys.modules


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("broken", "tapgate_broken:AGENT", "it cannot be loaded (ValueError: half installed)"),
        ("leaving", "tapgate_leaving:AGENT", "it cannot be loaded (SystemExit: 3)"),
        ("gone", "tapgate_gone:AGENT", "it cannot be loaded (ModuleNotFoundError: No module named 'tapgate_gone')"),
        ("qwen", "tapgate_qwen:NOTHING", "it names a int, not an Agent of tapgate.agents.agent"),
        ("other", "tapgate_qwen:AGENT", "its agent is named 'qwen', not 'other' as the entry point"),
        ("claude", "tapgate_qwen:CLAUDE", "there is another agent named 'claude'"),
    ],
)
def test_what_cannot_be_loaded_is_told_and_harms_nobody(package: Path, name: str, value: str, reason: str) -> None:
    registry = load([entry(name, value), entry("qwen", "tapgate_qwen:AGENT")])
    assert registry.agents["claude"] is BUILT_IN["claude"]
    assert registry.agents["qwen"].title == "Qwen Code"
    assert [(error.source, error.reason) for error in registry.errors] == [(f"{name} = {value}", reason)]
    told = [*check_packages(registry)]
    assert [(check.name, check.status) for check in told] == [
        ("agents.qwen", Status.OK),
        ("agents.packages", Status.FAULT),
    ]
    assert told[1].detail == f"{name} = {value}: {reason}"


def test_one_name_is_one_agent(package: Path) -> None:
    registry = load([entry("qwen", "tapgate_qwen:SECOND"), entry("qwen", "tapgate_qwen:AGENT")])
    assert registry.agents["qwen"].title == "Qwen Code"
    assert [error.reason for error in registry.errors] == ["there is another agent named 'qwen'"]


def test_an_unknown_agent_is_refused_with_the_names_of_those_that_are_known() -> None:
    with pytest.raises(InputError, match="does not know the agent 'emacs'; it knows claude, codex"):
        agent_of("emacs")
    assert title_of("emacs") == "emacs"
    assert not is_stock_message("emacs", DENIED)


@pytest.mark.parametrize("agent", BUILT_IN.values(), ids=BUILT_IN)
def test_what_no_person_wrote_is_told_apart(agent: Agent) -> None:
    assert is_stock_message(agent.name, DENIED)
    assert not is_stock_message(agent.name, "Use pnpm.")
