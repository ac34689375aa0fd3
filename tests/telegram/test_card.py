"""Cards: what stands on them, in which words, in every state; and that Telegram takes each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.agents.registry import parse_request
from tapgate.desk.case import SHOW_WHOLE
from tapgate.desk.drafts import answer_of, with_pick
from tapgate.model import Answer, Caller, Context, Draft, Link, Outcome, Phase, Ran, Request, Risk, Verdict
from tapgate.telegram.text import MAX_UNITS, units, visible
from tests.agents.forms import PERMISSIONS, TOOL_INPUTS
from tests.builders import SUGGESTION, choice_of, make_request

from .cards import (
    SETTING,
    answer_by,
    captured,
    every_state,
    fits,
    open_card,
    render_card,
    sending_card,
    settled_card,
    shown,
    shown_in_steps,
    whole_of,
)

CAPTURED = captured()


# Every real request, in every state


@pytest.mark.parametrize("request_", CAPTURED.values(), ids=CAPTURED)
def test_telegram_takes_every_recorded_request_in_every_state(request_: Request) -> None:
    for card in every_state(request_):
        assert shown(card)


@pytest.mark.parametrize(("tool", "fields"), TOOL_INPUTS.values(), ids=TOOL_INPUTS)
def test_telegram_takes_every_tool_in_every_state(tool: str, fields: dict[str, Any]) -> None:
    request = make_request(tool=tool, tool_input=fields)
    assert fits(request)
    assert not missing_from(shown(open_card(request)), request.input)
    for card in every_state(request):
        shown(card)


@pytest.mark.parametrize("form", PERMISSIONS.values(), ids=PERMISSIONS)
def test_telegram_takes_every_older_form_in_every_state(form: dict[str, Any]) -> None:
    request = parse_request("0" * 32, Caller(agent="claude", deadline_s=590.0), json.dumps(form).encode())
    for card in every_state(request):
        shown(card)


@pytest.mark.parametrize("request_", CAPTURED.values(), ids=CAPTURED)
def test_every_recorded_request_fits_and_nothing_of_it_is_missing(request_: Request) -> None:
    assert fits(request_)
    assert not missing_from(shown_in_steps(request_), request_.input)


def test_the_recordings_hold_questions_of_both_agents() -> None:
    assert sum(name.startswith("claude-PermissionRequest") for name in CAPTURED) >= 15
    assert sum(name.startswith("claude-PreToolUse") for name in CAPTURED) >= 6
    assert sum(name.startswith("codex-") for name in CAPTURED) >= 6


# The words on an open card


def test_an_open_card_word_for_word() -> None:
    card = open_card(CAPTURED["claude-PermissionRequest.Bash.1"])
    assert render_card(card) == (
        "🔐 <b>shop</b> · Claude Code\n"
        "<b>Bash</b> — Install and test\n"
        '<pre><code class="language-bash">npm install --save-exact left-pad@1.3.0 &amp;&amp; npm test</code></pre>\n'
        "<i>stops after 120 s</i>\n"
        "<i>▸ Always allow `npm install *`, `npm test *` in this project…</i>\n"
        "⏳ until 08:09 · in ~/shop"
    )


def test_a_subagent_s_mcp_call_word_for_word() -> None:
    request = make_request(
        tool="mcp__demo__lookup",
        tool_input={"key": "<x>"},
        agent_id="a1",
        agent_type="general-purpose",
        mcp_server={"name": "demo"},
        decision_reason="no rule matches",
        blocked_path="/etc",
        suggestions=(),
        cwd="/home/dev/shop/sub",
    )
    assert render_card(open_card(request, refreshed=True)) == (
        "🔐 <b>shop</b> · Claude Code · subagent general-purpose\n"
        "<b>lookup of MCP server demo</b>\n"
        "<pre>key: &lt;x&gt;</pre>\n"
        "Why it asks: no rule matches\n"
        "Blocked path: <code>/etc</code>\n"
        "In <code>~/shop/sub</code>, not where the project is\n"
        "⏳ until 08:09\n"
        "↻ tapgate was away for a while. If you tapped before, tap again."
    )


def test_a_gate_says_that_it_is_one() -> None:
    card = open_card(make_request(event="PreToolUse"))
    assert shown(card).split("\n")[1] == "Bash (before every call)"


def test_a_codex_card_says_codex() -> None:
    assert shown(open_card(CAPTURED["codex-tui-PermissionRequest-Bash-0"])).startswith("🔐 shop · Codex\nBash — Do you")


def test_a_question_for_the_terminal_says_so() -> None:
    text = shown(open_card(make_request(tool="AskUserQuestion", tool_input={"questions": ["?"]})))
    assert "These questions cannot be shown here: answer them at the terminal, or skip them." in text


def test_without_a_project_the_card_says_so() -> None:
    bare = parse_request("0" * 32, Caller(agent="claude", deadline_s=1.0), json.dumps(PERMISSIONS["bare"]).encode())
    assert shown(open_card(bare)).startswith("🔐 no project · Claude Code\n")


def test_a_body_of_nothing_but_odd_spaces_is_shown() -> None:
    assert "⟨U+2003⟩⟨U+001C⟩⟨U+00A0⟩" in shown(open_card(make_request(tool_input={"command": "\u2003\x1c\u00a0"})))


# Long button texts


def labelled(count: int, length: int) -> Request:
    rules = ["x" * (length - len("Always allow `` in this project") - 1) + chr(97 + number) for number in range(count)]
    entries = [{**SUGGESTION, "rules": [{"toolName": "Bash", "ruleContent": rule}]} for rule in rules]
    return make_request(suggestions=tuple(entries))


def test_a_long_button_text_is_spelled_out_on_the_card() -> None:
    request = labelled(1, 49)
    assert fits(request)
    assert f"▸ {choice_of(request, 's0').label}" in shown(open_card(request)).split("\n")
    assert "▸" in shown(open_card(labelled(1, 33))), "a phone may not show all of it"
    assert "▸" not in shown(open_card(labelled(1, 32)))


def test_a_button_that_cannot_be_spelled_out_is_not_offered_before_its_words_were_sent() -> None:
    for request in (labelled(1, 161), labelled(5, 49)):
        assert not fits(request)
        card = open_card(request)
        assert SHOW_WHOLE in card.choices
        assert not [choice for choice in card.choices if choice.decision.verdict is Verdict.ALLOW]
        assert "✂️ Some buttons say more than fits here. “Show all of it” sends their words." in shown(card)
        assert all(f"button: {choice.label}" in whole_of(request)[1].decode() for choice in request.choices[5:])
        shown(open_card(request, seen=True))
    assert fits(labelled(4, 160))
    assert "✂️" not in shown(open_card(labelled(4, 160)))


def test_an_answered_question_says_the_option_and_not_allowed() -> None:
    question = {"question": "Drop it?", "options": [{"label": "Deny"}, {"label": "Yes"}]}
    request = make_request(tool="AskUserQuestion", tool_input={"questions": [question]}, suggestions=())
    assert request.form is not None
    answer = answer_by(answer_of(request, with_pick(request.form, Draft(), 0)))
    text = shown(settled_card(request, Outcome.ALLOWED, answer=answer))
    assert "Answered “Deny” by Ada" in text and "Allowed" not in text


# What does not fit


def test_a_command_that_does_not_fit_is_cut_marked_and_counted() -> None:
    request = make_request(tool_input={"command": "x" * 5000})
    text = shown(open_card(request))
    assert not fits(request)
    assert "x" * 1999 + "…\n" in text
    assert "x" * 2000 not in text
    assert "✂️ 3,001 characters are not shown. “Show all of it” sends the rest." in text
    assert whole_of(request)[1].startswith(b"x" * 5000)


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "ls", "description": "d" * 301},
        {"command": "ls", "odd": "o" * 301},
        {"command": "ls", **{f"odd{number}": "o" for number in range(7)}},
        {"command": "\u202e" * 400},
    ],
)
def test_whatever_is_cut_is_told_and_keeps_the_card_from_allowing(fields: dict[str, Any]) -> None:
    request = make_request(tool_input=fields)
    assert not fits(request)
    assert " characters are not shown." in shown(open_card(request))
    assert not [choice for choice in open_card(request).choices if choice.decision.verdict is Verdict.ALLOW]


@pytest.mark.parametrize(
    "more",
    [
        {"decision_reason": "r" * 301},
        {"blocked_path": "p" * 301},
        {"cwd": "/" + "c" * 301},
        {"tool": "mcp__" + "t" * 161, "tool_input": {}},
    ],
)
def test_what_stands_beside_the_input_is_not_cut_unseen_either(more: dict[str, Any]) -> None:
    request = make_request(**more)
    assert not fits(request)
    assert " characters are not shown." in shown(open_card(request))
    value = next(iter(more.values()))
    assert value in whole_of(request)[1].decode()


def test_the_longest_card_there_can_be_is_not_too_long() -> None:
    wide = "🎉" * 400
    request = make_request(
        event="PermissionRequest",
        tool_input={"command": wide * 20, "description": wide, **{f"f{number}": wide for number in range(8)}},
        suggestions=tuple(
            {**SUGGESTION, "rules": [{"toolName": "Bash", "ruleContent": f"{number}{wide}"}]} for number in range(20)
        ),
        agent_id="a",
        agent_type=wide,
        decision_reason=wide,
        blocked_path=wide,
        cwd=f"/{wide}",
    )
    request = replace(request, caller=replace(request.caller, project=f"/{wide}"))
    words = Context(why=wide * 3, links=tuple(Link(f"{number}{wide}", wide) for number in range(20)))
    risks = tuple(Risk(f"risk-{wide}", wide) for _ in range(9))
    setting = replace(SETTING, machine=wide, mask=False)
    for card in every_state(request):
        shown(replace(card, refreshed=True, context=words, risks=risks), setting)
        shown(replace(card, restarted=True, context=words, risks=risks), setting)
    longest = replace(open_card(request, seen=True, refreshed=True), context=words, risks=risks)
    assert units(shown(longest, setting)) > 3900  # or this test has lost its point
    gate = make_request(event="PreToolUse", tool_input=request.input, agent_id="a", agent_type=wide, cwd=f"/{wide}")
    shown(open_card(replace(gate, caller=request.caller)))


# Links


def test_where_a_path_leads_stands_right_below_the_call() -> None:
    request = make_request(tool="Write", tool_input={"file_path": "/home/dev/shop/docs/x", "content": "text"})
    link = Link("docs/x", "a link to ~/.ssh/x, out of the project")
    lines = shown(replace(open_card(request), context=Context(links=(link,)))).split("\n")
    assert lines[1:3] == ["Write docs/x", "🔗 docs/x: a link to ~/.ssh/x, out of the project"]
    assert b"link: docs/x: a link to ~/.ssh/x" in whole_of(request, Context(links=(link,)), SETTING)[1]


def test_more_links_than_a_card_shows_are_not_allowed_unseen() -> None:
    request = make_request()
    links = tuple(Link(f"d{number}", "a link to ~/x") for number in range(5))
    assert fits(request, Context(links=links[:3]))
    assert not fits(request, Context(links=links))
    text = shown(replace(open_card(request), context=Context(links=links)))
    assert "🔗 and 2 more" in text


def test_signs_in_a_target_are_spelled_out_and_its_secrets_masked() -> None:
    secret = "gh" + "p_notARealToken0123456789abcdefABCDEF1"
    link = Link("docs/x", f"a link to /a\n\u202eb/{secret}")
    text = shown(replace(open_card(make_request()), context=Context(links=(link,))))
    assert "/a⏎⟨U+202E⟩b/" in text
    assert secret not in text


# Sending


def test_while_the_answer_is_on_its_way_the_card_says_sending_and_not_allowed() -> None:
    request = make_request()
    text = shown(sending_card(request, answer_by(choice_of(request, "a"))))
    assert text.split("\n")[-1] == "📤 Allow by Ada: sending…"
    assert "Allowed" not in text
    assert "until" not in text
    assert "npm test" in text


# Settled

SETTLED: dict[str, tuple[Outcome, str, Ran, str, list[str]]] = {
    "allowed": (
        Outcome.ALLOWED,
        "a",
        Ran.OK,
        "",
        ["✅ Allowed by Ada · 08:01, after 1 min 05 s"],
    ),
    "allowed with a rule": (
        Outcome.ALLOWED,
        "s0",
        Ran.UNKNOWN,
        "",
        [
            "✅ Allowed by Ada · 08:01, after 1 min 05 s",
            "rule `npm test *` saved to this project's local settings",
        ],
    ),
    "denied": (Outcome.DENIED, "d", Ran.UNKNOWN, "", ["⛔️ Denied by Ada · 08:01, after 1 min 05 s"]),
    "denied with a reason": (
        Outcome.DENIED,
        "r",
        Ran.UNKNOWN,
        "",
        ["⛔️ Denied by Ada · 08:01, after 1 min 05 s", "“Use <pnpm>.”"],
    ),
    "denied and stopped": (
        Outcome.DENIED,
        "x",
        Ran.UNKNOWN,
        "",
        ["⛔️ Denied by Ada · 08:01, after 1 min 05 s", "the turn was stopped"],
    ),
    "denied, but the terminal was faster": (
        Outcome.DENIED,
        "d",
        Ran.AGAINST,
        "",
        [
            "⚠️ Denied by Ada, but the terminal was first, and it ran as allowed there · 08:01, after 1 min 05 s",
        ],
    ),
    "not taken": (
        Outcome.NOT_TAKEN,
        "a",
        Ran.UNKNOWN,
        "",
        ["⚠️ Ada said allow, but the agent was no longer waiting · 08:01"],
    ),
    "a deny not taken, and it ran": (
        Outcome.NOT_TAKEN,
        "d",
        Ran.OK,
        "",
        ["⚠️ Ada said deny, but the agent was no longer waiting, and it ran · 08:01"],
    ),
    "unconfirmed": (
        Outcome.UNCONFIRMED,
        "s0",
        Ran.UNKNOWN,
        "",
        ["⚠️ Ada said allow; it is not known whether the agent took it · 08:01"],
    ),
    "allowed at the terminal": (
        Outcome.TERMINAL_ALLOWED,
        "",
        Ran.OK,
        "",
        ["🖥 Allowed at the terminal · 08:01"],
    ),
    "denied at the terminal": (
        Outcome.TERMINAL_DENIED,
        "",
        Ran.UNKNOWN,
        "",
        ["🖥 Denied at the terminal · 08:01"],
    ),
    "moved on": (
        Outcome.MOVED_ON,
        "",
        Ran.UNKNOWN,
        "a new prompt was typed",
        ["▫️ The session moved on (a new prompt was typed) · 08:01"],
    ),
    "session ended": (Outcome.SESSION_ENDED, "", Ran.UNKNOWN, "exit", ["▫️ The session ended (exit) · 08:01"]),
    "agent died": (Outcome.AGENT_DIED, "", Ran.UNKNOWN, "", ["▫️ The agent's process died · 08:01"]),
    "caller lost": (
        Outcome.CALLER_LOST,
        "",
        Ran.UNKNOWN,
        "",
        ["▫️ The agent stopped waiting · 08:01"],
    ),
    "expired": (
        Outcome.EXPIRED,
        "",
        Ran.UNKNOWN,
        "",
        ["⌛️ Nobody answered in time · 08:01 · the agent asks at the terminal"],
    ),
    "stopped": (
        Outcome.STOPPED,
        "",
        Ran.UNKNOWN,
        "",
        ["▫️ tapgate was stopped · 08:01 · the agent asks at the terminal"],
    ),
    "handed back": (
        Outcome.RELEASED,
        "",
        Ran.UNKNOWN,
        "by Ada",
        ["🖥 Handed back to the terminal (by Ada) · 08:01 · the agent asks at the terminal"],
    ),
    "superseded": (
        Outcome.SUPERSEDED,
        "",
        Ran.UNKNOWN,
        "",
        ["▫️ The agent went on to another question · 08:01"],
    ),
    "not shown": (
        Outcome.NOT_SHOWN,
        "",
        Ran.UNKNOWN,
        "chat not found",
        ["⚠️ It could not be shown on any phone (chat not found) · 08:01 · the agent asks at the terminal"],
    ),
    "undelivered": (
        Outcome.UNDELIVERED,
        "",
        Ran.UNKNOWN,
        "",
        ["⚠️ Telegram did not confirm the card in time · 08:01 · the agent asks at the terminal"],
    ),
    "not recorded": (
        Outcome.NOT_RECORDED,
        "",
        Ran.UNKNOWN,
        "the disk is full",
        ["⚠️ It could not be recorded (the disk is full) · 08:01 · the agent asks at the terminal"],
    ),
}


@pytest.mark.parametrize(("outcome", "key", "ran", "detail", "words"), SETTLED.values(), ids=SETTLED)
def test_a_settled_card_says_how_it_ended(outcome: Outcome, key: str, ran: Ran, detail: str, words: list[str]) -> None:
    request = make_request()
    answer = answer_by(choice_of(request, key), message="Use <pnpm>." if key == "r" else "") if key else None
    text = shown(settled_card(request, outcome, answer=answer, ran=ran, detail=detail))
    head, *tail = words
    assert text.split("\n") == [head, " · ".join(["shop · Bash npm test", *tail])]


def test_where_nobody_may_be_at_the_terminal_the_card_does_not_promise_one() -> None:
    """Headless, no opinion is a no: the card cannot know, so it says what is true in both cases."""
    request = make_request()
    headless = replace(request, caller=replace(request.caller, attended=False))
    text = shown(settled_card(headless, Outcome.EXPIRED))
    assert "the agent asks at the terminal, if it has one" in text


def test_every_outcome_has_its_words_here() -> None:
    assert {row[0] for row in SETTLED.values()} == set(Outcome)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.ALLOWED])
@pytest.mark.parametrize("ran", Ran)
def test_only_what_the_agent_took_counts_as_allowed_or_written(outcome: Outcome, ran: Ran) -> None:
    request = make_request()
    text = shown(settled_card(request, outcome, answer=answer_by(choice_of(request, "s0")), ran=ran))
    assert "✅" not in text
    assert "saved" not in text
    assert "Allowed by" not in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3725, "62 min 05 s")]
)
def test_how_long_it_took_is_said_in_words(seconds: float, words: str) -> None:
    request = make_request()
    answer = replace(answer_by(choice_of(request, "a")), after_s=seconds)
    assert f"after {words}\n" in shown(settled_card(request, Outcome.ALLOWED, answer=answer))


def test_names_and_reasons_cannot_write_html() -> None:
    request = make_request()
    answer = answer_by(choice_of(request, "r"), "<b>Ada</b> & Co", message="</i><a href='x'>\u202e")
    text = shown(settled_card(request, Outcome.DENIED, answer=answer, detail="<pre>"))
    assert "Denied by <b>Ada</b> & Co (<pre>)" in text
    assert "“</i><a href='x'>⟨U+202E⟩”" in text


# Whatever an agent may send

nasty = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    [
        "<b>",
        "</pre>",
        "&lt;",
        "&#8238;",
        "\u202e",
        "\x00",
        "\ud800",
        "🎉",
        "e" + "\u0301" * 9,
        "\n",
        "```",
        "a\tb",
        " ",
        "\r\n",
    ]
)
texts = st.builds(lambda text, times: text * times, nasty, st.sampled_from([1, 1, 1, 1, 1, 2, 40, 400]))
short = st.builds(lambda text, times: text * times, nasty, st.sampled_from([1, 1, 2, 20]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | short,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(short, inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *("command", "description", "timeout", "run_in_background", "file_path", "content", "old_string", "new_string"),
    *("pattern", "path", "glob", "ignore", "offset", "limit", "notebook_path", "new_source", "cell_id", "cell_type"),
    *("edit_mode", "skill", "args"),
    *("replace_all", "edits", "plan", "planFilePath", "questions", "url", "prompt", "query", "subagent_type"),
]
TOOLS = ["Bash", "Write", "Edit", "MultiEdit", "apply_patch", "ExitPlanMode", "AskUserQuestion", "Read", "WebFetch"]
TOOLS += ["WebSearch", "Task", "Agent", "mcp__a__b", "mcp__", "Glob"]
options = st.fixed_dictionaries({}, optional={"label": short | values, "description": short | values, "odd": values})
questions = st.fixed_dictionaries(
    {},
    optional={
        "question": short | values,
        "header": short | values,
        "multiSelect": st.booleans() | values,
        "options": st.lists(options | values, max_size=4) | values,
        "odd": values,
    },
)
edits = st.fixed_dictionaries(
    {"old_string": short, "new_string": short}, optional={"file_path": values, "replace_all": values, "odd": values}
)
shaped = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(KEYS, short | texts | values),
        "timeout": st.integers() | st.just(10**400) | values,
        "questions": st.lists(questions | values, max_size=3) | values,
        "edits": st.lists(edits, max_size=3) | values,
    },
)
inputs = shaped | st.dictionaries(st.sampled_from(KEYS) | short, values | texts, max_size=5)
suggestions = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["addRules", "replaceRules", "removeRules", "setMode", "addDirectories"]) | values,
            "rules": st.lists(st.fixed_dictionaries({"toolName": short, "ruleContent": texts}) | values, max_size=3),
            "mode": short,
            "directories": st.lists(texts, max_size=3) | values,
            "destination": st.sampled_from(["session", "userSettings"]) | values,
            "behavior": st.sampled_from(["allow", "deny"]) | values,
        },
    ),
    max_size=6,
)


@st.composite
def hostile_requests(draw: st.DrawFn) -> Request:
    """What a dialect makes of the worst input; half of them small enough to fit."""
    event = {
        "hook_event_name": draw(st.sampled_from(["PermissionRequest", "PermissionRequest", "PreToolUse"])),
        "tool_name": draw(st.sampled_from(TOOLS) | short),
        "tool_input": draw(inputs),
        **draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "permission_suggestions": suggestions,
                    "cwd": texts,
                    "agent_id": short,
                    "agent_type": texts,
                    "decision_reason": texts,
                    "blocked_path": texts,
                    "mcp_server": texts | values,
                },
            )
        ),
    }
    agent = draw(st.sampled_from(["claude", "claude", "codex"]))
    caller = Caller(agent=agent, deadline_s=590.0, project=draw(st.just("/home/dev/shop") | texts))
    event["hook_event_name"] = "PermissionRequest" if agent == "codex" else event["hook_event_name"]
    return parse_request("f" * 32, caller, json.dumps(event).encode())


words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9)
facts = words | nasty | st.lists(words, max_size=2) | st.dictionaries(words, words, max_size=2) | st.booleans()
SHAPES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "Bash": {"command": words, "timeout": facts, "run_in_background": facts},
    "Write": {"file_path": words, "content": words | nasty},
    "Edit": {"file_path": words, "old_string": words | nasty, "new_string": words | nasty, "replace_all": facts},
    "MultiEdit": {
        "file_path": words,
        "edits": st.lists(
            st.fixed_dictionaries(
                {"old_string": words, "new_string": words},
                optional={"file_path": facts, "replace_all": facts, "x": facts},
            ),
            min_size=1,
            max_size=2,
        ),
    },
    "apply_patch": {"command": words},
    "ExitPlanMode": {"plan": words | nasty, "planFilePath": facts},
    "AskUserQuestion": {
        "questions": st.lists(
            st.fixed_dictionaries(
                {
                    "question": facts,
                    "options": st.lists(st.fixed_dictionaries({"label": facts}, optional={"x": facts})),
                },
                optional={"header": facts, "multiSelect": facts, "x": facts},
            ),
            min_size=1,
            max_size=2,
        )
    },
    "Read": {"file_path": words, "limit": facts},
    "WebFetch": {"url": words, "prompt": facts},
    "WebSearch": {"query": words | nasty},
    "Task": {"prompt": words | nasty, "subagent_type": facts},
    "mcp__a__b": {"a": facts, "b": facts},
}


@st.composite
def likely_requests(draw: st.DrawFn) -> Request:
    """Each tool in the shape that its form expects, with small surprises: nearly all of them fit on a card."""
    tool = draw(st.sampled_from(sorted(SHAPES)))
    fields = draw(st.fixed_dictionaries(SHAPES[tool], optional={"description": facts, "odd": facts}))
    return make_request(tool=tool, tool_input=fields, suggestions=())


answers = st.builds(lambda person, label, saved, message: (person, label, saved, message), texts, texts, texts, texts)


def forged(request: Request, words: tuple[str, str, str, str], key: str) -> Answer:
    choice = next((choice for choice in request.choices if choice.key == key), request.choices[0])
    person, label, saved, message = words
    return replace(answer_by(choice, person, message=message), label=label, saved=saved)


@given(hostile_requests(), answers, st.sampled_from(["a", "d", "r", "x", "s0"]), st.sampled_from(Outcome), st.data())
@settings(max_examples=500, derandomize=True, deadline=None)
def test_telegram_takes_a_card_of_whatever_an_agent_may_send(
    request: Request, words: tuple[str, str, str, str], key: str, outcome: Outcome, data: st.DataObject
) -> None:
    answer = forged(request, words, key)
    cards = [
        open_card(request),
        open_card(request, seen=True, refreshed=True),
        sending_card(request, answer),
        settled_card(
            request,
            outcome,
            answer=data.draw(st.sampled_from([answer, None])),
            ran=data.draw(st.sampled_from(Ran)),
            detail=data.draw(texts),
        ),
    ]
    assert {card.phase for card in cards} == {Phase.OPEN, Phase.SENDING, Phase.SETTLED}
    for card in cards:
        assert units(shown(card)) <= MAX_UNITS
    name, file = whole_of(request)
    assert file.decode().strip()
    assert name.isprintable()
    assert "/" not in name


NAMES = {"label", "description", "question", "header", "options", "multiSelect", *KEYS}
"""Keys that a form knows: it says what they mean, and need not repeat them."""


def strings_in(value: object) -> list[str]:
    """Every string inside, and every key that no form knows."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        keys = [key for key in value if key not in NAMES]
        return keys + [text for item in value.values() for text in strings_in(item)]
    return [text for item in value for text in strings_in(item)] if isinstance(value, list) else []


def is_in(text: str, shown_text: str) -> bool:
    """As one line or line by line, as it is or the way JSON writes it inside a larger value."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    ways = [
        [visible(text, one_line=True)],
        visible(text).split("\n"),
        [visible(quoted, one_line=True)],
        [text.removeprefix("/home/dev/shop/").replace("/home/dev/", "~/")],
        [re.sub(r"^[#*+-]+ |[*`]", "", line) for line in visible(text).split("\n")],  # of a plan's Markdown
    ]
    return any(all(line.replace("\t", " ").strip() in shown_text for line in way) for way in ways)


def missing_from(shown_text: str, fields: Mapping[str, Any]) -> list[str]:
    """Strings of an input that its card does not show."""
    return [text for text in strings_in(dict(fields)) if not is_in(text, shown_text)]


@given(likely_requests() | likely_requests() | hostile_requests())
@settings(max_examples=400, derandomize=True, deadline=None)
def test_of_a_request_that_fits_nothing_is_missing_and_of_any_other_the_card_says_so(request: Request) -> None:
    card = open_card(request)
    text = shown(card)
    if fits(request):
        assert missing_from(shown_in_steps(request), request.input) == []
        assert " characters are not shown. " not in text
        assert SHOW_WHOLE not in card.choices
    else:
        assert " characters are not shown. " in text or "Some buttons say more than fits here." in text
        assert SHOW_WHOLE in card.choices
        assert not [choice for choice in card.choices if choice.decision.verdict is Verdict.ALLOW]


@given(likely_requests() | hostile_requests())
@settings(max_examples=150, derandomize=True, deadline=None)
def test_the_file_holds_every_string_of_the_input(request: Request) -> None:
    file = whole_of(request)[1].decode()
    for text in strings_in(dict(request.input)):
        plain = visible(text)
        quoted = visible(json.dumps(text, ensure_ascii=False)[1:-1])
        assert plain in file or quoted in file or all(line in file for line in plain.split("\n"))
