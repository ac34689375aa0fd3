"""`tapgate hooks install | uninstall | status`, as real commands in a home of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hooks.shapes import SHAPES


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        (folder / "config.toml").write_text("socket_path = 'd.sock'\nstate_dir = 'state'\n")
        self.environ = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "TAPGATE_CONFIG": str(folder / "config.toml"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def hooks(self, *words: str, answer: str = "", **environ: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "tapgate", "hooks", *words],
            env={**self.environ, **environ},
            cwd=self.project,
            input=answer,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_change_is_shown_and_asked_about_before_it_is_made(home: Home) -> None:
    path = home.folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(SHAPES["two spaces"] or b"")
    code, said = home.hooks("install", answer="n\n")
    assert code == 1
    assert f"+++ {path}" in said
    assert '+    "PermissionRequest": [' in said
    assert "This adds tapgate to PermissionRequest, PostToolUse, " in said
    assert "Nothing was changed." in said
    assert path.read_bytes() == SHAPES["two spaces"]
    code, said = home.hooks("install", answer="y\n")
    assert code == 0
    assert f"Wrote {path}. What was there before: {path}.before-tapgate-" in said
    assert "PermissionRequest" in json.loads(path.read_text())["hooks"]


def test_nobody_there_to_answer_means_no(home: Home) -> None:
    code, said = home.hooks("install", answer="")
    assert code == 1
    assert not (home.folder / ".claude").exists()
    assert "Traceback" not in said


def test_a_dry_run_only_shows(home: Home) -> None:
    code, said = home.hooks("install", "--dry-run")
    assert code == 0
    assert "+++ " in said
    assert "Nothing was changed (--dry-run)." in said
    assert not (home.folder / ".claude").exists()


def test_install_status_and_uninstall_go_round(home: Home) -> None:
    assert home.hooks("status")[0] == 1
    assert home.hooks("install", "--yes")[0] == 0
    code, said = home.hooks("status")
    assert (code, said) == (
        0,
        f"ok      Claude Code asks tapgate: registered in {home.folder}/.claude/settings.json.\n",
    )
    code, said = home.hooks("install", "--yes")
    assert (code, "nothing to change" in said) == (0, True)
    code, said = home.hooks("uninstall", "--yes")
    assert code == 0
    assert "which tapgate had made" in said
    assert list((home.folder / ".claude").iterdir()) == []
    assert home.hooks("uninstall", "--yes")[0] == 0


@pytest.mark.parametrize(
    ("words", "variable", "place"),
    [
        ((), "", ".claude/settings.json"),
        ((), "CLAUDE_CONFIG_DIR", "elsewhere/settings.json"),
        (("--scope", "project"), "", "project/.claude/settings.json"),
        (("--scope", "local"), "CLAUDE_CONFIG_DIR", "project/.claude/settings.local.json"),
        (("--agent", "codex"), "", ".codex/hooks.json"),
        (("--agent", "codex"), "CODEX_HOME", "elsewhere/hooks.json"),
        (("--agent", "codex", "--scope", "project"), "CODEX_HOME", "project/.codex/hooks.json"),
    ],
)
def test_every_scope_writes_one_file_and_takes_it_away(
    words: tuple[str, ...], variable: str, place: str, home: Home
) -> None:
    environ = {variable: str(home.folder / "elsewhere")} if variable else {}
    before = {path for path in home.folder.rglob("*") if path.is_file()}
    assert home.hooks("install", "--yes", *words, **environ)[0] == 0
    assert {path for path in home.folder.rglob("*") if path.is_file()} - before == {home.folder / place}
    assert home.hooks("uninstall", "--yes", *words, **environ)[0] == 0
    assert {path for path in home.folder.rglob("*") if path.is_file()} == before


def test_warnings_come_with_the_install(home: Home) -> None:
    path = home.folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"disableAllHooks": true, "permissions": {"defaultMode": "dontAsk"}}')
    code, said = home.hooks("install", "--yes")
    assert code == 0
    assert "fault   " in said
    assert "disableAllHooks is on" in said
    assert "warning " in said
    assert home.hooks("status")[0] == 1


def test_codex_is_told_to_be_told(home: Home) -> None:
    code, said = home.hooks("install", "--yes", "--agent", "codex")
    assert code == 0
    assert "once you have told it to trust the hook" in said
    code, said = home.hooks("status", "--agent", "codex")
    assert code == 1
    assert "(or type /hooks), and trust it" in said
    assert "Claude Code" not in home.hooks("status")[1]  # which is not used here


def test_a_gate_is_written_printed_kept_and_taken_out(home: Home) -> None:
    path = home.folder / ".claude" / "settings.json"
    assert home.hooks("install", "--yes", "--gate", "Bash|Write|Edit")[0] == 0
    (group,) = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert group["matcher"] == "Bash|Write|Edit"
    assert json.loads(home.hooks("print", "--gate", "Bash|Write|Edit")[1]) == json.loads(path.read_text())
    assert "nothing to change" in home.hooks("install", "--yes")[1]
    code, said = home.hooks("install", "--yes", "--no-gate")
    assert code == 0
    assert "This takes it out of PreToolUse." in said
    assert "PreToolUse" not in json.loads(path.read_text())["hooks"]
    for words in (
        ["--gate", "Bash("],
        ["--gate", ""],
        ["--gate", "Bash", "--no-gate"],
        ["--gate", "Bash", "--agent", "codex"],
    ):
        code, said = home.hooks("install", "--yes", *words)
        assert code == 1
        assert said.startswith("tapgate: ")
    assert home.hooks("print", "--gate", "[")[0] == 1


def test_faults_are_sentences_with_a_place(home: Home) -> None:
    path = home.folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{\n  "a": oops\n}')
    for command in ("install", "uninstall"):
        code, said = home.hooks(command, "--yes")
        assert code == 1
        assert said.startswith(f"tapgate: {path}:2:8: this is not valid JSON")
    assert path.read_text() == '{\n  "a": oops\n}'
    code, said = home.hooks("install", "--agent", "codex", "--scope", "local")
    assert (code, said) == (1, "tapgate: Codex has no local scope; choose --scope user or --scope project\n")
