"""Finds secrets by the name they are given to: `DB_PASSWORD=…`, `"secret": "…"`, `--token …`, `<password>…`. Pure.

Also values of any name that look random. It must be linear on hostile text: every name is read once, and a value that
is turned down holds no further assignment, or ends at the next quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from tapgate.masking.names import (
    CUE,
    RANDOM,
    Certainty,
    SecretKind,
    is_made,
    is_mixed,
    is_monotonous,
    is_opaque,
    is_path,
    is_placeholder,
    is_plain,
    is_prose,
    is_prose_word,
    is_random,
    is_reference,
    name_says,
)


class How(Enum):
    """By what a secret was found."""

    NAME = "name"  # of a variable, a field, an option
    RANDOM = "random"  # it looks like nothing that anybody typed
    SHAPE = "shape"  # a provider's token
    CONTEXT = "context"  # a header, an address, a known program's option
    BLOCK = "block"  # a private key
    ECHO = "echo"  # the same stands elsewhere in the text


@dataclass(frozen=True, slots=True)
class Find:
    """A secret's place in the text."""

    start: int
    end: int
    kind: SecretKind
    how: How = How.NAME

    @property
    def block(self) -> bool:
        """A key's lines: it may have line breaks in it."""
        return self.how is How.BLOCK


@dataclass(frozen=True, slots=True)
class _ValuePlace:
    """Where a value was met: what is told about it, besides its characters."""

    name: str
    level: Certainty
    flag: bool = False  # behind an option and a blank
    colon: bool = False
    tight: bool = True  # no blank around the sign
    quoted: bool = False

    @property
    def env(self) -> bool:
        return self.name.isupper() and self.tight and not self.colon and not self.flag


_NAME_REST = re.compile(r"[\w.-]*+")
_SIGN = re.compile(
    r"(?:\\{0,7}[\"'`])?+\]?+(?P<before>[ \t]*+)(?P<sign>[:!?+]?={1,3}>?|:(?![:/]))(?P<after>[ \t]*+)",
)
_BLANKS = re.compile(r"[ \t]++(?![-|&;<>=#\\])")
_OPEN = re.compile(r"(?P<prefix>[bfruBFRU@]{0,2})(?P<escape>\\{0,7})(?P<quote>\"\"\"|'''|[\"'])")  # a shell runs `…`
_CLOSING = re.compile(r"\\{1,7}[\"']")
_INSIDE = {
    '"': re.compile(r'(?:[^"\\\n]|\\[^\n])*+'),
    "'": re.compile(r"[^'\n]*+"),  # a shell knows no escapes in single quotes: what follows \' is run
    '"""': re.compile(r'(?:[^"\n]|"(?!""))*+'),
    "'''": re.compile(r"(?:[^'\n]|'(?!''))*+"),
}
_JUDGED_BY = 512  # characters: enough to tell, and a long value that is turned down costs no more
_BARE_PART = r"[^\s\"'`\\;|&<>(){}\[\],]"
_ENV_PART = r"(?:[^\s\"'`\\;|&<>]|\\[^\snrt\"'`])"  # a line of a .env file may have brackets and commas
_BARE, _BARE_REST = re.compile(_BARE_PART + f"{{1,{_JUDGED_BY}}}+"), re.compile(_BARE_PART + "*+")
_ENV, _ENV_REST = re.compile(_ENV_PART + f"{{1,{_JUDGED_BY}}}+"), re.compile(_ENV_PART + "*+")
_XML = re.compile(r"[^<>\s]++(?=</)")
_SETTER = re.compile(r"(?:\b(?:ENV|setenv|setx)|\bset[ \t]+-\w+|\bconfig(?:ure)?[ \t]+set)[ \t]+\Z")
_WORD_BEFORE = re.compile(r"([A-Za-z]+)[ \t]\Z")
_ENDS_LINE = re.compile(r"[ \t]*+(?:#[^\n]*+)?+\r?+(?:\n|\Z)")
_ENDS_STRING = re.compile(r"\\{0,7}[\"']|\\{1,2}[nr]")
_ENDS_ENTRY = re.compile(r"[ \t]*+[,}\"'`\\]")
_IDENTIFIERS = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*")
_PATH_OF_NAMES = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)+")
_KEBAB = re.compile(r"[a-z]+\d?(?:[-_.][a-z]+\d?)+")
_UPPER_SNAKE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_HEADERS = ("cookie", "authorization")  # they have patterns of their own
# What follows a closing quote; a key's BEGIN and a URL, as what is secret there is found by itself; a role in
# reStructuredText; a regular expression.
_NOT_A_SECRET = re.compile(
    r"[\s,;)\]}]|-----BEGIN|--[a-z]|pass:|[a-z][a-z0-9+.-]*://|:|.{0,80}?(?:\\[wWdDsSb]|\[\^|\(\?[:=!P])"
)
_NUMBER = re.compile(r"[\d._]+")
_LEAST = {Certainty.SURE: 3, Certainty.FIRM: 6, Certainty.VAGUE: 12}

_RANDOM = re.compile(
    r"(?:=>?|:(?=[ \t\"'\\]))[ \t]*+(?P<quote>\\{0,7}[\"'])?+(?P<secret>[A-Za-z0-9+/_-]{20,128}+={0,2}+)"
    r"(?(quote)(?=\\{0,7}[\"'])|(?![\w+/=.:@%(\[-]))"
)
_NOT_ITS_NAME = re.compile(
    r"(?i)sha\d*|md5|hash|digest|checksum|integrity|etag|commit|rev|fingerprint|h1|ids?$|uuid|guid|cursor|version|image"
    r"|public|resolved|class|path|url|href|src|name|pod|host|container|type"
)
_PUBLIC_VALUE = re.compile(r"sha\d+-|AAAA[BCE]3Nz|.{0,100}?[0-9a-f]{8}-[0-9a-f]{4}-")


def find_assignments(text: str) -> Iterator[Find]:
    yield from _named(text)
    yield from _random(text)


def _named(text: str) -> Iterator[Find]:
    position = 0
    while cue := CUE.search(text, position):
        rest = _NAME_REST.match(text, cue.end())
        left, right = cue.start(), rest.end() if rest else cue.end()
        while left > position and (text[left - 1].isalnum() or text[left - 1] in "_.-"):
            left -= 1
        position = right
        found = _assigned(text, left, right)
        if found is not None:
            value = text[found.start : found.end].rstrip("\\")  # of the closing quote's escape, in JSON in JSON
            if is_opaque(value):
                yield replace(found, end=found.start + len(value))
                position = found.end
            elif text[found.start - 1] not in "\"'":
                position = found.end  # of what is in quotes, the inside is looked through: it ends at the next quote


def _assigned(text: str, left: int, right: int) -> Find | None:
    raw = text[max(left, right - 96) : right]
    name = raw.lstrip("-.")
    before = text[max(0, left - 24) : left]
    if name.lower() in ("key", "keys") and (word := _WORD_BEFORE.search(before)):
        name = f"{word[1]}_{name}"  # "API key: …"
    said = name_says(name)
    if said is None or name.lower().endswith(_HEADERS):
        return None
    level, kind = said
    if before.endswith("<") and text.startswith(">", right):
        inner = _XML.match(text, right + 1)
        place = _ValuePlace(name, level, quoted=True)
        return _judged(text, place, kind, inner.span()) if inner else None
    sign = _SIGN.match(text, right)
    if sign is not None:
        if sign["sign"].startswith("=") and not sign["before"] and sign["after"]:
            return None  # for a shell, `PASSWORD= something` runs something
        colon = sign["sign"] == ":"
        place = _ValuePlace(name, level, colon=colon, tight=not (sign["before"] or sign["after"]))
        return _valued(text, place, kind, sign.end())
    blanks = _BLANKS.match(text, right)
    if blanks is not None and (raw.startswith("-") or _SETTER.search(before)):
        return _valued(text, _ValuePlace(name, level, flag=True), kind, blanks.end())
    return None


def _valued(text: str, place: _ValuePlace, kind: SecretKind, start: int) -> Find | None:
    opening = _OPEN.match(text, start)
    if opening is None:
        return None if place.colon and place.tight else _bare(text, place, kind, start)  # user:name, not `name: value`
    place = replace(place, quoted=True)
    if opening["escape"]:  # behind \\" a shell still splits words: only one word, up to the quote that closes it
        found = _bare(text, place, kind, opening.end())
        end = found.start + len(text[found.start : found.end].rstrip("\\")) if found else 0
        return found if _CLOSING.match(text, end) else None
    inner = _INSIDE[opening["quote"]].match(text, opening.end())
    if inner is None or ("f" in opening["prefix"].lower() and "{" in inner[0]):
        return None
    return _judged(text, place, kind, inner.span())


def _bare(text: str, place: _ValuePlace, kind: SecretKind, start: int) -> Find | None:
    head, rest = (_ENV, _ENV_REST) if place.env else (_BARE, _BARE_REST)
    value = head.match(text, start)
    found = _judged(text, place, kind, value.span()) if value else None
    whole = rest.match(text, found.end) if found else None
    return replace(found, end=whole.end()) if found and whole else None


def _judged(text: str, place: _ValuePlace, kind: SecretKind, span: tuple[int, int]) -> Find | None:
    return Find(*span, kind) if _is_secret(text, place, *span) else None


def _is_secret(text: str, place: _ValuePlace, start: int, end: int) -> bool:
    value = text[start : min(end, start + _JUDGED_BY)]
    if len(value) < _LEAST[place.level] or value.casefold() == place.name.casefold():
        return False
    if is_reference(value) or is_placeholder(value) or is_path(value) or _NOT_A_SECRET.match(value):
        return False
    if place.level is not Certainty.SURE and is_monotonous(value):
        return False
    if place.level is Certainty.VAGUE:
        return is_made(value) and (place.quoted or not _IDENTIFIERS.fullmatch(value))
    if place.env:
        return True
    if _is_name(place, value):
        return False
    if place.quoted:
        return not is_prose(value) and (not is_plain(value) or _is_secret_word(place, value))
    if text[end : end + 1] in ("(", "["):
        return False
    if _NUMBER.fullmatch(value):
        typed = place.tight or place.colon or place.flag
        return place.level is Certainty.SURE and value.isdigit() and len(value) > 3 and typed
    if place.flag:
        return not is_prose_word(value) and (not is_plain(value) or _is_secret_word(place, value))
    if place.colon:
        return _is_secret_behind_colon(text, place, value, end)
    return _is_secret_bare(text, place, value, end)


def _is_name(place: _ValuePlace, value: str) -> bool:
    """Of a variable, a type, an entry in a store: ACCESS_TOKEN_1, PKCS7PrivateKeyTypes, storage-v1-client."""
    if place.level is Certainty.SURE:
        return _UPPER_SNAKE.fullmatch(value) is not None
    if _KEBAB.fullmatch(value):
        return True
    return not value.islower() and _IDENTIFIERS.fullmatch(value) is not None and CUE.search(value) is not None


def _is_secret_word(place: _ValuePlace, value: str) -> bool:
    """Letters only. A password may be a word; a token's value is more often the name of something."""
    if place.level is Certainty.SURE:
        return value.isalpha() or not CUE.search(value)
    if value.count(" ") >= 11:
        return True  # the words of a wallet
    return value.isalpha() and len(value) >= 10 and (value.islower() or value.isupper())


def _is_secret_behind_colon(text: str, place: _ValuePlace, value: str, end: int) -> bool:
    """`password: hunter2` in YAML and headers; but `password: string` and "Password: at least 8 characters"."""
    ends_line = _ENDS_LINE.match(text, end) is not None or _ENDS_STRING.match(text, end) is not None
    if not ends_line and not _ENDS_ENTRY.match(text, end):
        return len(value) >= 8 and is_mixed(value) and value.lower() != value
    if _PATH_OF_NAMES.fullmatch(value):
        return False
    if is_plain(value):
        return (
            place.level is Certainty.SURE
            and ends_line
            and (value.islower() or place.name.isupper())
            and value.isalpha()
        )
    return place.level is Certainty.SURE or (len(value) >= 8 and is_mixed(value))


def _is_secret_bare(text: str, place: _ValuePlace, value: str, end: int) -> bool:
    """`password=hunter2` in settings and connection strings; but `token = next(tokens)` and `f(password=password)`."""
    if is_plain(value):
        ends = end == len(text) or text[end] in " \t\r\n;&\"'\\"
        return place.level is Certainty.SURE and place.tight and ends and value.isalpha()
    if _PATH_OF_NAMES.fullmatch(value):
        return False
    if _IDENTIFIERS.fullmatch(value):
        digits = sum(character.isdigit() for character in value)
        return digits > 0 and (place.level is Certainty.SURE or (digits > 1 and len(value) >= 10 and is_made(value)))
    return is_mixed(value) and (place.tight or value[0].isalnum())


def _random(text: str) -> Iterator[Find]:
    for match in _RANDOM.finditer(text):
        value = match["secret"]
        if not is_random(value) or is_placeholder(value) or is_path(value) or _PUBLIC_VALUE.match(value):
            continue
        right = match.start()
        while right > 0 and match.start() - right < 8 and text[right - 1] in " \t\"'`\\]:":
            right -= 1
        left = right
        while left > 0 and right - left < 64 and (text[left - 1].isalnum() or text[left - 1] in "_.-"):
            left -= 1
        if left < right and not _NOT_ITS_NAME.search(text[left:right]):
            yield Find(*match.span("secret"), RANDOM, How.RANDOM)
