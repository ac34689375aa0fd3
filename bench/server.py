"""As little of a Bot API server as the daemon needs: it notes when calls arrive, and hands out taps."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs

POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    params: dict[str, str]
    at: float  # on the monotonic clock: when its request line and headers were here
    message_id: int = 0


class Server(ThreadingHTTPServer):
    """One for several bots, told apart by their tokens. Long polls are held as Telegram holds them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.calls: defaultdict[str, queue.SimpleQueue[Call]] = defaultdict(queue.SimpleQueue)
        self.updates: defaultdict[str, queue.SimpleQueue[dict[str, Any]]] = defaultdict(queue.SimpleQueue)
        self.numbers = count(1)
        self._thread = threading.Thread(target=self.serve_forever)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def tap(self, token: str, message_id: int, data: str) -> float:
        """Press a button; gives the moment at which the waiting poll was woken."""
        chat = {"id": USER_ID, "type": "private"}
        query = {
            "id": str(next(self.numbers)),
            "from": {"id": USER_ID, "is_bot": False, "first_name": "You"},
            "chat_instance": "1",
            "data": data,
            "message": {"message_id": message_id, "date": int(time.time()), "chat": chat},
        }
        at = time.monotonic()
        self.updates[token].put({"update_id": next(self.numbers), "callback_query": query})
        return at


USER_ID = 1001


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        at = time.monotonic()
        _, bot, method = self.path.split("/")
        token = bot.removeprefix("bot")
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        params = {name: values[0] for name, values in parse_qs(body).items()}
        if method == "getUpdates":
            self._answer(self._updates(token, float(params.get("timeout", 0))))
            return
        message_id = int(params.get("message_id") or next(self.server.numbers))
        chat = {"id": USER_ID, "type": "private"}
        text = params.get("text", "")
        sent = {"message_id": message_id, "date": int(time.time()), "chat": chat, "text": text}
        self._answer(sent if "Message" in method else True)
        self.server.calls[token].put(Call(method, params, at, message_id))

    def _updates(self, token: str, timeout_s: float) -> list[dict[str, Any]]:
        """Each update is given once: this server forgets, and the bench would stop if one were lost."""
        try:
            return [self.server.updates[token].get(timeout=min(timeout_s, POLL_S) or 0.001)]
        except queue.Empty:
            return []

    def _answer(self, result: object) -> None:
        content = json.dumps({"ok": True, "result": result}).encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass
