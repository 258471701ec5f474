"""Runs of what is kept, with tags around each, around parts of each and around words: each stays in its own element."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.markup.pages import translate_html
from cpunmt.sentence_layers.protection.finding import Finder
from cpunmt.sentence_layers.protection.layer import protection_layer
from tests.markup.kept_pages import check, page
from tests.sample_models.real_model import ROOT
from tests.support.html_layers import shuffled

MANY = 10_000


@pytest.fixture(scope="module")
def translator():
    return Translator(ROOT / "models" / "ende-tiny")


def check_shuffled(seed):
    html, kept = page(seed)
    check(html, kept, translate_html([html], protection_layer(shuffled, Finder()))[0])


@given(st.integers(0, 2**32))
def test_whatever_the_model_says(seed):
    check_shuffled(seed)


@pytest.mark.slow
def test_whatever_the_model_says_of_many_pages():
    for seed in range(MANY):
        check_shuffled(seed)


@pytest.mark.parametrize("count", [60, pytest.param(MANY, marks=pytest.mark.slow)])
def test_of_a_real_model(translator, count):
    pages = [page(seed) for seed in range(count)]
    results = translator.translate([html for html, _ in pages], html=True)
    for (html, kept), result in zip(pages, results, strict=True):
        check(html, kept, result.text)


MASTODON = (
    '<a id="u" href="https://example.org/this/is/long"><span id="1" class="invisible">https://</span>'
    '<span id="2" class="ellipsis">example.org/this/is/lo</span><span id="3" class="invisible">ng</span></a>'
)


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ('See <a id="1">http://a.example/x</a> <a id="2">http://b.example/y</a> now.',
         ["http://a.example/x", "http://b.example/y"]),
        ('Two dogs <a id="1">@ann</a> <a id="2">@bob</a> run.', ["@ann", "@bob"]),
        ('A <a id="1">#one</a> <a id="2">#two</a> <a id="3">#three</a> dog.', ["#one", "#two", "#three"]),
        ('Ask <b id="1">{name}</b> <i id="2">%s</i> now.', ["{name}", "%s"]),
        (f"<p>A dog runs. {MASTODON}</p>", ["https://example.org/this/is/long"]),
        (f'<p>See {MASTODON} and <a id="t">#<span id="4">dogs</span></a></p>',
         ["https://example.org/this/is/long", "#dogs"]),
        ('A dog <a id="1">#one</a><a id="2">#two</a> runs.', ["#one", "#two"]),
        ('<a id="1">\U0001f436</a> <a id="2">\U0001f431</a>. <b id="3">A man</b> is here.',
         ["\U0001f436", "\U0001f431"]),
        ('Run <b id="1"><code>f(1)</code></b> <i id="2"><code>f(2)</code></i> now.', ["f(1)", "f(2)"]),
    ],
)  # fmt: skip
def test_the_links_of_posts(translator, html, kept):
    check(html, kept, translator.translate(html, html=True).text)
