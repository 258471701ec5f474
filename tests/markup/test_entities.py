"""Character references."""

import pytest

from cpunmt.markup.html_syntax import decoded, encoded


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
