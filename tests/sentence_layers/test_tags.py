"""Tags in plain text."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.markup.document import END, POINT, START
from cpunmt.sentence_layers.tags import _TAG, _kinds, _Tagged, _WithTags, has_tags, tag_layer
from tests.sample_models.real_model import ROOT
from tests.support.html_layers import Parsed, identity, shuffled
from tests.support.linear_time import takes_linear_time

TAG = re.compile(r"</?[a-z0-9]+(?: [a-z]+='[^']*')?/?>")
WORDS = st.sampled_from(["one", "Two", "three,", "{1}", "&amp;", "&", "a < b", "1 > 0", "\U000f0000", "\u72d7", "."])
TAGS = st.sampled_from(["<b>", "</b>", "<i c='d e'>", "</i>", "<br>", "<x/>", "<0>", "</0>", "<hr/>"])
TEXTS = st.lists(st.tuples(st.one_of(WORDS, TAGS), st.sampled_from(["", " ", " ", "  "])), max_size=14).map(
    lambda parts: "".join(itertools.chain(*parts))
)


@pytest.fixture(scope="module")
def translator():
    return Translator(ROOT / "models" / "ende-tiny")


@given(TEXTS, st.booleans())
def test_whatever_the_model_says_all_tags_stay(text, align):
    tags = Counter(TAG.findall(text))
    assert has_tags(text) == bool(tags)
    assert tag_layer(identity)([text], align)[0].target == text
    (made,) = tag_layer(shuffled)([text], align)
    assert made.source == text
    if not tags:
        assert made == shuffled([text], align)[0]
        return
    assert Counter(TAG.findall(made.target)) == tags
    nests, nested = (Parsed("".join(TAG.findall(html))).nests for html in (made.target, text))  # "a <" is not a tag
    assert nests or not nested
    for spans, whole in ((made.source_spans, text), (made.target_spans, made.target)):
        assert all(0 <= begin <= end <= len(whole) for begin, end in spans)
        assert not spans or align


NAMES = st.sampled_from(["b", "i", "B", "br", "BR", "0"])
SOME_TAGS = st.lists(
    st.tuples(st.sampled_from(["<{}>", "</{}>", "<{}/>"]), NAMES).map(lambda made: made[0].format(made[1]))
)


@given(SOME_TAGS)
@settings(max_examples=500)
def test_a_tag_closes_the_last_one_of_its_name(found):
    """Open tags within that element are points, and so are tags without a partner."""
    expected, opened = [POINT] * len(found), set()
    for place, tag in enumerate(found):
        if tag.startswith("</"):
            if fitting := [other for other in opened if found[other] == f"<{tag[2:]}"]:
                expected[max(fitting)], expected[place] = START, END
                opened = {other for other in opened if other < max(fitting)}
        elif tag.lower() != "<br>" and not tag.endswith("/>"):
            opened.add(place)
    assert _kinds(list(_TAG.finditer("".join(found)))) == expected


@given(st.lists(TEXTS, max_size=4), st.booleans())
def test_texts_do_not_depend_on_their_neighbours(texts, align):
    layer = tag_layer(lambda asked, align: shuffled(asked, align) if asked else [])
    assert layer(texts, align) == [layer([text], align)[0] for text in texts]


@given(st.text("<>/=\"' ab1-&\n", max_size=40))
def test_what_looks_like_a_tag(text):
    assert tag_layer(identity)([text], False)[0].target == text
    tag_layer(shuffled)([text], True)


def test_sentences_are_as_without_them(translator):
    """The words equal those of the sentence without tags, and each tag is around the same word."""
    words = translator.translate("Two dogs are here.").text
    for number in range(3):
        parts = ["Two", "dogs", "are", "here."]
        parts[number] = f"<b>{parts[number]}</b>"
        result = translator.translate(" ".join(parts), return_alignments=True)
        assert TAG.sub("", result.text) == words == "Zwei Hunde sind hier."
        assert result.text.split()[number] == f"<b>{words.split()[number]}</b>"
        pairs = [(result.sentences[0], pair) for pair in result.sentences[0].alignments]
        assert all("<" not in result.text[slice(*target)] for _, (_, target) in pairs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One <b>man.</b>", "Ein <b>Mann.</b>"),
        ("<b>Two</b> <i>dogs</i> are <0>here</0>.", "<b>Zwei</b> <i>Hunde</i> sind <0>hier</0>."),
        ("<b>A man. A dog</b> runs.", "<b>Ein Mann. Ein Hund</b> rennt."),
        ("Ask <b>{name}</b>.", "Frag <b>{name}</b>!"),
        ("TWO <b>DOGS</b> ARE HERE.", "ZWEI <b>HUNDE</b> SIND HIER."),
        ("<b>1</b>", "<b>1</b>"),
        ("<br/>", "<br/>"),
    ],
)
def test_what_becomes_of_them(translator, text, expected):
    assert translator.translate(text).text == expected
    assert translator.translate(text, protect="tag, placeholder").text == expected
    assert translator.translate([text, "A man."])[0].text == expected


def test_alternatives_have_them_too(translator):
    found = translator.translate("One <b>man</b> is here.", beam_size=4, num_hypotheses=4)
    assert [Counter(TAG.findall(one.text)) for one in found.hypotheses] == [Counter(["<b>", "</b>"])] * 4


def test_alternatives_have_them_beside_what_is_protected(translator):
    """Links of an alternative are between the engine's own pieces, some of which protection joins."""
    text = "See <b>https://example.org</b> for more dogs <i>and</i> cats, or mail a@b.de."
    found = translator.translate(text, protect=["tag", "url", "email"], beam_size=4, num_hypotheses=4)
    assert all(Counter(TAG.findall(one.text)) == Counter(TAG.findall(text)) for one in found.hypotheses)


def test_that_they_are_text_can_be_asked_for(translator):
    assert TAG.findall(translator.translate("One <b>man</b>", protect="none").text) != ["<b>", "</b>"]


@pytest.mark.parametrize("part", ["<b>", "</b>", "<b>x</b>", "<b>x ", "<b><i>x</b>", "<br>", "<", "<a b='", "<a b=c"])
def test_time_is_linear(part):
    def use(text):
        for layer in (identity, shuffled):
            assert Counter(TAG.findall(tag_layer(layer)([text], True)[0].target)) == Counter(TAG.findall(text))

    takes_linear_time(use, lambda count: "a " + part * count + " b", 300)


@given(TEXTS)
def test_what_is_kept_below_is_kept_in_the_text_with_tags(text):
    """Untranslated parts of the layer below have the same characters in source and target."""

    def below(texts, align):
        found = []
        for one in shuffled(texts, align):
            places = [(one.source.find("{1}"), one.target.find("{1}"))] if one.source.count("{1}") == 1 else []
            kept = [((s, s + 3), (t, t + 3)) for s, t in places if t >= 0]
            found.append(one._replace(kept=kept))
        return found

    (made,) = tag_layer(below)([text], True)
    assert all(made.source[slice(*one)] == "{1}" == made.target[slice(*other)] for one, other in made.kept)


@given(TEXTS)
def test_where_pieces_stand_between_tags(text):
    """Each character without tags maps to itself with tags; an empty span maps to the next character's place."""
    assume(has_tags(text))
    sentence = _Tagged(text, 0)
    moved = _WithTags(sentence.plain, sentence.marked, sentence.tags)
    assert moved.text == text
    for place, character in enumerate(sentence.plain):
        begin, end = moved.span((place, place + 1))
        assert moved.span((place, place)) == (begin, begin)
        assert character.isspace() or text[begin:end] == character
    size = len(sentence.plain)
    assert moved.span((size, size)) == (len(text), len(text))
