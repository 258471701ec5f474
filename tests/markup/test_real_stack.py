"""HTML through a real Translator: sentences, the engine, alignments. The inputs of Bergamot's and Firefox's tests.

The model is small, so the tests check only tags, and words that it knows well.
"""

import re

import pytest

from cpunmt import Translator
from tests.sample_models.real_model import ROOT
from tests.support.html_layers import Parsed


@pytest.fixture(scope="module")
def translator():
    return Translator(ROOT / "models" / "ende-tiny")


# The inputs of Bergamot's 27 cases; with known words, also the translations.
BERGAMOT = {
    "4": ("", ""),
    "5": ("<p></p>", "<p></p>"),
    "2, 3, 11": ("<p>hello <b>world</b></p>\n", "<p>Hallo <b>Welt</b></p>\n"),
    "6": ("<P><B>Spa</B>ce<BR>please?</p>", None),
    "7": ('<p data-attr="&quot;&apos;">This is a sentence &lt;with&gt; named &amp; entities</p>', None),
    "8": ("<p>Space<br>please?</p>", None),
    "9, 10": ("un<u>der</u>line", None),
    "12": ("<p>hello <b>world &amp; friends!</b></p>", None),
    "13": (
        "<p>hello <b>world!</b> How does this <img> <b>deal <u>with multiple sentences?</u></b> Will it work?</p>",
        None,
    ),
    "14": ('<p>hello <img> <b>world</b> <u>and other <a href="#">creatures</a></u></p>', None),
    "15": ("<p>hello<img/>world</p>", "<p>Hallo<img/>Welt</p>"),
    "16": ("hello <br>", "Hallo <br>"),
    "17": ("hello <u></u>", "Hallo <u></u>"),
    "18": ("<p>hello <br></p>", "<p>Hallo <br></p>"),
    "19": (
        '<p id="1">hello <img id="1.1"><span id="1.2"><u id="1.2.1"></u><b id="1.2.2"></b><img id="1.2.3">'
        "world</span></p>",
        '<p id="1">Hallo <img id="1.1"><span id="1.2"><u id="1.2.1"></u><b id="1.2.2"></b><img id="1.2.3">'
        "Welt</span></p>",
    ),
    "20": ('hello <script>alert("<foo>");</script>world', 'Hallo <script>alert("<foo>");</script>Welt'),
    "21": ("foo <!-- <ignore> me -->bar", None),
    "22": ("hel<wbr>lo", "Hallo<wbr>"),
    "23": ("hel<WBR>lo", "Hallo<WBR>"),
    "24": ("foo <var><var>nested</var></var> bar", None),
    "25": ("foo <var>&amp;</var> bar", None),
    # bergamot: `Ich <b></b><u>fahre</u> <b>gerne</b> dieses Auto.`
    "26, 27": (
        "<p>I <b>like</b> to <u>drive</u> this car.</p>",
        "<p>Ich <u>fahre</u> <b>gerne</b> dieses Auto.</p>",
    ),
}
FIREFOX = {
    "an element is not doubled": ("The <b>blue</b> dog.", "Der <b>blaue</b> Hund."),
    "two stay two": ("<b>The</b> blue <b>dog</b>.", "<b>Der</b> blaue <b>Hund</b>."),
    "sentences": ("The <b>blue</b> dog. <i>He runs</i>.", "Der <b>blaue</b> Hund. <i>Er rennt</i>."),
    "over sentences": (
        "<p>A man <b>is here. The dog</b> is running.</p>",
        "<p>Ein Mann <b>ist hier. Der Hund</b> rennt.</p>",
    ),
    "over paragraphs": ("<u><i>It runs.\n\nIt is happy.</i></u>", "<u><i>Es läuft.\n\nEs ist glücklich.</i></u>"),
}


@pytest.mark.parametrize("case", BERGAMOT)
def test_bergamot(translator, case):
    html, expected = BERGAMOT[case]
    holds(html, translator.translate(html, html=True).text, expected)


@pytest.mark.parametrize("case", FIREFOX)
def test_firefox(translator, case):
    html, expected = FIREFOX[case]
    holds(html, translator.translate(html, html=True).text, expected)


def holds(html, found, expected=None):
    assert expected is None or found == expected
    before, after = Parsed(html), Parsed(found)
    assert sorted(after.found) == sorted(before.found)
    assert after.nests or not before.nests


def test_bergamot_1_without_html_tags_are_text(translator):
    """The text goes to the model unchanged, without protection or parsing."""
    html = "<p>Two dogs &amp; a man.</p>"
    plain, marked = translator.translate(html, protect="none"), translator.translate(html, html=True)
    assert plain == translator.translate(html, html=False, protect="none")
    assert plain.text != marked.text == f"<p>{translator.translate('Two dogs & a man.').text.replace('&', '&amp;')}</p>"
    assert plain.num_source_characters == len(html)
    assert plain.num_source_pieces > marked.num_source_pieces


def test_a_text_in_tags_is_translated_as_without_them(translator):
    html = "<div>A <b>man</b> is riding a <a href=x>red bicycle</a>. Two <i>dogs</i> are <u>playing</u>!</div>"
    text = "A man is riding a red bicycle. Two dogs are playing!"
    assert re.sub("<[^>]*>", "", translator.translate(html, html=True).text) == translator.translate(text).text


def test_documents_do_not_depend_on_their_neighbours(translator):
    pages = [html for html, _ in (BERGAMOT | FIREFOX).values()]
    alone = [translator.translate(page, html=True) for page in pages]
    assert translator.translate(pages, html=True) == alone
    assert list(translator.translate_iterable(pages[::-1], html=True)) == alone[::-1]


def test_a_page(translator):
    page = (
        "<!DOCTYPE html>\n<html lang=en><head><title>Two dogs</title><meta charset=a>\n<style>b {color: red}</style>"
        "</head>\n<body class='a'>\n  <h1>A <em>red</em> car</h1>\n  <p>A man is riding a <a href='/b?c=d&amp;e' "
        'title="A bicycle">bicycle</a> in the <b>snow</b>.<br>Two <i>dogs</i> are playing.</p>\n<ul><li>One man.<li>'
        "A <img src=d.png alt='A dog'> dog</ul><script>if (a<b) c()</script></body></html>"
    )
    found = translator.translate(page, html=True).text
    before, after = Parsed(page), Parsed(found)
    assert [name for _, name, _ in after.found] == [name for _, name, _ in before.found]
    for expected in (
        *("<title>Zwei Hunde</title>", "<style>b {color: red}</style>", "<a href='/b?c=d&amp;e' title=\""),
        *(">Fahrrad</a>", "<b>Schnee</b>", "<br>Zwei <i>Hunde</i>", "<script>if (a<b) c()</script></body></html>"),
    ):
        assert expected in found
