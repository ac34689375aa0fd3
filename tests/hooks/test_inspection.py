"""Each thing that keeps tapgate from being asked is found, and comes with what to do about it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tapgate import hook
from tapgate.config import Config
from tapgate.hooks import codex_trust
from tapgate.hooks.registration import EntryPlace, ours
from tapgate.hooks.scopes import agent_dir
from tapgate.hooks.settings import Finding, Scope, Severity, apply, inspect, plan_install, settings_path
from tests.hooks.shapes import OTHER


class Desk:
    """A home, a project, and an administrator's directory, all in a temporary place."""

    def __init__(self, folder: Path) -> None:
        self.home, self.cwd, self.managed = folder / "home", folder / "project", folder / "managed"
        for path in (self.home, self.cwd, self.managed):
            path.mkdir()
        self.environ = {"PATH": str(folder / "bin")}
        self.config = Config(socket_path=folder / "d.sock", state_dir=folder)

    def path(self, agent: str = "claude", scope: Scope = Scope.USER) -> Path:
        return settings_path(agent, scope, environ=self.environ, home=self.home, cwd=self.cwd)

    def install(self, agent: str = "claude", scope: Scope = Scope.USER, gate: str | None = None) -> Path:
        path = self.path(agent, scope)
        apply(plan_install(self.config, agent=agent, path=path, gate=gate))
        return path

    def edit(self, path: Path, change: Callable[[dict[str, Any]], object]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = json.loads(path.read_text()) if path.exists() else {}
        change(settings)
        path.write_text(json.dumps(settings))

    def findings(self, agent: str = "claude") -> tuple[Finding, ...]:
        return inspect(
            self.config,
            agent=agent,
            environ=self.environ,
            home=self.home,
            cwd=self.cwd,
            managed_dirs=(self.managed, self.home / "not there"),
        )

    def worst(self, agent: str = "claude") -> list[Finding]:
        return [finding for finding in self.findings(agent) if finding.level is not Severity.OK]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def only(findings: list[Finding], level: Severity, words: str) -> Finding:
    (finding,) = findings
    assert finding.level is level
    assert words in finding.sentence
    assert finding.advice
    return finding


# Where


def test_the_places_are_the_agents_own(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "project"

    def path(agent: str, scope: Scope, **environ: str) -> Path:
        return settings_path(agent, scope, environ=environ, home=home, cwd=cwd)

    assert path("claude", Scope.USER) == home / ".claude" / "settings.json"
    assert path("claude", Scope.USER, CLAUDE_CONFIG_DIR="/x") == Path("/x/settings.json")
    assert path("claude", Scope.USER, CLAUDE_CONFIG_DIR="") == home / ".claude" / "settings.json"
    assert path("claude", Scope.PROJECT, CLAUDE_CONFIG_DIR="/x") == cwd / ".claude" / "settings.json"
    assert path("claude", Scope.LOCAL) == cwd / ".claude" / "settings.local.json"
    assert path("codex", Scope.USER) == home / ".codex" / "hooks.json"
    assert path("codex", Scope.USER, CODEX_HOME="/y") == Path("/y/hooks.json")
    assert path("codex", Scope.PROJECT) == cwd / ".codex" / "hooks.json"
    assert agent_dir("codex", environ={"CODEX_HOME": "/y"}, home=home) == Path("/y")


# The registration


@pytest.mark.parametrize("scope", list(Scope))
def test_a_fresh_install_is_in_order_in_every_scope(scope: Scope, desk: Desk) -> None:
    path = desk.install(scope=scope)
    (finding,) = desk.findings()
    assert finding == Finding(Severity.OK, f"Claude Code asks tapgate: registered in {path}.")


def test_a_gate_is_mentioned(desk: Desk) -> None:
    desk.install(gate="Bash|Write")
    assert [finding.level for finding in desk.findings()] == [Severity.OK, Severity.OK]
    assert "Every call of Bash|Write is asked about" in desk.findings()[1].sentence


@pytest.mark.parametrize(("agent", "folder"), [("claude", ".claude"), ("codex", ".codex")])
def test_an_agent_that_does_not_ask_is_a_fault_where_it_is_used(agent: str, folder: str, desk: Desk) -> None:
    only(desk.worst(agent), Severity.WARNING, "does not seem to be used here")
    (desk.home / folder).mkdir()
    finding = only(desk.worst(agent), Severity.FAULT, "does not ask tapgate")
    assert finding.advice == f"Run: tapgate hooks install --agent {agent}"


def test_an_interpreter_that_is_gone_is_a_fault(desk: Desk) -> None:
    path = desk.install()
    path.write_text(path.read_text().replace(sys.executable, "/gone/bin/python"))
    only(desk.worst(), Severity.FAULT, "the interpreter /gone/bin/python is gone")


def test_a_hook_file_that_is_gone_is_a_fault(desk: Desk) -> None:
    path = desk.install()
    path.write_text(path.read_text().replace(str(Path(hook.__file__).resolve()), "/gone/tapgate/hook.py"))
    only(desk.worst(), Severity.FAULT, "the hook file /gone/tapgate/hook.py is gone")


def test_another_socket_than_the_daemons_is_a_fault(desk: Desk) -> None:
    desk.install()
    desk.config = desk.config.model_copy(update={"socket_path": Path("/elsewhere.sock")})
    only(desk.worst(), Severity.FAULT, "the daemon listens at /elsewhere.sock")


def test_another_agents_dialect_is_a_fault(desk: Desk) -> None:
    path = desk.install()
    path.write_text(path.read_text().replace("--agent claude", "--agent codex"))
    only(desk.worst(), Severity.FAULT, "the dialect of codex")


def asking(settings: dict[str, Any]) -> dict[str, Any]:
    handler: dict[str, Any] = settings["hooks"]["PermissionRequest"][0]["hooks"][0]
    return handler


def test_a_timeout_shorter_than_tapgates_is_a_warning(desk: Desk) -> None:
    path = desk.install()
    desk.edit(path, lambda settings: asking(settings).update(timeout=60))
    only(desk.worst(), Severity.WARNING, "ends the hook of PermissionRequest after 60 s; tapgate's timeout_s is 600")


def test_a_timeout_that_is_not_named_is_600_seconds(desk: Desk) -> None:
    desk.config = desk.config.model_copy(update={"timeout_s": 900})
    path = desk.install()
    desk.edit(path, lambda settings: asking(settings).pop("timeout"))
    only(desk.worst(), Severity.WARNING, "after 600 s; tapgate's timeout_s is 900")


@pytest.mark.parametrize("timeout", ["600", True, None])
def test_a_timeout_that_is_no_number_is_a_fault(timeout: object, desk: Desk) -> None:
    path = desk.install()
    desk.edit(path, lambda settings: asking(settings).update(timeout=timeout))
    only(desk.worst(), Severity.FAULT, "not a number")


def test_a_config_that_was_changed_since_is_a_warning(desk: Desk) -> None:
    desk.install(gate="Bash")
    desk.config = desk.config.model_copy(update={"timeout_s": 300})
    findings = desk.worst()
    assert [finding.level for finding in findings] == [Severity.WARNING, Severity.WARNING]
    assert "registered for another time" in findings[0].sentence
    desk.install()
    assert not desk.worst()


def test_an_asynchronous_hook_is_a_fault(desk: Desk) -> None:
    path = desk.install()
    desk.edit(path, lambda settings: asking(settings).update({"async": True}))
    only(desk.worst(), Severity.FAULT, "asynchronous")


def test_a_matcher_that_keeps_questions_away_is_a_warning(desk: Desk) -> None:
    path = desk.install()
    desk.edit(path, lambda settings: settings["hooks"]["PermissionRequest"][0].update(matcher="Bash"))
    only(desk.worst(), Severity.WARNING, "asked about Bash only")
    desk.edit(path, lambda settings: settings["hooks"]["PermissionRequest"][0].update(matcher="*"))
    assert not desk.worst()


def test_events_that_are_missing_are_named(desk: Desk) -> None:
    path = desk.install()
    desk.edit(path, lambda settings: [settings["hooks"].pop(event) for event in ("Stop", "PermissionRequest")])
    first, second = desk.worst()
    assert (first.level, second.level) == (Severity.FAULT, Severity.WARNING)
    assert "PermissionRequest is not registered" in first.sentence
    assert "not told of Stop:" in second.sentence


def test_the_same_hook_in_two_scopes_asks_once_and_two_hooks_ask_twice(desk: Desk) -> None:
    desk.install(scope=Scope.USER)
    path = desk.install(scope=Scope.LOCAL)
    assert not desk.worst()  # Claude Code runs the same command once
    path.write_text(path.read_text().replace("--deadline-s 590", "--deadline-s 590.0"))
    only(desk.worst(), Severity.WARNING, "more than once")


def test_in_the_home_directory_the_file_is_looked_at_once(desk: Desk) -> None:
    desk.cwd = desk.home
    desk.install()
    assert len(desk.findings()) == 1


# The plugin


def enable(settings: dict[str, Any]) -> None:
    settings["enabledPlugins"] = {"tapgate@tapgate": True, "other@x": True}


def test_a_plugin_needs_its_program(desk: Desk, tmp_path: Path) -> None:
    desk.edit(desk.path(), enable)
    only(desk.worst(), Severity.FAULT, "tapgate-hook is not on the PATH")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tapgate-hook").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "tapgate-hook").chmod(0o755)
    (finding,) = desk.findings()
    assert finding.level is Severity.OK
    assert "the plugin is enabled" in finding.sentence
    desk.install()
    only(desk.worst(), Severity.WARNING, "more than once")


def test_a_plugin_that_is_disabled_does_not_count(desk: Desk) -> None:
    desk.edit(desk.path(), lambda settings: settings.update(enabledPlugins={"tapgate@tapgate": False}))
    only(desk.worst(), Severity.FAULT, "does not ask tapgate")


# What else keeps Claude Code from asking


def test_hooks_that_are_all_off_are_a_fault(desk: Desk) -> None:
    path = desk.install()
    desk.edit(path, lambda settings: settings.update(disableAllHooks=True))
    only(desk.worst(), Severity.FAULT, "disableAllHooks is on")
    desk.edit(desk.path(scope=Scope.LOCAL), lambda settings: settings.update(disableAllHooks=False))
    assert not desk.worst()  # the narrower scope counts


@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/10-hooks.json"])
def test_an_administrator_who_allows_only_managed_hooks_is_a_fault(name: str, desk: Desk) -> None:
    desk.install()
    desk.edit(desk.path(), lambda settings: settings.update(allowManagedHooksOnly=True))
    assert not desk.worst()  # it counts in managed settings only
    desk.edit(desk.managed / name, lambda settings: settings.update(allowManagedHooksOnly=True))
    finding = only(desk.worst(), Severity.FAULT, "allowManagedHooksOnly is on")
    assert "administrator" in finding.advice


def test_an_administrator_who_turns_hooks_off_is_a_fault(desk: Desk) -> None:
    desk.install()
    desk.edit(desk.path(scope=Scope.LOCAL), lambda settings: settings.update(disableAllHooks=False))
    desk.edit(desk.managed / "managed-settings.json", lambda settings: settings.update(disableAllHooks=True))
    only(desk.worst(), Severity.FAULT, "disableAllHooks is on")


@pytest.mark.parametrize(("mode", "words"), [("dontAsk", "is denied"), ("bypassPermissions", "everything runs")])
def test_a_mode_that_asks_nobody_is_a_warning(mode: str, words: str, desk: Desk) -> None:
    desk.install()
    desk.edit(desk.path(), lambda settings: settings.update(permissions={"defaultMode": mode}))
    only(desk.worst(), Severity.WARNING, words)
    local = desk.path(scope=Scope.LOCAL)
    desk.edit(local, lambda settings: settings.update(permissions={"defaultMode": "default"}))
    assert not desk.worst()
    desk.edit(
        desk.managed / "managed-settings.json", lambda settings: settings.update(permissions={"defaultMode": mode})
    )
    only(desk.worst(), Severity.WARNING, words)


@pytest.mark.parametrize("scope", list(Scope))
def test_another_hook_that_may_answer_first_is_a_warning(scope: Scope, desk: Desk) -> None:
    desk.install()
    desk.edit(
        desk.path(scope=scope),
        lambda settings: (
            settings.setdefault("hooks", {})
            .setdefault("PermissionRequest", [])
            .append({"hooks": [{**OTHER, "command": "yes-to-all --quick " + "x" * 100}]})
        ),
    )
    finding = only(
        desk.worst(), Severity.WARNING, "another hook answers permission requests as well (yes-to-all --quick"
    )
    assert "…" in finding.sentence


def test_a_terminal_obeys_nothing_that_a_projects_settings_say(desk: Desk) -> None:
    desk.install()
    hostile = {"type": "command", "command": "\x1b[2J\x1b]0;all is well\x07"}
    desk.edit(
        desk.path(scope=Scope.PROJECT),
        lambda settings: settings.update(hooks={"PermissionRequest": [{"hooks": [hostile]}]}),
    )
    finding = only(desk.worst(), Severity.WARNING, "\\u001b[2J")
    assert finding.sentence.isprintable()


def test_other_hooks_on_other_events_are_nobodys_business(desk: Desk) -> None:
    desk.install()
    desk.edit(desk.path(), lambda settings: settings["hooks"]["Stop"].append({"hooks": [OTHER]}))
    assert not desk.worst()


def test_settings_that_cannot_be_read_are_a_fault_and_the_rest_is_looked_at_all_the_same(desk: Desk) -> None:
    desk.install()
    local = desk.path(scope=Scope.LOCAL)
    local.parent.mkdir()
    local.write_text('{\n  "a": 1,,\n}')
    finding = only(desk.worst(), Severity.FAULT, f"{local}:2:")
    assert "valid JSON" in finding.sentence
    assert any(finding.level is Severity.OK for finding in desk.findings())


@pytest.mark.parametrize(
    "settings", [b"[]", b'{"hooks": 3, "permissions": []}', b'{"hooks": {"Stop": [{"hooks": {}}]}}']
)
def test_settings_of_another_shape_break_nothing(settings: bytes, desk: Desk) -> None:
    desk.install()
    desk.path(scope=Scope.LOCAL).parent.mkdir()
    desk.path(scope=Scope.LOCAL).write_bytes(settings)
    assert not desk.worst()


# Codex

# As `hooks/list` of Codex 0.166.0 gave it for this command and timeout (currentHash).
SEEN_COMMAND = "[ -x /bin/true ] && exec /bin/true; exit 0"
SEEN_DIGEST = "sha256:49802d80ba1a0bb3498233a2d9784d079d5e9f449b6945a35f9ff8f5e0801247"
SEEN_WITH_MATCHER = "sha256:8bb1d425bf57a"


def test_the_digest_is_the_one_that_codex_computes() -> None:
    handler = {"type": "command", "command": SEEN_COMMAND, "timeout": 600}
    assert codex_trust.digest_of(EntryPlace("PermissionRequest", 0, 0, "", handler)) == SEEN_DIGEST
    assert codex_trust.digest_of(EntryPlace("PermissionRequest", 0, 0, "", {"command": SEEN_COMMAND})) == SEEN_DIGEST
    more = {"type": "command", "command": f"é {SEEN_COMMAND}", "statusMessage": "waiting"}
    assert codex_trust.digest_of(EntryPlace("PermissionRequest", 0, 0, "Bash", more)).startswith(SEEN_WITH_MATCHER)


def trust(desk: Desk, path: Path, *, digest: str = "", more: str = "") -> None:
    (place,) = ours(json.loads(path.read_text()))
    digest = digest or codex_trust.digest_of(place)
    (path.parent / "config.toml").write_text(
        f'[hooks.state."{path}:permission_request:{place.group}:{place.number}"]\ntrusted_hash = "{digest}"\n{more}'
    )


def test_codex_skips_what_was_never_trusted(desk: Desk) -> None:
    desk.install("codex")
    finding = only(desk.worst("codex"), Severity.FAULT, "has not been told to trust the hook")
    assert "/hooks" in finding.advice


def test_codex_runs_what_was_trusted_and_skips_what_was_changed_since(desk: Desk) -> None:
    path = desk.install("codex")
    trust(desk, path)
    assert not desk.worst("codex")
    assert Finding(Severity.OK, "Codex trusts the hook.") in desk.findings("codex")
    path.write_text(path.read_text().replace('"timeout": 600', '"timeout": 601'))
    assert "another than the one you have trusted" in desk.worst("codex")[-1].sentence


def test_an_update_of_other_hooks_does_not_touch_the_trust(desk: Desk) -> None:
    path = desk.install("codex")
    trust(desk, path)
    assert plan_install(desk.config, agent="codex", path=path).is_nothing


def test_a_hook_that_was_switched_off_in_codex_is_a_fault(desk: Desk) -> None:
    trust(desk, desk.install("codex"), more="enabled = false\n")
    only(desk.worst("codex"), Severity.FAULT, "switched off")


def test_a_linked_codex_home_is_found_under_its_real_name(desk: Desk, tmp_path: Path) -> None:
    """Codex resolves the directory that CODEX_HOME names."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    desk.environ["CODEX_HOME"] = str(tmp_path / "link")
    path = desk.install("codex")
    assert path == tmp_path / "link" / "hooks.json"
    trust(desk, path.resolve())
    assert not desk.worst("codex")


@pytest.mark.parametrize(("trusted", "heard"), [("", False), ("..", False), (".", True), ("repository", True)])
def test_codex_reads_the_hooks_of_a_trusted_project_only(trusted: str, heard: bool, desk: Desk) -> None:
    """As seen in 0.166.0: the directory itself or its repository's root, and no other directory above."""
    root = desk.cwd
    if trusted == "repository":
        (root / ".git").mkdir()
        desk.cwd = root / "sub"
        desk.cwd.mkdir()
    path = desk.install("codex", Scope.PROJECT)
    (place,) = ours(json.loads(path.read_text()))
    (desk.home / ".codex").mkdir()
    state = f'[hooks.state."{path}:permission_request:0:0"]\ntrusted_hash = "{codex_trust.digest_of(place)}"\n'
    if trusted:
        named = (root / trusted).resolve() if trusted != "repository" else root
        state += f'[projects."{named}"]\ntrust_level = "trusted"\n'
    (desk.home / ".codex" / "config.toml").write_text(state)
    if heard:
        assert not desk.worst("codex")
    else:
        only(desk.worst("codex"), Severity.FAULT, "this project is not trusted")


@pytest.mark.parametrize(
    ("line", "level", "words"),
    [
        ("[features]\nhooks = false\n", Severity.FAULT, "hooks are off"),
        ('approval_policy = "never"\n', Severity.WARNING, "approval_policy is never"),
    ],
)
def test_what_keeps_codex_from_asking_is_found(line: str, level: Severity, words: str, desk: Desk) -> None:
    path = desk.install("codex")
    trust(desk, path)
    config = path.parent / "config.toml"
    config.write_text(line + config.read_text())
    only(desk.worst("codex"), level, words)


def test_a_codex_config_that_cannot_be_read_is_a_warning_without_its_text(desk: Desk) -> None:
    path = desk.install("codex")
    (path.parent / "config.toml").write_text('key = "sk-secret')
    finding = only(desk.worst("codex"), Severity.WARNING, "cannot be read as TOML")
    assert "secret" not in finding.sentence + finding.advice
