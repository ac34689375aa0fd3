"""Questions and plans, at each of their steps."""

from __future__ import annotations

from tests.gallery.sample import PROJECT, Confirm, Receive, Sample, Tap, Type

FORM = {
    "questions": [
        {
            "question": "Which database should the shop use?",
            "header": "Database",
            "options": [
                {"label": "Postgres", "description": "A server of its own; grows with the shop"},
                {"label": "SQLite", "description": "One file; enough for a single machine"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which parts are to be built now?",
            "header": "Parts",
            "options": [
                {"label": "Search", "description": "Full text, with typos forgiven"},
                {"label": "Reviews", "description": "Stars and texts; needs moderation"},
                {"label": "Coupons", "description": "Percent or fixed, with an end"},
            ],
            "multiSelect": True,
        },
    ]
}
ONE = {
    "questions": [
        {
            "question": "The tests need Node 22, and 20 is installed. What shall I do?",
            "header": "Node",
            "options": [
                {"label": "Install 22 with nvm", "description": "Takes a minute; 20 stays as it is"},
                {"label": "Go on with 20", "description": "Two tests are skipped"},
            ],
        }
    ]
}
PLAN = """\
# Count items in the total

The total adds up prices and ignores how many of each there are.

1. **Fix** `total()` in `src/cart.py`: price times count.
2. Add a test for a cart with *several* of one item.
3. Run `npm test` and look at the coverage.

Nothing else changes: `is_free()` stays as it is.
"""
LONG_PLAN = PLAN + "".join(
    f"\n## Step {number}\n\nMove `module_{number}` behind the new interface, keep the old name for a release, and add"
    " a test that both give the same result.\n"
    for number in range(1, 31)
)


def _question(name: str, about: str, *steps: Tap | Type | Confirm) -> Sample:
    return Sample(
        name, about, "AskUserQuestion", FORM, steps=steps, why="Before I start I need two decisions from you."
    )


def _plan(name: str, about: str, plan: str, *steps: Tap | Type | Confirm | Receive) -> Sample:
    return Sample(
        name,
        about,
        "ExitPlanMode",
        {"plan": plan, "planFilePath": f"{PROJECT}/.claude/plans/cart.md"},
        steps=steps,
        more={"permission_mode": "plan"},
    )


TALKS: tuple[Sample, ...] = (
    Sample("question", "One question: an option is a tap", "AskUserQuestion", ONE),
    _question("question-1-of-2", "Two questions, one after another"),
    _question("question-2-of-2", "The second: several may be chosen", Tap("2. SQLite")),
    _question("question-checked", "Two of them checked", Tap("2. SQLite"), Tap("☐ 1."), Tap("☐ 3.")),
    _question("question-other", "An answer of one's own is typed", Tap("Other…")),
    _question(
        "question-typed", "And stands beside the checked ones", Tap("2."), Tap("☐ 1."), Tap("Other"), Type("Gift cards")
    ),
    _question(
        "question-answered",
        "Answered",
        *(Tap("2."), Tap("☐ 1."), Tap("☐ 3."), Tap("Done"), Confirm()),
    ),
    _question("question-skipped", "Skipped", Tap("Skip"), Confirm()),
    _plan("plan", "A plan, readable", PLAN),
    _plan("plan-long", "A plan that does not fit", LONG_PLAN),
    _plan("plan-long-seen", "After its file has come", LONG_PLAN, Tap("Show all"), Receive()),
    _plan("plan-revise", "What should change is typed", PLAN, Tap("Revise…")),
    _plan("plan-revised", "Sent back", PLAN, Tap("Revise…"), Type("Also round to whole cents."), Confirm()),
    _plan("plan-approved", "Approved, and edits accepted", PLAN, Tap("Approve, and"), Confirm()),
)
