"""The places of elements and points in a translation, and elements that are not words."""

import pytest

from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.pages import translate_html
from tests.support.html_layers import given, identity, shuffled, upper


def place(html, source, target, origins):
    """Translates `source` to `target`, pieces separated by |; `origins`: source piece of each target piece, or None."""
    sources, targets = source.split("|"), target.split("|")
    size = len(sources)
    matrix = [
        [float(column == (size if origin is None else origin)) for column in range(size + 1)] for origin in origins
    ]
    return translate_html([html], given("".join(sources), "".join(targets), sources, targets, matrix))[0]


def test_a_stray_link_does_not_stretch_an_element():
    html = "the <b>big dog</b> eats a small cat now"
    source = "the| big| dog| eats| a| small| cat| now"
    target = "der| große| Hund| frisst| nun| eine| kleine| Katze| na"
    assert place(html, source, target, [0, 1, 2, 3, 7, 4, 5, 6, 1]) == (
        "der <b>große Hund</b> frisst nun eine kleine Katze na"
    )


def test_a_verb_in_two_parts_has_its_tag_around_the_larger():
    source, target = "he| has| seen| the| big| dog", "er| hat| den| großen| Hund| gesehen"
    assert place("he <b>has seen</b> the big dog", source, target, [0, 1, 3, 4, 5, 2]) == (
        "er hat den großen Hund <b>gesehen</b>"
    )


def test_elements_change_places_with_their_words():
    assert place("<b>one</b> <i>two</i>", "one| two", "zwei| eins", [1, 0]) == "<i>zwei</i> <b>eins</b>"
    assert place("<a>x <b>one</b> <i>two</i></a> y", "x| one| two| y", "y| zwei| eins| x", [3, 2, 1, 0]) == (
        "y <a><i>zwei</i> <b>eins</b> x</a>"
    )


def test_elements_that_mix_stay_apart():
    found = place("<b>a c</b> <i>b d</i>", "a| c| b| d", "aa| bb| cc| dd", [0, 2, 1, 3])
    assert found == "<b>aa bb cc</b> <i>dd</i>"


def test_a_word_has_the_tag_of_its_heavier_part():
    assert place("<b>train</b> station", "train| station", "Bahn|hof", [0, 1]) == "<b>Bahnhof</b>"
    assert place("a <b>ticket</b> for stations", "a| ticket| for| stations", "ein| Bahn|schein", [0, 3, 1]) == (
        "ein <b>Bahnschein</b>"
    )


def test_a_drop_capital():
    assert place("<b>W</b>orld now", "World| now", "nun| Welt", [1, 0]) == "nun <b>Welt</b>"


def test_an_element_whose_words_were_left_out():
    """It takes a neighbouring word that no other element has; punctuation does not count as a word."""
    assert place("a <b>very</b> big dog", "a| very| big| dog", "ein| großer| Hund", [0, 2, 3]) == (
        "<b>ein</b> großer Hund"
    )
    assert place("<i>a</i> <b>very</b> <u>big</u> dog", "a| very| big| dog", "ein| großer| Hund", [0, 2, 3]) == (
        "<i>ein</i> <u>großer</u> <b>Hund</b>"
    )
    assert place("a<b>!</b> b", "a|!| b", "aa| bb", [0, 2]) == "aa <b></b>bb"


def test_nothing_is_left_of_the_text():
    assert translate_html(["a <b>b</b> <img> c"], lambda texts, align: [Aligned("a b c", "")]) == ["<b></b> <img>"]


def test_points_go_with_their_neighbours():
    assert place("one<sup></sup> <img> two", "one| two", "zwei| eins", [1, 0]) == "<img> zwei eins<sup></sup>"
    assert place("one<img>, two", "one|,| two", "zwei|,| eins", [2, 1, 0]) == "zwei, eins<img>"
    assert place("<b>one <img> two</b> three", "one| two| three", "drei| zwei| eins", [2, 1, 0]) == (
        "drei <b><img> zwei eins</b>"
    )


def test_unspaced_scripts_are_cut_at_pieces():
    assert place("the <b>blue</b> dog", "the| blue| dog", "蓝色|的|狗", [1, 1, 2]) == "<b>蓝色的</b>狗"
    assert place("<b>猫</b>と犬", "猫|と|犬", "a| cat| and| a| dog", [0, 0, 1, 2, 2]) == "<b>a cat</b> and a dog"


def test_marks_of_letters_are_part_of_words():
    assert place("a <b>friend</b> b", "a| friend| b", "\u092e\u093f|\u0924\u094d\u0930| b| a", [1, 1, 2, 0]) == (
        "<b>\u092e\u093f\u0924\u094d\u0930</b> b a"
    )


@pytest.mark.parametrize("depth", [5, 31, 32, 33, 100])
def test_deep_elements(depth):
    """From a certain depth on, tags separate texts."""
    html = "x " + "".join(f"<b id={number}>w{number} " for number in range(depth)) + "</b>" * depth + " y"
    (result,) = translate_html([html], shuffled)
    at = -1
    for number in range(depth):
        assert result.count(f"<b id={number}>") == 1
        assert (at := result.index(f"<b id={number}>")) > (-1 if number == 0 else result.index(f"<b id={number - 1}>"))
    assert at > 0 and result.count("</b>") == depth


def shout(html):
    """Returns the translation, and the texts for the layer below."""
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
    """The model left out the space or the bracket, with a stand-in or beside the neighbour."""

    def glued(texts, align):
        return [
            found._replace(target=found.target.replace(" {", "{").replace("} ", "}")) for found in upper(texts, align)
        ]

    assert translate_html(["use <code>a</code> now"], glued) == ["USE <code>a</code> NOW"]
    assert translate_html(["(use <code>a</code>) now"], lambda texts, align: [
        found._replace(target="NUN{1}JETZT") for found in upper(texts, align)
    ]) == ["NUN <code>a</code> JETZT"]  # fmt: skip
    assert translate_html(["pre<code>a</code>post"], glued) == ["PRE<code>a</code>POST"]  # unchanged
    assert placed("use <img>, now", "use| ,| now", "nun| nutze", [2, 0]) == "<img> nun nutze"
    assert placed("use <img>: now", "use| :| now", "nun|:| nutze", [2, 1, 0]) == "nun <img>: nutze"


def test_a_link_none_of_whose_words_is_left_keeps_its_text():
    """An empty link could not be followed. Other elements become empty."""
    found = placed("<b>the dogs:</b> <a href=x>en</a>", "the| dogs|:| en", "Hunde|:", [1, 2])
    assert found == "<b>Hunde:</b> <a href=x>en</a>"
    assert placed("<b>the dogs:</b> <i>en</i>", "the| dogs|:| en", "Hunde|:", [1, 2]) == "<b>Hunde:</b><i></i>"
    found = placed("<b>the dogs:</b> <A>e <i>&amp; n</i></A>", "the| dogs|:| e| &| n", "Hunde|:", [1, 2])
    assert found == "<b>Hunde:</b> <A>e <i>&amp; n</i></A>"
