"""Claude Code headless: every answer beyond allow and deny, each with what the agent does next."""

from __future__ import annotations

import json

import pytest

from tests.agents.real import labels
from tests.agents.real.anthropic_api import Use
from tests.agents.real.claude import paths
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE
from tests.e2e.world import finish

pytestmark = needs(CLAUDE)


def bash(command: str) -> Use:
    return Use("Bash", {"command": command, "description": "Do it"})


def test_a_typed_reason_is_what_the_model_reads(lab: Lab) -> None:
    claude = lab.claude(bash("npm publish"))
    run = claude.headless()
    card = claude.phone.answer(labels.DENY_REASON)
    claude.phone.reply("Only from the main branch, please.", claude.phone.prompt(card))
    run.finish()
    [result] = claude.api.results()
    assert "Only from the main branch, please." in result.text and result.is_error
    assert "Only from the main branch, please." in claude.phone.says(card, labels.DENIED)


def test_deny_and_stop_ends_the_turn(lab: Lab) -> None:
    claude = lab.claude(bash("npm publish"), bash("echo never"))
    run = claude.headless()
    card = claude.phone.answer(labels.DENY_STOP)
    outcome = run.finish()
    assert len(claude.api.requests) == 1, "the model was asked on"
    assert "result" not in outcome, "it had no closing words"
    assert labels.STOPPED_TURN in claude.phone.says(card, labels.DENIED)


def test_a_deny_alone_lets_the_turn_go_on(lab: Lab) -> None:
    claude = lab.claude(bash("npm publish"), Use("Glob", {"pattern": "*"}))
    run = claude.headless()
    claude.phone.answer(labels.DENY)
    assert run.finish()["result"] == "That is all."
    assert len(claude.api.results()) == 2


def test_always_allow_writes_the_rule_and_the_second_call_does_not_ask(lab: Lab) -> None:
    claude = lab.claude(bash("npm view left-pad-none-such version"), bash("npm view left-pad-none-such version"))
    run = claude.headless()
    card = claude.phone.card()
    claude.phone.tap(card, labels.always("npm view *"))
    run.finish()
    assert len(claude.api.results()) == 2
    assert claude.local_settings()["permissions"]["allow"] == ["Bash(npm view *)"]
    assert len(claude.phone.cards()) == 1
    assert "npm view *" in claude.phone.says(card, labels.ALLOWED)
    # It stands in the project's settings, so the next session does not ask either.
    claude.headless().finish()
    assert len(claude.api.results()) == 4
    assert len(claude.phone.cards()) == 1


def test_always_allow_in_this_session_writes_no_file_and_the_second_call_does_not_ask(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(
        bash("npm view left-pad-none-such version"), bash("npm view left-pad-none-such version"), home=home
    )
    run = claude.headless()
    card = claude.phone.card()
    before = (home.path / ".claude/settings.json").read_bytes()
    claude.phone.tap(card, labels.session_only("npm view *"))
    run.finish()
    assert len(claude.api.results()) == 2
    assert len(claude.phone.cards()) == 1
    assert paths(home.project) == []
    assert (home.path / ".claude/settings.json").read_bytes() == before
    assert "for this session only" in claude.phone.says(card, labels.ALLOWED)
    # It was for that session: the next one asks.
    run = claude.headless()
    card = claude.phone.answer(labels.DENY)
    claude.phone.tap(claude.phone.card_after(card), labels.DENY)
    run.finish()
    assert len(claude.phone.cards()) == 3


def test_what_is_risky_is_allowed_for_good_with_two_taps_only(lab: Lab) -> None:
    push = "git push --force origin main"
    claude = lab.claude(bash(push), bash(push))
    run = claude.headless()
    card = claude.phone.card()
    assert "Overwrites the history at the remote" in card["text"]
    [standing] = [label for label in claude.phone.labels(card) if "in this project" in label]
    words = standing.removesuffix("…")
    assert lab.world.answer(claude.phone.tap(card, standing)) == "Really?"
    claude.phone.offers(card, labels.sure(words))
    assert claude.api.results() == [] and claude.local_settings() == {}
    claude.phone.tap(card, labels.sure(words))
    run.finish()
    assert len(claude.api.results()) == 2 and len(claude.phone.cards()) == 1
    [rule] = claude.local_settings()["permissions"]["allow"]
    assert rule.startswith("Bash(git push") and rule.removeprefix("Bash(").removesuffix(")") in words
    claude.phone.says(card, labels.ALLOWED)


# The text that runs is the one that was written on the phone


def test_a_changed_command_is_the_one_that_ran(lab: Lab) -> None:
    home = lab.home()
    one, two = home.project / "one", home.project / "two"
    claude = lab.claude(bash(f"touch {one} && echo one"), bash(f"touch {one} && echo one"), home=home)
    run = claude.headless()
    card = claude.phone.edit(claude.phone.card(), f"touch {two} && echo two")
    assert claude.api.results() == [] and paths(home.project) == []
    claude.phone.tap(card, labels.RUN_EDITED)
    # What comes next is the original, as it came: that it runs does not change what the first card says.
    second = claude.phone.card_after(card)
    assert paths(home.project) == ["two"]
    claude.phone.tap(second, labels.ALLOW)
    run.finish()
    assert [result.text for result in claude.api.results()] == ["two", "one"]
    claude.phone.says(second, labels.ALLOWED)
    settled = claude.phone.says(card, labels.CHANGED)
    assert f"instead: touch {two}" in settled and labels.TERMINAL_FIRST not in settled
    assert report_of(lab, labels.RUN_EDITED) == "ok"


def test_a_changed_text_is_the_one_that_is_written(lab: Lab) -> None:
    home = lab.home()
    path = home.project / "one.txt"
    claude = lab.claude(Use("Write", {"file_path": str(path), "content": "the agent's words"}), home=home)
    run = claude.headless()
    card = claude.phone.edit(claude.phone.card("one.txt"), "Ada's words")
    claude.phone.tap(card, labels.ALLOW_EDITED)
    run.finish()
    assert path.read_text() == "Ada's words"
    assert labels.TERMINAL_FIRST not in claude.phone.says(card, labels.CHANGED)


def report_of(lab: Lab, choice: str) -> str:
    """What the agent reported of the call that was answered so, once the journal has it."""
    words = ["log", "--config", str(lab.world.config_path), "--json", "--limit", "5"]

    def find() -> str | None:
        output, errors, code = finish(lab.world.tapgate(*words))
        assert code == 0, errors
        entries = [json.loads(line) for line in output.splitlines()]
        return next((entry["ran"] for entry in reversed(entries) if entry["choice"] == choice), None)

    found: str = lab.world.until(find)
    return found


# From a watch, and several at once


@pytest.mark.parametrize("allowed", [True, False], ids=["y", "n"])
def test_a_reply_from_a_watch_decides(lab: Lab, allowed: bool) -> None:
    claude = lab.claude(bash("npm --version && echo it-ran"))
    run = claude.headless()
    card = claude.phone.card()
    claude.phone.reply("y" if allowed else "n", card)
    run.finish()
    [result] = claude.api.results()
    assert ("it-ran" in result.text) == allowed and (result.text == labels.TOLD_DENIED) == (not allowed)
    claude.phone.says(card, labels.ALLOWED if allowed else labels.DENIED)


def test_parallel_calls_are_allowed_together_after_they_were_listed(lab: Lab) -> None:
    home = lab.home()
    files = [home.outside / name for name in ("one.txt", "two.txt", "three.txt")]
    for path in files:
        path.write_text(f"content of {path.name}")
    claude = lab.claude(tuple(Use("Read", {"file_path": str(path)}) for path in files), home=home)
    run = claude.headless()
    cards = [claude.phone.card(path.name) for path in files]
    claude.phone.tap(cards[1], labels.these(3))
    listed = claude.phone.says(cards[1], "Allow these 3 together?")
    assert all(path.name in listed for path in files)
    assert claude.api.results() == []
    claude.phone.tap(cards[1], labels.all_of(3))
    run.finish()
    results = sorted(claude.api.results(), key=lambda result: result.tool_use_id)
    assert all(path.read_text() in result.text for path, result in zip(files, results, strict=True)), results
    for card in cards:
        claude.phone.says(card, labels.ALLOWED)


def test_a_plain_allow_writes_nothing_and_the_second_call_asks_again(lab: Lab) -> None:
    home = lab.home()
    claude = lab.claude(bash("npm --version"), bash("npm --version"), home=home)
    run = claude.headless()
    first = claude.phone.answer(labels.ALLOW)
    claude.phone.says(first, labels.ALLOWED)
    claude.phone.answer(labels.ALLOW)
    run.finish()
    assert len(claude.phone.cards()) == 2
    assert paths(home.project) == []


def test_accept_edits_switches_the_mode_and_the_next_edit_does_not_ask(lab: Lab) -> None:
    home = lab.home()
    one, two = home.project / "one.txt", home.project / "two.txt"
    claude = lab.claude(
        Use("Write", {"file_path": str(one), "content": "1"}),
        Use("Write", {"file_path": str(two), "content": "2"}),
        home=home,
    )
    run = claude.headless()
    claude.phone.answer(labels.ACCEPT_EDITS)
    run.finish()
    assert (one.read_text(), two.read_text()) == ("1", "2")
    assert len(claude.phone.cards()) == 1
    assert paths(home.project) == ["one.txt", "two.txt"], "a mode of this session is written to no file"


def test_an_added_directory_is_open_for_the_rest_of_the_session(lab: Lab) -> None:
    home = lab.home()
    (home.outside / "one.txt").write_text("first")
    (home.outside / "two.txt").write_text("second")
    claude = lab.claude(
        bash(f"cat {home.project}/none > {home.outside}/three.txt || true"),
        Use("Read", {"file_path": str(home.outside / "two.txt")}),
        home=home,
    )
    run = claude.headless()
    card = claude.phone.card()
    # A write outside of the project is risky, so what lasts takes a second tap.
    claude.phone.tap(card, f"{labels.folder(home.outside)}…")
    claude.phone.tap(card, labels.sure(labels.folder(home.outside)))
    run.finish()
    assert "second" in claude.api.results()[1].text
    assert len(claude.phone.cards()) == 1
    assert str(home.outside) in claude.phone.says(card, labels.ALLOWED)
    assert paths(home.project) == []
