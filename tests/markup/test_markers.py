"""What readers of real pages see: footnotes, formulas, menus, listings, white space beside what is held."""

import pytest

from cpunmt.markup.pages import translate_html
from tests.support.html_layers import given, identity, upper


def shout(html):
    """The translation, and the texts that were sent."""
    sent = []

    def below(texts, align):
        sent.extend(texts)
        return upper(texts, align)

    assert translate_html([html], identity) == [html]
    return translate_html([html], below)[0], sent


@pytest.mark.parametrize(
    ("html", "expected", "sent"),
    [
        ("the end.<a href=x><sup>[4]</sup></a>\nIt", "THE END.<a href=x><sup>[4]</sup></a> IT", "the end. It"),
        ("a dog<sup>1</sup>, two", "A DOG<sup>1</sup>, TWO", "a dog, two"),
        ("see <a href=x>[12, 13]</a> now", "SEE <a href=x>[12, 13]</a> NOW", "see now"),
        ("<h2>Dogs <a href=x>&para;</a></h2>", "<h2>DOGS <a href=x>&para;</a></h2>", "Dogs"),
        ("a<i>&rarr;</i>b c", "A<i>&rarr;</i>B C", "a b c"),
        ("it is mc<sup>2</sup> now", "IT IS MC<sup>2</sup> NOW", "it is mc now"),
    ],
)
def test_a_mark_is_no_word(html, expected, sent):
    assert shout(html) == (expected, [sent])


@pytest.mark.parametrize(
    ("html", "expected", "sent"),
    [
        ("hot H<sub>2</sub>O is", "HOT H<sub>2</sub>O IS", "hot {1} is"),
        ("CO<sub>2</sub>, hot", "CO<sub>2</sub>, HOT", "{1}, hot"),
        ("C<sub>6</sub>H<sub>12</sub>O<sub>6</sub> is", "C<sub>6</sub>H<sub>12</sub>O<sub>6</sub> IS", "{1} is"),
        ("so (x<sup>2</sup>y) is", "SO (x<sup>2</sup>y) IS", "so ({1}) is"),
    ],
)
def test_a_formula_is_held_whole(html, expected, sent):
    assert shout(html) == (expected, [sent])


@pytest.mark.parametrize("html", ["<p>H<sub>2</sub>O</p>", "<sup>1</sup>", "<b>&para;</b> <i>*</i>"])
def test_nothing_else_is_not_sent(html):
    assert shout(html) == (html, [])


@pytest.mark.parametrize(
    ("html", "sent"), [("<b>@</b>ann runs", "@ann runs"), ("see /usr<b>/</b>lib now", "see /usr/lib now")]
)
def test_a_sign_in_a_word_is_part_of_it(html, sent):
    assert shout(html)[1] == [sent]


@pytest.mark.parametrize("html", ["<b>4</b> dogs", "a <b>!</b> b", "so <i>&mdash;</i> he"])
def test_numbers_and_marks_of_sentences_are_text(html):
    assert "4" in shout(html)[1][0] or "!" in shout(html)[1][0] or "\u2014" in shout(html)[1][0]


@pytest.mark.parametrize("sign", ["|", "&gt;", ">", "&middot;", "\u00b7", "&nbsp;|&nbsp;", "&raquo;", "\n \u2022"])
def test_the_links_of_a_menu_are_texts(sign):
    html = f"<p><a>Site map</a> {sign} <b>News</b> {sign} <a>Help</a></p>"
    assert shout(html) == (html.replace("Site map", "SITE MAP").replace("News", "NEWS").replace("Help", "HELP"),
                           ["Site map", "News", "Help"])  # fmt: skip


def test_a_bar_in_an_element_parts_them_too():
    assert shout("<a>Site map</a><span>|</span><a>News</a>")[1] == ["Site map", "News"]


def test_other_signs_part_nothing():
    assert shout("<a>a</a> | b <i>c</i> - <i>d</i>, <i>e</i>")[1] == ["a | b c - d, e"]


@pytest.mark.parametrize(
    "name", ["programlisting", "x Screen", "example", "src src-sh", "language-python", "literal-block", "highlight"]
)
def test_a_listing_is_code(name):
    html = f'<pre class="{name}">if <b>a</b>:\n  b</pre><p>c</p>'
    assert shout(html) == (html.replace("c</p>", "C</p>"), ["c"])


@pytest.mark.parametrize("tag", ["pre", "pre class=verse", "pre id=code", "p class=code", "pre class='precode'"])
def test_other_preformatted_text_is_text(tag):
    assert shout(f"<{tag}>a</{tag.split()[0]}>") == (f"<{tag}>A</{tag.split()[0]}>", ["a"])


def placed(html, source, target, origins):
    sources, targets = source.split("|"), target.split("|")
    matrix = [[float(origin == column) for column in range(len(sources) + 1)] for origin in origins]
    return translate_html([html], given("".join(sources), "".join(targets), sources, targets, matrix))[0]


def test_no_word_grows_together_with_what_is_held():
    """The model left out the space or the bracket; held by a stand-in, and beside its neighbour."""

    def glued(texts, align):
        return [
            found._replace(target=found.target.replace(" {", "{").replace("} ", "}")) for found in upper(texts, align)
        ]

    assert translate_html(["use <code>a</code> now"], glued) == ["USE <code>a</code> NOW"]
    assert translate_html(["(use <code>a</code>) now"], lambda texts, align: [
        found._replace(target="NUN{1}JETZT") for found in upper(texts, align)
    ]) == ["NUN <code>a</code> JETZT"]  # fmt: skip
    assert translate_html(["pre<code>a</code>post"], glued) == ["PRE<code>a</code>POST"]  # as it was
    assert placed("use <img>, now", "use| ,| now", "nun| nutze", [2, 0]) == "<img> nun nutze"
    assert placed("use <img>: now", "use| :| now", "nun|:| nutze", [2, 1, 0]) == "nun <img>: nutze"


def test_a_link_none_of_whose_words_is_left_keeps_its_text():
    """Nobody could follow an empty one. Other elements are empty then."""
    found = placed("<b>the dogs:</b> <a href=x>en</a>", "the| dogs|:| en", "Hunde|:", [1, 2])
    assert found == "<b>Hunde:</b> <a href=x>en</a>"
    assert placed("<b>the dogs:</b> <i>en</i>", "the| dogs|:| en", "Hunde|:", [1, 2]) == "<b>Hunde:</b><i></i>"
    found = placed("<b>the dogs:</b> <A>e <i>&amp; n</i></A>", "the| dogs|:| e| &| n", "Hunde|:", [1, 2])
    assert found == "<b>Hunde:</b> <A>e <i>&amp; n</i></A>"
