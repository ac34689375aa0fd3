"""The code on the terminal, read as a phone reads it: from the screen's characters and colours."""

from __future__ import annotations

from io import StringIO

import pytest
import zxingcpp
from rich.console import Console

from tapgate.cli.qr import render_qr
from tapgate.setup.pairing import link

SHORT = link("tapgate_bot", "kQ8b-1fZ_0aV5xY7Lm2NpQ")
LONGEST = link("a" * 32, "-" * 22)  # Telegram's longest username
SCALE = 4


class _Utf8(StringIO):
    encoding = "utf-8"


class _Latin(StringIO):
    encoding = "iso8859-1"


def terminal(file: StringIO, *, width: int = 80, height: int = 24, **more: object) -> Console:
    return Console(
        file=file,
        force_terminal=True,
        width=width,
        height=height,
        **{"color_system": "truecolor", "no_color": False, **more},  # type: ignore[arg-type]
    )


def read(pixels: list[list[int]]) -> str:
    """What a scanner makes of rows of black (0) and white (255)."""
    wide = [bytes(pixel for pixel in row for _ in range(SCALE)) for row in pixels for _ in range(SCALE)]
    image = memoryview(b"".join(wide)).cast("B", shape=[len(wide), len(wide[0])])
    found = zxingcpp.read_barcodes(image)
    return found[0].text if found else ""


def half_blocks(text: str, *, ink: int) -> list[list[int]]:
    paper = 255 - ink
    rows: list[list[int]] = []
    for line in text.rstrip("\n").split("\n"):
        rows.append([ink if mark in "█▀" else paper for mark in line])
        rows.append([ink if mark in "█▄" else paper for mark in line])
    return rows


@pytest.mark.parametrize("address", [SHORT, LONGEST])
def test_the_code_is_the_link_and_fits_a_small_terminal(address: str) -> None:
    code = render_qr(address, terminal(_Utf8(), width=40, height=24))
    assert code is not None
    assert {span.style for span in code.spans} == {"#000000 on #ffffff"}  # dark on light on any theme
    assert read(half_blocks(code.plain, ink=0)) == address


def test_without_colours_it_is_drawn_light_on_a_dark_terminal() -> None:
    code = render_qr(SHORT, terminal(_Utf8(), no_color=True))
    assert code is not None and not [span for span in code.spans if span.style]
    assert read(half_blocks(code.plain, ink=255)) == SHORT


def test_without_utf8_it_is_drawn_with_reversed_blanks() -> None:
    code = render_qr(SHORT, terminal(_Latin(), height=60))
    assert code is not None and set(code.plain) == {" ", "\n"}
    light = {place for span in code.spans if span.style == "reverse" for place in range(span.start, span.end)}
    rows, place = [], 0
    for line in code.plain.rstrip("\n").split("\n"):
        rows.append([255 if place + column in light else 0 for column in range(0, len(line), 2)])
        place += len(line) + 1
    assert read(rows) == SHORT


@pytest.mark.parametrize(
    "console",
    [
        terminal(_Utf8(), width=30),
        terminal(_Utf8(), height=15),
        terminal(_Latin(), height=24),
        Console(file=_Utf8(), force_terminal=False),
    ],
    ids=["narrow", "low", "latin", "no terminal"],
)
def test_half_a_code_is_never_shown(console: Console) -> None:
    assert render_qr(SHORT, console) is None
