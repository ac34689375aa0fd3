"""A fresh run is told what an earlier one knew, and no bad row keeps it from the good ones."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from tapgate.agents.registry import parse_request
from tapgate.desk.desk import Desk
from tapgate.desk.effects import AnsweredEntry, AskedEntry, CopyEntry, Entry, SeenEntry, ShownEntry
from tapgate.desk.events import Ticked
from tapgate.desk.memory import Remembered
from tapgate.journal import Journal
from tapgate.model import Action, Caller, Copy, Decision, Outcome, Prompt, Request, Verdict
from tapgate.telegram.card import render_card
from tapgate.telegram.display import DisplayOptions
from tests import builders
from tests.builders import ADA, at

from .samples import DAY_S, NOW, Opener, answered, asked, make_answer, make_request, parse, posted, settled


async def ids(journal: Journal) -> list[str]:
    return [memory.request.id for memory in await journal.load(parse)]


async def test_request_comes_back_as_it_was_asked(open_journal: Opener) -> None:
    request = make_request(
        caller=Caller("claude", 12.5, pid=3, parent_pid=2, attended=True, project="/srv/\udcff", uid=4001),
        cwd="/home/\ud800",
        session="\udfff",
    )
    journal = await open_journal()
    await journal.record([asked(request, chats=(11, -100123)), SeenEntry("r1")], at=NOW)
    await journal.record([posted(), CopyEntry("r1", Copy(11, 101), prompt=Prompt(42, Action.ASK_ANSWER, 1))], at=NOW)
    await journal.close()
    [memory] = await (await open_journal()).load(parse)
    assert memory == Remembered(
        request=request,
        asked_at=NOW,
        deadline_at=NOW + 590,
        chats=(11, -100123),
        copies=((Copy(11, 100), 0),),
        prompts=((Copy(11, 101), Prompt(42, Action.ASK_ANSWER, 1)),),
    )


async def test_a_request_from_before_users_were_kept_is_the_daemons_own(journal: Journal) -> None:
    """A daemon of an earlier version wrote no uid: most of them served their own user and nobody else."""
    await journal.record([asked()], at=NOW)
    with closing(sqlite3.connect(journal.path)) as connection, connection:
        connection.execute("UPDATE requests SET caller = json_remove(caller, '$.uid')")
    [memory] = await journal.load(parse)
    assert memory.request.caller.uid == os.getuid()


async def test_answer_comes_back_equal(journal: Journal) -> None:
    decision = Decision(
        Verdict.DENY,
        message="not on \ud83d a Friday",
        interrupt=True,
        updates=({"rules": ["\udc00", 2**80, 1.5, None, True]}, []),
        updated_input={"b": {"\ud800": -(10**400)}, "a": ""},
    )
    answer = replace(make_answer(), person="\ud800", saved="\n", decision=decision)
    await journal.record([asked(), answered(answer=answer)], at=NOW)
    [memory] = await journal.load(parse)
    assert memory.answer == answer
    # `==` takes 1 for true, and an agent may care for the order of its keys.
    assert memory.answer is not None
    assert json.dumps(memory.answer.decision.updated_input) == json.dumps(decision.updated_input)
    assert json.dumps(memory.answer.decision.updates) == json.dumps(decision.updates)


@pytest.mark.parametrize(
    ("size_bytes", "encoding"), [(0, "raw"), (65_535, "raw"), (65_536, "raw"), (65_537, "zlib"), (3_000_000, "zlib")]
)
async def test_input_above_64_kib_is_stored_compressed(journal: Journal, size_bytes: int, encoding: str) -> None:
    raw = os.urandom(size_bytes // 2) + b"x" * (size_bytes - size_bytes // 2)
    request = replace(make_request(), raw=raw)
    await journal.record([asked(request)], at=NOW)
    with closing(sqlite3.connect(journal.path)) as connection:
        held, how = connection.execute("SELECT length(input), encoding FROM requests").fetchone()
    assert how == encoding
    assert held == size_bytes if encoding == "raw" else held < size_bytes
    [memory] = await journal.load(lambda *_: replace(request, raw=_[2]))
    assert memory.request.raw == raw


async def test_old_end_is_loaded_only_while_a_card_does_not_show_it(open_journal: Opener) -> None:
    journal = await open_journal()
    for name in ("open", "shown", "behind", "bare", "recent"):
        await journal.record([asked(name), posted(name)], at=NOW)
    for name in ("shown", "behind", "bare"):
        await journal.record([settled(name, at=NOW + 5)], at=NOW)
    await journal.record([settled("recent", at=NOW + 2 * DAY_S)], at=NOW)
    await journal.record([ShownEntry("shown", Copy(11, 100), 2), ShownEntry("recent", Copy(11, 100), 2)], at=NOW)
    await journal.record([CopyEntry("shown", Copy(11, 101), prompt=Prompt(42, Action.ASK_ANSWER, 1))], at=NOW)
    open_journal.wall.now = NOW + 2 * DAY_S + 60
    assert await ids(journal) == ["open", "behind", "bare", "recent"]


async def test_only_so_many_recent_ends_are_loaded(journal: Journal) -> None:
    for number in range(5):
        await journal.record([asked(str(number)), settled(str(number), at=NOW + 10 - number)], at=NOW)
    await journal.record([asked("open")], at=NOW)
    found = await journal.load(parse, settled_most=2)
    assert [memory.request.id for memory in found] == ["0", "1", "open"]


async def test_unreadable_request_is_reported_and_left_out(open_journal: Opener) -> None:
    journal = await open_journal()
    for name in ("good", "no parse", "no caller", "no utf-8", "no outcome", "other input", "no zlib", "also good"):
        await journal.record([asked(name)], at=NOW)
    with closing(sqlite3.connect(journal.path, isolation_level=None)) as connection:
        for change in (
            "input = x'00' WHERE id = 'no parse'",
            "caller = '{}' WHERE id = 'no caller'",
            "caller = CAST(x'ff' AS TEXT) WHERE id = 'no utf-8'",
            "outcome = 'eaten', ended_at = 9e9 WHERE id = 'no outcome'",
            "input = x'7b7d' WHERE id = 'other input'",
            "encoding = 'zlib' WHERE id = 'no zlib'",
        ):
            connection.execute(f"UPDATE requests SET {change}")
    assert await ids(journal) == ["good", "also good"]
    assert len(open_journal.reports) == 6
    assert all(str(journal.path) in report and "left out" in report for report in open_journal.reports)
    assert "this is not JSON" in open_journal.reports[0]


async def test_parser_that_breaks_costs_its_request_only(open_journal: Opener) -> None:
    def breaking(request_id: str, caller: Caller, raw: bytes) -> Request:
        if request_id == "bad":
            raise RecursionError
        return parse(request_id, caller, raw)

    journal = await open_journal()
    await journal.record([asked("bad"), asked("good")], at=NOW)
    assert [memory.request.id for memory in await journal.load(breaking)] == ["good"]
    assert "RecursionError" in open_journal.reports[0]


async def test_unwanted_input_is_dropped_once_no_card_needs_it(open_journal: Opener) -> None:
    journal = await open_journal(keep_inputs=False)
    secret = make_request(input={"command": "curl -H 'token: hunter2'"})
    answer = replace(make_answer(), decision=Decision(Verdict.ALLOW, updated_input=secret.input))
    await journal.record([asked(secret), posted(), answered(answer=answer)], at=NOW)
    await journal.purge()
    [memory] = await journal.load(parse)
    assert memory.request == secret  # open

    await journal.record([settled()], at=NOW)
    await journal.purge()
    [memory] = await journal.load(parse)
    assert memory.request == secret  # the card does not yet show how it ended

    await journal.record([ShownEntry("r1", Copy(11, 100), 2)], at=NOW)
    await journal.purge()
    [memory] = await journal.load(parse)
    assert (memory.request.raw, memory.request.input) == (b"", {})
    assert (memory.request.call, memory.request.digest) == (secret.call, secret.digest)
    assert (memory.outcome, memory.request.project) == (Outcome.ALLOWED, secret.project)
    await journal.close()
    assert b"hunter2" not in journal.path.read_bytes()
    assert open_journal.reports == []


async def test_wanted_input_is_kept(journal: Journal) -> None:
    await journal.record([asked(), settled()], at=NOW)
    await journal.purge()
    [memory] = await journal.load(parse)
    assert memory.request == make_request()


GARBAGE = ["x", b"\xff", 9e999, -1, 2**62, "[[]]", '{"a": 1}', ""]


@pytest.mark.parametrize("table", ["requests", "copies"])
async def test_garbage_in_any_column_keeps_no_daemon_from_starting(open_journal: Opener, table: str) -> None:
    """Any process of this user can write the file: whatever a column holds, a fresh desk can be told of the rest."""
    journal = await open_journal()
    request = builders.make_request()
    entries: list[Entry] = [
        AskedEntry(request, NOW, NOW + 590, fits=True, chats=(11,)),
        CopyEntry(request.id, Copy(11, 100)),
        CopyEntry(request.id, Copy(11, 101), prompt=Prompt(42, Action.ASK_REASON)),
        AnsweredEntry(request.id, make_answer(), 1),
    ]
    await journal.record(entries, at=NOW)
    with closing(sqlite3.connect(open_journal.path, isolation_level=None)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        for column in [row[1] for row in connection.execute(f"PRAGMA table_info({table})")][1:]:
            (good,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = 1").fetchone()
            for value in GARBAGE:
                with suppress(sqlite3.IntegrityError):  # not even SQLite takes it
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))
                desk = Desk([ADA], hold_s=590)
                desk.restore(await journal.load(parse_request), at(0))
                desk.handle(Ticked(), at(1))
                for card in desk.open_cards():
                    render_card(card, DisplayOptions(clock=lambda wall: time.strftime("%H:%M", time.localtime(wall))))
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (good,))
        desk = Desk([ADA], hold_s=590)
        desk.restore(await journal.load(parse_request), at(0))
        assert desk.open_cards(), "and the row itself is a good one"
