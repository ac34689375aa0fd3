"""A QR code in a terminal: half blocks with UTF-8, reversed blanks without, nothing where there is no room for it."""

from __future__ import annotations

import segno
from rich.console import Console
from rich.text import Text

BORDER = 2  # modules; the standard asks for four, phones are content with two, and it has to fit under 24 lines
ROOM_LINES = 4  # what has to stay visible beside it: the link, and what is being waited for


def render_qr(address: str, console: Console) -> Text | None:
    """None: this terminal cannot show it whole."""
    if not console.is_terminal or console.is_dumb_terminal:
        return None
    code = segno.make_qr(address, error="l", boost_error=False)
    rows = [[bool(module) for module in row] for row in code.matrix_iter(border=BORDER)]
    is_utf8 = console.encoding.lower().startswith("utf")
    lines, columns = (-(-len(rows) // 2), len(rows)) if is_utf8 else (len(rows), 2 * len(rows))
    if columns > console.width or lines + ROOM_LINES > console.height:
        return None
    return _half_blocks(rows, console) if is_utf8 else _blanks(rows)


def _half_blocks(rows: list[list[bool]], console: Console) -> Text:
    """Two modules in one character. Where there are colours, dark is black and light is white on any theme."""
    if len(rows) % 2:
        rows = [*rows, [False] * len(rows[0])]
    has_colours = console.color_system is not None and not console.no_color
    style = "#000000 on #ffffff" if has_colours else ""
    # Without colours the paper is drawn, not the ink: most terminals are dark.
    marks = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
    text = Text(no_wrap=True)
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        pairs = zip(upper, lower, strict=True)
        line = "".join(marks[pair if has_colours else (not pair[0], not pair[1])] for pair in pairs)
        text.append(line, style=style)
        text.append("\n")
    return text


def _blanks(rows: list[list[bool]]) -> Text:
    text = Text(no_wrap=True)
    for row in rows:
        for is_dark in row:
            text.append("  ", style="" if is_dark else "reverse")
        text.append("\n")
    return text
