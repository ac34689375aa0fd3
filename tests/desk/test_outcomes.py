"""The table of outcomes: a row for each, and nobody else lists them."""

from __future__ import annotations

import ast
from pathlib import Path

import tapgate
from tapgate.desk.outcomes import OUTCOMES, PhoneAnswer, log_word
from tapgate.model import Outcome

SOURCE = Path(tapgate.__file__).parent
DECISION_COLUMN = 12  # of `tapgate log`


def test_every_outcome_has_its_row_and_its_own_sentence() -> None:
    assert set(OUTCOMES) == set(Outcome)
    assert len({row.sentence for row in OUTCOMES.values()}) == len(OUTCOMES)


def test_only_an_answer_that_the_agent_has_counts_as_taken() -> None:
    taken = {outcome for outcome, row in OUTCOMES.items() if row.answer is PhoneAnswer.TAKEN}
    assert taken == {Outcome.ALLOWED, Outcome.DENIED}
    assert not any(row.asks_at_terminal for row in OUTCOMES.values() if row.answer is not PhoneAnswer.NONE)


def test_the_log_s_words_fit_their_column_and_one_of_another_version_is_shown_as_it_is() -> None:
    assert all(len(log_word(outcome.value)) <= DECISION_COLUMN for outcome in Outcome)
    assert (log_word("terminal_allowed"), log_word("moved_on"), log_word("")) == ("terminal yes", "moved on", "")
    assert log_word("some_later_one") == "some later one"


def test_no_other_module_lists_outcomes() -> None:
    """A list of three or more would have to be kept in step with the table."""
    lists = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
                parts = node.keys if isinstance(node, ast.Dict) else node.elts
                named = [part for part in parts if isinstance(part, ast.Attribute) and _is_outcome(part.value)]
                lists += [path.relative_to(SOURCE).as_posix()] * (len(named) > 2)
    assert lists == ["desk/outcomes.py"]


def _is_outcome(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "Outcome"
