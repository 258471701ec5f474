"""The cases of Bergamot's and Firefox's tests of HTML, with fixed words and alignments instead of their models."""

import pytest

from cpunmt.markup.pages import translate_html
from tests.support.html_layers import given, identity, in_place, upper


def translated(html, layer):
    """Returns the translation, and the texts for the layer below, those without tags first."""
    sent = []

    def below(texts, align):
        sent.extend(texts)
        return layer(texts, align)

    (result,) = translate_html([html], below)
    assert translate_html([html], identity) == [html]
    return result, sent


# 1: without `html` this code is not called. 2 and 3 are about missing alignments: see below.
@pytest.mark.parametrize("html", ["", "<p></p>"])
def test_4_and_5_what_has_no_text_is_not_sent(html):
    assert translated(html, upper) == (html, [])


@pytest.mark.parametrize("html", ["<p>hello <b>world</b></p>\n", "<b>hello</b> world"])
def test_2_and_3_missing_alignments_are_no_error(html):
    """Bergamot stops. Here tags keep their places, by counting words."""

    def unaligned(texts, align):
        return [found._replace(source_spans=(), target_spans=(), links=()) for found in upper(texts, align)]

    assert translated(html, unaligned)[0] == html.replace("hello", "HELLO").replace("world", "WORLD")


def test_6_tag_names_have_no_case_and_a_word_is_joined():
    """Bergamot sends "Spa ce", two words, and <br> as an empty line. Here a word is a word, and <br> cuts."""
    html = "<P><B>Spa</B>ce<BR>please?</p>"
    assert translated(html, upper) == ("<P><B>SPACE</B><BR>PLEASE?</p>", ["Space", "please?"])


def test_7_references_are_read_and_written_again():
    html = '<p data-attr="&quot;&apos;">This is a sentence &lt;with&gt; named &amp; entities</p>'
    result, sent = translated(html, upper)
    assert sent == ["This is a sentence <with> named & entities"]
    assert result == '<p data-attr="&quot;&apos;">THIS IS A SENTENCE &lt;WITH&gt; NAMED &amp; ENTITIES</p>'


def test_8_a_line_break_parts_texts():
    words = {"Space": "Platz", "please": "bitte"}
    result, sent = translated("<p>Space<br>please?</p>", in_place(lambda word: words.get(word, word)))
    assert (result, sent) == ("<p>Platz<br>bitte?</p>", ["Space", "please?"])


def test_9_and_10_tags_in_a_word():
    """Bergamot sends "un der line", or leaves <u></u> empty before the word. Here the whole word has the tag."""
    layer = given("underline", "subrayar", ["underline"], ["subrayar"], [[1.0]])
    assert translated("un<u>der</u>line", layer)[0] == "<u>subrayar</u>"
    layer = given("underline", "una línea de", ["under", "line"], ["una", " línea", " de"], [[1, 0], [0, 1], [1, 0]])
    assert translated("un<u>der</u>line", layer)[0] == "<u>una línea de</u>"


def test_11_the_target_has_the_tags_of_its_words():
    layer = given("hello world", "hallo Welt", ["hell", "o", " world"], ["hall", "o", " Welt"], _identity(3))
    assert translated("<p>hello <b>world</b></p>\n", layer)[0] == "<p>hallo <b>Welt</b></p>\n"


def test_12_with_references():
    sources = ["hell", "o", " world", " &", " friends", "!"]
    targets = ["hall", "o", " Welt", " &", " Freunde", "!"]
    layer = given("hello world & friends!", "hallo Welt & Freunde!", sources, targets, _identity(6))
    result, sent = translated("<p>hello <b>world &amp; friends!</b></p>", layer)
    assert (result, sent) == ("<p>hallo <b>Welt &amp; Freunde!</b></p>", ["hello world & friends!"])


def test_13_several_sentences():
    """White space is sent as browsers show it, one space; bergamot sends the two around <img>, and moves them."""
    html = "<p>hello <b>world!</b> How does this <img> <b>deal <u>with multiple sentences?</u></b> Will it work?</p>"
    sources = [
        *("hell", "o", " world", "!", " How", " does", " this", " deal", " with", " multiple", " sentence", "s", "?"),
    ]
    targets = ["hall", "o", " Welt", "!", " Wie", " geht", " das", " mit", " mehreren", " Sätze", "n", " um", "?"]
    sources, targets = [*sources, " Will", " it", " work", "?"], [*targets, " Wird", " es", " funktionieren", "?"]
    layer = given("".join(sources), "".join(targets), sources, targets, _identity(17))
    assert translated(html, layer)[0] == (
        "<p>hallo <b>Welt!</b> Wie geht das <img> <b>mit <u>mehreren Sätzen um?</u></b> Wird es funktionieren?</p>"
    )


def test_14_and_15_void_elements_part_words():
    html = '<p>hello <img> <b>world</b> <u>and other <a href="#">creatures</a></u></p>'
    result, sent = translated(html, upper)
    assert sent == ["hello world and other creatures"]  # bergamot: two spaces after "hello"
    assert result == '<p>HELLO <img> <b>WORLD</b> <u>AND OTHER <a href="#">CREATURES</a></u></p>'
    assert translated("<p>hello<img/>world</p>", upper) == ("<p>HELLO<img/>WORLD</p>", ["hello world"])


@pytest.mark.parametrize(
    "html",
    [
        "hello <br>",
        "hello <u></u>",
        "<p>hello <br></p>",
        '<p id="1">hello <img id="1.1"><span id="1.2"><u id="1.2.1"></u><b id="1.2.2"></b><img id="1.2.3">'
        "world</span></p>",
        'hello <script>alert("<foo>");</script>world',
        "foo <!-- <ignore> me -->bar",
    ],
)
def test_16_to_21_what_has_no_text_stays_where_it_is(html):
    result, _ = translated(html, in_place(lambda word: word.replace("hello", "hallo").replace("foo", "fuu")))
    assert result == html.replace("hello", "hallo").replace("foo ", "fuu ")


def test_20_a_script_parts_texts():
    assert translated('hello <script>alert("<foo>");</script>world', upper)[1] == ["hello", "world"]


@pytest.mark.parametrize("html", ["hel<wbr>lo", "hel<WBR>lo"])
def test_22_and_23_wbr_is_in_a_word(html):
    result, sent = translated(html, upper)
    assert sent == ["hello"]
    assert result == f"HELLO{html[3:8]}"


@pytest.mark.parametrize("inner", ["<var>nested</var>", "&amp;"])
def test_24_and_25_ignored_elements_keep_their_place(inner):
    """Bergamot sends "foo  bar" and moves a space. Here the sentence has a stand-in, and stays one."""
    html = f"foo <var>{inner}</var> bar"
    assert translated(html, upper) == (f"FOO <var>{inner}</var> BAR", ["foo {1} bar"])


# A real model's attention, rounded; the last row and the last column are </s>.
LIKE = [
    [0.982, 0.007, 0.007, 0.001, 0.001, 0.000, 0.000, 0.001],
    [0.166, 0.369, 0.230, 0.222, 0.003, 0.001, 0.001, 0.008],
    [0.005, 0.081, 0.014, 0.891, 0.001, 0.002, 0.001, 0.006],
    [0.019, 0.411, 0.087, 0.048, 0.266, 0.111, 0.000, 0.057],
    [0.009, 0.493, 0.045, 0.008, 0.423, 0.013, 0.001, 0.009],
    [0.002, 0.006, 0.034, 0.037, 0.747, 0.102, 0.059, 0.013],
    [0.000, 0.000, 0.000, 0.003, 0.002, 0.992, 0.002, 0.000],
    [0.001, 0.001, 0.017, 0.004, 0.002, 0.011, 0.949, 0.015],
]
CAR = ["I", " like", " to", " drive", " this", " car", "."]


def test_26_the_car():
    """Bergamot: `Ich <b></b><u>fahre</u> <b>gerne</b> dieses Auto.`, with one <b> too many."""
    targets = ["Ich", " ", "fahr", "e", " gerne", " dieses", " Auto", "."]
    layer = given("".join(CAR), "".join(targets), CAR, targets, LIKE)
    result, _ = translated("<p>I <b>like</b> to <u>drive</u> this car.</p>", layer)
    assert result == "<p>Ich <u>fahre</u> <b>gerne</b> dieses Auto.</p>"


DRIVE = [
    [0.5360, 0.4405, 0.0142, 0.0061, 0.0029, 0.0001, 0.0000, 0.0001],
    [0.0451, 0.0602, 0.5120, 0.2584, 0.1145, 0.0062, 0.0019, 0.0017],
    [0.0392, 0.0009, 0.6535, 0.2293, 0.0492, 0.0199, 0.0014, 0.0067],
    [0.0007, 0.0036, 0.0112, 0.0118, 0.9209, 0.0449, 0.0050, 0.0019],
    [0.0000, 0.0004, 0.0008, 0.0047, 0.0163, 0.9683, 0.0045, 0.0050],
    [0.0011, 0.0046, 0.0039, 0.0090, 0.0023, 0.0024, 0.9648, 0.0119],
]


def test_27_words_with_markup_that_nothing_aligns_to():
    """Bergamot: `Rád <b></b>řídím <u></u>to auto.`. Here the neighbouring word gets the tag, and both are right."""
    targets = ["Rád", " říd", "ím", " to", " auto", "."]
    layer = given("".join(CAR), "".join(targets), CAR, targets, DRIVE)
    result, _ = translated("<p>I <b>like</b> to <u>drive</u> this car.</p>", layer)
    assert result == "<p><b>Rád</b> <u>řídím</u> to auto.</p>"


def _identity(size):
    return [[float(row == column) for column in range(size)] for row in range(size)]


# source and target pieces, the source piece of each target piece, HTML, translation
CASES = {
    # Firefox: `<b>The</b> blue <b>dog</b>.` and `<b>El</b> perro <b>azul</b>.`: one element becomes two. Here it stays
    # one, around the range that fits best.
    "es-en": ("El| perro| azul|.", "The| blue| dog|.", [0, 2, 1, 3], "<b>El perro</b> azul.", "<b>The blue dog</b>."),
    "en-es": ("The| blue| dog|.", "El| perro| azul|.", [0, 2, 1, 3], "<b>The blue</b> dog.", "El perro <b>azul</b>."),
    "fr-es": ("Le| chien| bleu|.", "El| perro| azul|.", [0, 1, 2, 3], "<b>Le chien</b> bleu.", "<b>El perro</b> azul."),
    "zh-en": ("蓝色|的|狗|。", "The| blue| dog|.", [0, 0, 2, 3], "蓝色的<b>狗</b>。", "The blue <b>dog</b>."),
    "zh-en, a piece over the tag": (
        "蓝色|的狗|。",
        "The| blue| dog|.",
        [0, 0, 1, 2],
        "蓝色的<b>狗</b>。",
        "The blue <b>dog</b>.",
    ),
    "zh-en, sentences": (
        "蓝色|的|狗|。|它|在|公园|里|跑|。",
        "The| blue| dog|.| It| runs| in| the| park|.",
        [0, 0, 2, 3, 4, 8, 5, 6, 6, 9],
        "蓝色的<b>狗</b>。<i>它在公园里跑</i>。",
        "The blue <b>dog</b>. <i>It runs in the park</i>.",
    ),
    "en-zh": (
        "The| blue| dog|.| He| runs|.",
        "蓝|狗|。|他|跑|。",
        [1, 2, 3, 4, 5, 6],
        "The <b>blue</b> dog. <i>He runs</i>.",
        "<b>蓝</b>狗。<i>他跑</i>。",
    ),
    # Firefox: the space goes into <b>: `<b>The blue dog. </b><u>`
    "zh-en, whole sentences": (
        "狗|。|它|跑|。|\n\n|它|开心|。|它|玩|。",
        "Dog|.| It| runs|.|\n\n|It| is| happy|.| It| plays|.",
        [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11],
        "<b>狗。</b><u><i>它跑。\n\n它开心。</i></u>它玩。",
        "<b>Dog.</b> <u><i>It runs.\n\nIt is happy.</i></u> It plays.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_documented_or_better(name):
    source, target, origins, html, expected = CASES[name]
    sources, targets = source.split("|"), target.split("|")
    matrix = [[float(column == origin) for column in range(len(sources))] for origin in origins]
    layer = given("".join(sources), "".join(targets), sources, targets, matrix)
    assert translate_html([html], layer) == [expected]
