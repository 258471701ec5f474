"""Hostile input: linear time, little memory, no exception."""

import tracemalloc
from functools import partial

import pytest

from cpunmt import Translator
from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.html_syntax import scan
from cpunmt.markup.pages import translate_html
from quantize.checkpoints.marian_export import write_marian_npz
from tests.sample_models.foreign_directories import CONFIG
from tests.sample_models.random_models import random_tensors
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.html_layers import identity, shuffled, upper
from tests.support.linear_time import takes_linear_time
from tests.support.speeds import slow_after

# The repeated part, and the text before and after it.
TEXTS = {
    "tags without an end": ('<a "', "", ""),
    "values without an end": ('<a b="', "", ""),
    "other values without an end": ("<a b='c\" ", "", ""),
    "comments without an end": ("<!-- a ", "", ""),
    "declarations without an end": ("<!a ", "", ""),
    "end tags without an end": ("</a ", "", ""),
    "scripts without an end": ("<script>a", "", ""),
    "scripts in scripts": ("<script>a", "", "</script>"),
    "titles without an end": ("<title>a</titl", "", ""),
    "CDATA without an end": ("<![CDATA[a ", "", ""),
    "less-than signs": ("< a ", "", ""),
    "only less-than signs": ("<", "", "a"),
    "ampersands": ("a&", "", ""),
    "references without an end": ("&#0000000", "a", ""),
    "long names of references": ("&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", ""),
    "attributes": ("b=c ", "<a ", ">d"),
    "equals signs": ("=", "<a ", ">d"),
    "white space in a tag": (" ", "<a title", "='a'>d"),
    "quotes": ('"', "<a title=", ">d"),
    "nested": ("<b>", "", "a"),
    "nested blocks": ("<div>", "", "a"),
    "nested texts": ("<b>a ", "", ""),
    "siblings": ("<b>a</b> ", "c ", ""),
    "siblings without space": ("<b>a</b>", "c ", ""),
    "end tags": ("a</b>", "", ""),
    "tags that do not nest": ("<b><i>a</b>c</i>", "", ""),
    "many that never close": ("<b><i>a</b>", "", ""),
    "points": ("a <img> ", "", ""),
    "only points": ("<img>", "a ", " b"),
    "empty elements": ("<b></b>", "a ", " b"),
    "held": ("<code>x</code> ", "a ", " b"),
    "held without space": ("<code>1</code>", "a ", " b"),
    "held without space, beside a tag": ("<code>1</code>", "a <b>b</b> ", " b"),
    "addresses": ("http://a<wbr>b<i>c</i><u>d</u> ", "a <b>b</b> ", " b"),
    "an address": ("<i>c</i><u>d</u>", "a <a>http://b", "</a> b"),
    "marks in words": ("<b>/</b>", "a <b>b</b> ", " b"),
    "templates": ("<%= a %> b ", "", ""),
    "templates without an end": ("<% a ", "", ""),
    "nested figures": ("<svg><desc>a", "", ""),
    "figures without an end": ("<svg>a<title>b", "", "</svg>"),
    "ends of figures": ("<svg>a</math></desc>", "", ""),
    "held without an end": ("<code>x", "a ", " b"),
    "left without an end": ("<p translate=no>x", "a ", " b"),
    "stand-ins": ("{1} <code></code>", "a ", " b"),
    "comments": ("<!-->a<!--->", "", ""),
    "white space": (" \n", "a", "b"),
    "white space at the ends": (" ", "", "a<b>"),
    "white space at the other end": (" ", "a <b>b</b>c", ""),
    "no-break spaces": ("&nbsp;", "a <b>b</b>", "c &nbsp;"),
    "only no-break spaces": ("&nbsp; ", "", "a"),
    "ruby": ("<ruby>a<rt>b</ruby>", "", "a"),
    "titles": ("<a title=c>", "", "d"),
    "NUL": ("\0<b\0>\0", "a", ""),
    "surrogates": ("\ud800<b>\udc00</b>", "a", ""),
    "bidirectional controls": ("\u202e<b>a</b>\u202d", "", ""),
    "options": ("<option>a", "<select>", ""),
    "preformatted": ("a<b>\n", "<pre>", ""),
    "quoted text": ('"', "", "a"),
}
LAYERS = {"identity": identity, "upper": upper, "shuffled": shuffled}


def text_of(name, size):
    part, before, after = TEXTS[name]
    return before + part * (size // len(part)) + after


def is_linear(name, size):
    for layer in (identity, upper):

        def use(html, layer=layer):
            (result,) = translate_html([html], layer, "en")
            assert layer is not identity or result == html

        takes_linear_time(use, partial(text_of, name), size)


@pytest.mark.parametrize("name", slow_after(12, TEXTS))
def test_time_is_linear(name):
    is_linear(name, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_time_is_linear_in_large_texts(name):
    is_linear(name, 40_000)


def test_many_that_are_held():
    """The search for each continues at the end of the last."""

    def use(html):
        (result,) = translate_html([html], lambda texts, align: [Aligned(text, f"{text} b") for text in texts])
        assert result.count("<code>") == html.count("<code>")

    takes_linear_time(use, lambda count: "a " + "<code>1</code>" * count, 2_500)


@pytest.mark.parametrize("name", TEXTS)
def test_shuffled(name):
    assert isinstance(translate_html([text_of(name, 1_000)], shuffled)[0], str)


@pytest.mark.parametrize("inner", ["b", "div", "code", "my-word", "p translate=no"])
@pytest.mark.parametrize("depth", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_nesting(inner, depth):
    html = f"<{inner}>" * depth + "text" + f"</{inner.split()[0]}>" * depth
    for layer in (identity, upper):
        (result,) = translate_html([html], layer)
        assert result in (html, html.replace("text", "TEXT"))


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_line_of_megabytes(count):
    filling = "x" * 900 * count
    html = "<p>" + "A line with <b>one</b> word, " * count + filling + '<a href="' + "y" * 100 * count + '">z</a>'
    assert sum(1 for _ in scan(html)) == 2 * count + 3
    assert translate_html([html], lambda texts, align: _plain(texts)) == [html]


def _plain(texts):
    return [Aligned(text, text) for text in texts]


@pytest.mark.parametrize("part", ["b=c ", 'b="c" ', "b ", "=", "/", "b='c'"])
def test_a_tag_of_megabytes_takes_little_memory(part):
    html = "<a " + part * (500_000 // len(part)) + ">text"
    tracemalloc.start()
    try:
        assert [token[:3] for token in scan(html)] == [(0, 0, len(html) - 4)]
        assert tracemalloc.get_traced_memory()[1] < 4 * len(html)
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_marian_npz(folder / "model.npz", CONFIG, random_tensors(CONFIG, 49))
    train_vocabulary(folder / "vocab.spm")
    return Translator(folder, compute_type="float32")


def translated(translator, protect, html):
    result = translator.translate(html, html=True, protect=protect, max_length=3)
    assert result.num_source_characters == len(html)
    assert result.text.count("<") >= html.count("<") - html.count("< ") - html.count("<% a") or "<!" in html


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_raises(translator, name):
    translated(translator, "all", text_of(name, 1_000))


def is_translated_in_linear_time(translator, name, size):
    for protect in ("none", "all"):
        takes_linear_time(partial(translated, translator, protect), partial(text_of, name), size)


LARGE = [
    *("tags without an end", "nested texts", "NUL", "surrogates", "bidirectional controls"),
    "comments without an end",
]


@pytest.mark.parametrize("name", LARGE)
def test_time_of_a_translator_is_linear(translator, name):
    is_translated_in_linear_time(translator, name, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_time_of_a_translator_is_linear_in_large_texts(translator, name):
    is_translated_in_linear_time(translator, name, 20_000)


@pytest.mark.parametrize(
    ("part", "options"), [("<code>1</code>", {"html": True}), ("<b>@x</b>", {"html": True}), ("&x;", {"xml": True})]
)
def test_runs_of_what_is_kept(translator, part, options):
    """Its parts are linked one by one, not in all pairs."""

    def translate(text):
        assert translator.translate(text, max_length=3, **options).text.count(part) == text.count(part)

    takes_linear_time(translate, lambda count: f"<b>a</b> dog {part * count}", 500)


def test_no_end_is_no_work(translator):
    """Forty thousand characters after an unclosed quotation mark are one part that stays."""
    html = '<p>A dog.</p><a "' + '<a "' * 10_000
    assert translator.translate(html, html=True).text.endswith(html[13:])
