"""The agents' settings survive: whatever else stands there stays, and an uninstall leaves what was there before."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapgate.config import Config
from tapgate.errors import SettingsError, TapgateError
from tapgate.hooks import jsontext
from tapgate.hooks.command import TOLD_EVENTS, guarded_command, registrations, render_settings
from tapgate.hooks.registration import handlers, is_ours, ours
from tapgate.hooks.settings import Change, apply, plan_install, plan_uninstall
from tests.hooks.shapes import OTHER, OTHER_GROUP, SHAPES
from tests.hooks.test_jsontext import texts

CONFIG = Config(socket_path=Path("/run/user/1000/tapgate/daemon.sock"), state_dir=Path("/nowhere"))
LATER = CONFIG.model_copy(update={"timeout_s": 120})
AGENTS = ("claude", "codex")
GATE = "Bash|Write|Edit"


def write(path: Path, data: bytes | None) -> Path:
    if data is not None:
        path.write_bytes(data)
    return path


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def value_of(data: bytes | None) -> Any:
    text = (data or b"").decode().removeprefix("\ufeff")
    return jsontext.parse(text) if text.strip() else {}


def without_ours(settings: Any) -> Any:
    """These settings without tapgate's handlers, and without the containers that held nothing else."""
    hooks = {}
    for event, groups in settings.get("hooks", {}).items():
        if not isinstance(groups, list):
            hooks[event] = groups
            continue
        kept = []
        for group in groups:
            inside = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(inside, list) and any(is_ours(one) for one in inside):
                left = [one for one in inside if not is_ours(one)]
                kept += [{**group, "hooks": left}] if left else []
            else:
                kept.append(group)
        if kept or not groups:
            hooks[event] = kept
    return {**settings, "hooks": hooks}


# What the file says afterwards


@pytest.mark.parametrize("gate", [None, GATE])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gets_exactly_our_entries_and_keeps_the_rest(
    shape: str, agent: str, gate: str | None, tmp_path: Path
) -> None:
    if agent == "codex" and gate:
        return
    path = write(tmp_path / "settings.json", SHAPES[shape])
    before = value_of(SHAPES[shape])
    apply(plan_install(CONFIG, agent=agent, path=path, gate=gate))
    after = value_of(content(path))
    wanted = render_settings(CONFIG, agent=agent, gate=gate or "")["hooks"]
    found = {place.event: (place.matcher, dict(place.handler)) for place in ours(after)}
    assert found == {event: (group.get("matcher", ""), group["hooks"][0]) for event, (group,) in wanted.items()}
    assert len(ours(after)) == len(wanted)
    others = [place for place in handlers(after) if not is_ours(place.handler)]
    assert others == list(handlers(before))
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert [key for key in after if key in before] == list(before)  # in their order


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_comes_back_to_the_byte(shape: str, agent: str, tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", SHAPES[shape])
    assert not plan_install(CONFIG, agent=agent, path=path).is_nothing
    apply(plan_install(CONFIG, agent=agent, path=path))
    apply(plan_uninstall(agent=agent, path=path))
    assert content(path) == SHAPES[shape]
    assert list(tmp_path.iterdir()) == ([] if SHAPES[shape] is None else [path])  # backups that are needless are gone


@pytest.mark.parametrize("shape", SHAPES)
def test_and_after_updates_and_a_gate_that_came_and_went(shape: str, tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", SHAPES[shape])
    apply(plan_install(CONFIG, agent="claude", path=path))
    apply(plan_install(LATER, agent="claude", path=path, gate=GATE))
    apply(plan_install(LATER, agent="claude", path=path, gate="Read"))
    apply(plan_install(CONFIG, agent="claude", path=path, gate=""))
    apply(plan_uninstall(agent="claude", path=path))
    assert content(path) == SHAPES[shape]
    assert list(tmp_path.iterdir()) == ([] if SHAPES[shape] is None else [path])


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_installing_twice_is_installing_once(shape: str, agent: str, tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", SHAPES[shape])
    apply(plan_install(CONFIG, agent=agent, path=path))
    once = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    again = plan_install(CONFIG, agent=agent, path=path)
    assert again.is_nothing
    assert again.diff() == ""
    assert apply(again) is None
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == once


@pytest.mark.parametrize("shape", SHAPES)
def test_without_its_backup_an_uninstall_still_takes_out_ours_and_nothing_else(shape: str, tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", SHAPES[shape])
    backup = apply(plan_install(CONFIG, agent="claude", path=path))
    installed = value_of(content(path))
    if backup is not None:
        backup.unlink()
    apply(plan_uninstall(agent="claude", path=path))
    left = value_of(content(path))
    assert not ours(left)
    assert left.get("hooks", {}) == without_ours(installed)["hooks"]
    assert {**left, "hooks": 0} == {**value_of(SHAPES[shape]), "hooks": 0}


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts())
def test_any_object_in_any_spacing_survives(given: tuple[str, Any]) -> None:
    """Purely, without the backups: what stood there stands there, in the same bytes unless it held nothing at all."""
    text, value = given
    if "hooks" in value:
        return
    hooks = render_settings(CONFIG, agent="claude")["hooks"]
    added = jsontext.add(text, (), hooks, key="hooks")
    assert jsontext.parse(added) == {**value, "hooks": hooks}
    if value:
        assert jsontext.remove(added, ("hooks",)) == text


HANDLERS = st.one_of(
    st.just(OTHER),
    st.just({"type": "command", "command": "exec /old/python -I -S /old/tapgate/hook.py --socket /s"}),
    st.dictionaries(st.sampled_from(["type", "command", "timeout", "x"]), st.text(max_size=5), max_size=3),
    st.none(),
)
GROUPS: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"hooks": st.lists(HANDLERS, max_size=3)}, optional={"matcher": st.just("Bash")}),
    st.just({"hooks": {}}),
    st.just(4),
)
HOOKS = st.dictionaries(
    st.sampled_from(["PermissionRequest", "PreToolUse", "Stop", "SessionEnd", "Later"]),
    st.lists(GROUPS, max_size=3),
    max_size=4,
)
SETTINGS = st.fixed_dictionaries({}, optional={"model": st.text(), "hooks": HOOKS, "z": st.just([{}, []])})


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(texts(SETTINGS), st.sampled_from(["", GATE, None]), st.booleans())
def test_any_settings_in_any_spacing_go_round(given: tuple[str, Any], gate: str | None, forget: bool) -> None:
    """Also where an older tapgate is registered already, and where the backups have been thrown away."""
    text, value = given
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "settings.json", text.encode())
        apply(plan_install(CONFIG, agent="claude", path=path, gate=gate))
        assert plan_install(CONFIG, agent="claude", path=path).is_nothing
        installed = value_of(content(path))
        events = [place.event for place in ours(installed)]
        assert len(events) == len(set(events))
        others = [place.handler for place in handlers(value) if not is_ours(place.handler)]
        assert [place.handler for place in handlers(installed) if not is_ours(place.handler)] == others
        if forget:
            for backup in Path(folder).glob("*.before-tapgate-*"):
                backup.unlink()
        apply(plan_uninstall(agent="claude", path=path))
        left = value_of(content(path))
        assert not ours(left)
        assert [place.handler for place in handlers(left)] == others
        assert {**left, "hooks": 0} == {**value, "hooks": 0}
        if not forget and not ours(value):
            assert content(path) == text.encode()


def test_what_others_changed_in_between_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", SHAPES["another tool on the same event"])
    apply(plan_install(CONFIG, agent="claude", path=path))
    settings = json.loads(path.read_text())
    settings["permissions"] = {"allow": ["Bash(npm test *)"]}  # as Claude Code does when a rule is saved
    path.write_text(json.dumps(settings, indent=2))
    backup = apply(plan_uninstall(agent="claude", path=path))
    assert json.loads(path.read_text()) == {
        "hooks": {"PermissionRequest": [OTHER_GROUP]},
        "z": 1,
        "permissions": {"allow": ["Bash(npm test *)"]},
    }
    assert backup is not None
    assert json.loads(backup.read_text()) == settings


def test_uninstalling_where_nothing_is_changes_nothing(tmp_path: Path) -> None:
    for number, data in enumerate(SHAPES.values()):
        path = write(tmp_path / f"{number}.json", data)
        change = plan_uninstall(agent="claude", path=path)
        assert change.is_nothing
        apply(change)
        assert content(path) == data


# Older entries


def old_entry(**more: object) -> dict[str, Any]:
    return {
        "type": "command",
        "command": "exec /old/bin/python3.11 -I -S /old/lib/tapgate/hook.py --socket /old.sock --deadline-s 50",
        "timeout": 60,
        **more,
    }


def test_an_older_entry_is_brought_up_to_date_where_it_stands(tmp_path: Path) -> None:
    before = {
        "hooks": {
            "PermissionRequest": [OTHER_GROUP, {"matcher": "Bash", "hooks": [old_entry(statusMessage="…"), OTHER]}],
            "Stop": [{"hooks": [old_entry()]}],
        },
        "z": 1,
    }
    path = write(tmp_path / "settings.json", json.dumps(before, indent=2).encode())
    apply(plan_install(CONFIG, agent="claude", path=path))
    after = json.loads(path.read_text())
    groups = after["hooks"]["PermissionRequest"]
    wanted = {entry.event: entry.handler for entry in registrations(CONFIG, agent="claude")}
    assert groups == [
        OTHER_GROUP,
        {"matcher": "Bash", "hooks": [{**wanted["PermissionRequest"], "statusMessage": "…"}, OTHER]},
    ]
    assert after["hooks"]["Stop"] == [{"hooks": [wanted["Stop"]]}]
    assert list(after["hooks"])[:2] == ["PermissionRequest", "Stop"]
    assert plan_install(CONFIG, agent="claude", path=path).is_nothing


def test_entries_that_stand_there_several_times_become_one(tmp_path: Path) -> None:
    twice = {"hooks": {"Stop": [{"hooks": [old_entry(), OTHER, old_entry()]}, {"hooks": [old_entry()]}, OTHER_GROUP]}}
    path = write(tmp_path / "settings.json", json.dumps(twice).encode())
    apply(plan_install(CONFIG, agent="claude", path=path))
    stop = json.loads(path.read_text())["hooks"]["Stop"]
    assert [len(group["hooks"]) for group in stop] == [2, 1]
    assert stop[0]["hooks"][1] == OTHER
    assert stop[1] == OTHER_GROUP


def test_an_entry_for_an_event_that_is_not_wanted_goes(tmp_path: Path) -> None:
    settings = {"hooks": {"PreCompact": [{"hooks": [old_entry()]}, OTHER_GROUP], "Setup": [{"hooks": [old_entry()]}]}}
    path = write(tmp_path / "settings.json", json.dumps(settings, indent=4).encode())
    apply(plan_install(CONFIG, agent="claude", path=path))
    hooks = json.loads(path.read_text())["hooks"]
    assert hooks["PreCompact"] == [OTHER_GROUP]
    assert "Setup" not in hooks


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("exec python -I -S /x/tapgate/hook.py --socket s", True),
        ("exec python -I -S '/it'\"'\"'s here/tapgate/hook.py' --socket s", True),
        ("tapgate/hook.py", True),
        ("[ -x p ] && exec p -I -m tapgate.hook --agent codex; exit 0", True),
        ("command -v tapgate-hook >/dev/null || exit 0; exec tapgate-hook", True),
        ("exec python /x/nottapgate/hook.py", False),
        ("exec python /x/tapgate/hook.pyc", False),
        ("exec python /x/tapgate/hook.py.bak", False),
        ("python -m mytapgate.hook", False),
        ("my-tapgate-hook", False),
        ("tapgate-hook-wrapper", False),
        ("tapgate status", False),
    ],
)
def test_ours_is_what_names_the_hook_file(command: str, expected: bool) -> None:
    assert is_ours({"type": "command", "command": command}) is expected


def test_what_is_registered_is_known_again_wherever_it_lies() -> None:
    for agent in AGENTS:
        config = CONFIG.model_copy(update={"socket_path": Path("""/a b/it's/"q"/$x/d.sock""")})
        assert is_ours({"command": guarded_command(config, agent=agent, deadline_s=5, python="/p q/it's/python")})
    assert is_ours({"command": "python", "args": ["-I", "/x/tapgate/hook.py"]})
    assert not is_ours({"type": "http", "url": "http://x/tapgate/hook.py"})


# The gate


def gates(path: Path) -> list[tuple[str, Any]]:
    return [(place.matcher, place.handler["timeout"]) for place in ours(value_of(content(path)), "PreToolUse")]


def test_a_gate_blocks_and_stays_until_it_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    apply(plan_install(CONFIG, agent="claude", path=path, gate=GATE))
    assert gates(path) == [(GATE, 600)]
    assert all("async" not in place.handler for place in ours(value_of(content(path)), "PreToolUse"))
    assert plan_install(CONFIG, agent="claude", path=path).is_nothing  # who sets up again does not lose it
    apply(plan_install(CONFIG, agent="claude", path=path, gate="Bash"))
    assert gates(path) == [("Bash", 600)]
    apply(plan_install(CONFIG, agent="claude", path=path, gate=""))
    assert gates(path) == []
    assert "PreToolUse" not in value_of(content(path))["hooks"]


def test_a_gate_goes_beside_the_gates_of_others(tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", SHAPES["other tools on many events"])
    apply(plan_install(CONFIG, agent="claude", path=path, gate=GATE))
    groups = value_of(content(path))["hooks"]["PreToolUse"]
    assert groups[0] == OTHER_GROUP
    assert groups[1]["matcher"] == GATE


@pytest.mark.parametrize("gate", ["Bash(", "[", "*Bash", "(?P<x"])
def test_a_gate_that_matches_nothing_because_it_is_malformed_is_refused(gate: str, tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", b"{}")
    with pytest.raises(SettingsError, match=r"regular expression.*Bash"):
        plan_install(CONFIG, agent="claude", path=path, gate=gate)
    assert content(path) == b"{}"


def test_every_tool_can_be_gated_and_codex_has_no_gate(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    apply(plan_install(CONFIG, agent="claude", path=path, gate="*"))
    assert gates(path) == [("*", 600)]
    with pytest.raises(SettingsError, match="Claude Code only"):
        plan_install(CONFIG, agent="codex", path=tmp_path / "hooks.json", gate="Bash")


# What cannot be edited


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{\n  "model": "opus"\n  "x": 1\n}', ":3:3:"),
        (b"{\n  // a comment\n}", ":2:3:"),
        (b'{"a": NaN}', ":1:7:"),
        (b'{"a": 1}}', ":1:9:"),
        (b"{", ":1:2:"),
        (b'\xef\xbb\xbf{"a" 1}', ":1:6:"),
        (b'{\n "a": "\xff"}', ":2:8:"),
        (b"\xff\xfe{\x00}\x00", ":1:1:"),
        (b"[]", ":1:1: the whole file"),
        (b"null", ":1:1: the whole file"),
        (b'{"x": 1,\n "hooks": []}', ":2:11: hooks is"),
        (b'{"hooks": null}', ":1:11: hooks is"),
        (b'{"hooks": {"Stop": {}}}', ":1:20: hooks.Stop is"),
    ],
)
def test_what_the_agent_could_not_read_is_refused_with_its_place_and_left_alone(
    data: bytes, place: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "settings.json", data)
    with pytest.raises(TapgateError) as caught:
        plan_install(CONFIG, agent="claude", path=path)
    assert f"{path}{place}" in str(caught.value)
    assert "nothing was changed" in str(caught.value)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {path.name: data}


def test_an_uninstall_refuses_invalid_json_too(tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", b'{"hooks": tapgate/hook.py}')
    with pytest.raises(SettingsError, match=":1:11:"):
        plan_uninstall(agent="claude", path=path)


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "settings.json"
    change = plan_install(CONFIG, agent="claude", path=path)
    assert not path.parent.exists()
    assert isinstance(change, Change)
    apply(change)
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.parent.iterdir()}
    plan_uninstall(agent="claude", path=path)
    plan_install(LATER, agent="claude", path=path)
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.parent.iterdir()} == before


# Codex


def test_codex_gets_no_key_that_it_refuses(tmp_path: Path) -> None:
    path = write(tmp_path / "hooks.json", _described := b'{"description": "mine"}')
    apply(plan_install(CONFIG, agent="codex", path=path))
    assert set(value_of(content(path))) == {"description", "hooks"}
    apply(plan_uninstall(agent="codex", path=path))
    assert content(path) == _described


def test_codex_is_named_nothing_that_an_upgrade_of_python_moves() -> None:
    """It does not run a hook that has changed until the user has trusted it again."""
    (entry,) = registrations(CONFIG, agent="codex")
    words = shlex.split(entry.handler["command"])
    assert "-m" in words
    assert not [word for word in words if "site-packages" in word or "hook.py" in word]


def test_the_told_events_are_all_registered(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    apply(plan_install(CONFIG, agent="claude", path=path))
    assert set(value_of(content(path))["hooks"]) == {"PermissionRequest", *TOLD_EVENTS}
