"""Telegram's HTML parse mode: source to plain text and entities, or the error Telegram gives. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import urlsplit

_KINDS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "u": "underline",
    "ins": "underline",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "pre": "pre",
    "code": "code",
    "a": "text_link",
    "blockquote": "blockquote",
}
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-zA-Z]+));?")
_PLAIN = re.compile(r"[^<&\0]+")
_SPACE = " \t\r\n\v\0"
_QUOTES = ("blockquote", "expandable_blockquote")
_MONOSPACED = ("pre", "code")
# What the server turns into a space, and what it drops: CR, line separators, direction marks, BOM.
_CONTROL = {code: " " for code in range(32) if code not in (10, 13)}
_CLEANING = str.maketrans({**_CONTROL, 13: None, 0xFEFF: None, **dict.fromkeys(range(0x2028, 0x202F))})


class HtmlError(ValueError):
    """What follows "can't parse entities: " in the Bot API's answer."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A styled stretch of text; offset and length are in UTF-16 units."""

    kind: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class _Open:
    tag: str
    argument: str
    offset: int
    piece: int


def utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def clean(text: str) -> str:
    """The characters that reach the phone; a tab becomes a space."""
    return text.translate(_CLEANING)


def parse_html(source: str) -> tuple[str, tuple[Entity, ...]]:
    """Text and entities of an HTML message, trimmed as the server trims it."""
    parser = _Parser(source)
    parser.run()
    return trim("".join(parser.pieces), _untangle(parser.entities))


def trim(text: str, entities: tuple[Entity, ...] = ()) -> tuple[str, tuple[Entity, ...]]:
    """Without white space at the end, and at the start as far as the first entity."""
    text = text.rstrip(" \n")
    end = utf16_length(text)
    kept = [replace(e, length=min(e.end, end) - e.offset) for e in entities if e.offset < end]
    first = kept[0].offset if kept else end
    lead = min(len(text) - len(text.lstrip(" \n")), first)
    return text[lead:], tuple(replace(e, offset=e.offset - lead) for e in kept)


class _Parser:
    """Follows TDLib's parser step by step, because its byte offsets and messages are what a client sees."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._text = source.replace("\0", " ") + "\0"  # the sentinel ends every scan
        self._at = 0
        self._offset = 0
        self._open: list[_Open] = []
        self.pieces: list[str] = []
        self.entities: list[Entity] = []

    def run(self) -> None:
        while (character := self._text[self._at]) != "\0":
            if character == "<":
                if self._text[self._at + 1] == "/":
                    self._end_tag()
                else:
                    self._start_tag()
            elif character == "&":
                self._emit(self._reference())
            else:
                match = _PLAIN.match(self._text, self._at)
                assert match is not None
                self._at = match.end()
                self._emit(match.group())
        if self._open:
            raise HtmlError(f'Can\'t find end tag corresponding to start tag "{self._open[-1].tag}"')

    def _emit(self, text: str) -> None:
        text = clean(text)
        self.pieces.append(text)
        self._offset += utf16_length(text)

    def _fail(self, reason: str, begin: int, tail: str = "") -> NoReturn:
        byte_offset = len(self._source[:begin].encode())
        raise HtmlError(f"{reason} at byte offset {byte_offset}{tail}")

    def _reference(self) -> str:
        """The character a reference stands for; the ampersand itself when there is none."""
        match = _REFERENCE.match(self._text, self._at)
        if match:
            hexadecimal, decimal, name = match.groups()
            character = _NAMED.get(name, "") if name else ""
            if not name:
                code = int(hexadecimal, 16) if hexadecimal else int(decimal)
                if 0 < code < 0x10FFFF and len(match.group()) < 12 and not 0xD800 <= code < 0xE000:
                    character = chr(code)
            if character:
                self._at = match.end()
                return character
        self._at += 1
        return "&"

    def _skip(self, characters: str) -> None:
        while self._text[self._at] != "\0" and self._text[self._at] in characters:
            self._at += 1

    def _until(self, characters: str) -> str:
        begin = self._at
        while self._text[self._at] not in characters:
            self._at += 1
        return self._text[begin : self._at]

    def _start_tag(self) -> None:
        begin = self._at
        self._at += 1
        tag = self._until(_SPACE + ">").lower()
        if self._text[self._at] == "\0":
            self._fail("Unclosed start tag", begin)
        if tag not in _KINDS:
            self._fail(f'Unsupported start tag "{tag}"', begin)
        argument = ""
        while self._text[self._at] != ">":
            self._skip(_SPACE)
            if self._text[self._at] == ">":
                break
            name, value = self._attribute(tag, begin)
            argument = _argument(tag, name, value) or argument
        self._at += 1
        if tag == "span" and argument != "spoiler":
            self._fail('Tag "span" must have class "tg-spoiler"', begin)
        if tag == "blockquote" and any(opened.tag == "blockquote" for opened in self._open):
            self._fail("Nested blockquote", begin)
        self._open.append(_Open(tag, argument, self._offset, len(self.pieces)))

    def _attribute(self, tag: str, begin: int) -> tuple[str, str | None]:
        name = self._until(_SPACE + "=>/\"'")
        if not name:
            self._fail(f'Empty attribute name in the tag "{tag}"', begin)
        self._skip(_SPACE)
        if self._text[self._at] != "=":
            if self._text[self._at] == "\0":
                self._fail(f'Unclosed start tag "{tag}"', begin)
            return name, None
        self._at += 1
        self._skip(_SPACE)
        quote = self._text[self._at]
        if quote not in "\"'":
            token = self._at
            while self._text[self._at].isalnum() or self._text[self._at] in ".-":
                self._at += 1
            value = self._text[token : self._at].lower()
            if self._text[self._at] == "\0":
                self._fail("Unclosed start tag", begin)
            if self._text[self._at] not in _SPACE + ">":
                self._fail("Unexpected end of name token", token)
            return name, value
        self._at += 1
        value = ""
        while self._text[self._at] not in (quote, "\0"):
            if self._text[self._at] == "&":
                value += self._reference()
            else:
                value += self._text[self._at]
                self._at += 1
        if self._text[self._at] == quote:
            self._at += 1
        if self._text[self._at] == "\0":
            self._fail("Unclosed start tag", begin)
        return name, value

    def _end_tag(self) -> None:
        begin = self._at
        if not self._open:
            self._fail("Unexpected end tag", begin)
        self._at += 2
        found = self._until(_SPACE + ">")
        self._skip(_SPACE)
        if self._text[self._at] != ">":
            self._fail("Unclosed end tag", begin)
        self._at += 1
        opened = self._open.pop()
        if found and found != opened.tag:
            self._fail("Unmatched end tag", begin, f', expected "</{opened.tag}>", found "</{found}>"')
        if self._offset > opened.offset:
            self._close(opened)

    def _close(self, opened: _Open) -> None:
        entity = Entity(_KINDS[opened.tag], opened.offset, self._offset - opened.offset)
        if opened.tag == "a":
            url = check_url(opened.argument or "".join(self.pieces[opened.piece :]))
            if url is None:
                return  # Telegram keeps the text of a link it does not accept
            entity = replace(entity, url=url)
        elif opened.tag == "blockquote" and opened.argument:
            entity = replace(entity, kind="expandable_blockquote")
        elif opened.tag == "code" and opened.argument:
            entity = replace(entity, language=opened.argument)
        if opened.tag == "pre" and self.entities:
            last = self.entities[-1]
            if last == replace(entity, kind="code", language=last.language) and last.language:
                self.entities.pop()
                entity = replace(entity, language=last.language)
        self.entities.append(entity)


def _argument(tag: str, name: str, value: str | None) -> str:
    if tag == "blockquote" and name == "expandable":
        return "1"
    if value is None:
        return ""
    if tag == "a" and name == "href":
        return value
    if tag == "code" and name == "class" and value.startswith("language-"):
        return value.removeprefix("language-")
    if tag == "span" and name == "class" and value.startswith("tg-"):
        return value.removeprefix("tg-")
    return ""


def check_url(url: str) -> str | None:
    """The address as Telegram would keep it, or None for one it does not accept."""
    url = url.strip()
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host = parts.hostname or ""
    except ValueError:
        return None
    if any(character.isspace() for character in url) or parts.scheme not in ("http", "https", "tg", "ton"):
        return None
    if parts.scheme in ("http", "https"):
        port_follows = re.fullmatch(r"\[?[^\]@]*\]?(:[0-9]{1,5})?", parts.netloc.rpartition("@")[2])
        if not port_follows or ("." not in host and host != "localhost"):
            return None
    return parts.geturl()


def _untangle(entities: list[Entity]) -> tuple[Entity, ...]:
    """As the server does: pre and code stand alone (but may be quoted), a style inside itself counts once."""
    kept: list[Entity] = []
    monospaced = _outermost([e for e in entities if e.kind in _MONOSPACED])
    for kind in dict.fromkeys(e.kind for e in entities if e.kind not in _MONOSPACED):
        for entity in _outermost([e for e in entities if e.kind == kind]):
            kept.extend([entity] if kind in _QUOTES else _cut(entity, monospaced))
    kept.extend(e if e.kind == "pre" else replace(e, language=None) for e in monospaced)
    return tuple(sorted(kept, key=lambda e: (e.offset, -e.length, e.kind)))


def _outermost(entities: list[Entity]) -> list[Entity]:
    result: list[Entity] = []
    for entity in sorted(entities, key=lambda e: (e.offset, -e.length)):
        if not result or entity.offset >= result[-1].end:
            result.append(entity)
    return result


def _cut(entity: Entity, holes: list[Entity]) -> list[Entity]:
    """What is left of an entity outside the holes."""
    result: list[Entity] = []
    start = entity.offset
    for hole in holes:
        if hole.end <= start or hole.offset >= entity.end:
            continue
        if hole.offset > start:
            result.append(replace(entity, offset=start, length=hole.offset - start))
        start = hole.end
    if start < entity.end:
        result.append(replace(entity, offset=start, length=entity.end - start))
    return result
