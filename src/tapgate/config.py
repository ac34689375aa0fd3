"""The config file: read, checked, and refused with the file, the key and what is expected. Never written here."""

from __future__ import annotations

import difflib
import os
import re
import socket
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from tapgate import paths
from tapgate.errors import ConfigError, redact
from tapgate.model import Detail, Person, Role

TOKEN_VARIABLE = "TAPGATE_TELEGRAM_TOKEN"  # noqa: S105
CONFIG_VARIABLE = "TAPGATE_CONFIG"
CREDENTIAL = "telegram-token"  # its name in systemd's LoadCredential=
TOKEN_SHAPE = re.compile(r"\d{5,}:[A-Za-z0-9_-]{8,}")
_ADDRESS = re.compile(r"https?://[^/\s]+(/\S*)?")
HOOK_MARGIN_S = 10.0  # the caller gives up this long before the agent would kill it


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Telegram(_Table):
    token: str = Field(default="", repr=False)
    token_file: str = ""
    base_url: str = "https://api.telegram.org"
    proxy: str | None = Field(default=None, repr=False)
    per_chat_s: Annotated[float, Field(ge=0, le=60, strict=False)] = 1.0


class PersonEntry(_Table):
    user_id: Annotated[int, Field(gt=0)]
    chat_id: int | None = None
    name: str = ""
    role: Annotated[Role, Field(strict=False)] = Role.OWNER


class Hold(_Table):
    """How long a question is held on the phone where the agent shows no prompt of its own meanwhile."""

    codex_s: Annotated[int, Field(ge=1, le=86_400)] | None = None
    subagent_s: Annotated[int, Field(ge=1, le=86_400)] | None = None


class JournalTable(_Table):
    keep_days: Annotated[int, Field(ge=1, le=36500)] = 90
    keep_inputs: bool = True


class PrivacyTable(_Table):
    mask: bool = True
    detail: Annotated[Detail, Field(strict=False)] = Detail.FULL


class Config(_Table):
    machine: str = ""
    timeout_s: Annotated[int, Field(ge=2, le=86_400)] = 600
    socket_path: Annotated[Path, Field(strict=False)] = Field(default_factory=paths.default_socket_path)
    state_dir: Annotated[Path, Field(strict=False)] = Field(default_factory=paths.default_state_dir)
    caller_uids: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), strict=False)  # see docs/hardening.md
    telegram: Telegram = Telegram()
    people: tuple[PersonEntry, ...] = Field(default=(), strict=False)
    journal: JournalTable = JournalTable()
    hold: Hold = Hold()
    privacy: PrivacyTable = PrivacyTable()

    @property
    def deadline_s(self) -> float:
        """How long a caller waits: a little less than the agent's own timeout."""
        return self.timeout_s - min(HOOK_MARGIN_S, self.timeout_s / 5)

    def hold_s(self, *, agent: str, is_subagent: bool) -> float:
        """How long a question may be held: as long as its caller waits, or shorter where the config says so."""
        limits = [self.hold.codex_s if agent == "codex" else None, self.hold.subagent_s if is_subagent else None]
        return min([self.deadline_s, *(float(limit) for limit in limits if limit is not None)])

    def machine_name(self) -> str:
        """What cards call this machine: its own name, or else the first part of the host's."""
        return self.machine or socket.gethostname().partition(".")[0]

    def persons(self) -> tuple[Person, ...]:
        return tuple(
            Person(
                user_id=entry.user_id,
                chat_id=entry.user_id if entry.chat_id is None else entry.chat_id,
                name=entry.name or str(entry.user_id),
                role=entry.role,
            )
            for entry in self.people
        )


_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "path_type": "a path in quotes",
    "model_type": "a table",
    "tuple_type": "a list of tables, written as [[people]]",
}


def find_config(given: Path | None) -> Path:
    """The file that `--config` or TAPGATE_CONFIG names, or the default place."""
    if given is not None:
        return given
    named = os.environ.get(CONFIG_VARIABLE)
    return Path(named) if named else paths.default_config_path()


def load_config(given: Path | None = None) -> Config:
    """Read and check the config. A missing default file means all defaults; a missing named one is an error."""
    path = find_config(given)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if given is None and not os.environ.get(CONFIG_VARIABLE):
            return Config()
        raise ConfigError(f"{path}: there is no such file; see config.example.toml for one to start from") from None
    except (OSError, ValueError) as error:  # from None: an error of decoding holds all that was read
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return parse_config(text, source=str(path), base=path.absolute().parent)


def parse_config(text: str, *, source: str, base: Path) -> Config:
    """Check the text of a config file. Relative paths in it are taken from the file's own directory."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: this is not valid TOML: {redact(str(error))}") from None
    try:
        config = Config.model_validate(found)
    except ValidationError as error:
        raise ConfigError("\n".join(f"{source}: {_sentence(fault)}" for fault in error.errors())) from None
    seen: set[tuple[int, int]] = set()
    for person in config.persons():
        if (person.user_id, person.chat_id) in seen:
            raise ConfigError(f"{source}: people: user_id {person.user_id} stands there twice with the same chat")
        seen.add((person.user_id, person.chat_id))
    if not _ADDRESS.fullmatch(config.telegram.base_url):
        raise ConfigError(f"{source}: telegram.base_url: expected an address like https://api.telegram.org")
    if config.telegram.proxy is not None and not _ADDRESS.fullmatch(config.telegram.proxy):
        raise ConfigError(f"{source}: telegram.proxy: expected an address like http://127.0.0.1:3128")
    token_file = config.telegram.token_file
    if token_file:
        token_file = str(_placed(Path(token_file), base, f"{source}: telegram.token_file"))
    return config.model_copy(
        update={
            "socket_path": _placed(config.socket_path, base, f"{source}: socket_path"),
            "state_dir": _placed(config.state_dir, base, f"{source}: state_dir"),
            "telegram": config.telegram.model_copy(update={"token_file": token_file}),
        }
    )


def _placed(path: Path, base: Path, where: str) -> Path:
    try:
        return base / path.expanduser()
    except RuntimeError:
        raise ConfigError(f"{where}: expected a path, but nobody here has the home it begins with") from None


def read_token(config: Config) -> str:
    """The bot token from the environment, systemd's credentials, the named file or the config, in that order.

    Never put into a message.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    source = f"the environment variable {TOKEN_VARIABLE}"
    credential = _credential()
    if not token and (credential is not None or config.telegram.token_file):
        source = config.telegram.token_file if credential is None else str(credential)
        try:
            token = Path(source).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:  # from None: an error of decoding holds all that was read
            key = "telegram.token_file" if credential is None else f"the credential {CREDENTIAL}"
            raise ConfigError(f"{key}: {source} cannot be read: {error}") from None
    elif not token:
        token = config.telegram.token
        source = "telegram.token in the config"
    if not token:
        raise ConfigError(
            "there is no bot token; run `tapgate setup`, or get one from @BotFather and put it into [telegram] token "
            f"or token_file, or into {TOKEN_VARIABLE}"
        )
    if not TOKEN_SHAPE.fullmatch(token):
        raise ConfigError(f"{source}: this does not look like a bot token (123456789:ABC…)")
    return token


def _credential() -> Path | None:
    """What systemd's LoadCredential= or SetCredentialEncrypted= has put there for this service alone."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY", "")
    path = Path(directory) / CREDENTIAL
    return path if directory and path.exists() else None


def find_exposed(given: Path | None, config: Config) -> tuple[str, ...]:
    """Files with a secret in them that other users of this machine may read or change: a sentence each."""
    secret = "the bot token" if config.telegram.token else "a proxy's password" if _has_password(config) else ""
    files = [(find_config(given), secret)] if secret else []
    if config.telegram.token_file:
        files.append((Path(config.telegram.token_file), "the bot token"))
    found = []
    for path, what in files:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue  # that it cannot be read is said where it is read
        if mode & 0o077:
            found.append(f"{path} holds {what} and is open to other users (mode {mode:04o}); run: chmod 600 {path}")
    return tuple(found)


def _has_password(config: Config) -> bool:
    return "@" in (config.telegram.proxy or "")


def _sentence(fault: Mapping[str, Any]) -> str:
    location: tuple[str | int, ...] = fault["loc"]
    key = ""
    for part in location:
        key += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if key else part
    key = redact(key)
    name = str(location[-1])
    if fault["type"] == "extra_forbidden":
        known = _fields(location)
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(sorted(known))}"
        return f"{key}: unknown key; {hint}"
    if fault["type"] == "missing":
        number = _fields(location)[name].annotation is int
        return f"{key}: expected {'a whole number' if number else 'a value'}, found nothing"
    expected = _EXPECTED.get(fault["type"])
    if expected is None:
        message = str(fault["msg"])
        expected = message.removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{key}: expected {expected}, found {_shown(key, fault['input'])}"


def _fields(location: tuple[str | int, ...]) -> Mapping[str, FieldInfo]:
    """The fields of the table that this key stands in."""
    tables: dict[str, type[BaseModel]] = {
        "telegram": Telegram,
        "people": PersonEntry,
        "journal": JournalTable,
        "hold": Hold,
        "privacy": PrivacyTable,
    }
    table = tables[str(location[0])] if len(location) > 1 else Config
    return table.model_fields


def _shown(key: str, value: object) -> str:
    return "something else" if "token" in key or "proxy" in key else redact(repr(value))[:60]
