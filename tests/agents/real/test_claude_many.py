"""Ten Claude Code runs at once, one phone: each gets its own answers."""

from __future__ import annotations

from tests.agents.real import labels
from tests.agents.real.anthropic_api import Use
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE

pytestmark = needs(CLAUDE)

RUNS = 10


def test_ten_runs_at_once_each_get_their_own_answers(lab: Lab) -> None:
    homes = [lab.home() for _ in range(RUNS)]
    calls = [
        [
            Use("Bash", {"command": f"touch {home.project}/{call} && echo {home.project.name}-{call}"})
            for call in ("one", "two")
        ]
        for home in homes
    ]
    agents = [lab.claude(*script, home=home) for script, home in zip(calls, homes, strict=True)]
    runs = [claude.headless() for claude in agents]
    # All of them wait before the first is answered, and the last to ask is answered first.
    for claude in agents:
        claude.phone.card("one")
    for number, claude in reversed(list(enumerate(agents))):
        if number % 2:
            claude.phone.answer(labels.ALLOW, containing="one")
        else:
            card = claude.phone.answer(labels.DENY_REASON, containing="one")
            claude.phone.reply(f"not in number {number}", claude.phone.prompt(card))
    for number, claude in enumerate(agents):
        claude.phone.answer(labels.DENY if number % 2 else labels.ALLOW, containing="two")
    for number, (claude, run) in enumerate(zip(agents, runs, strict=True)):
        run.finish()
        name = claude.home.project.name
        first, second = (result.text for result in claude.api.results())
        assert first == f"{name}-one" if number % 2 else f"not in number {number}" in first
        assert second == labels.TOLD_DENIED if number % 2 else second == f"{name}-two"
        found = sorted(path.name for path in claude.home.project.iterdir() if path.is_file())
        assert found == (["one"] if number % 2 else ["two"])
        assert len(claude.phone.cards()) == 2
