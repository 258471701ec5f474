"""HTML through the model that comes with the repository."""

import itertools
import re

import pytest

from cpunmt import Translator
from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.pages import translate_html
from tests.sample_models.real_model import ROOT
from tests.support.html_layers import Parsed


@pytest.fixture(scope="module")
def layer():
    """A layer that translates each text as one sentence, over models/ende-tiny."""
    translator = Translator(ROOT / "models" / "ende-tiny")

    def below(texts, align):
        results = translator.translate(list(texts), return_alignments=align)
        if not align:
            return [Aligned(text, result.text) for text, result in zip(texts, results, strict=True)]
        return [
            Aligned(
                text, result.text, spans(text, result.source_pieces), spans(result.text, result.pieces), links(result)
            )
            for text, result in zip(texts, results, strict=True)
        ]

    return below


def spans(text, pieces):
    """Where pieces stand in a text whose white space is single spaces."""
    shown = [piece.replace("\u2581", " ") for piece in pieces]
    assert "".join(shown) in (f" {text}", text)
    ends = [0, *itertools.accumulate(map(len, shown))]
    skipped = len("".join(shown)) - len(text)
    return [(max(0, begin - skipped), end - skipped) for begin, end in itertools.pairwise(ends)]


def links(result):
    return sorted(result.alignments, key=lambda link: link[1])


def test_a_sentence(layer):
    plain = layer(["I like to drive this car."], False)[0].target
    (found,) = translate_html(["<p>I <b>like</b> to <u>drive</u> this car.</p>"], layer)
    assert re.sub("<[^>]*>", "", found) == plain
    assert found == "<p>Ich <u>fahre</u> <b>gerne</b> dieses Auto.</p>"


def test_a_page(layer):
    page = (
        "<!DOCTYPE html>\n<html lang=en><head><title>Two dogs</title><meta charset=a>\n<style>b {color: red}</style>"
        "</head>\n<body class='a'>\n  <h1>A <em>red</em> car</h1>\n  <p>A man is riding a <a href='/b?c=d&amp;e' "
        'title="A bicycle">bicycle</a> in the <b>snow</b>.<br>Two <i>dogs</i> are playing.</p>\n<ul><li>One man.<li>'
        "A <img src=d.png alt='A dog'> dog</ul><script>if (a<b) c()</script></body></html>"
    )
    (found,) = translate_html([page], layer)
    before, after = Parsed(page), Parsed(found)
    assert [name for _, name, _ in after.found] == [name for _, name, _ in before.found]
    for expected in (
        *("<title>Zwei Hunde</title>", "<style>b {color: red}</style>", "<a href='/b?c=d&amp;e' title=\""),
        *(">Fahrrad</a>", "<b>Schnee</b>", "<br>Zwei <i>Hunde</i>", "<script>if (a<b) c()</script></body></html>"),
    ):
        assert expected in found
    assert translate_html([page, "<p>A dog.</p>"], layer)[0] == found
