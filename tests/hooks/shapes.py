"""Settings as they are found in the world: what stands in the file, by a name for it."""

from __future__ import annotations

import json

OTHER = {"type": "command", "command": "notify-send 'Claude asks'", "timeout": 5, "x-mine": [1, 2]}
OTHER_GROUP = {"matcher": "Bash", "hooks": [OTHER]}


def _lines(value: object, indent: int | str = 2, end: str = "\n") -> bytes:
    return (json.dumps(value, indent=indent, ensure_ascii=False) + end).encode()


SHAPES: dict[str, bytes | None] = {
    "no file": None,
    "nothing in it": b"",
    "white space only": b" \r\n\t\n",
    "an empty object": b"{}",
    "an empty object with a line break": b"{}\n",
    "an empty object over two lines": b"{\n}\n",
    "an empty object with a space": b"{ }",
    "one line without spaces": b'{"model":"opus","permissions":{"allow":["Bash(ls *)"]}}',
    "one line with spaces": b'{ "model": "opus", "env": {} }\n',
    "two spaces": _lines({"model": "opus", "permissions": {"defaultMode": "default", "allow": []}}),
    "four spaces, no line break at the end": _lines({"env": {"A": "1"}, "model": "opus"}, 4, ""),
    "tabs": _lines({"model": "opus", "statusLine": {"type": "command"}}, "\t"),
    "no indentation": b'{\n"model": "opus",\n"z": [1,2]\n}\n',
    "Windows line ends": _lines({"model": "opus", "a": {"b": [1]}}).replace(b"\n", b"\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + _lines({"model": "opus"}),
    "a byte order mark and nothing": b"\xef\xbb\xbf",
    "letters of many scripts": _lines({"ключ": "значение", "emoji": "🦆 \u2028 é", "half": "x"}),
    "escapes": b'{"\\u0061":"\\ud83d\\ude00 \\ud83d","slash":"\\/","n":1.50e+3,"m":-0}',
    "empty hooks": _lines({"hooks": {}, "model": "opus"}),
    "empty hooks, strangely spaced": b'{\n  "hooks": {   \n }\n, "model": "opus"}\n',
    "empty lists for our events": _lines({"hooks": {"PermissionRequest": [], "Stop": []}}),
    "a group without handlers": _lines({"hooks": {"PermissionRequest": [{"matcher": "Bash", "hooks": []}]}}),
    "another tool on the same event": _lines({"hooks": {"PermissionRequest": [OTHER_GROUP]}, "z": 1}),
    "other tools on many events": _lines(
        {"hooks": {"Stop": [OTHER_GROUP, OTHER_GROUP], "PreToolUse": [OTHER_GROUP], "FutureEvent": [{"y": 1}]}}
    ),
    "groups on one line each": (
        b'{\n  "hooks": {\n    "PermissionRequest": [\n'
        b'      {"hooks": [{"type": "command", "command": "x"}]}\n    ]\n  }\n}'
    ),
    "hooks first, one line, much after": b'{"hooks":{"Stop":[{"hooks":[]}]},"a":1,"b":{"c":[{}]}}',
    "odd values where we do not look": _lines(
        {"hooks": {"$comment": "mine", "FutureEvent": 3, "Stop": [None, "x", 4]}}
    ),
    "groups of another shape": _lines({"hooks": {"Stop": [{"hooks": 3}, {"hooks": {}}, {"hooks": [1]}, []]}}),
    "keys that stand twice": b'{"model": "a", "hooks": {"Stop": []}, "model": "b", "hooks": {"Stop": [], "x": 1}}',
    "uneven by hand": b'{  "model":"opus"\n ,"a" : [ 1 ,2 ]\n\n\n  , "b": {}   }\n\n\n',
    "large": _lines({"permissions": {"allow": [f"Bash(tool-{number} --flag *)" for number in range(20_000)]}}),
    "deep": b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}",
}
