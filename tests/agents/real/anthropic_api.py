"""A scripted Anthropic Messages API: for each conversation its next tool calls, then a closing text. Records it all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.agents.real.loopback import Answer, Json, Loopback, texts_of

CLOSING = "That is all."
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Use:
    """One scripted tool call. `says` is the text in front of it, which cards show as the reason."""

    tool: str
    input: dict[str, Any]
    says: str = ""


Step = Use | tuple[Use, ...] | Callable[[str], Use]
"""What the model asks for in one turn. Several at once are asked in parallel; a function is given what the model was
told so far, for what only the agent knows."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the agent told the model about one call."""

    tool_use_id: str
    text: str
    is_error: bool


@dataclass(slots=True)
class AnthropicApi:
    """`script` is for the main thread; `others` for conversations whose first message holds the given words."""

    script: Sequence[Step]
    others: dict[str, Sequence[Step]] = field(default_factory=dict)
    requests: list[Json] = field(default_factory=list)
    odd: list[tuple[str, str]] = field(default_factory=list)  # what was asked beside messages
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _server: Loopback | None = None

    def __enter__(self) -> AnthropicApi:
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

    def results(self, having: str = "") -> list[Result]:
        """Every tool_result so far, in the order in which the model first saw them."""
        seen: dict[str, Result] = {}
        for request in list(self.requests):
            if having and having not in _first_words(request):
                continue
            for message in request["messages"]:
                blocks = message["content"] if isinstance(message["content"], list) else []
                for block in blocks:
                    if block.get("type") == "tool_result":
                        text = texts_of(block.get("content"))
                        found = Result(block["tool_use_id"], text, bool(block.get("is_error")))
                        seen.setdefault(found.tool_use_id, found)
        return list(seen.values())

    def wait_for_results(self, count: int = 1, *, having: str = "", wait_s: float = PATIENCE_S) -> list[Result]:
        def find() -> list[Result] | None:
            found = self.results(having)
            return found if len(found) >= count else None

        assert self._server is not None
        return self._server.wait(find, wait_s=wait_s, what=self.tell)

    def words(self) -> str:
        """All that the model was told, for looking something up."""
        return "\n".join(_words(request) for request in self.requests)

    def tell(self) -> str:
        """For a failing test: what was asked, briefly."""
        sizes = [(len(request["messages"]), len(request.get("tools") or ())) for request in self.requests]
        return f"messages and tools of each request: {sizes}; beside that: {self.odd}; results: {self.results()}"

    # What it is answered

    def _answer(self, method: str, path: str, body: Json) -> Answer:
        if method == "POST" and path == "/v1/messages" and isinstance(body, dict):
            self.requests.append(body)
            content = self._content(body)
            return self._stream(body, content) if body.get("stream") else Answer(body=self._message(body, content))
        self.odd.append((method, path))
        if path == "/v1/messages/count_tokens":
            return Answer(body={"input_tokens": 10})
        return Answer(status=200 if method == "HEAD" else 404, body={"type": "error", "error": {"type": "not_found"}})

    def _content(self, body: Json) -> list[Json]:
        """The next step: as many steps are done as there are assistant messages with tool calls."""
        if not body.get("tools"):  # a title, a summary: not the agent's own loop
            return [{"type": "text", "text": "fine"}]
        first = _first_words(body)
        script = next((script for words, script in self.others.items() if words in first), self.script)
        done = sum(
            any(block.get("type") == "tool_use" for block in message["content"])
            for message in body["messages"]
            if message["role"] == "assistant" and isinstance(message["content"], list)
        )
        if done >= len(script):
            return [{"type": "text", "text": CLOSING}]
        step = script[done]
        if callable(step):
            step = step(_words(body))
        content: list[Json] = []
        for use in step if isinstance(step, tuple) else (step,):
            if use.says:
                content.append({"type": "text", "text": use.says})
            content.append(
                {"type": "tool_use", "id": f"toolu_{next(self._numbers):06}", "name": use.tool, "input": use.input}
            )
        return content

    def _message(self, body: Json, content: list[Json]) -> Json:
        reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        return {
            "id": f"msg_{next(self._numbers):06}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "claude"),
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }

    def _stream(self, body: Json, content: list[Json]) -> Answer:
        message = self._message(body, content)
        start = {**message, "content": [], "stop_reason": None}
        events: list[tuple[str, Json]] = [("message_start", {"message": start})]
        for index, block in enumerate(content):
            if block["type"] == "text":
                opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                opened = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                ("content_block_start", {"index": index, "content_block": opened}),
                ("content_block_delta", {"index": index, "delta": delta}),
                ("content_block_stop", {"index": index}),
            ]
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [("message_delta", {"delta": stop, "usage": {"output_tokens": 10}}), ("message_stop", {})]
        return Answer(events=tuple((name, {"type": name, **data}) for name, data in events))


def _words(body: Json) -> str:
    """All that it was told, its own words left out."""
    told = [texts_of(message["content"]) for message in body["messages"] if message["role"] != "assistant"]
    return "\n".join([texts_of(body.get("system")), *told])


def _first_words(body: Json) -> str:
    """What begins the conversation: a subagent's is its own prompt."""
    return next((texts_of(message["content"]) for message in body["messages"] if message["role"] == "user"), "")
