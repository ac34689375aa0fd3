"""Text for a card: everything is visible, nothing is longer than Telegram counts it, what is cut is counted."""

from __future__ import annotations

import html
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.simulator.html import clean
from tapgate.telegram.text import Clipper, clip, escape, units, visible

texts = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates as well
lines = st.booleans()


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(texts)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_units_are_what_utf_16_needs(text: str) -> None:
    assert units(text) == utf16(text)


def test_plain_text_stays_as_it_is() -> None:
    text = 'rm -rf "$HOME"/*.py\n\tif x < 3 & y: pass  # Grüße, 你好, café, مرحبا, 🎉 ▶️ ✔️ §'
    assert visible(text) == text


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x00", "⟨U+0000⟩"),
        ("\x1b[2K", "⟨U+001B⟩[2K"),
        ("\x7f", "⟨U+007F⟩"),
        ("\x85", "⟨U+0085⟩"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("\u202eevil", "⟨U+202E⟩evil"),  # right-to-left override
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("\u200e\u200f\u061c", "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"),
        ("r\u200bm", "r⟨U+200B⟩m"),  # zero-width space
        ("r\u200c\u200d\u2060\ufeffm", "r⟨U+200C⟩⟨U+200D⟩⟨U+2060⟩⟨U+FEFF⟩m"),
        ("r\u00adm", "r⟨U+00AD⟩m"),  # soft hyphen
        ("\u2028\u2029", "⟨U+2028⟩⟨U+2029⟩"),
        ("a\u00a0b\u2003c\u3000d", "a⟨U+00A0⟩b⟨U+2003⟩c⟨U+3000⟩d"),
        ("\ud800", "⟨U+D800⟩"),
        ("\udcff", "⟨U+DCFF⟩"),
        ("\ue000", "⟨U+E000⟩"),  # private use
        ("\U000e0041", "⟨U+E0041⟩"),  # a tag character: writes invisibly
        ("\U0010ffff", "⟨U+10FFFF⟩"),
        ("r\u3164m\u115f\u1160\uffa0", "r⟨U+3164⟩m⟨U+115F⟩⟨U+1160⟩⟨U+FFA0⟩"),  # letters that draw nothing
        ("\u2800", "⟨U+2800⟩"),  # an empty Braille cell
        ("a\u034fb", "a⟨U+034F⟩b"),  # combining grapheme joiner
        ("a\u180bb\u180f", "a⟨U+180B⟩b⟨U+180F⟩"),
        ("r\ufe0fm\ufe00", "r⟨U+FE0F⟩m⟨U+FE00⟩"),  # variation selectors behind letters
        ("\U000e0101", "⟨U+E0101⟩"),
        ("/\ufe0fetc", "/⟨U+FE0F⟩etc"),
    ],
)
def test_what_nobody_could_see_is_spelled_out(hidden: str, shown: str) -> None:
    assert visible(hidden) == shown
    assert visible(hidden, one_line=True) == shown


def test_letters_with_marks_stay_and_a_flood_of_marks_is_spelled_out() -> None:
    accented = "e\u0301 n\u0303 g\u0308\u0301\u0323"
    assert visible(accented) == accented
    flood = visible("e" + "\u0301" * 6)
    assert flood == "e\u0301\u0301\u0301⟨U+0301⟩⟨U+0301⟩⟨U+0301⟩"
    assert visible("\u20dd" * 5).count("\u20dd") == 3


def test_on_one_line_a_line_break_is_a_sign_and_a_tab_a_space() -> None:
    assert visible("a\nb\tc", one_line=True) == "a⏎b c"
    assert visible("a\nb\tc") == "a\nb\tc"


@given(texts, lines)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_what_is_shown_survives_telegram_s_own_cleaning(text: str, one_line: bool) -> None:
    shown = visible(text, one_line=one_line)
    shown.encode()  # there is no lone surrogate in it
    assert clean(shown) == shown.replace("\t", " ")
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in "\n\t" for char in shown)
    assert not one_line or "\n" not in shown


@given(texts, texts, lines)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_the_beginning_is_shown_alike_whatever_follows(head: str, tail: str, one_line: bool) -> None:
    assert visible(head + tail, one_line=one_line).startswith(visible(head, one_line=one_line))


@given(texts)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_escaping_is_what_html_undoes(text: str) -> None:
    shown = escape(visible(text))
    assert not set("<>") & set(shown)
    assert html.unescape(shown) == visible(text)


@given(texts, st.integers(0, 60))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_a_clipped_text_is_the_longest_beginning_that_fits(text: str, most: int) -> None:
    head = clip(text, most)
    assert text.startswith(head)
    assert units(head) <= most
    if head != text:
        assert units(text[: len(head) + 1]) > most


@given(st.lists(st.tuples(texts, st.integers(0, 50), lines), max_size=6), st.integers(0, 120))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_a_clipper_never_exceeds_and_counts_exactly_what_it_leaves_out(
    parts: list[tuple[str, int, bool]], room: int
) -> None:
    clipper = Clipper(room, mask=False)
    used = left_out = 0
    for text, most, one_line in parts:
        shown = clipper.take(text, most, one_line=one_line)
        length = units(html.unescape(shown))
        assert length <= most
        used += length
        assert used <= room
        missing = clipper.left_out - left_out
        left_out = clipper.left_out
        kept = escape(visible(text[: len(text) - missing], one_line=one_line))
        assert shown == (f"{kept}…" if missing and length else kept)


def test_what_fits_is_whole_and_what_does_not_is_marked() -> None:
    clipper = Clipper(10, mask=False)
    assert clipper.take("12345", 5) == "12345"
    assert clipper.left_out == 0
    assert clipper.take("abcdef", 5) == "abcd…"
    assert clipper.left_out == 2
    assert clipper.take("nothing is left", 5) == ""
    assert clipper.left_out == 17
    assert clipper.take("", 5) == ""
    assert clipper.left_out == 17


def test_spelled_out_characters_count_as_long_as_they_are() -> None:
    clipper = Clipper(100, mask=False)
    assert clipper.take("\x00" * 3, 24) == "⟨U+0000⟩" * 3
    cut = Clipper(100, mask=False)
    assert units(cut.take("\x00" * 30, 24)) <= 24
    assert cut.left_out >= 28


def test_sixteen_mib_are_clipped_at_once() -> None:
    begun = time.perf_counter()
    clipper = Clipper(3000, mask=False)
    clipper.take("\u202e" * (16 * 1024 * 1024), 2400)
    assert clipper.left_out > 16 * 1024 * 1024 - 2400
    assert time.perf_counter() - begun < 1
