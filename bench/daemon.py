"""The real daemon in a process of its own, with its journal or with one that records nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from tapgate.config import load_config, read_token
from tapgate.daemon import app
from tapgate.desk.effects import Entry
from tapgate.journal import Journal


class Forgetful(Journal):
    """It is opened and read like the real one, but writes nothing and goes to no thread for it."""

    async def record(
        self, entries: Sequence[Entry], *, at: float, offset: int | None = None, patient: bool = True
    ) -> None:
        pass


def main(config_path: str, how: str) -> None:
    if how == "forgetful":
        vars(app)["Journal"] = Forgetful  # the daemon wires itself; this is all that differs
    config = load_config(Path(config_path))

    async def run() -> None:
        daemon = app.Daemon(config, read_token(config), report=lambda line: print(line, file=sys.stderr))
        await daemon.run(lambda line: print(line, flush=True))

    anyio.run(run)


if __name__ == "__main__":
    main(*sys.argv[1:])
