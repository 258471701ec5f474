"""Tokens as browsers see them, and character references."""

import pytest

from cpunmt.markup.html_syntax import CLOSE, OPEN, OTHER, RAW, REST, decoded, encoded, scan

KINDS = {OPEN: "open", CLOSE: "close", OTHER: "other", RAW: "raw", REST: "rest"}


def tokens(html):
    return [(KINDS[kind], html[begin:end]) for kind, begin, end, _ in scan(html)]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a < b, 1<2, <3, <", []),
        ("<P a=1>x</p >", [("open", "<P a=1>"), ("close", "</p >")]),
        ("<a title='>' b=\">\" c=d>x", [("open", "<a title='>' b=\">\" c=d>")]),
        ("<a b=it's>x</a>", [("open", "<a b=it's>"), ("close", "</a>")]),  # no quotation mark: it is not after "="
        ('<a b="c"">x"', [("open", '<a b="c"">')]),
        ("<a b=c/><br/>", [("open", "<a b=c/>"), ("open", "<br/>")]),
        ("<a\nb\n=\n'>'\n>", [("open", "<a\nb\n=\n'>'\n>")]),
        ("<a b=>c", [("open", "<a b=>")]),
        (
            "<!-- a > b --><!--><!---><!-- --!>x",
            [("other", o) for o in ("<!-- a > b -->", "<!-->", "<!--->", "<!-- --!>")],
        ),
        ("<!DOCTYPE html><?php a ?>", [("other", "<!DOCTYPE html>"), ("other", "<?php a ?>")]),
        ("</ a></>x", [("other", "</ a>"), ("other", "</>")]),
        ("<![CDATA[ a > b ]]>x", [("other", "<![CDATA[ a > b ]]>")]),
        ("<script>'</b>'</SCRIPT >x", [("open", "<script>"), ("raw", "'</b>'"), ("close", "</SCRIPT >")]),
        ("<script></script>", [("open", "<script>"), ("close", "</script>")]),
        ("<style>a</styles></style>", [("open", "<style>"), ("raw", "a</styles>"), ("close", "</style>")]),
        (
            "<svg><title><i></title><style/>",
            [
                ("open", "<svg>"),
                ("open", "<title>"),
                ("open", "<i>"),
                ("close", "</title>"),
                ("open", "<style/>"),
                ("close", ""),
            ],
        ),
        ("<svg/><title>a", [("open", "<svg/>"), ("open", "<title>"), ("rest", "a")]),
        ("<svg></svg a><title>a", [("open", "<svg>"), ("close", "</svg a>"), ("open", "<title>"), ("rest", "a")]),
        (
            "<svg><math></svg><title>a",
            [("open", "<svg>"), ("open", "<math>"), ("close", "</svg>"), ("open", "<title>"), ("rest", "a")],
        ),
        ("<svg><b><title>a", [("open", "<svg>"), ("open", "<b>"), ("open", "<title>"), ("rest", "a")]),
        ("<svg><desc><title>a", [("open", "<svg>"), ("open", "<desc>"), ("open", "<title>"), ("rest", "a")]),
        ("<svg><desc/><title>", [("open", "<svg>"), ("open", "<desc/>"), ("open", "<title>")]),
        (
            "<svg><desc></desc><title>",
            [("open", "<svg>"), ("open", "<desc>"), ("close", "</desc>"), ("open", "<title>")],
        ),
        ("<% a > b %>c<b>", [("other", "<% a > b %>"), ("open", "<b>")]),
        ("<% a <b>", [("open", "<b>")]),
        ("<![CDATA[ a >", [("rest", "<![CDATA[ a >")]),
        ("<!--->b-->", [("other", "<!--->")]),
        ("<title>a <b></title>", [("open", "<title>"), ("raw", "a <b>"), ("close", "</title>")]),
        ("x<a <b>", [("open", "<a <b>")]),
        ("x<a b", [("rest", "<a b")]),
        ("x<a b='c>d", [("rest", "<a b='c>d")]),
        ('x<a b="c>', [("rest", '<a b="c>')]),
        ("<b>x<!-- y --", [("open", "<b>"), ("rest", "<!-- y --")]),
        ("<script>x", [("open", "<script>"), ("rest", "x")]),
        ("</", [("rest", "</")]),
        ("<plaintext>a<b>", [("open", "<plaintext>"), ("rest", "a<b>")]),
    ],
)
def test_tokens(html, expected):
    assert tokens(html) == expected


@pytest.mark.parametrize("count", [29, 30, 31, 60, 61, 1000])
def test_tags_with_many_attributes(count):
    tag = "<a " + " b='>'" * count + ">"
    assert tokens(f"{tag}text<b>") == [("open", tag), ("open", "<b>")]
    assert tokens(f"{tag[:-1]}text") == [("rest", f"{tag[:-1]}text")]


def test_names_are_in_small_letters():
    assert [name for _, _, _, name in scan("<DiV><Br></DIV>")] == ["div", "br", "div"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a &amp; b &lt;&gt;&quot;&#39;", "a & b <>\"'"),
        ("&#x20AC;&#8364;&euro;", "€€€"),
        ("&#128;", "€"),  # as browsers have it: Windows-1252
        ("&#0;&#xD800;&#1114112;", "\ufffd\ufffd\ufffd"),
        ("&copy 2020 &amp", "© 2020 &"),
        ("AT&T &foo; &param=1 &; &#; &#x; &", "AT&T &foo; &param=1 &; &#; &#x; &"),
        ("&#000000065;", "A"),
        ("&#99999999999999999999;", "&#99999999999999999999;"),
        ("&amp;amp;", "&amp;"),
    ],
)
def test_read(source, text):
    assert decoded(source, {}) == text


def test_a_number_of_many_digits_is_no_error():
    text = f"&#{'9' * 10_000};"
    assert decoded(text, {}) == text


def test_in_attributes_a_semicolon_is_needed():
    assert decoded("?a=1&copy=2&amp;b", {}, True) == "?a=1&copy=2&b"


def test_what_the_source_has_as_a_reference_is_written_so():
    spellings = {}
    text = decoded("&#xA9; &mdash; &nbsp;&#65; &#38; é", spellings)
    assert text == "© — \u00a0A & é"
    assert encoded(text, spellings) == "&#xA9; &mdash; &nbsp;A &#38; é"
    assert encoded("<é — >", spellings) == "&lt;é &mdash; &gt;"


def test_only_what_must_be_is_written_as_a_reference():
    assert encoded("a & b < c > d \" ' é", {}) == "a &amp; b &lt; c &gt; d \" ' é"
    assert encoded('"it\'s"', {}, '"') == "&quot;it's&quot;"
    assert encoded('"it\'s"', {}, "'") == '"it&#39;s"'
    assert encoded('"it\'s" ©', {"©": "&copy;"}, '"') == "&quot;it's&quot; &copy;"
