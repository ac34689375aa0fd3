"""What a tool call would do, as it is shown: in its kind's form, in one line, and the whole of it as a file. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from tapgate.errors import TapgateError
from tapgate.masking.mask import mask_pieces, mask_value
from tapgate.model import Context, Request, ToolKind
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.forms import CHANGES, FORMS
from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import CARD_CHARS, Fields
from tapgate.telegram.forms.plain import aligned
from tapgate.telegram.text import folded

MOST_FILE_BYTES = 49_000_000  # Telegram takes 50 MB, with what stands around the file
_PIECE = 32_768
_LINE_CHARS = 480  # more than any summary shows
_FIRST_WORD = re.compile(r"[\w.+/@-]{1,60}")


class TooLargeError(TapgateError):
    """What is to be shown fits into no file."""


def contents_of(request: Request, context: Context, setting: DisplayOptions) -> Iterator[Content]:
    """The ways to show this call on a card, the best one first; the last is the one for what never fits."""
    change = CHANGES.get(request.tool.kind)
    if change is None:
        yield content_of(request, setting)
        return
    seen = context.on_disk
    shown: list[Content] = []
    for way in range(3 if seen is not None else 1):
        content = change(_fields(request, setting), seen, setting, way=way)
        if content is None:
            yield aligned(_fields(request, setting))
            return
        if content not in shown:
            shown.append(content)
            yield content


def content_of(request: Request, setting: DisplayOptions, *, most: int | None = CARD_CHARS) -> Content:
    """The form for this kind of tool, of nothing but the call itself. Unexpected types fall back to the plain form."""
    fields = _fields(request, setting, most)
    change = CHANGES.get(request.tool.kind)
    if change is not None:
        content = change(fields, None, setting, way=1)
    else:
        form = FORMS.get(request.tool.kind)
        content = form(fields) if form is not None else None
    return content if content is not None else aligned(_fields(request, setting, most))


def _fields(request: Request, setting: DisplayOptions, most: int | None = CARD_CHARS) -> Fields:
    fields = Fields(request.input, most=most, mask=setting.mask, names=request.tool.names)
    fields.known("description")  # it stands beside the tool's name
    return fields


def describe(request: Request, setting: DisplayOptions, most: int | None = CARD_CHARS) -> Content:
    """What the agent says about the call."""
    fields = Fields(request.input, most=most, mask=setting.mask)
    said = fields.any("description") if request.input.get("description") is not None else ""
    return Content(said, cut=fields.cut, cut_more=fields.cut_more)


def summary_of(request: Request, setting: DisplayOptions) -> str:
    """One line that says what it was about, for settled cards; with little detail, only what it was about."""
    if setting.is_brief:
        return gist_of(request)
    if request.form is not None:
        return "; ".join(question.header or question.text for question in request.form.questions)[:CARD_CHARS]
    content = content_of(request, setting, most=CARD_CHARS)
    if request.tool.kind is ToolKind.PLAN:
        first = next((line for line in content.body[:CARD_CHARS].splitlines() if line.strip()), "")
        return first.lstrip("#").strip()
    return " ".join((setting.place(content.head, request.project) or content.body)[:CARD_CHARS].split())


def gist_of(request: Request) -> str:
    """The file's name or the command's first word: nothing of what is in it."""
    use = request.tool_use
    if use.path is not None:
        return PurePath(use.path[-4096:]).name
    command = use.value("command")
    if use.kind is not ToolKind.COMMAND or not isinstance(command, str):
        return ""
    # Variables that are set in front may hold secrets, so they are passed over.
    words = (word for word in command[:_LINE_CHARS].split() if "=" not in word)
    first = next(words, "")
    return PurePath(first).name if _FIRST_WORD.fullmatch(first) else ""


def whole_of(request: Request, context: Context, setting: DisplayOptions) -> tuple[str, bytes]:
    """The file for everything that did not fit: its name, and the input in full. Takes long; run it in a thread.

    Raises TooLargeError where no file can hold it: hidden characters are longer when they are spelled out.
    """
    name = "".join(character for character in request.call.tool if character.isalnum())[:30] or "request"
    if setting.is_brief:
        suffix = ".txt"
        pieces = _shown([f"tool: {request.call.tool}\n{gist_of(request)}", *_buttons(request)], setting)
    else:
        content = content_of(request, setting, most=None)
        suffix = content.suffix
        links = [f"{link.path}: {link.says}" if link.path else link.says for link in context.links]
        if suffix == ".json":
            pieces = _shown(_json(request, links, setting), setting)
        else:
            pieces = _text(content, request, links, setting)
    data = bytearray()
    for piece in _at_line_ends(pieces):  # in pieces, so that other threads get their turn in between
        data += folded(piece, diff=suffix == ".diff").encode("utf-8", "backslashreplace")
        if len(data) > MOST_FILE_BYTES:
            raise TooLargeError("it is larger than any file that can be sent; answer at the terminal, or deny here")
    return f"{name}-{request.id[:8]}{suffix}", bytes(data)


def _text(content: Content, request: Request, links: list[str], setting: DisplayOptions) -> Iterator[str]:
    """Each part is masked by itself, as on a card: a quote in one would turn those of another inside out."""
    lines = [content.head] if content.head else []
    lines += content.asides
    for line in lines:
        yield from _shown(_slices(f"{line}\n"), setting)
    if lines:
        yield "\n"
    yield from _shown(_slices(content.body), setting, as_command=content.is_command)
    for name, value in _circumstances(request, setting):
        if value:
            yield from _shown(_slices(f"\n\n{name}: {value}"), setting)
    for part in (*(f"\n\nlink: {link}" for link in links), *_buttons(request)):
        yield from _shown([part], setting)


def _shown(pieces: Iterable[str], setting: DisplayOptions, *, as_command: bool = False) -> Iterator[str]:
    return mask_pieces(pieces, as_command=as_command) if setting.mask else iter(pieces)


def _json(request: Request, links: list[str], setting: DisplayOptions) -> Iterator[str]:
    """The plain form shows values cut to lines; the file has the input as it is, secrets aside."""
    fields = dict(request.input)
    whole = {
        **{name: value for name, value in _circumstances(request, setting) if value and name != "description"},
        "input": mask_value(fields, only_named=True)[0] if setting.mask else fields,
        **({"links": links} if links else {}),
        "buttons": [choice.label for choice in request.choices if choice.saved],
    }
    for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(whole):
        yield from _slices(piece)


def _slices(text: str) -> Iterable[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _at_line_ends(pieces: Iterable[str]) -> Iterator[str]:
    """Cut behind line breaks where there are any, so that blank lines are seen together."""
    kept = ""
    for piece in pieces:
        for part in _slices(piece):
            kept += part
            while len(kept) >= _PIECE:
                end = kept.rfind("\n", 0, _PIECE) + 1 or _PIECE
                yield kept[:end]
                kept = kept[end:]
    if kept:
        yield kept


def _buttons(request: Request) -> Iterator[str]:
    return (f"\n\nbutton: {choice.label}" for choice in request.choices if choice.saved)


def _circumstances(request: Request, setting: DisplayOptions) -> tuple[tuple[str, str], ...]:
    return (
        ("description", describe(request, setting, None).body),
        ("why it asks", request.decision_reason),
        ("blocked path", request.blocked_path),
        ("directory", request.cwd),
        ("tool", request.call.tool or "without a name"),  # a file must not be empty
    )
