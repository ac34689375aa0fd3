"""A short run of the crash test with a fixed seed. `make crash` is the long one."""

from __future__ import annotations

import pytest

from tests.crash import crash


@pytest.mark.timeout(300)
def test_kill_at_random_instants_loses_doubles_and_changes_nothing() -> None:
    findings = crash(rounds=12, seed=20261118)
    assert findings.faults == []
    assert findings.kills == 12
    assert findings.allows and findings.denials, "a run in which nothing was decided would show nothing"
