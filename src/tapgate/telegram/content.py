"""What a tool call would do, as it is shown: each tool in its own form, and the whole of it as a file. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tapgate.model import Request
from tapgate.telegram.text import visible

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

# What a phone shows as text. Anything else comes as .txt: an agent must not choose that it is opened as a page or run.
_READABLE = frozenset(_LANGUAGES) - {".html", ".js"}
_PIECE = 65_536


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
            size = f"{len(fields['content'].encode('utf-8', 'replace'))} bytes"
            others = _others(fields, "description", "file_path", "content")
            return Content(
                fields["content"],
                _LANGUAGES.get(suffix, ""),
                head=path,
                asides=(size, *others),
                suffix=suffix if suffix in _READABLE else ".txt",
            )
        case "Edit" if _are_texts(fields, "file_path", "old_string", "new_string"):
            asides = (*_every(fields), *_others(fields, "description", *_EDIT, *_flags(fields, "replace_all")))
            return Content(_diff(fields), "diff", fields["file_path"], asides, ".diff")
        case "MultiEdit" if _are_edits(fields.get("edits")) and isinstance(fields.get("file_path"), str):
            parts = "\n".join(_one_of_many(number, edit) for number, edit in enumerate(fields["edits"], start=1))
            asides = _others(fields, "description", "file_path", "edits")
            return Content(parts, "diff", fields["file_path"], asides, ".diff")
        case "apply_patch" if isinstance(fields.get("command"), str):
            return Content(fields["command"], "diff", asides=_others(fields, "description", "command"), suffix=".diff")
        case "ExitPlanMode" if isinstance(fields.get("plan"), str):
            asides = _others(fields, "description", "plan")
            return Content(fields["plan"], "markdown", asides=asides, suffix=".md", prose=True)
        case "AskUserQuestion" if isinstance(fields.get("questions"), list):
            asides = _others(fields, "description", "questions")
            return Content(_questions(fields["questions"]), asides=asides, suffix=".md", prose=True)
        case "Read" if isinstance(fields.get("file_path"), str):
            return Content("", head=fields["file_path"], asides=_others(fields, "description", "file_path"))
        case "WebFetch" if isinstance(fields.get("url"), str):
            return Content(fields["url"], asides=_others(fields, "description", "url"))
        case "WebSearch" if isinstance(fields.get("query"), str):
            return Content(fields["query"], asides=_others(fields, "description", "query"))
        case "Task" | "Agent" if isinstance(fields.get("prompt"), str):
            return Content(fields["prompt"], asides=_others(fields, "description", "prompt"), suffix=".md", prose=True)
        case _:
            return Content(_aligned(fields))


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
    text += "".join(f"\n\n{name}: {value}" for name, value in _circumstances(request) if value)
    text += "".join(f"\n\nbutton: {choice.label}" for choice in request.choices if choice.saved)
    name = "".join(character for character in request.call.tool if character.isalnum())[:30] or "request"
    # Piece by piece, so that other threads get their turn between two pieces of many megabytes.
    pieces = (visible(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))
    return f"{name}-{request.id[:8]}{content.suffix}", "".join(pieces).encode("utf-8", "backslashreplace")


def _circumstances(request: Request) -> tuple[tuple[str, str], ...]:
    return (
        ("description", describe(request)),
        ("why it asks", request.decision_reason),
        ("blocked path", request.blocked_path),
        ("directory", request.cwd),
        ("tool", request.call.tool or "without a name"),  # a file must not be empty
    )


def describe(request: Request) -> str:
    """What the agent says about the call. It stands beside the tool's name, so no form shows it again."""
    description = request.input.get("description")
    return "" if description is None else _plain(description)


def _bash(fields: Mapping[str, Any]) -> Content:
    known = ["command", "description", *_flags(fields, "run_in_background")]
    asides = []
    if fields.get("run_in_background") is True:
        asides.append("runs in the background")
    timeout = fields.get("timeout")
    if isinstance(timeout, int | float) and not isinstance(timeout, bool) and 0 < timeout < 1e12:
        known.append("timeout")
        asides.append(f"stops after {timeout / 1000:g} s")
    return Content(fields["command"], "bash", asides=(*asides, *_others(fields, *known)), suffix=".sh")


_EDIT = ("file_path", "old_string", "new_string")


def _diff(edit: Mapping[str, Any]) -> str:
    # With replace and not line by line: a hostile input may have 16 million lines.
    marked = [
        sign + edit[key].replace("\n", f"\n{sign}")
        for sign, key in (("-", "old_string"), ("+", "new_string"))
        if edit[key]
    ]
    return "\n".join(marked)


def _one_of_many(number: int, edit: Mapping[str, Any]) -> str:
    # Not the call's own path again and again: it stands above, and times many edits it is no longer small.
    facts = [_plain(edit["file_path"]) if "file_path" in edit else f"edit {number}", *_every(edit)]
    facts += _others(edit, *_EDIT, *_flags(edit, "replace_all"))
    return "\n".join([*(f"@@ {fact} @@" for fact in facts), _diff(edit)])


def _every(edit: Mapping[str, Any]) -> tuple[str, ...]:
    return ("every occurrence",) if edit.get("replace_all") is True else ()


def _questions(questions: list[Any]) -> str:
    lines = []
    for question in questions:
        if not isinstance(question, dict):
            lines.append(f"• {_plain(question)}")
            continue
        known = ["question", *_flags(question, "multiSelect")]
        header = question.get("header")
        if isinstance(header, str):
            known.append("header")
        many = " (several may be chosen)" if question.get("multiSelect") is True else ""
        lines.append(f"{f'{header}: ' if 'header' in known else ''}{_plain(question.get('question', ''))}{many}")
        options = question.get("options")
        if isinstance(options, list):
            known.append("options")
            lines += [line for option in options for line in _option(option)]
        lines += [f"  {other}" for other in _others(question, *known)]
    return "\n".join(lines)


def _option(option: object) -> list[str]:
    if not isinstance(option, dict):
        return [f"  • {_plain(option)}"]
    about = f" — {_plain(option['description'])}" if option.get("description") not in (None, "") else ""
    others = _others(option, "label", "description")
    return [f"  • {_plain(option.get('label', ''))}{about}", *(f"    {other}" for other in others)]


def _aligned(fields: Mapping[str, Any]) -> str:
    """A field a line. Further lines of a value are set in, so that they cannot pass for another field."""
    shown = {key: value for key, value in fields.items() if key != "description"}
    width = min(16, max(map(len, shown), default=0))
    return "\n".join(f"{key + ':':<{width + 1}} {_plain(value)}".replace("\n", "\n  ") for key, value in shown.items())


def _others(fields: Mapping[str, Any], *known: str) -> tuple[str, ...]:
    """Fields that the tool's form does not know are shown all the same: nothing is approved unseen."""
    return tuple(f"{key}: {_plain(value)}" for key, value in fields.items() if key not in known)


def _flags(fields: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """Those that are true or false, as their form expects. Of any other type, they are shown like unknown fields."""
    return tuple(name for name in names if isinstance(fields.get(name), bool))


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
