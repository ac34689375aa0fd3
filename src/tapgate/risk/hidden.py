"""Whether a call uses what its card hides: a masked value that is run, reached or decoded in the same call. Pure.

A mask means "not shown", and the agent chooses the names by which most values are masked. So a masked value may stand
where it says itself what it is (a header, a password's option, an assignment), and nowhere where it could be run. Where
that cannot be told, it counts as run. Commands are looked at by hidden_shell.py, all other texts here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tapgate.masking.mask import hidden_finds, mask_value
from tapgate.masking.names import CUE, is_opaque
from tapgate.model import CHANGES_FILES, Context, ToolKind, ToolUse
from tapgate.risk.characters import texts_in
from tapgate.risk.hidden_code import RUNNER, uses_in_text
from tapgate.risk.hidden_commands import MOST_COMMANDS, commands_in
from tapgate.risk.hidden_shell import runs_in_shell
from tapgate.risk.scene import RiskInput

RUNS_HIDDEN, HIDDEN_TEXT = "runs-hidden", "hidden-text"
MAX_CHARS = 128 * 1024  # of all texts together; of what is longer, only the words are looked at
_MOST_FIELDS = 32
_KEY_AHEAD = " PRIVATE KEY"
_GENERAL = "Runs text that is hidden here"
_UNSURE = "Runs text that is hidden here, or may run it"
_SHELL_SUFFIXES = frozenset({".sh", ".bash", ".zsh", ".ksh", ".command", ".bats", ".envrc", ".profile", ".bashrc"})
_SHEBANG = re.compile(r"#!\s*\S*(?:/env\s+)?\S*?(?:ba|z|da|k|a)?sh\b")
_SHELL_PATCH = re.compile(r"(?m)^\*\*\* (?:Add|Update) File: .*\.(?:sh|bash|zsh|ksh)\s*$|^\+#!.*sh\b")


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text that a card would show as a mask."""

    text: str
    kind: str  # in words: "a private key"

    @property
    def opaque(self) -> bool:
        return is_token(self.text)


def is_token(text: str) -> bool:
    """One opaque token, also where an address or an option says that it is a secret: signs may be in it there."""
    return is_opaque(text) or re.search(r"[\s\"'`$(){}\\]", text) is None


def hidden_texts(use: ToolUse, *, whole: bool = False) -> tuple[Hidden, ...]:
    """What the masks of this call hide that is more than one opaque token, each once.

    With `whole` also of what is too long to be looked at before a card is sent: run it in a worker thread.
    """
    found: dict[str, Hidden] = {}
    texts = list(_shown(use) if whole else _bounded(_shown(use)))
    if len(texts) > 1:
        texts.append("\n".join(texts))  # in a list, one entry may be a key's BEGIN and the next one its line
    for text in texts:
        for find in hidden_finds(text, as_command=_is_shown_as_command(use)):
            value = text[find.start : find.end]
            if find.block or not is_token(value):
                found.setdefault(value, Hidden(value, find.kind.said))
    return tuple(found.values())


def hides_text(scene: RiskInput) -> str | None:
    """More than one opaque token is hidden: a key's lines, a password of several words."""
    kinds = dict.fromkeys(hidden.kind for hidden in hidden_texts(scene.use))
    if not kinds and any(_KEY_AHEAD in text[MAX_CHARS:] for text in _shown(scene.use)):
        kinds = {"a private key": None}
    return f"{_UNSURE}: {' and '.join(kinds)}" if kinds else None


def runs_hidden(scene: RiskInput) -> str | None:
    """A hidden value is used again, where it is run or where that cannot be told."""
    use = scene.use
    command = _command(use)
    if command is not None:
        also = _values_shown_elsewhere(use, command)
        where, is_shown_so = scene.ground, _is_shown_as_command(use)
        for text in (command, *_scripts(use)):
            if runs_in_shell(text, home=where.home, project=where.project, as_command=is_shown_so, also=also):
                return _GENERAL
        if use.kind is ToolKind.COMMAND:
            return None  # its other fields are words about it
    elif _script_runs(scene):
        return _GENERAL
    elif use.path and hidden_finds(use.path[-4096:]):
        return _UNSURE  # which file it is about cannot be seen
    texts = list(_shown(use))
    whole = "\n".join(_bounded(texts))
    if uses_in_text(whole, _named_fields(use.input)):
        return _UNSURE
    rest = sum(map(len, texts)) > MAX_CHARS
    if rest and any(CUE.search(text) for text in texts) and any(RUNNER.search(text) for text in texts):
        return f"{_UNSURE}: it is too long to tell"
    return None


def runs_in_changed_file(context: Context) -> bool:
    """The same for a file as it would be after an edit: the name may stand in the file, and the value in the edit."""
    seen = context.on_disk
    if seen is None:
        return False
    for block in (*seen.blocks, seen.diff or seen.brief):
        text = _new_side(block)[:MAX_CHARS]
        if (
            uses_in_text(text, ())
            or _hides_new_lines(block[:MAX_CHARS])
            or _holds_command(text, "", home="", project="")
        ):
            return True
    return False


def _hides_new_lines(diff: str) -> bool:
    """More than one token is hidden in what is new: a key that begins in the file may go on in the edit."""
    for find in hidden_finds(diff):
        lines = diff[diff.rfind("\n", 0, find.start) + 1 : find.end].split("\n")
        is_more = find.block or not is_token(diff[find.start : find.end])
        if is_more and any(line.startswith("+") for line in lines):
            return True
    return False


def _new_side(diff: str) -> str:
    return "\n".join(line[1:] for line in diff.split("\n") if line[:1] in ("+", " "))


# Which texts there are


def _command(use: ToolUse) -> str | None:
    command = use.command
    if use.kind is ToolKind.PATCH or use.kind in CHANGES_FILES:
        return None
    if isinstance(command, str):
        return command
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command[:1000]):
        return " ".join("'" + word.replace("'", "'\\''") + "'" for word in command[:1000])
    return None


def _scripts(use: ToolUse) -> list[str]:
    """Of a command that is a list of words, those that may be commands themselves: `["bash", "-lc", "…"]`."""
    words = use.command
    return [word for word in words[:1000] if isinstance(word, str) and " " in word] if isinstance(words, list) else []


def _shown(use: ToolUse) -> Iterator[str]:
    command = use.command
    if use.kind is ToolKind.COMMAND and isinstance(command, str):
        yield command
        return
    yield from texts_in(dict(use.input))


def _bounded(texts: Iterable[str]) -> Iterator[str]:
    left = MAX_CHARS
    for text in texts:
        yield text[:left]
        left -= len(text)
        if left <= 0:
            return


def _is_shown_as_command(use: ToolUse) -> bool:
    """Any other form is masked without regard to where a command would stand in it."""
    return use.kind is ToolKind.COMMAND and isinstance(use.value("command"), str)


def _written_scripts(use: ToolUse) -> list[str]:
    """The texts that a shell would read later: by the file's name, or by their first line."""
    name = posixpath.basename((use.path or "")[-4096:])
    is_named_so = posixpath.splitext(name)[1].lower() in _SHELL_SUFFIXES or name in _SHELL_SUFFIXES
    texts = _bounded(texts_in(dict(use.input)))
    if use.kind is ToolKind.PATCH:
        return [_new_side(text) for text in texts if _SHELL_PATCH.search(text)]
    return [text for text in texts if is_named_so or _SHEBANG.match(text)]


def _script_runs(scene: RiskInput) -> bool:
    home, project = scene.ground.home, scene.ground.project
    use = scene.use
    texts = _written_scripts(use)
    if any(runs_in_shell(text, home=home, project=project, as_command=False) for text in texts):
        return True
    written = _bounded(texts_in(dict(use.input)))
    sides = (_new_side(text) for text in written) if use.kind is ToolKind.PATCH else written
    return any(_holds_command(text, (use.path or "")[-4096:], home=home, project=project) for text in sides)


def _holds_command(text: str, path: str, *, home: str, project: str) -> bool:
    """Whether a command in this text uses what is hidden in the text: a step, a script of a package, a recipe."""
    values = tuple(dict.fromkeys(text[find.start : find.end] for find in hidden_finds(text) if not find.block))
    if not values:
        return False
    if len(values) > MOST_COMMANDS:
        return next(commands_in(text, path), None) is not None  # too many to look for them all
    asked = 0
    for command in commands_in(text, path):
        also = tuple(value for value in values if value in command)
        if not also:
            continue
        asked += 1
        if asked > MOST_COMMANDS:
            return True
        if runs_in_shell(command, home=home, project=project, as_command=False, also=also):
            return True
    return False


def _named_fields(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What is hidden because of its field's name or its option, with that name."""
    found: list[tuple[str, str]] = []
    mask_value(dict(fields), only_named=True, found=found)
    return tuple(found[:_MOST_FIELDS])


def _values_shown_elsewhere(use: ToolUse, command: str) -> tuple[str, ...]:
    """Values that are hidden in other fields, or in the form in which a list of words is shown."""
    values = [value for _, value in _named_fields(use.input)]
    if not _is_shown_as_command(use):
        for text in _bounded(texts_in(dict(use.input))):
            values += [text[find.start : find.end] for find in hidden_finds(text)]
    return tuple(value for value in dict.fromkeys(values) if value and value in command)
