"""The limit of open files, raised in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tapgate.daemon.limits import MOST_FILES, files_needed
from tapgate.daemon.listener import MOST_CALLERS

SCRIPT = """
import resource, sys
from tapgate.daemon.limits import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(raise_file_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [(256, 4096, 4096), (4096, 4096, 4096), (64, 64, 64)],
)
def test_the_soft_limit_becomes_the_hard_one(soft: int, hard: int, then: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(soft), str(hard)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(then), str(then)]


def test_the_most_that_is_asked_for_is_enough_for_all_callers() -> None:
    assert files_needed(MOST_CALLERS) <= 10_240 < MOST_FILES
