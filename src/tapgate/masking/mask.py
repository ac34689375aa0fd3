"""Hides secrets in texts that leave the machine, and says what it hid. Pure; what the agent receives never passes here.

A mask is `ghp_‹GitHub token, 40 chars›a9Zk`: what it is, how long, and at most a quarter of it at the ends; under
twelve characters only `‹password›`. It keeps lines as they are, but of a private key's lines it leaves one.

The rules, in the order in which they win:

1. What a mask hides is not run. A person decides by what they see, and the agent chooses the names, so a command must
   not pass as a password: whatever it was found by, only one opaque token is hidden (`_is_one_token`; a key's lines
   and a provider's tokens have a shape of their own), nothing in an address's host, in a command nothing that would be
   run, and a key block only within quotes and here-documents. A mask ends
   before `$(`, `${` and backticks, and outside of quotes before blanks and operators.
2. A text is masked once: existing masks are left alone, so masking twice changes nothing.
3. Where finds overlap, all of it is hidden, under the name of the widest.
4. A secret found once is hidden wherever it stands in the same text, but for the places of rule 1 and for paths.

What is hidden and used all the same is named as a risk: see risk/hidden.py, which asks `hidden_finds`.

Own code, because no library fits. detect-secrets 1.5.0 gives values without places, of a GitHub token only "ghp"; it
knows no headers, options, cookies and few providers; its scan_line takes every word for random; it needs requests and
PyYAML. Others ask a service (ggshield), bring models (credsweeper, presidio), read files (whispers, trufflehog3), or
have a handful of patterns (llm-redacted).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tapgate.masking.assignments import Find, How, find_assignments
from tapgate.masking.names import (
    COOKIE,
    NAMED,
    PRIVATE_KEY,
    RANDOM_PIECE,
    Certainty,
    SecretKind,
    is_given_secret,
    is_mixed,
    is_monotonous,
    is_opaque,
    is_placeholder,
    is_plain,
    is_reference,
    is_variable,
    name_says,
    piece,
)
from tapgate.masking.places import Quoted, is_in_host, is_in_path, is_run
from tapgate.masking.shapes import (
    AUTHORIZATION,
    CONTEXTS,
    COOKIE_ATTRIBUTES,
    COOKIE_CUES,
    COOKIE_PAIR,
    COOKIES,
    KEY_BEGIN,
    KEY_BREAK,
    KEY_CHUNK,
    KEY_CUES,
    KEY_HEADER,
    KEY_JOINT,
    SCHEME,
    TOKENS,
    Shape,
)
from tapgate.model import Json

_SHOWN_FROM = 12  # characters; of anything shorter nothing is shown, not even its length
_MOST_SHOWN = 4
# Once more over the result, as a mask can make its neighbours look different. It ends by itself after two or three.
_MOST_PASSES = 8
_PIECE = 65_536
_AHEAD = 16_384  # longer than the private keys that people have
_BEFORE = 1024
_MOST_ECHOES = 32  # distinct secrets that are looked for a second time
_ECHO_FROM = 8
_KEY_LINE = 32  # base64 characters behind BEGIN, before it counts as a key: a grep for the words does not
_MOST_LINE = 600  # characters before a secret, in which its program is looked for
_KEY_LINE_END = 20  # shorter lines only at a key's end

_KINDS = {kind.label: kind for kind in (*(shape.kind for shape in (*TOKENS, *CONTEXTS)), *NAMED)}
_MASK = re.compile(f"‹(?P<label>{'|'.join(map(re.escape, _KINDS))})(?:, (?P<size>[0-9]{{2,9}}) chars)?›")
_COOKIES_ONLY = re.compile(r"[\w.$%-]++=[^\s;\"'`\\,]++(?:;[ \t]?[\w.$%-]++=[^\s;\"'`\\,]++)*+;?")
_COOKIE_VALUE = re.compile(r"(?<==)[^\s;]++")
_QUOTE = re.compile(r"\\.|[\"'\n]", re.DOTALL)
_RUN = re.compile(r"[\n\r`]|\$[({]")
# Behind an operator stands a command, unless there are only digits and signs that name nothing: p&3, but not p&7z.
_RUN_OUTSIDE_QUOTES = re.compile(r"[\s\"'`]|\$[({]|(?<![;|&<>])[;|&<>]++(?=[^;|&<>]*[^\d;|&<>!@#%^=+:,-])")


@dataclass(frozen=True, slots=True)
class Masked:
    """`kinds` are in words, each once, in the order in which they appear: "a GitHub token", "a password in a URL"."""

    text: str
    kinds: tuple[str, ...]


def mask_text(text: str, *, as_command: bool = False) -> Masked:
    """The text with every secret replaced. Without one it is returned as it is. `as_command`: it is one."""
    kinds: dict[str, None] = {}
    if len(text) > _PIECE + _AHEAD:
        slices = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        masked = "".join(mask_pieces(slices, kinds, as_command=as_command))
        return Masked(masked if kinds else text, tuple(kinds))
    return Masked(_masked(text, _finds(text, as_command=as_command), kinds, as_command=as_command), tuple(kinds))


def hidden_finds(text: str, *, as_command: bool = False) -> list[Find]:
    """Everything that `mask_text` hides in this text, in order. A longer text is looked at piece by piece."""
    if len(text) <= _PIECE + _AHEAD:
        return _every_find(text, as_command=as_command)
    found: list[Find] = []
    for start in range(0, len(text), _PIECE):
        left = max(0, start - _BEFORE)
        left = text.find("\n", left, start) + 1 or left
        piece_finds = _every_find(text[left : start + _PIECE + _AHEAD], as_command=as_command)
        for find in piece_finds:
            if start <= find.start + left < start + _PIECE and (not found or found[-1].end <= find.start + left):
                found.append(replace(find, start=find.start + left, end=find.end + left))
    return found


def _every_find(text: str, *, as_command: bool) -> list[Find]:
    """Those of all passes, each in its place in the text as it came."""
    found: list[Find] = []
    origins: Sequence[int] = range(len(text) + 1)
    for _ in range(_MOST_PASSES):
        finds = _finds(text, as_command=as_command)
        if not finds:
            break
        found += [replace(find, start=origins[find.start], end=origins[find.end - 1] + 1) for find in finds]
        moved: list[int] = []
        end = 0
        for find in finds:
            moved += origins[end : find.start]
            moved += [origins[find.start]] * len(_mask(text[find.start : find.end], find.kind))
            end = find.end
        origins = [*moved, *origins[end:]]
        text = _replaced(text, finds)
    return sorted(found, key=lambda find: find.start)


def mask_pieces(
    pieces: Iterable[str], kinds: dict[str, None] | None = None, *, as_command: bool = False
) -> Iterator[str]:
    """The same for a long text that comes in pieces, cut anywhere: in bounded steps, so that other threads get turns.

    A step sees some text before and behind what it gives out, so that no secret is missed for being cut in two. Only
    rule 4 stays within a step.
    """
    kinds = {} if kinds is None else kinds
    before, text = "", ""
    for part in pieces:
        text += part
        while len(text) > _PIECE + _AHEAD:
            seen = before + text[: _PIECE + _AHEAD]
            finds = [find for find in _finds(seen, as_command=as_command) if find.start >= len(before)]
            end = len(before) + _PIECE
            end = next((find.end for find in finds if find.start < end < find.end), end)
            yield _masked(
                seen[:end], [find for find in finds if find.end <= end], kinds, len(before), as_command=as_command
            )
            text = text[end - len(before) :]
            before = seen[max(0, end - _BEFORE) : end]
            before = before[before.find("\n") + 1 :]  # from the start of a line, where quotes can be read
    if text:
        finds = [find for find in _finds(before + text, as_command=as_command) if find.start >= len(before)]
        yield _masked(before + text, finds, kinds, len(before), as_command=as_command)


def _masked(text: str, finds: list[Find], kinds: dict[str, None], start: int = 0, *, as_command: bool) -> str:
    """The text from `start` on, with these finds replaced, and then what comes to light by that."""
    for _ in range(_MOST_PASSES):
        if not finds:
            break
        kinds |= dict.fromkeys(find.kind.said for find in finds)
        text, start = _replaced(text, finds)[start:], 0
        finds = _finds(text, as_command=as_command)
    return text[start:]


def has_mask(text: str) -> bool:
    """Whether a part of this is a mask and not what it hides."""
    return _MASK.search(text) is not None


def _replaced(text: str, finds: list[Find]) -> str:
    parts = []
    end = 0
    for find in finds:
        parts += [text[end : find.start], _mask(text[find.start : find.end], find.kind)]
        end = find.end
    return "".join([*parts, text[end:]])


def mask_value(
    value: Json, *, only_named: bool = False, found: list[tuple[str, str]] | None = None
) -> tuple[Json, tuple[str, ...]]:
    """The same for every string in a JSON value. Under a secret's name, and behind its option, one token is hidden.

    Names, numbers and the structure stay; the value that came in is not changed. Not recursive: depth is the agent's.
    With `only_named`, other strings are left to whoever masks the text that is made of the value. In `found` are put
    what was hidden because of its name, and the name.
    """
    kinds: dict[str, None] = {}
    root: list[Json] = [value]
    work: list[tuple[Any, Any, str]] = [(root, 0, "")]  # a container, a place in it, and the name that this place has
    while work:
        container, place, name = work.pop()
        item = container[place]
        if isinstance(item, str):
            if only_named and (not name or name_says(name) is None):
                continue
            masked = _mask_named(item, name)
            container[place] = masked.text
            if found is not None and masked.kinds and is_opaque(item):
                found.append((name, item))
            kinds |= dict.fromkeys(masked.kinds)
        elif isinstance(item, Mapping):
            copy = container[place] = dict(item)
            work += reversed([(copy, key, _name_of(copy, key)) for key in copy])
        elif isinstance(item, list | tuple):
            entries = container[place] = list(item)
            work += reversed(
                [
                    (entries, index, name if name_says(name) else _option(entries, index))
                    for index in range(len(entries))
                ]
            )
    return root[0], tuple(kinds)


def _name_of(fields: dict[Any, Json], key: Any) -> str:
    """`{"name": "DB_PASSWORD", "value": "…"}` is an entry, too."""
    named = fields.get("name", fields.get("key")) if key == "value" else key
    return named if isinstance(named, str) else ""


def _option(entries: list[Json], index: int) -> str:
    """`["--password", "…"]`, as programs get their arguments."""
    before, item = entries[index - 1] if index else "", entries[index]
    if not isinstance(before, str) or not isinstance(item, str) or item.startswith("-"):
        return ""
    return before.lstrip("-") if before.startswith("-") else ""


def _mask_named(text: str, name: str) -> Masked:
    said = name_says(name)
    if not text or said is None or is_variable(text):
        return mask_text(text)
    level, kind = said
    start = 0
    if name.lower().endswith("authorization"):
        kind = AUTHORIZATION
        start = scheme.end() if (scheme := SCHEME.match(text)) else 0
    elif level is Certainty.VAGUE and kind is not COOKIE and not (len(text) >= _SHOWN_FROM and is_mixed(text)):
        return mask_text(text)
    if kind is COOKIE and _COOKIES_ONLY.fullmatch(text) and not _MASK.search(text):
        return Masked(_COOKIE_VALUE.sub(lambda value: _mask(value[0], COOKIE), text), (COOKIE.said,))
    whole = (start, len(text))
    if whole in _masks(text) or any((find.start, find.end) == whole for find in _finds(text)):
        return mask_text(text)
    if not is_opaque(text[start:]):
        return mask_text(text)
    return Masked(text[:start] + _mask(text[start:], kind), (kind.said,))


def _mask(secret: str, kind: SecretKind) -> str:
    size = len(secret)
    if size < _SHOWN_FROM:
        return f"‹{kind.label}›"
    shown = _shown(size, kind)
    return f"{secret[:shown]}‹{kind.label}, {size} chars›{secret[size - shown :]}"


def _shown(size: int, kind: SecretKind) -> int:
    """Characters at each end. A quarter of the secret at most, so that the rest is still out of reach."""
    return min(_MOST_SHOWN, size // 8) if kind.ends and size >= _SHOWN_FROM else 0


def _masks(text: str) -> list[tuple[int, int]]:
    """The places of masks that are there already, with the ends that they show."""
    places = []
    for match in _MASK.finditer(text):
        shown = _shown(int(match["size"] or 0), _KINDS[match["label"]])
        places.append((match.start() - shown, match.end() + shown))
    return places


def _finds(text: str, *, as_command: bool = False) -> list[Find]:
    masks = _masks(text)
    finds = _merged(text, masks, _raw_finds(text))
    finds = _merged(text, masks, [*finds, *_echoes(text, finds)])
    return _hideable(text, finds, as_command=as_command) if finds else finds


def _hideable(text: str, finds: list[Find], *, as_command: bool) -> list[Find]:
    """Without what stands where something is run or reached: that must be seen."""
    quoted = Quoted(text) if as_command and any(find.how is not How.CONTEXT for find in finds) else None
    kept = []
    for find in finds:
        if find.block:
            hidden = quoted is None or quoted.holds(find.start, find.end)
        else:
            hidden = not is_in_host(text, find.start, find.end)
            if quoted is not None and find.how is not How.CONTEXT:  # risk/hidden.py knows better whose option it is
                hidden = hidden and not is_run(text, find.start, quoted)
            hidden = hidden and not (find.how is How.ECHO and is_in_path(text, find.start, find.end))
        if hidden:
            kept.append(find)
    return kept


def _raw_finds(text: str) -> Iterator[Find]:
    """Of finds in the same place the first names it, so the surest come first."""
    if _has(text, KEY_CUES):
        yield from _key_blocks(text)
    for how, shapes in ((How.SHAPE, TOKENS), (How.CONTEXT, CONTEXTS)):
        for shape in shapes:
            if _has(text, shape.cues):
                yield from _shaped(text, shape, how)
    if _has(text, COOKIE_CUES):
        yield from _cookies(text)
    yield from find_assignments(text)


def _has(text: str, cues: tuple[str, ...]) -> bool:
    return any(cue in text for cue in cues)


def _merged(text: str, masks: list[tuple[int, int]], finds: Iterable[Find]) -> list[Find]:
    """Without those that touch a mask, cut before anything that could be run, overlapping ones made one."""
    ordered = sorted(finds, key=lambda find: find.start)
    closings = _closings(text, {find.start - 1 for find in ordered if text[find.start - 1 : find.start] in ("'", '"')})
    begins = [left for left, _ in masks]
    merged: list[Find] = []
    for find in ordered:
        before = bisect_left(begins, find.end) - 1
        if before >= 0 and find.start < masks[before][1]:
            continue
        end = find.end if find.block else _harmless_end(text, find, closings.get(find.start - 1))
        if end <= find.start or not _is_one_token(text[find.start : end], find.how):
            continue
        last = merged[-1] if merged else None
        if last is None or last.end <= find.start:
            merged.append(replace(find, end=end))
        else:
            kind = last.kind if last.end - last.start >= end - find.start else find.kind
            how = How.BLOCK if last.block or find.block else last.how if kind is last.kind else find.how
            merged[-1] = Find(last.start, max(last.end, end), kind, how)
    return merged


def _is_one_token(value: str, how: How) -> bool:
    """The check that every find passes, whatever stands around it: that is the agent's choice as well."""
    if how in (How.SHAPE, How.BLOCK, How.ECHO):
        return True  # an echo is the same text as a find that passed
    return is_given_secret(value) if how is How.CONTEXT else is_opaque(value)


def _harmless_end(text: str, find: Find, closing: int | None) -> int:
    end = find.end if closing is None else min(find.end, closing)
    stop = (_RUN_OUTSIDE_QUOTES if closing is None else _RUN).search(text, find.start, end)
    return stop.start() if stop else end


def _closings(text: str, openings: set[int]) -> dict[int, int]:
    """Where the strings end that begin at these quotes. A quote that ends a string begins none: `env "A="x reboot`.

    Quotes are read as a shell does, once from the text's start and once from the line's, because a lone apostrophe in
    a comment would turn everything behind it inside out; only where both agree it is a string. Within a string the
    other quotes are read in the same way, for `bash -c 'A="x y" run'`.
    """
    closings: dict[int, int] = {}
    whole = line = inner = ""
    opened = -1
    for mark in _QUOTE.finditer(text) if openings else ():
        sign, place = mark[0], mark.start()
        if sign == "\n":
            line, inner, opened = "", "", -1
        elif sign[0] == "\\":
            if sign != "\\'":
                continue
            # In single quotes a backslash is itself, and the quote ends them.
            if opened >= 0 and text[opened] == "'":
                closings[opened], opened = place + 1, -1
            whole, line, inner = (state.replace("'", "") for state in (whole, line, inner))
        else:
            if opened >= 0 and sign in (text[opened], line):
                closings[opened], opened = place, -1
            elif place in openings and whole == line and (not line or (sign != line and not inner)):
                closings[place], opened = len(text), place
            inner = _after(sign, inner) if line and sign != line else inner if line else ""
            whole, line = _after(sign, whole), _after(sign, line)
    return closings


def _after(sign: str, inside: str) -> str:
    """Which quotes we are in behind this one."""
    if not inside:
        return sign
    return "" if sign == inside else inside


def _echoes(text: str, finds: list[Find]) -> Iterator[Find]:
    known: dict[str, SecretKind] = {}
    for find in finds:
        secret = text[find.start : find.end]
        if len(secret) >= _ECHO_FROM and find.kind.ends and is_mixed(secret):
            known.setdefault(secret, find.kind)
            if len(known) == _MOST_ECHOES:
                break
    for secret, kind in known.items():
        start = text.find(secret)
        while start >= 0:
            yield Find(start, start + len(secret), kind, How.ECHO)
            start = text.find(secret, start + len(secret))


def _shaped(text: str, shape: Shape, how: How) -> Iterator[Find]:
    for match in shape.pattern.finditer(text):
        group = next((name for name in ("secret", "dq", "sq") if match.groupdict().get(name)), 0)
        secret = match[group]
        if len(secret) < shape.least or is_monotonous(secret) or is_reference(secret) or is_placeholder(secret):
            continue
        if sum(character.isdigit() for character in secret) < shape.digits or (not shape.words and is_plain(secret)):
            continue
        if shape.only and not shape.only.search(_line_before(text, match.start() + 1)):
            continue
        if shape.opaque and not is_opaque(secret):
            continue
        yield Find(*match.span(group), shape.kind, how)


def _line_before(text: str, place: int) -> str:
    """The same line, with those that a backslash joins to it."""
    before = text[max(0, place - _MOST_LINE) : place].replace("\\\n", "  ")
    return before.rpartition("\n")[2]


def _cookies(text: str) -> Iterator[Find]:
    for header in COOKIES.finditer(text):
        for pair in COOKIE_PAIR.finditer(text, *header.span("pairs")):
            value = pair[2]
            plain = len(value) < _ECHO_FROM or is_plain(value) or is_reference(value) or is_placeholder(value)
            if not plain and pair[1].lower() not in COOKIE_ATTRIBUTES:
                yield Find(*pair.span(2), COOKIE, How.CONTEXT)


def _key_blocks(text: str) -> Iterator[Find]:
    """The base64 behind a BEGIN line, with or without its END: the text may have been cut off.

    Only what looks like a key is taken. Whatever else stands between the lines could be a command.
    """
    for begin in KEY_BEGIN.finditer(text):
        start = end = 0
        position = begin.end()
        while gap := KEY_BREAK.match(text, position):
            if not start and (header := KEY_HEADER.match(text, gap.end())):
                position = header.end()
                continue
            chunk = KEY_CHUNK.match(text, gap.end())
            if chunk is None or not _is_key_line(chunk[0], first=not start) or KEY_JOINT.match(text, chunk.end()):
                break
            start, end = start or chunk.start(), chunk.end()
            position = end
            if len(chunk[0]) < _KEY_LINE_END and not chunk[0].startswith("="):
                break
        if start:
            yield Find(start, end, PRIVATE_KEY, How.BLOCK)


def _is_key_line(line: str, *, first: bool) -> bool:
    if len(line) >= (_KEY_LINE if first else _KEY_LINE_END):
        return piece(line) <= RANDOM_PIECE  # not a path, which has the same characters
    return not first and not line.isalpha() and not line.startswith("/")
