"""A plan's Markdown as Telegram HTML. Pure. Only marks are taken away, never words: a link keeps its address."""

from __future__ import annotations

import re

from tapgate.telegram.forms.content import LANGUAGES

MOST_STYLED = 50  # Telegram drops styles beyond the hundredth

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([A-Za-z0-9+#-]{0,20})\s*")
_KNOWN = frozenset({"", *LANGUAGES.values(), "text", "console", "shell", "sh", "ts", "js", "py", "yml", "dockerfile"})
_HEADING = re.compile(r"#{1,6} +(.*?)(?: +#+)?")
_BULLET = re.compile(r"(\s*)[-*+] (?:\[( |x|X)\] )?(.*)")
_INLINE = re.compile(r"`([^`\n]+)`|\*\*(?! )([^*\n`]+?)(?<! )\*\*")


class _Styles:
    """How many styles are left to use."""

    def __init__(self) -> None:
        self.left = MOST_STYLED

    def wrap(self, tag: str, text: str, otherwise: str) -> str:
        if self.left <= 0 or not text.strip():
            return otherwise
        self.left -= 1
        return f"<{tag}>{text}</{tag}>"


def render_markdown(escaped: str) -> str:
    """Of text that is escaped already; what it adds are tags."""
    styles = _Styles()
    parts: list[str] = []
    prose: list[str] = []
    code: list[str] = []
    fence = language = ""
    for line in escaped.split("\n"):
        match = _FENCE.fullmatch(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2]:
                parts += _code(code, language)
                fence, code = "", []
            else:
                code.append(line)
        elif match and match[2] in _KNOWN and styles.left > 0:  # any other word could be a part of the plan
            parts += _quote(prose)
            prose, fence, language = [], match[1], match[2]
            styles.left -= 2
        else:
            prose.append(_line(line, styles))
    return "\n".join([*parts, *(_code(code, language) if fence else _quote(prose))])


def _line(line: str, styles: _Styles) -> str:
    if heading := _HEADING.fullmatch(line):
        return styles.wrap("b", heading[1], line)
    mark = ""
    if bullet := _BULLET.fullmatch(line):
        box = {" ": "☐", "x": "☑", "X": "☑"}.get(bullet[2] or "", "•")
        mark, line = f"{bullet[1]}{box} ", bullet[3]
    return mark + _INLINE.sub(lambda found: _style(found, styles), line)


def _style(found: re.Match[str], styles: _Styles) -> str:
    return styles.wrap("code" if found[1] else "b", found[1] or found[2], found[0])


def _quote(lines: list[str]) -> list[str]:
    text = "\n".join(lines).strip("\n")
    return [f"<blockquote>{text}</blockquote>"] if text.strip() else []


def _code(lines: list[str], language: str) -> list[str]:
    text = "\n".join(lines)
    if not text.strip():
        return []
    return [f'<pre><code class="language-{language}">{text}</code></pre>' if language else f"<pre>{text}</pre>"]
