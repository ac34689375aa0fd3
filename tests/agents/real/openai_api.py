"""A scripted OpenAI Responses API for Codex: its next tool calls, then a closing text. Records every request."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.agents.real.loopback import Answer, Json, Loopback, texts_of

CLOSING = "That is all."
PATIENCE_S = 120.0
CALLS = {"function_call", "custom_tool_call"}


@dataclass(frozen=True, slots=True)
class Function:
    """One scripted call of a function; `namespace` where the tool came in one, as MCP servers' do."""

    name: str
    arguments: dict[str, Any]
    namespace: str = ""

    def item(self, call_id: str) -> Json:
        named = {"namespace": self.namespace} if self.namespace else {}
        arguments = json.dumps(self.arguments)
        return {"type": "function_call", "call_id": call_id, "name": self.name, "arguments": arguments, **named}


@dataclass(frozen=True, slots=True)
class Custom:
    """One scripted call of a tool that takes plain text, as apply_patch does."""

    name: str
    text: str

    def item(self, call_id: str) -> Json:
        return {"type": "custom_tool_call", "call_id": call_id, "name": self.name, "input": self.text}


Step = Function | Custom


@dataclass(slots=True)
class OpenAiApi:
    script: Sequence[Step]
    requests: list[Json] = field(default_factory=list)
    reviews: list[Json] = field(default_factory=list)  # what Codex's own reviewer asked its model
    odd: list[tuple[str, str]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _server: Loopback | None = None

    def __enter__(self) -> OpenAiApi:
        self._server = Loopback(self._answer)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server.url

    # What the agent said

    def results(self) -> list[str]:
        """What the model was told of each call, in order."""
        seen: dict[str, str] = {}
        for request in list(self.requests):
            for item in request["input"]:
                if str(item.get("type")).removesuffix("_output") in CALLS and "output" in item:
                    seen.setdefault(item["call_id"], texts_of(item["output"]))
        return list(seen.values())

    def wait_for_results(self, count: int = 1, *, wait_s: float = PATIENCE_S) -> list[str]:
        def find() -> list[str] | None:
            found = self.results()
            return found if len(found) >= count else None

        assert self._server is not None
        return self._server.wait(find, wait_s=wait_s, what=self.tell)

    def tell(self) -> str:
        """For a failing test: what was asked, briefly."""
        sizes = [len(request["input"]) for request in self.requests]
        return (
            f"items of each request: {sizes}; reviews: {len(self.reviews)}; beside that: {self.odd}; {self.results()}"
        )

    # What it is answered

    def _answer(self, method: str, path: str, body: Json) -> Answer:
        if method != "POST" or not path.endswith("/responses") or not isinstance(body, dict):
            self.odd.append((method, path))
            return Answer(status=404, body={"error": {"message": "there is nothing here"}})
        if (body.get("text") or {}).get("format"):  # a form to fill in: the reviewer, which is no part of the script
            self.reviews.append(body)
            return self._stream([_message("I will not decide this.")])
        self.requests.append(body)
        done = sum(item.get("type") in CALLS for item in body["input"])
        if done >= len(self.script):
            return self._stream([_message(CLOSING)])
        return self._stream([self.script[done].item(f"call_{next(self._numbers):06}")])

    def _stream(self, items: list[Json]) -> Answer:
        response = {"id": f"resp_{next(self._numbers):06}", "object": "response", "status": "in_progress", "output": []}
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 20,
        }
        events: list[tuple[str, Json]] = [("response.created", {"response": response})]
        for index, item in enumerate(items):
            whole = {"id": f"item_{next(self._numbers):06}", "status": "completed", **item}
            events.append(("response.output_item.added", {"output_index": index, "item": whole}))
            events.append(("response.output_item.done", {"output_index": index, "item": whole}))
        done = {**response, "status": "completed", "output": items, "usage": usage}
        events.append(("response.completed", {"response": done}))
        return Answer(events=tuple((name, {"type": name, **data}) for name, data in events))


def _message(text: str) -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
