"""What simple commands print, where that follows from their words alone: enough to see through `$(echo rm)`."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re

from tapgate.shell.calls import UNKNOWN, Arg, Call, locate
from tapgate.shell.lexer import decode_codes

MAX_OUTPUT_CHARS = 64 * 1024


def output_of(call: Call, *, home: str, project: str) -> str | None:
    """None where only the run can tell."""
    text = _output(call, home, project)
    return None if text is None or len(text) > MAX_OUTPUT_CHARS else text


def _output(call: Call, home: str, project: str) -> str | None:
    operands = [arg for arg in call.args if not arg.text.startswith("-")]
    flags = {arg.text for arg in call.args if arg.text.startswith("-")}
    last = operands[-1].text if operands else ""
    match call.name:
        case "echo":
            return _echo(call.args)
        case "printf" if call.args:
            return _printf(call.args)
        case "cat" | "tee" if not operands or call.name == "tee":
            return call.stdin
        case "true" | ":" | "cd" | "export" | "set":
            return ""
        case "pwd":
            return call.cwd + "\n"
        case "which":
            return last + "\n"
        case "command" | "type" if flags & {"-v", "-p", "-P"}:
            return last + "\n"
        case "mktemp":
            return f"/tmp/{UNKNOWN}\n"  # noqa: S108 - a name for a place, nothing is written
        case "basename" if operands:
            return posixpath.basename(operands[0].text.rstrip("/")) + "\n"
        case "dirname" if operands:
            return (posixpath.dirname(operands[0].text.rstrip("/")) or ".") + "\n"
        case "realpath" | "readlink" if operands:
            return locate(last, call.cwd, home) + "\n"
        case "git" if call.texts[:2] == ("rev-parse", "--show-toplevel"):
            return (project or UNKNOWN) + "\n"
    return _decoded(call, flags) if call.stdin is not None and UNKNOWN not in call.stdin else None


def _echo(args: tuple[Arg, ...]) -> str:
    codes, end = False, "\n"
    words = [arg.text for arg in args]
    while words and re.fullmatch(r"-[neE]+", words[0]):
        codes |= "e" in words[0]
        end = "" if "n" in words[0] else end
        del words[0]
    text = " ".join(words)
    return (decode_codes(text) if codes else text) + end


def _printf(args: tuple[Arg, ...]) -> str | None:
    words = [arg.text for arg in args]
    if words[0] == "--":
        del words[0]
    if not words:
        return None
    form, values = decode_codes(words[0]), words[1:]
    pieces = re.split(r"(%[sbqd%])", form)
    if "%" in "".join(pieces[::2]):
        return None
    printed: list[str] = []
    for _ in range(64):
        for index, piece in enumerate(pieces):
            if index % 2 == 0:
                printed.append(piece)
            elif piece == "%%":
                printed.append("%")
            else:
                value = values.pop(0) if values else ""
                printed.append(decode_codes(value) if piece == "%b" else value)
        if not values or len(pieces) == 1:
            break
    return "".join(printed)


def _decoded(call: Call, flags: set[str]) -> str | None:
    """What comes out of a decoder."""
    stdin = call.stdin or ""
    try:
        if call.name == "base64" and flags & {"-d", "-D", "--decode", "-di", "-id"}:
            return base64.b64decode("".join(stdin.split()), validate=False).decode("utf-8")
        if call.name == "base32" and flags & {"-d", "--decode"}:
            return base64.b32decode("".join(stdin.split())).decode("utf-8")
        if call.name == "openssl" and "base64" in call.texts and "-d" in flags:
            return base64.b64decode("".join(stdin.split())).decode("utf-8")
        if call.name == "xxd" and any("r" in flag for flag in flags) and any("p" in flag for flag in flags):
            return bytes.fromhex("".join(stdin.split())).decode("utf-8")
    except (ValueError, binascii.Error):
        return None
    if call.name == "rev":
        return "\n".join(line[::-1] for line in stdin.split("\n"))
    if call.name == "tr" and len(call.args) == 2 and flags == {"-d"}:
        unwanted = decode_codes(call.args[1].text)
        return None if "-" in unwanted or "[" in unwanted else stdin.translate(dict.fromkeys(map(ord, unwanted)))
    return None
