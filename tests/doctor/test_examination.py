"""The examination as a whole: well, all broken at once, and checks that themselves break."""

from __future__ import annotations

import socket

import pytest

from tapgate.doctor.check import Check
from tests.doctor.ward import FAULT, GONE, OK, TOKEN, WARNING, Ward


def test_where_all_is_well_nothing_is_found(ward: Ward) -> None:
    assert ward.troubles() == {}
    assert {check.advice for check in ward.checks() if check.status is OK} == {""}


def test_every_fault_and_warning_says_what_to_do(ward: Ward) -> None:
    """With as much broken at once as can be: nothing stops the others from being looked at."""
    ward.config_path.chmod(0o644)
    ward.stop_daemon()
    ward.bot.answers = {"getMe": GONE}
    ward.free = 0
    ward.settings("claude").write_text("{}")
    troubles = [check for check in ward.checks() if check.status in (FAULT, WARNING)]
    assert {"config", "telegram", "daemon", "journal", "agents"} <= {check.group for check in troubles}
    assert all(check.advice for check in troubles)


# The doctor's own faults


def test_a_check_that_breaks_is_told_and_stops_no_other(ward: Ward) -> None:
    ward.status = {"nonsense": TOKEN}
    ward.bot.answers = {}
    checks = {check.name: check for check in ward.checks()}
    assert TOKEN not in repr(checks)
    for name in ("telegram.broken", "daemon.broken"):
        assert checks[name].status is FAULT and "broke off (KeyError" in checks[name].detail
        assert "report" in checks[name].advice
    assert checks["config.file"].status is OK and checks["agents.claude"].status is OK


def test_a_daemon_that_cannot_even_be_asked(ward: Ward) -> None:
    ward.status = ZeroDivisionError("boom")
    checks: dict[str, Check] = {check.name: check for check in ward.checks()}
    assert "ZeroDivisionError" in checks["daemon.broken"].detail
    assert checks["daemon.running"].status is FAULT and checks["journal.disk"].status is OK


def test_the_stale_socket_in_these_tests_is_a_real_one(ward: Ward) -> None:
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(str(ward.socket_path))
