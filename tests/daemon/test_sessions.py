"""Who spoke lately, and what was last reported: what the daemon tells about itself."""

from __future__ import annotations

from dataclasses import replace

from tapgate.agents.agent import Ignored
from tapgate.daemon.reports import LONGEST, DaemonReport, Reports
from tapgate.daemon.reports import MOST as MOST_REPORTS
from tapgate.daemon.sessions import KEPT_S, LONGEST_ID, MOST, Session, Sessions
from tapgate.desk.events import Move, SessionEnded, SessionMoved, ToolEnded
from tapgate.model import Caller, ToolCall
from tests.builders import make_request

ALICE, EVE = 4001, 4002
CALLER = Caller(agent="claude", deadline_s=5, project="/home/dev/shop")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_there_from_its_first_word_to_its_end() -> None:
    clock = Clock()
    roster = Sessions(wall=clock)
    request = make_request()
    roster.note(request.caller, request)
    clock.now += 60
    roster.note(CALLER, ToolEnded(ToolCall("session-1", "", "Bash", "f"), failed=False, duration_s=None))
    assert roster.sessions() == (Session("claude", "session-1", "/home/dev/shop", 1000.0, 1060.0),)
    roster.note(CALLER, SessionEnded("session-1", "logout"))
    assert roster.sessions() == ()


def test_the_last_heard_stands_first_and_two_agents_are_two() -> None:
    clock = Clock()
    roster = Sessions(wall=clock)
    for name, agent in (("a", "claude"), ("b", "claude"), ("a", "codex"), ("b", "claude")):
        clock.now += 1
        roster.note(Caller(agent=agent, deadline_s=5), SessionMoved(name, "", Move.PROMPT))
    assert [(one.agent, one.id) for one in roster.sessions()] == [("claude", "b"), ("codex", "a"), ("claude", "a")]


def test_a_word_without_a_project_does_not_take_it_away() -> None:
    roster = Sessions(wall=Clock())
    roster.note(CALLER, SessionMoved("a", "", Move.PROMPT))
    roster.note(Caller(agent="claude", deadline_s=5), SessionMoved("a", "", Move.STOP))
    assert roster.sessions()[0].project == "/home/dev/shop"


def test_what_says_nothing_of_a_session_is_not_counted() -> None:
    roster = Sessions(wall=Clock())
    roster.note(CALLER, Ignored("Notification"))
    roster.note(CALLER, SessionMoved("", "", Move.PROMPT))
    assert roster.sessions() == ()


def test_an_agent_that_was_killed_is_forgotten() -> None:
    clock = Clock()
    roster = Sessions(wall=clock)
    roster.note(CALLER, SessionMoved("a", "", Move.PROMPT))
    clock.now += KEPT_S
    assert roster.sessions() == ()


def test_a_flood_of_sessions_is_held_within_bounds() -> None:
    roster = Sessions(wall=Clock())
    for number in range(MOST + 50):
        roster.note(CALLER, SessionMoved(f"{number:04d}" + "x" * 100_000, "", Move.PROMPT))
    sessions = roster.sessions()
    assert len(sessions) == MOST and sessions[0].id.startswith(f"{MOST + 49:04d}")
    assert max(len(one.id) for one in sessions) == LONGEST_ID


def test_two_users_with_the_same_session_id_are_two() -> None:
    roster = Sessions(wall=Clock())
    for uid in (ALICE, EVE):
        roster.note(replace(CALLER, uid=uid), SessionMoved("a", "", Move.PROMPT))
    assert [(one.uid, one.id) for one in roster.sessions()] == [(EVE, "a"), (ALICE, "a")]
    assert [(one.uid, one.id) for one in roster.sessions(uid=ALICE)] == [(ALICE, "a")]
    roster.note(replace(CALLER, uid=EVE), SessionEnded("a", "logout"))
    assert [one.uid for one in roster.sessions()] == [ALICE], "one user's end is not the other's"


def test_one_users_flood_pushes_out_no_session_of_another() -> None:
    roster = Sessions(wall=Clock())
    roster.note(replace(CALLER, uid=ALICE), SessionMoved("a", "", Move.PROMPT))
    for number in range(MOST + 50):
        roster.note(replace(CALLER, uid=EVE), SessionMoved(f"{number}", "", Move.PROMPT))
    assert len(roster.sessions(uid=EVE)) == MOST and len(roster.sessions(uid=ALICE)) == 1


def test_reports_hold_no_request_id() -> None:
    """It is a secret between a caller and the daemon, and the last reports are told to every user."""
    reports = Reports(lambda sentence: None, wall=Clock())
    reports("request 0123456789abcdef0123456789abcdef has been answered before")
    assert reports.last()[0].sentence == "request 01234567… has been answered before"


def test_reports_are_handed_on_and_the_last_kept_without_a_token() -> None:
    clock = Clock()
    heard: list[str] = []
    reports = Reports(heard.append, wall=clock)
    secret = "it broke at bot7000000001:the-secret-part"
    reports(secret)
    clock.now += 5
    reports("Telegram answers again")
    clock.now += 5
    reports(secret)
    assert heard == [secret, "Telegram answers again", secret], "the log redacts by itself"
    assert reports.last() == (
        DaemonReport(1005.0, "Telegram answers again"),
        DaemonReport(1010.0, "it broke at bot<token>", times=2),
    )


def test_reports_are_few_and_short() -> None:
    reports = Reports(lambda sentence: None, wall=Clock())
    for number in range(50):
        reports(f"{number} " + "x" * 5000)
    assert len(reports.last()) == MOST_REPORTS
    assert {len(report.sentence) for report in reports.last()} == {LONGEST}
    assert reports.last()[-1].sentence.startswith("49 ")
