"""What a test asks for: agents in homes of their own, with tapgate's hooks, a phone, and an end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from tests.agents.real import openai_api
from tests.agents.real.anthropic_api import AnthropicApi, Step
from tests.agents.real.claude import Claude
from tests.agents.real.codex import Codex
from tests.agents.real.home import Home, install_hooks
from tests.agents.real.pinned import CLAUDE, Pinned, reason_to_skip
from tests.e2e.world import World

_NUMBERS = itertools.count(1)


def needs(agent: Pinned) -> pytest.MarkDecorator:
    """For tests that run this agent: skipped where it is not installed, unless TAPGATE_REQUIRE_AGENTS=1 wants them."""
    reason = reason_to_skip(agent)
    return pytest.mark.skipif(bool(reason), reason=reason)


class Lab:
    def __init__(self, world: World, stack: ExitStack) -> None:
        self.world = world
        self._stack = stack

    def home(self) -> Home:
        return Home(self.world, f"a{next(_NUMBERS):03}")

    def claude(
        self,
        *script: Step,
        home: Home | None = None,
        others: Mapping[str, Sequence[Step]] | None = None,
        version: Pinned = CLAUDE,
        gate: str = "",
    ) -> Claude:
        """Claude Code that will ask for the script's calls, with `tapgate`'s hooks installed."""
        home = home or self.home()
        api = self._stack.enter_context(AnthropicApi(script, dict(others or {})))
        claude = Claude(home, api, version=version)
        self._stack.callback(claude.close)
        install_hooks(home, "claude", gate)
        return claude

    def codex(self, *script: openai_api.Step, home: Home | None = None) -> Codex:
        """Codex that will ask for the script's calls, with `tapgate`'s hooks installed."""
        home = home or self.home()
        api = self._stack.enter_context(openai_api.OpenAiApi(script))
        codex = Codex(home, api)
        self._stack.callback(codex.close)
        install_hooks(home, "codex")
        return codex


@contextmanager
def lab_in(world: World) -> Iterator[Lab]:
    with ExitStack() as stack:
        yield Lab(world, stack)
