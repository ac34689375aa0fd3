"""A process that records until it is killed, and says which records were acknowledged."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import sys
import time
from pathlib import Path

from tapgate.desk.effects import AnsweredEntry, AskedEntry
from tapgate.journal import Journal
from tapgate.model import Answer, Caller, Decision, Request, ToolCall, Verdict


def make_request(request_id: str) -> Request:
    raw = b'{"input": {"command": "' + b"x" * (len(request_id) * 977 % 70_000) + b'"}}'
    digest = hashlib.sha256(raw).hexdigest()
    return Request(
        id=request_id,
        caller=Caller("claude", 600.0),
        event="PermissionRequest",
        call=ToolCall("session-1", "", "Bash", digest),
        input={},
        choices=(),
        digest=digest,
        raw=raw,
    )


async def main(path: Path, prefix: str) -> None:
    journal = await Journal.open(path, wall=time.time, report=lambda sentence: say(f"report {sentence}"))
    for number in itertools.count():
        request = make_request(f"{prefix}-{number}")
        now = time.time()
        await journal.record([AskedEntry(request, now, now + 600, fits=True, chats=(11,))], at=now, offset=number)
        say(f"asked {request.id}")
        answer = Answer("Ada", 42, "a", "Allow", Decision(Verdict.ALLOW, message=request.id), now, 1.0)
        await journal.record([AnsweredEntry(request.id, answer, 1)], at=now)
        say(f"answered {request.id}")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
