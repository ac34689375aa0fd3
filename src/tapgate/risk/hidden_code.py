"""Whether a text that is no command uses what is hidden in it: code that is written, fields of other tools. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tapgate.masking.assignments import Find, How
from tapgate.masking.mask import hidden_finds
from tapgate.masking.places import Quoted, is_in_path, is_run
from tapgate.risk.hidden_places import name_before, says_itself

MOST_FINDS = 500
MOST_NAMES = 32
MOST_MENTIONS = 200

RUNNER = re.compile(
    r"\b(?:exec\w*|eval\w*|system|popen\w*|Popen|spawn\w*|subprocess|child_process|shell_exec|passthru|proc_open"
    r"|startfile|ShellExecute|Function|runInContext|runInNewContext|runInThisContext|compile|import_module|__import__"
    r"|importlib|runpy|dlopen|ctypes|getattr|globals|__dict__|__builtins__|b(?:16|32|64|85)decode|a85decode"
    r"|decodebytes|[bB]ase64|atob|fromhex|unhexlify|hex2bin|rot13|rot_13|decompress|pickle|marshal|codecs"
    r"|getRuntime|ProcessBuilder|Invoke-Expression|iex|instance_eval|class_eval|constantize|const_get|public_send"
    r"|call_user_func\w*|create_function|assert_options|do shell script)\b|%x[\[({]|<\(|\$\(\w+ "
)
"""Words by which code runs a text, starts a program, or makes another text of one."""
_READS_ITSELF = re.compile(r"__file(?:__|name)|getsource|__(?:END|DATA)__|<DATA>|BASH_SOURCE|\$0\b|\$\{0\}")
_TAKEN = r"\b(?:send|setTimeout|setInterval|require|import|load|open|urlopen|get|fetch|connect|run|call|invoke|source)"
_TAKES_FIRST = re.compile(rf"{_TAKEN}\s*\(\s*\[?\s*[fbr]?[\"'`]?\Z")
_HEADER_OR_ADDRESS = re.compile(r"(?i:authorization|cookie)|://")
_MOST_OF_CALL = 400
_COMMENT = re.compile(r"(?m)(?:^|\s)(?:#(?!!)|//)[^\n]*")


def uses_in_text(text: str, named: Iterable[tuple[str, str]]) -> bool:
    """Whether a value that is hidden in this text, or under a field's name, is used in it as more than data."""
    finds = hidden_finds(text)
    if len(finds) > MOST_FINDS:
        in_path = any(is_in_path(text, find.start, find.end) for find in finds)
        return in_path or RUNNER.search(text) is not None  # too many to follow them all
    names = {name_before(text, find.start) for find in finds if not find.block} - {""}
    for name, value in named:
        names.add(re.split(r"[^\w]", name)[-1])
        if text.count(value) > 1 and len(value) > 3:
            return True  # it stands in another field, too
    if not finds and not names:
        return False
    if any(_is_started(text, find) or _is_used(text, find) for find in finds):
        return True
    runs = RUNNER.search(text) is not None
    if runs and (_READS_ITSELF.search(text) or any(find.how is How.ECHO for find in finds)):
        return True
    return _mentioned(text, finds, names - {""}, runs=runs)


def _is_started(text: str, find: Find) -> bool:
    """Whether it stands where a shell would run it. On a line of its own, a token is more likely a line of a list."""
    if find.block or find.how is How.CONTEXT:
        return False
    left = max(0, find.start - 1000)
    before = text[left : find.start]
    alone = not before.rpartition("\n")[2].strip(" \t\"'+-")
    return (not alone or find.how is How.ECHO) and is_run(before, len(before), Quoted(before))


def _is_used(text: str, find: Find) -> bool:
    """Whether the value itself is part of a path, or stands among what a call takes that runs, loads or reaches it."""
    if find.block or says_itself(text, find.start, find.end, hows=(How.NAME,)):
        return False
    before = text[max(0, find.start - _MOST_OF_CALL) : find.start]
    line = before.rpartition("\n")[2]
    if _HEADER_OR_ADDRESS.search(line) and says_itself(text, find.start, find.end, hows=(How.CONTEXT,)):
        return False  # a program's option says less: which program it is, is not looked at here
    if is_in_path(text, find.start, find.end) or _TAKES_FIRST.search(before):
        return True
    runners = list(RUNNER.finditer(before))
    if not runners:
        return False
    between = before[runners[-1].end() :]
    return "\n" not in between or between.count("(") + between.count("[") > between.count(")") + between.count("]")


def _mentioned(text: str, finds: list[Find], names: set[str], *, runs: bool) -> bool:
    """Whether one of these names is used. A name that takes over the value of another one counts like it."""
    comments = [match.span() for match in _COMMENT.finditer(text)]
    work, seen = list(names), set(names)
    starts = [find.start for find in finds]
    mentions = 0
    while work:
        name = work.pop()
        for match in _mention(name).finditer(text):
            mentions += 1
            if mentions > MOST_MENTIONS or len(seen) > MOST_NAMES:
                return True
            start, end = match.span()
            if _is_target(text, end, starts):
                continue
            expanded = match["open"] or ""
            if _is_taken(text, start, name):
                return True
            if says_itself(text, start, end):
                other = name_before(text, start)
                if other and other not in seen:
                    seen.add(other)
                    work.append(other)
                continue
            if expanded.startswith("$"):
                return True
            if runs and not any(left <= start < right for left, right in comments):
                return True
    return False


def _mention(name: str) -> re.Pattern[str]:
    """The name as a word of its own, with what expands it; not as an option."""
    return re.compile(
        rf"(?<![\w$])(?<!--)(?<![\s\"']-)(?P<open>\$\(|\$\{{\{{?|\$|\{{\{{?|%)?+(?:(?:env|secrets|process\.env)\.)?"
        rf"{re.escape(name)}(?![\w])(?:\)|\}}\}}?)?"
    )


_ASSIGNS = re.compile(r"[\"'\]]{0,2}[ \t]*(?::?=(?![=~])|:(?!:)|=>)")


def _is_target(text: str, end: int, starts: list[int]) -> bool:
    """It is given a value here, and not used."""
    return _ASSIGNS.match(text, end) is not None and text[end - 1] not in "})"


def _is_taken(text: str, start: int, name: str) -> bool:
    before = text[max(0, start - 60) : start]
    if re.search(rf"{_TAKEN}\s*\(\s*[fbr]?[\"'`]?(?:https?://)?\Z", before):
        return True
    return re.search(r"://[\"'`]?\s*[+.,]?\s*\Z", before) is not None and not re.match(
        rf"(?:\$\(|\$\{{\{{?|\$|\{{\{{?)?{re.escape(name)}[)}}]*[^\s/\"']*@", text[start : start + 200]
    )
