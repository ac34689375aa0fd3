"""What a tool call would do, as it is shown: each tool in its own form, and the whole of it as a file. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tapgate.model import Request

_LANGUAGES = {
    ".c": "c",
    ".css": "css",
    ".go": "go",
    ".html": "html",
    ".js": "javascript",
    ".json": "json",
    ".md": "markdown",
    ".py": "python",
    ".rs": "rust",
    ".sh": "bash",
    ".sql": "sql",
    ".toml": "toml",
    ".ts": "typescript",
    ".yaml": "yaml",
    ".yml": "yaml",
}


@dataclass(frozen=True, slots=True)
class Content:
    """`head` stands in words above, `body` in a block; `asides` are small facts below."""

    body: str
    language: str = ""
    head: str = ""
    asides: tuple[str, ...] = ()
    suffix: str = ".txt"
    prose: bool = False  # the body is text for people, not code


def content_of(request: Request) -> Content:
    """The form for this tool. Fields of an unexpected type fall back to the plain form, which shows everything."""
    fields = request.input
    match request.call.tool:
        case "Bash" if isinstance(fields.get("command"), str):
            return _bash(fields)
        case "Write" if _are_texts(fields, "file_path", "content"):
            path = fields["file_path"]
            suffix = PurePath(path).suffix
            return Content(
                fields["content"],
                _LANGUAGES.get(suffix, ""),
                head=path,
                asides=(
                    f"{len(fields['content'].encode('utf-8', 'replace'))} bytes",
                    *_others(fields, "file_path", "content"),
                ),
                suffix=suffix if suffix.isascii() and len(suffix) in range(2, 8) and suffix[1:].isalnum() else ".txt",
            )
        case "Edit" if _are_texts(fields, "file_path", "old_string", "new_string"):
            every = ("every occurrence",) if fields.get("replace_all") is True else ()
            known = ("file_path", "old_string", "new_string", "replace_all")
            return Content(_diff(fields), "diff", fields["file_path"], (*every, *_others(fields, *known)), ".diff")
        case "MultiEdit" if _are_edits(fields.get("edits")) and isinstance(fields.get("file_path"), str):
            parts = [f"@@ {edit.get('file_path', fields['file_path'])} @@\n{_diff(edit)}" for edit in fields["edits"]]
            return Content(
                "\n".join(parts), "diff", fields["file_path"], _others(fields, "file_path", "edits"), ".diff"
            )
        case "apply_patch" if isinstance(fields.get("command"), str):
            return Content(fields["command"], "diff", asides=_others(fields, "command"), suffix=".diff")
        case "ExitPlanMode" if isinstance(fields.get("plan"), str):
            return Content(fields["plan"], "markdown", suffix=".md", prose=True)
        case "AskUserQuestion" if isinstance(fields.get("questions"), list):
            return Content(_questions(fields["questions"]), suffix=".md", prose=True)
        case "Read" if isinstance(fields.get("file_path"), str):
            return Content("", head=fields["file_path"], asides=_others(fields, "file_path"))
        case "WebFetch" if isinstance(fields.get("url"), str):
            return Content(fields["url"], asides=_others(fields, "url"))
        case "WebSearch" if isinstance(fields.get("query"), str):
            return Content(fields["query"], asides=_others(fields, "query"))
        case "Task" | "Agent" if isinstance(fields.get("prompt"), str):
            return Content(fields["prompt"], asides=_others(fields, "prompt"), suffix=".md", prose=True)
        case _:
            return Content(_aligned(fields), suffix=".txt")


def summary_of(request: Request, most: int = 120) -> str:
    """One line that says what it was about, for settled cards."""
    content = content_of(request)
    text = content.head or content.body
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def whole_of(request: Request) -> tuple[str, bytes]:
    """The file for everything that did not fit: its name, and the input in full."""
    content = content_of(request)
    lines = [content.head] if content.head else []
    lines += [aside for aside in content.asides if aside]
    text = "\n".join([*lines, "", content.body] if lines else [content.body])
    if request.input.get("description"):
        text = f"{text}\n\ndescription: {request.input['description']}"
    text += "".join(f"\n\n{name}: {value}" for name, value in _reasons(request) if value)
    text += "".join(f"\n\nbutton: {choice.label}" for choice in request.choices if choice.saved)
    name = "".join(character for character in request.call.tool if character.isalnum())[:30] or "request"
    return f"{name}-{request.id[:8]}{content.suffix}", text.encode("utf-8", "backslashreplace")


def _reasons(request: Request) -> tuple[tuple[str, str], ...]:
    return (
        ("why it asks", request.decision_reason),
        ("blocked path", request.blocked_path),
        ("directory", request.cwd),
    )


def _bash(fields: Mapping[str, Any]) -> Content:
    asides = []
    if fields.get("run_in_background") is True:
        asides.append("runs in the background")
    if isinstance(fields.get("timeout"), int | float):
        asides.append(f"stops after {fields['timeout'] / 1000:g} s")
    known = ("command", "description", "run_in_background", "timeout")
    return Content(fields["command"], "bash", asides=(*asides, *_others(fields, *known)), suffix=".sh")


def _diff(edit: Mapping[str, Any]) -> str:
    removed = [f"-{line}" for line in edit["old_string"].split("\n")] if edit["old_string"] else []
    added = [f"+{line}" for line in edit["new_string"].split("\n")] if edit["new_string"] else []
    return "\n".join([*removed, *added])


def _questions(questions: list[Any]) -> str:
    lines = []
    for question in questions:
        if not isinstance(question, dict):
            lines.append(f"• {_plain(question)}")
            continue
        many = " (several may be chosen)" if question.get("multiSelect") else ""
        lines.append(f"{question.get('question', '')}{many}")
        options = question.get("options")
        for option in options if isinstance(options, list) else []:
            if isinstance(option, dict):
                about = f" — {option['description']}" if option.get("description") else ""
                lines.append(f"  • {option.get('label', '')}{about}")
            else:
                lines.append(f"  • {_plain(option)}")
    return "\n".join(lines)


def _aligned(fields: Mapping[str, Any]) -> str:
    if not fields:
        return ""
    width = min(16, max(len(key) for key in fields))
    return "\n".join(
        f"{key + ':':<{width + 1}} {_plain(value)}" for key, value in fields.items() if key != "description"
    )


def _others(fields: Mapping[str, Any], *known: str) -> tuple[str, ...]:
    """Fields that the tool's form does not know are shown all the same: nothing is approved unseen."""
    return tuple(
        f"{key}: {_plain(value)}" for key, value in fields.items() if key not in known and key != "description"
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _are_texts(fields: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(fields.get(key), str) for key in keys)


def _are_edits(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(edit, dict) and _are_texts(edit, "old_string", "new_string") for edit in value)
    )
