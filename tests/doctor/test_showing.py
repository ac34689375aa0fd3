"""How the doctor's findings are put into words: lines for people, an object for machines, and where to begin."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from tapgate.cli.doctor import MARKS, lay_out, show
from tapgate.doctor.check import Check, Status, fault, ok, render_object, skipped, sum_up, warning
from tapgate.doctor.examination import GROUPS

LONG = "nothing can be allowed, because it could not be recorded: " + "a rather long reason, " * 6
CHECKS = (
    ok("config.file", "config", "/home/ada/.config/tapgate/config.toml"),
    warning("config.permissions", "permissions", "others can read it", advice="chmod 600 it"),
    fault(
        "journal.writable", "writable", LONG, advice="free space or make it writable; the daemon then goes on by itself"
    ),
    skipped("agents.codex", "Codex", "`codex` is not in PATH"),
)


def shown(*, width: int = 80, encoding: str = "utf-8") -> str:
    buffer = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=buffer, width=width, highlight=False, soft_wrap=True)
    assert tuple(show(CHECKS, console=console)) == CHECKS
    buffer.flush()
    buffer.seek(0)
    return buffer.read()


def test_one_line_a_check_and_its_advice_right_below() -> None:
    lines = shown().splitlines()
    assert lines[:5] == [
        "Config",
        "  ✓ config             /home/ada/.config/tapgate/config.toml",
        "  ! permissions        others can read it",
        "                       → chmod 600 it",
        "",
    ]
    assert lines[5] == "Journal and disk" and lines[6].startswith("  ✗ writable           nothing can be allowed")
    assert lines[-1] == "  – Codex              `codex` is not in PATH"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_columns_stay(width: int) -> None:
    lines = shown(width=width).splitlines()
    assert max(len(line) for line in lines) <= width
    below = [line for line in lines[7:] if line.startswith("   ")]
    assert below and all(line.startswith(" " * 23) for line in below)


def test_a_terminal_without_unicode_is_told_the_same() -> None:
    text = shown(encoding="ascii")
    assert "  x writable" in text and "-> chmod 600 it" in text and "  - Codex" in text


def test_a_path_is_never_broken_into_pieces() -> None:
    path = "/very/long" * 12
    (line,) = lay_out(ok("config.file", "config", path), width=80, arrow="→")
    assert path in line


def test_what_others_wrote_is_shown_and_not_obeyed() -> None:
    (line,) = lay_out(
        ok("people.1", "chat of \x1b[31mAda", "7000000001:a-token-of-the-right-shape"), width=80, arrow="→"
    )
    assert "\x1b" not in line and "a-token" not in line


def test_every_status_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == {status.value for status in Status}
    assert len({mark for mark, _, _ in MARKS.values()}) == len({mark for _, mark, _ in MARKS.values()}) == len(Status)


def test_the_last_line_says_how_many_and_where_to_begin() -> None:
    assert sum_up(CHECKS) == '1 fault, 1 warning: start with "writable".'
    assert sum_up(CHECKS[:2]) == "1 warning: permissions."
    assert sum_up((CHECKS[2], CHECKS[2])) == '2 faults: start with "writable".'
    assert sum_up((CHECKS[0], CHECKS[3])) == "All is well."


def test_for_machines() -> None:
    found = json.loads(json.dumps(render_object(CHECKS)))
    assert (found["ok"], found["faults"], found["warnings"]) == (False, 1, 1)
    assert found["checks"][1] == {
        "name": "config.permissions",
        "label": "permissions",
        "status": "warning",
        "detail": "others can read it",
        "advice": "chmod 600 it",
        "fixable": False,
    }
    assert render_object(CHECKS[:2])["ok"] is True, "a warning is no fault"


def test_every_group_has_a_title() -> None:
    assert {check.group for check in CHECKS} <= set(GROUPS)
    assert Check("config.x", "x", Status.OK, "").group == "config"
