"""A small HTTP server on loopback that records what it is asked. Knows no model; the scripted APIs stand on it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Json = Any
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a whole JSON body, or the events of a stream."""

    status: int = 200
    body: Json = None
    events: tuple[tuple[str, Json], ...] = ()

    def encode(self) -> tuple[str, bytes]:
        if not self.events:
            return "application/json", json.dumps(self.body).encode()
        lines = (f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in self.events)
        return "text/event-stream", "".join(lines).encode()


class Loopback:
    """Answers on 127.0.0.1 in threads of its own. What was recorded is read and waited for under one condition."""

    def __init__(self, answer: Callable[[str, str, Json], Answer]) -> None:
        self.changed = threading.Condition()
        self.faults: list[Exception] = []
        loopback = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(size)
                try:
                    body = json.loads(raw) if raw else None
                except ValueError:
                    body = None
                with loopback.changed:
                    try:
                        given = answer(self.command, self.path.partition("?")[0], body)
                    except Exception as error:  # a script that went wrong is told when the server is closed
                        loopback.faults.append(error)
                        given = Answer(status=400, body={"error": {"message": repr(error)}})
                    loopback.changed.notify_all()
                kind, content = given.encode()
                with contextlib.suppress(OSError):  # an agent that was told to stop does not read on
                    self.send_response(given.status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(b"" if self.command == "HEAD" else content)

            do_GET = do_POST = do_HEAD = respond  # noqa: N815 - the base class's names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Nothing: what came is recorded."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, request: object, client_address: object) -> None:
                """An agent that goes away in the middle is no error here."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def wait(self, find: Callable[[], T | None], *, wait_s: float, what: Callable[[], str]) -> T:
        """What `find` gives, as soon as it gives something; looked at again after every request."""
        with self.changed:
            found = self.changed.wait_for(find, wait_s)
            assert found, f"waited in vain for the agent; {what()}"
            return found

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if self.faults:
            raise self.faults[0]


def texts_of(blocks: Json) -> str:
    """The words in a message's content, be it a plain text or a list of blocks."""
    if isinstance(blocks, str):
        return blocks
    listed: Iterable[Json] = blocks if isinstance(blocks, list) else ()
    return "\n".join(str(block.get("text") or "") for block in listed if isinstance(block, dict) and "text" in block)
