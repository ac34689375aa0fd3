"""Changes to the config file: only what changed, comments and order kept, private from the first byte, all or nothing.

The functions that change a text are pure. What they give was read back and checked before it is written anywhere.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array

from tapgate.config import Config, parse_config
from tapgate.errors import ConfigError, redact
from tapgate.model import Role

NEW_TEXT = """\
# tapgate's config. It holds the bot token, so nobody else may read it (mode 0600).
# What else can stand here: the README, under "Configuration". `tapgate setup` changes only what changed.

"""
_PERSON = re.compile(r"\s*\[\[\s*people\s*\]\]")
_HEADER = re.compile(r"\s*\[")
_END = re.compile(r"(?<!\r)\n")


class ConfigFile:
    """One config file as it was read: its text, and what it means."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = _read(path)
        self.config = self._parse(self.text or "")

    @property
    def exists(self) -> bool:
        return self.text is not None

    def change(self, after: str) -> bool:
        """Write the new text, if it is one and means something. False: it is what stands there already."""
        if after == self.text:
            return False
        config = self._parse(after)
        if _read(self.path) != self.text:
            raise ConfigError(f"{self.path} was changed by somebody else just now; run this again")
        write_private(self.path, after.encode())
        self.text, self.config = after, config
        return True

    def _parse(self, text: str) -> Config:
        return parse_config(text, source=str(self.path), base=self.path.absolute().parent)


def with_token(text: str | None, token: str) -> str:
    """The token itself in the config, and in no other place beside it."""
    document = _parse(text)
    telegram = _table(document, "telegram")
    if telegram.get("token") != token:
        telegram["token"] = token
    telegram.pop("token_file", None)
    return _dumps(document, text or "")


def with_token_file(text: str | None, token_file: Path) -> str:
    """A file that holds the token named, and no token in the config."""
    document = _parse(text)
    telegram = _table(document, "telegram")
    if telegram.get("token_file") != str(token_file):
        telegram["token_file"] = str(token_file)
    telegram.pop("token", None)
    return _dumps(document, text or "")


def with_server(text: str | None, *, base_url: str | None = None, proxy: str | None = None) -> str:
    """Where Telegram is reached, as far as given."""
    document = _parse(text)
    for name, value in (("base_url", base_url), ("proxy", proxy)):
        if value is not None and _table(document, "telegram").get(name) != value:
            _table(document, "telegram")[name] = value
    return _dumps(document, text or "")


def with_person(text: str | None, *, user_id: int, chat_id: int, name: str, role: Role) -> str:
    """One more person. Whoever stands there with the same chat already keeps their place and gets the name and role."""
    before = NEW_TEXT if text is None else text
    document = _parse(text)
    for entry in _people(document):
        if _is(entry, user_id, chat_id):
            for key, value in (("name", name), ("role", role.value)):
                if entry.get(key) != value:
                    entry[key] = value
            return _dumps(document, before)
    values: dict[str, Any] = {"user_id": user_id, "name": name, "role": role.value}
    if chat_id != user_id:
        values["chat_id"] = chat_id
    if isinstance(listed := document.get("people"), Array):
        inline = tomlkit.inline_table()
        inline.update(values)
        listed.append(inline)
        return _dumps(document, before)
    table = tomlkit.document()
    table.update(values)
    return _insert(before, f"[[people]]\n{tomlkit.dumps(table)}")


def without_person(text: str | None, *, user_id: int, chat_id: int) -> str:
    """Without that person in that chat, and without the comments that stand close under their entry."""
    before = NEW_TEXT if text is None else text
    document = _parse(text)
    listed = document.get("people")
    for number, entry in enumerate(_people(document)):
        if _is(entry, user_id, chat_id):
            assert listed is not None
            del listed[number]
            if not len(listed):
                del document["people"]
            wanted = document.unwrap()
            return _cut(before, number, wanted) or _dumps(document, before)
    return before


def with_role(text: str | None, *, user_id: int, chat_id: int, role: Role) -> str:
    document = _parse(text)
    for entry in _people(document):
        if _is(entry, user_id, chat_id) and entry.get("role", Role.OWNER.value) != role.value:
            entry["role"] = role.value
    return _dumps(document, text or "")


def write_private(path: Path, data: bytes) -> None:
    """Put `data` in the place of the file at once, readable by its owner alone from the first byte.

    A symbolic link stays one, and what it points to is replaced: people keep their config elsewhere on purpose.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # 0600, whatever the umask
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): {target.parent}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                before = target.stat()
                if (before.st_uid, before.st_gid) != (os.getuid(), os.getgid()):
                    os.fchown(descriptor, before.st_uid, before.st_gid)  # root sets up for another user
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, target)  # noqa: PTH105
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}); it is as it was") from None
    finally:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")  # not as text: line ends stay as they are
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # from None: an error of decoding holds all that was read
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from None


def _parse(text: str | None) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(NEW_TEXT if text is None else text)
    except TOMLKitError as error:
        raise ConfigError(f"the config is not valid TOML: {redact(str(error))}") from None


def _table(document: tomlkit.TOMLDocument, name: str) -> Any:
    if name not in document:
        document[name] = tomlkit.table()
    return document[name]


def _people(document: tomlkit.TOMLDocument) -> list[Any]:
    listed = document.get("people")
    return list(listed) if isinstance(listed, AoT | Array) else []


def _is(entry: Any, user_id: int, chat_id: int) -> bool:
    return (entry.get("user_id"), entry.get("chat_id", entry.get("user_id"))) == (user_id, chat_id)


def _dumps(document: tomlkit.TOMLDocument, before: str) -> str:
    """What is new has plain line ends; a file with the others keeps them."""
    after = tomlkit.dumps(document)
    return _END.sub("\r\n", after) if "\r\n" in before else after


# tomlkit counts the comments above a table to the table before it, so it would put a new person between a comment and
# what that is about, and remove a person with somebody else's comment. Whole entries are therefore moved as lines, and
# what comes of it is compared with what is wanted: lines that only look like entries (in a long string) do no harm.


def _insert(before: str, block: str) -> str:
    """The block under the last person, or at the end."""
    newline = "\r\n" if "\r\n" in before else "\n"
    block = block.replace("\n", newline)
    people = list(tomllib.loads(before).get("people", ()))
    wanted = {**tomllib.loads(before), "people": people + tomllib.loads(block)["people"]}
    lines = before.splitlines(keepends=True)
    spans = _entries(lines)
    if spans:
        end = spans[-1][1]
        head, tail = "".join(lines[:end]), "".join(lines[end:])
        after = f"{head}{'' if head.endswith(newline) else newline}{newline}{block}{tail}"
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(after) == wanted:
                return after
    gap = "" if not before or before.endswith(newline * 2) else newline
    return f"{before}{'' if not before or before.endswith(newline) else newline}{gap}{block}"


def _cut(before: str, number: int, wanted: dict[str, Any]) -> str | None:
    """Without the lines of one entry; None where that would not be what is wanted."""
    lines = before.splitlines(keepends=True)
    spans = _entries(lines)
    if number >= len(spans):
        return None
    start, end = spans[number]
    if end < len(lines) and not lines[end].strip() and (not start or not lines[start - 1].strip()):
        end += 1  # of the blank lines on both sides one is enough
    after = "".join(lines[:start] + lines[end:])
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(after) == wanted:
            return after
    return None


def _entries(lines: Sequence[str]) -> list[tuple[int, int]]:
    """From where to where each person's entry goes: its header, its values, and the comments close under them."""
    spans: list[tuple[int, int]] = []
    for start, line in enumerate(lines):
        if not _PERSON.match(line):
            continue
        end = valued = start + 1
        while end < len(lines) and not _HEADER.match(lines[end]):
            end += 1
            if lines[end - 1].strip() and not lines[end - 1].lstrip().startswith("#"):
                valued = end
        while valued < end and lines[valued].strip():
            valued += 1
        # A comment that goes over into the next header without a blank line is about that.
        if valued == end and end < len(lines):
            while lines[valued - 1].lstrip().startswith("#"):
                valued -= 1
        spans.append((start, valued))
    return spans
