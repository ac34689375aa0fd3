"""`tapgate status`: how the daemon is, asked over its own socket."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.errors import FrameError, TapgateError
from tapgate.wire import Kind, decode_header, encode_frame

PATIENCE_S = 5.0


def status(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Say whether the daemon runs, hears Telegram, and can write its journal. Exit code 1 where something is wrong."""
    from tapgate.config import load_config

    found = ask_status(load_config(config).socket_path)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for line in describe(found, now=time.time()):
            typer.echo(line)
    if found["telegram"] != "ok" or found["journal"] != "ok":
        raise typer.Exit(1)


def ask_status(path: Path) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE_S)
        try:
            sock.connect(str(path))
            sock.sendall(encode_frame(Kind.STATUS))
            answer = b""
            while chunk := sock.recv(65536):
                answer += chunk
        except TimeoutError:
            raise TapgateError(f"the daemon at {path} does not answer; restart it") from None
        except OSError as error:
            raise TapgateError(
                f"the daemon is not running ({error.strerror}); start it with `tapgate daemon`"
            ) from None
    line, _, body = answer.partition(b"\n")
    header = decode_header(line)
    if header.kind is not Kind.REPLY:
        raise FrameError(body.decode("utf-8", "replace"))
    found: dict[str, Any] = json.loads(body)
    return found


def describe(found: dict[str, Any], *, now: float) -> list[str]:
    heard = found["last_poll_at"]
    return [
        f"tapgate {found['version']} runs as pid {found['pid']}, for {_span(now - found['started_at'])}",
        f"telegram: {found['telegram']}, last heard {_span(now - heard) + ' ago' if heard else 'never'}",
        f"journal:  {found['journal']}",
        f"people:   {found['people']}",
        f"open:     {found['open_requests']}",
    ]


def _span(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"
