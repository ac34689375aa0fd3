"""Rows of the journal as the values that /history shows."""

from __future__ import annotations

from typing import Any

from tapgate.agents.claude.events import SKIPPED
from tapgate.agents.dialect import DENIED
from tapgate.daemon.answers import past_answers
from tapgate.journal import TrailRow


def row(request_id: str, what: str = "settled", **values: Any) -> TrailRow:
    words = ("agent", "session_id", "project", "tool", "summary", "person", "verdict", "choice", "saved", "detail")
    all_values: dict[str, Any] = {"outcome": "denied", "taken": True, "ran": "", "seq": 1, "at": 0.0}
    all_values |= dict.fromkeys(words, "") | dict.fromkeys(("chat_id", "message_id", "user_id", "after_s"))
    return TrailRow(**all_values | {"request_id": request_id, "what": what} | values)


def test_only_ends_are_listed_in_the_order_of_the_rows() -> None:
    rows = [row("c", "asked"), row("b", person="Ada"), row("b", "answered"), row("a", person="Linus")]
    assert [answer.person for answer in past_answers(rows, 10)] == ["Ada", "Linus"]
    assert [answer.person for answer in past_answers(rows, 1)] == ["Ada"]


def test_what_ran_against_a_no_is_marked_wherever_a_row_tells_so() -> None:
    [answer] = past_answers([row("a", "ran", ran="against"), row("a")], 10)
    assert answer.ran_against


def test_only_a_person_s_own_words_are_told() -> None:
    said = {"a": DENIED, "b": SKIPPED, "c": "use gh"}
    rows = [row(request_id, message=message, agent="claude") for request_id, message in said.items()]
    assert [answer.message for answer in past_answers(rows, 10)] == ["", "", "use gh"]
