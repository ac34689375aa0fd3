"""A tiny MCP server on stdio with one tool, write_note, which writes to the file that it was started with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOL = {
    "name": "write_note",
    "description": "Write a note.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
}


def answer(method: str, params: dict[str, Any], notes: Path) -> dict[str, Any]:
    match method:
        case "initialize":
            about = {"name": "notes", "version": "1"}
            version = params.get("protocolVersion", "2025-06-18")
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            notes.write_text(params["arguments"]["text"])
            return {"content": [{"type": "text", "text": "the note is written"}]}
    return {}


def main() -> None:
    notes = Path(sys.argv[1])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {}, notes)
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
