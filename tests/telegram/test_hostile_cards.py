"""Never a 400 from Telegram, whatever an agent sends: every form, setting and phase through the simulator's checks."""

from __future__ import annotations

import string
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapgate.agents.registry import BUILT_IN
from tapgate.model import Card, Context, Detail, OnDisk, Outcome, Ran, Request, Risk
from tapgate.risk.assess import assess_request
from tapgate.simulator.html import parse_html
from tapgate.simulator.limits import check_document, check_text
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.markdown import render_markdown
from tapgate.telegram.text import MAX_UNITS, escape, units, visible
from tests.builders import make_request

from .cards import SETTING, open_card, sending_card, settled_card, shown, whole_of
from .test_card import answers, forged, hostile_requests, texts

TOOLS = sorted({*(name for agent in BUILT_IN.values() for name in agent.tools), "mcp__server__tool", "Unknown", ""})
FIELDS = [
    *("command", "file_path", "content", "old_string", "new_string", "notebook_path", "new_source", "cell_id"),
    *("pattern", "path", "glob", "url", "prompt", "query", "skill", "args", "plan", "description", "subagent_type"),
]

disks = st.none() | st.builds(
    OnDisk,
    at=st.just(0.0),
    is_new=st.booleans(),
    size_bytes=st.integers(0, 10**12),
    diff=texts,
    brief=texts,
    unchanged=st.integers(0, 10**6),
    blocks=st.lists(texts, max_size=2).map(tuple),
    places=st.integers(-1, 10**6),
)
backgrounds = st.builds(Context, why=texts, on_disk=disks)
risks = st.lists(st.builds(Risk, texts, texts), max_size=6).map(tuple)
SETTINGS = [
    replace(SETTING, machine=machine, mask=mask, detail=detail, home=home)
    for machine, mask, detail, home in [
        ("", True, Detail.FULL, "/home/dev"),
        ("studio", True, Detail.FULL, "/"),
        ("\u202e<b>" * 50, False, Detail.FULL, ""),
        ("studio", True, Detail.SUMMARY, "/home/dev"),
        ("🎉" * 99, False, Detail.SUMMARY, "/home/dev"),
    ]
]


@st.composite
def shaped_requests(draw: st.DrawFn) -> Request:
    """A form's own fields, filled with the worst there is: nothing falls back to the plain form."""
    tool = draw(st.sampled_from(TOOLS))
    return make_request(tool=tool, tool_input={name: draw(texts) for name in FIELDS}, cwd=draw(texts))


@st.composite
def hostile_cards(draw: st.DrawFn) -> tuple[Card, DisplayOptions]:
    request = draw(hostile_requests() | shaped_requests())
    setting = draw(st.sampled_from(SETTINGS))
    around = draw(backgrounds)
    answer = forged(request, draw(answers), draw(st.sampled_from(["a", "d", "r", "x", "s0"])))
    card = draw(
        st.sampled_from(
            [
                open_card(request, context=around, setting=setting),
                open_card(request, context=around, setting=setting, seen=True, refreshed=True),
                sending_card(request, answer),
                settled_card(
                    request,
                    draw(st.sampled_from(Outcome)),
                    answer=draw(st.sampled_from([answer, None])),
                    ran=draw(st.sampled_from(Ran)),
                    detail=draw(texts),
                ),
            ]
        )
    )
    return replace(card, context=around, risks=draw(risks)), setting


@given(hostile_cards())
@settings(
    max_examples=2000,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
def test_telegram_takes_whatever_comes(made: tuple[Card, DisplayOptions]) -> None:
    card, setting = made
    text = shown(card, setting)
    assert units(text) <= MAX_UNITS
    assert all(character.isprintable() or character in "\n\t" for character in text)


@given(hostile_requests() | shaped_requests(), backgrounds, st.sampled_from(SETTINGS))
@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_telegram_takes_the_file_of_whatever_comes(request: Request, around: Context, setting: DisplayOptions) -> None:
    name, data = whole_of(request, around, setting)
    check_document(len(data))
    assert data.decode().strip()
    assert (
        name.isprintable() and "/" not in name and name.rsplit(".", 1)[1] in ("txt", "sh", "diff", "md", "json", "py")
    )


@given(hostile_requests() | shaped_requests())
@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_request_can_be_assessed_and_its_risks_shown(request: Request) -> None:
    card = replace(open_card(request), risks=assess_request(request, home="/home/dev"))
    assert ("❗" in shown(card)) >= bool(card.risks)


EDGES = [1999, 2000, 2001, 4096, 4097, 8192, 8193, 16_385]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("letter", ["x", "🎉", "<", "\u202e", "e\u0301", "&", "\n"])
def test_cards_hold_at_the_edges(tool: str, letter: str) -> None:
    for size in EDGES:
        request = make_request(tool=tool, tool_input=dict.fromkeys(FIELDS, letter * size))
        assert units(shown(open_card(request))) <= MAX_UNITS


@pytest.mark.parametrize(
    "plan",
    [
        "**a** " * 300,
        "`a` " * 300,
        "# a\n" * 300,
        "```\na\n```\n" * 300,
        "- **a** `b`\n" * 300,
        "```python\n" + "x\n" * 10,
        "``````\n**x",
        "**" * 500,
        "`" * 999,
        "# \n#  #\n**  **\n` `",
        "~~~<b>\n</pre>\n~~~",
    ],
)
def test_a_plan_with_more_styles_than_telegram_takes_is_readable(plan: str) -> None:
    shown(open_card(make_request(tool="ExitPlanMode", tool_input={"plan": plan})))


@given(st.lists(st.sampled_from([*"#*`-+~ \n<&[]()x", "```", "**", "\u202e"]), max_size=80).map("".join))
@settings(max_examples=1000, derandomize=True, deadline=None)
def test_of_markdown_only_marks_are_taken_away(plan: str) -> None:
    text, entities = parse_html(render_markdown(escape(visible(plan))) + "\n.")
    check_text(text, entities)
    words = [character for character in plan if character not in "#*`-+~ \n" and character in string.printable]
    assert [character for character in text[:-1] if character in words] == words


def test_a_link_keeps_its_address() -> None:
    request = make_request(tool="ExitPlanMode", tool_input={"plan": "[safe](https://evil.example)"})
    assert "[safe](https://evil.example)" in shown(open_card(request))
