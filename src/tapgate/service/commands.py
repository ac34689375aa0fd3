"""Runs the service managers' commands. The only code of the service that starts a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence

from tapgate.service.model import CommandResult

LONGEST_S = 90.0  # stopping may take the daemon 20 s; a manager that takes longer than this is itself in trouble
NOT_FOUND = 127


def run_command(words: Sequence[str], /) -> CommandResult:
    try:
        done = subprocess.run(  # noqa: S603  our own words, and no shell
            list(words), capture_output=True, text=True, errors="replace", timeout=LONGEST_S, check=False
        )
    except FileNotFoundError:
        return CommandResult(NOT_FOUND, "", f"{words[0]}: command not found")
    except subprocess.TimeoutExpired:
        return CommandResult(124, "", f"{words[0]} did not come to an end within {LONGEST_S:g} s")
    except OSError as error:
        return CommandResult(126, "", f"{words[0]}: {error.strerror}")
    return CommandResult(done.returncode, done.stdout, done.stderr)


def follow_command(words: Sequence[str], /) -> Iterator[str]:
    """Its lines as they come; ends it when nobody wants more of them."""
    try:
        process = subprocess.Popen(  # noqa: S603  our own words, and no shell
            list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        yield f"{words[0]}: {error.strerror or os.strerror(error.errno or 0)}"
        return
    assert process.stdout is not None
    try:
        for line in process.stdout:
            yield line.rstrip("\n")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
