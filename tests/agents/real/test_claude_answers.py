"""Claude Code headless: reasons, stopping the turn, and standing permissions, each with what the agent does next."""

from __future__ import annotations

from tests.agents.real import labels
from tests.agents.real.anthropic_api import Use
from tests.agents.real.claude import paths
from tests.agents.real.lab import Lab, needs
from tests.agents.real.pinned import CLAUDE

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
    claude.phone.tap(card, labels.folder(home.outside))
    run.finish()
    assert "second" in claude.api.results()[1].text
    assert len(claude.phone.cards()) == 1
    assert str(home.outside) in claude.phone.says(card, labels.ALLOWED)
    assert paths(home.project) == []
