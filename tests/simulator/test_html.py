"""The HTML parser takes what Telegram takes, and refuses the rest in Telegram's words."""

from __future__ import annotations

import html as stdlib_html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapgate.simulator.html import Entity, HtmlError, clean, parse_html, trim, utf16_length


def kinds(source: str) -> list[tuple[str, int, int]]:
    return [(e.kind, e.offset, e.length) for e in parse_html(source)[1]]


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("plain", "plain", []),
        ("<b>a</b><strong>b</strong>", "ab", [("bold", 0, 1), ("bold", 1, 1)]),
        ("<i>a</i><em>b</em>", "ab", [("italic", 0, 1), ("italic", 1, 1)]),
        ("<s>a</s><strike>b</strike><del>c</del>", "abc", [("strikethrough", n, 1) for n in range(3)]),
        ("<u>a</u><ins>b</ins>", "ab", [("underline", 0, 1), ("underline", 1, 1)]),
        ('<tg-spoiler>a</tg-spoiler><span class="tg-spoiler">b</span>', "ab", [("spoiler", 0, 1), ("spoiler", 1, 1)]),
        ("<b>x<i>y</i></b>", "xy", [("bold", 0, 2), ("italic", 1, 1)]),
        ("<B>x</>", "x", [("bold", 0, 1)]),
        ("&lt;b&gt; &amp; &quot;&#65;&#x42;", '<b> & "AB', []),
        ("&nbsp; & &unknown;", "&nbsp; & &unknown;", []),
        ("😀<b>😀</b>", "😀😀", [("bold", 2, 2)]),
        ("<blockquote>q</blockquote>", "q", [("blockquote", 0, 1)]),
        ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", 0, 1)]),
        ("<blockquote><b>q</b></blockquote>", "q", [("blockquote", 0, 1), ("bold", 0, 1)]),
        ("<b></b>x", "x", []),
    ],
)
def test_accepts(source: str, text: str, entities: list[tuple[str, int, int]]) -> None:
    assert parse_html(source)[0] == text
    assert kinds(source) == entities


def test_white_space_is_trimmed_up_to_the_first_entity() -> None:
    assert parse_html("  <b> x </b>  ") == (" x", (Entity("bold", 0, 2),))
    assert parse_html("\n\n a <i>b</i>\n") == ("a b", (Entity("italic", 2, 1),))


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("12345678 é <foo>", 'Unsupported start tag "foo" at byte offset 12'),
        ("<br/>", 'Unsupported start tag "br/" at byte offset 0'),
        ("<h1>x</h1>", 'Unsupported start tag "h1" at byte offset 0'),
        ("<!-- x -->", 'Unsupported start tag "!--" at byte offset 0'),
        ("<script>x</script>", 'Unsupported start tag "script" at byte offset 0'),
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("a <b", "Unclosed start tag at byte offset 2"),
        ("x <", "Unclosed start tag at byte offset 2"),
        ('<a href="x', "Unclosed start tag at byte offset 0"),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b>x</b", "Unclosed end tag at byte offset 4"),
        ("<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("<b>x</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ("<b ='1'>x</b>", 'Empty attribute name in the tag "b" at byte offset 0'),
        ("<a href=x:y>x</a>", "Unexpected end of name token at byte offset 8"),
        (
            "<blockquote>a<blockquote>b</blockquote></blockquote>",
            "Nested blockquote at byte offset 13",
        ),
    ],
)
def test_refuses_in_telegrams_words(source: str, error: str) -> None:
    with pytest.raises(HtmlError) as caught:
        parse_html(source)
    assert str(caught.value) == error


def test_language_of_a_code_block() -> None:
    source = '<pre><code class="language-diff">-a\n+b</code></pre>'
    assert parse_html(source) == ("-a\n+b", (Entity("pre", 0, 5, language="diff"),))
    assert parse_html('<code class="language-diff">x</code>') == ("x", (Entity("code", 0, 1),))


def test_pre_and_code_do_not_mix_with_other_styles() -> None:
    assert kinds("<code>a<b>b</b></code>") == [("code", 0, 2)]
    assert kinds("<b>a<code>b</code>c</b>") == [("bold", 0, 1), ("code", 1, 1), ("bold", 2, 1)]
    assert kinds("<blockquote><code>a</code></blockquote>") == [("blockquote", 0, 1), ("code", 0, 1)]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("https://example.org/a?b=1&amp;c=2", "https://example.org/a?b=1&c=2"),
        ("example.org", "http://example.org"),
        ("tg://user?id=1", "tg://user?id=1"),
        ("http://localhost:8080/x", "http://localhost:8080/x"),
        ("javascript:alert(1)", None),
        ("javascript://example.org/%0aalert(1)", None),
        ("data:text/html,x", None),
        ("https://", None),
        ("file:///etc/passwd", None),
    ],
)
def test_links_keep_accepted_addresses_only(href: str, url: str | None) -> None:
    text, entities = parse_html(f'<a href="{href}">x</a>')
    assert text == "x"
    assert [entity.url for entity in entities] == ([url] if url else [])


def test_control_characters_and_direction_marks_are_cleaned() -> None:
    assert clean("a\tb\0c\r\nd\u202ee\ufefff") == "a b c\ndef"
    assert parse_html("a&#8238;b&#9;c")[0] == "ab c"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    assert parse_html(stdlib_html.escape(text, quote=False))[0] == trim(clean(text))[0]


@given(st.text(alphabet="<>/ab i=\"'&;#x1é😀prcode", max_size=40))
def test_entities_never_leave_the_text(source: str) -> None:
    try:
        text, entities = parse_html(source)
    except HtmlError:
        return
    for entity in entities:
        assert 0 <= entity.offset < entity.end <= utf16_length(text)
