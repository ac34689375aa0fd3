"""The journal's rows about ended requests as the plain values that /history shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tapgate.agents.registry import is_stock_message
from tapgate.journal import TrailRow
from tapgate.model import Outcome, Ran
from tapgate.telegram.commands.context import PastAnswer

ROWS_PER_ANSWER = 20  # asked, posted in several chats, seen, answered, settled, ran


def past_answers(rows: Sequence[TrailRow], most: int) -> list[PastAnswer]:
    """The last ended requests, in the order of the rows."""
    against = {row.request_id for row in rows if row.ran == Ran.AGAINST}
    settled = [row for row in rows if row.what == "settled"][:most]
    return [
        PastAnswer(
            at=row.at,
            project=row.project,
            tool=row.tool,
            summary=row.summary,
            outcome=Outcome(row.outcome),
            person=row.person,
            ran_against=row.request_id in against,
            instead=row.instead,
            message="" if is_stock_message(row.agent, row.message) else row.message,  # those are no person's words
        )
        for row in settled
    ]
