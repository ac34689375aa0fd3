"""The trail tells what happened, is never rewritten, ends with its retention, and can be asked."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from tapgate.desk.effects import CopyEntry, RanEntry, SeenEntry, ShownEntry
from tapgate.journal import Journal, TrailQuery, TrailRow
from tapgate.journal.codec import summary_of
from tapgate.model import Caller, Copy, Json, Outcome, Prompt, Ran, Verdict

from .samples import DAY_S, NOW, Opener, answered, asked, make_answer, make_request, parse, posted, settled


async def whole(journal: Journal, **query: Any) -> list[TrailRow]:
    return list(reversed(await journal.trail(TrailQuery(**{"limit": 1000, **query}))))


async def test_trail_tells_who_asked_who_answered_and_what_came_of_it(journal: Journal) -> None:
    answer = replace(make_answer(), saved="Bash(make:*) in this project")
    await journal.record([asked(make_request(caller=Caller("codex", 60.0, project="/srv/shop")))], at=NOW)
    await journal.record([posted()], at=NOW + 1)
    await journal.record([SeenEntry("r1")], at=NOW + 2)
    await journal.record([answered(answer=answer)], at=NOW + 4)
    await journal.record([settled()], at=NOW + 5)
    await journal.record([ShownEntry("r1", Copy(11, 100), 2)], at=NOW + 6)
    await journal.record([RanEntry("r1", Ran.FAILED, NOW + 7, 3)], at=NOW + 7)
    rows = await whole(journal)
    assert [(row.what, row.at) for row in rows] == [
        ("asked", NOW),
        ("posted", NOW + 1),
        ("seen", NOW + 2),
        ("answered", NOW + 4),
        ("settled", NOW + 5),
        ("ran", NOW + 7),
    ]
    first = TrailRow(
        seq=rows[0].seq,
        at=NOW,
        request_id="r1",
        what="asked",
        agent="codex",
        session_id="session-1",
        project="/srv/shop",
        tool="Bash",
        summary="make test",
        chat_id=None,
        message_id=None,
        person="",
        user_id=None,
        verdict="",
        choice="",
        saved="",
        after_s=None,
        outcome="",
        detail="",
        taken=None,
        ran="",
    )
    assert rows[0] == first
    assert (rows[1].chat_id, rows[1].message_id) == (11, 100)
    assert rows[-1] == replace(
        first,
        seq=rows[-1].seq,
        at=NOW + 7,
        what="ran",
        person="Ada",
        user_id=42,
        verdict="allow",
        choice="Allow",
        saved="Bash(make:*) in this project",
        after_s=4.0,
        outcome="allowed",
        taken=True,
        ran="failed",
    )
    assert rows[4].taken is True
    assert rows[3].taken is None


@pytest.mark.parametrize("outcome", Outcome)
async def test_only_a_confirmed_answer_counts_as_taken(journal: Journal, outcome: Outcome) -> None:
    await journal.record([asked(), answered(), settled(outcome=outcome)], at=NOW)
    rows = await whole(journal)
    assert rows[-1].taken is (outcome in (Outcome.ALLOWED, Outcome.DENIED))
    assert rows[-1].verdict == "allow"


async def test_end_without_an_answer_is_no_opinion(journal: Journal) -> None:
    await journal.record([asked(), settled(outcome=Outcome.EXPIRED)], at=NOW)
    rows = await whole(journal)
    assert (rows[-1].verdict, rows[-1].outcome, rows[-1].taken) == ("none", "expired", False)


async def test_question_for_a_reason_is_no_card_in_the_trail(journal: Journal) -> None:
    await journal.record([asked(), CopyEntry("r1", Copy(11, 101), prompt=Prompt(42))], at=NOW)
    assert [row.what for row in await whole(journal)] == ["asked"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trail SET person = 'Eve'",
        "UPDATE trail SET at = 0",
        "DELETE FROM trail",
        "DELETE FROM trail WHERE seq = 1",
        "INSERT OR REPLACE INTO trail SELECT * FROM trail WHERE seq = 1",
    ],
)
@pytest.mark.parametrize("purged", [False, True], ids=["never purged", "purged"])
async def test_trail_is_append_only(journal: Journal, statement: str, purged: bool) -> None:
    await journal.record([asked(), answered(), settled()], at=NOW)
    if purged:
        await journal.purge()
    before = await whole(journal)
    with closing(sqlite3.connect(journal.path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert await whole(journal) == before


async def test_trail_before_the_first_retention_cannot_be_deleted(journal: Journal) -> None:
    await journal.record([asked()], at=NOW)
    with closing(sqlite3.connect(journal.path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("DELETE FROM meta")
        connection.execute("DELETE FROM trail")


async def test_purge_drops_what_is_older_than_kept(open_journal: Opener) -> None:
    journal = await open_journal(keep_days=7)
    await journal.record([asked("old"), posted("old"), settled("old")], at=NOW)
    await journal.record([asked("still open")], at=NOW)
    await journal.record([asked("new", at=NOW + 3 * DAY_S), settled("new", at=NOW + 3 * DAY_S)], at=NOW + 3 * DAY_S)
    open_journal.wall.now = NOW + 6 * DAY_S
    assert await journal.purge() == 0
    open_journal.wall.now = NOW + 7 * DAY_S + 100
    assert await journal.purge() == 4
    assert {row.request_id for row in await whole(journal)} == {"new"}
    with closing(sqlite3.connect(journal.path)) as connection:
        assert connection.execute("SELECT count(*) FROM copies").fetchone() == (0,)
    assert [memory.request.id for memory in await journal.load(parse, settled_within_s=9e9)] == ["still open", "new"]
    assert await journal.purge() == 0
    open_journal.wall.now = NOW + 8 * DAY_S  # past its deadline for a week: no run could read it
    await journal.purge()
    assert [memory.request.id for memory in await journal.load(parse, settled_within_s=9e9)] == ["new"]


async def test_open_purges(open_journal: Opener) -> None:
    journal = await open_journal()
    await journal.record([asked(), settled()], at=NOW)
    await journal.close()
    open_journal.wall.now = NOW + 91 * DAY_S
    assert await whole(await open_journal()) == []


async def test_row_stands_alone_when_its_request_is_gone(open_journal: Opener) -> None:
    journal = await open_journal(keep_days=1)
    await journal.record([asked(), answered(), settled(), RanEntry("r1", Ran.OK, NOW + DAY_S, 3)], at=NOW)
    open_journal.wall.now = NOW + DAY_S + 60
    await journal.purge()
    assert await journal.load(parse, settled_within_s=9e9) == []
    [row] = await whole(journal)
    assert (row.what, row.tool, row.summary, row.person, row.outcome) == ("ran", "Bash", "make test", "Ada", "allowed")


async def test_unwanted_input_is_not_in_the_trail_either(open_journal: Opener) -> None:
    journal = await open_journal(keep_inputs=False)
    await journal.record([asked()], at=NOW)
    assert [row.summary for row in await whole(journal)] == [""]


@pytest.mark.parametrize(
    ("tool_input", "summary"),
    [
        ({"command": "make test", "description": "run the tests"}, "make test"),
        ({"command": "x" * 300}, "x" * 200),
        ({"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ({"content": "…", "file_path": "/srv/a.py"}, "/srv/a.py"),
        ({"url": "https://example.org", "prompt": "read it"}, "https://example.org"),
        ({"questions": [{"question": "Which one?"}]}, "Which one?"),
        ({"command": 5, "questions": [{}]}, '{"command":5,"questions":[{}]}'),
        ({"command": ""}, '{"command":""}'),
        ({"content": "x" * 20_000_000}, '{"content":"' + "x" * 188),
        ({"deep": json.loads("[" * 500 + "]" * 500)}, '{"deep":' + "[" * 192),
        ({}, ""),
    ],
    ids=range(11),
)
def test_summary_is_the_most_telling_part_of_the_input(tool_input: Json, summary: str) -> None:
    assert summary_of(make_request(input=tool_input)) == summary


async def test_text_that_no_terminal_can_show_is_readable_in_the_trail(journal: Journal) -> None:
    await journal.record([asked(make_request(input={"command": "echo \ud800"}, session="\udfff"))], at=NOW)
    [row] = await whole(journal)
    assert (row.summary, row.session_id) == ("echo \\ud800", "\\udfff")


async def _fill(journal: Journal) -> None:
    for name, cwd, session, verdict, person, at in (
        ("a", "/home/ada/shop", "5e55-1", Verdict.ALLOW, "Ada", NOW),
        ("b", "/home/ada/shop-admin", "5e55-2", Verdict.DENY, "Ada", NOW + 100),
        ("c", "/home/ada/shop/web", "0dd", Verdict.NONE, "Björn", NOW + 200),
    ):
        outcome = Outcome.ALLOWED if verdict is Verdict.ALLOW else Outcome.DENIED
        answer = make_answer(verdict, at=at + 4, person=person)
        answer = replace(answer, user_id=42 if person == "Ada" else 43)
        await journal.record([asked(make_request(name, cwd=cwd, session=session), at=at)], at=at)
        await journal.record([answered(name, answer=answer), settled(name, outcome, at=at + 5)], at=at + 5)
    await journal.record([asked(make_request("d", cwd="/srv/50%", session="x"), at=NOW + 300)], at=NOW + 300)
    await journal.record([settled("d", Outcome.EXPIRED, at=NOW + 900)], at=NOW + 900)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (TrailQuery(), "abcd"),
        (TrailQuery(project="shop"), "abc"),
        (TrailQuery(project="SHOP"), "abc"),
        (TrailQuery(project="/home/ada/shop"), "ac"),
        (TrailQuery(project="/home/ada/shop/"), "ac"),
        (TrailQuery(project="/"), "abcd"),
        (TrailQuery(project="50%"), "d"),
        (TrailQuery(project="%"), "d"),
        (TrailQuery(project="' OR 1 --"), ""),
        (TrailQuery(project="\ud800"), ""),
        (TrailQuery(session="5e55"), "ab"),
        (TrailQuery(session="5e55-2"), "b"),
        (TrailQuery(person="ada"), "ab"),
        (TrailQuery(person="43"), "c"),
        (TrailQuery(decision="allow"), "a"),
        (TrailQuery(decision="deny"), "b"),
        (TrailQuery(decision="none"), "cd"),
        (TrailQuery(decision="expired"), "d"),
        (TrailQuery(since=NOW + 200), "cd"),
        (TrailQuery(until=NOW + 200), "ab"),
        (TrailQuery(since=NOW + 100, until=NOW + 200, person="Ada"), "b"),
    ],
    ids=str,
)
async def test_trail_can_be_asked(journal: Journal, query: TrailQuery, found: str) -> None:
    await _fill(journal)
    rows = await journal.trail(query)
    assert "".join(sorted({row.request_id for row in rows})) == found


async def test_trail_is_newest_first_and_limited(journal: Journal) -> None:
    await _fill(journal)
    rows = await journal.trail(TrailQuery(limit=3))
    assert [(row.request_id, row.what) for row in rows] == [("d", "settled"), ("d", "asked"), ("c", "settled")]
    assert await journal.trail(TrailQuery(limit=0)) == []
