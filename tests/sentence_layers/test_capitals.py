"""Sentences in capitals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.alignment.aligned import Aligned
from cpunmt.sentence_layers.capitals import capitals_layer, is_in_capitals, sentence_case
from cpunmt.sentences.engine_layer import engine_layer
from tests.sample_models.real_model import ROOT
from tests.sentence_layers.translators import identity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TWO DOGS AND I ARE IN THE SNOW.", "Two dogs and I are in the snow."),
        ("“WHO IS IT?”", "“Who is it?”"),
        ("ДВЕ СОБАКИ", "Две собаки"),
        ("NATO", None),
        ("NO DOGS", "No dogs"),
        ("NO DOGS!", "No dogs!"),
        ("I SEE IT", "I see it"),  # six letters
        ("I SEE I", None),
        ("USA!", None),
        ("TWO Dogs", None),
        ("日本語 日本語", None),
        ("123 456", None),
    ],
)
def test_what_is_in_capitals(text, expected):
    assert is_in_capitals(text) == (expected is not None)
    assert expected is None or sentence_case(text) == expected


@given(st.text())
def test_small_letters_stand_where_the_capitals_stood(text):
    assert len(sentence_case(text)) == len(text)


def test_capitals_are_put_back(student):
    layer = capitals_layer(engine_layer(student.loaded, student._default))
    texts = ["TWO DOGS ARE PLAYING IN THE SNOW.", "Two dogs are playing in the snow.", "NATO"]
    capitals, small, name = layer(texts, True)
    assert capitals.source == texts[0] and capitals.target == small.target.upper() == capitals.found.text
    assert [made.target for made in layer(texts, False)] == [capitals.target, small.target, name.target]
    text, spans = capitals.target, capitals.target_spans
    assert [text[b:e].strip() for b, e in spans] == [small.target[b:e].strip().upper() for b, e in small.target_spans]


def test_letters_that_become_two():
    made = capitals_layer(
        lambda texts, align: [
            one._replace(target=one.target.replace("ss", "ß"), target_spans=[(0, 3), (4, 8)])
            for one in identity(texts, align)
        ]
    )(["DIE STRASSE"], True)[0]
    assert made.target == "DIE STRASSE" and list(made.target_spans) == [(0, 3), (4, 8)]


LOOPING = ["SYNOPSIS", "DESCRIPTION", "IMPORTANT", "ABSTRACT", "CONTACT", "DIAGNOSTICS", "LICENSE"]
WORDS = [*LOOPING, "OPTIONS", "NATO", "README", "HTML", "HISTORY"]


def test_a_heading_whose_translation_loops():
    """A looping heading goes through small letters; other headings do not."""
    translator = Translator(ROOT / "models" / "ende-tiny")
    plain = translator.translate(WORDS, lower_capitals=False)
    small = translator.translate([word.capitalize() for word in WORDS])
    for word, made, as_it_is, through_small in zip(WORDS, translator.translate(WORDS), plain, small, strict=True):
        assert made.text == (through_small.text.upper() if word in LOOPING else as_it_is.text)
        assert not made.repeats


@given(st.text("ABC", min_size=1, max_size=6), st.integers(1, 6), st.integers(1, 9), st.booleans(), st.booleans())
def test_a_word_that_loops_in_small_letters_too_stays(word, period, count, loops_small, align):
    """A stutter at the end is detected at any length; other translations stay the model's."""
    stutter = word + (word[-period:] * count)[:count]

    def below(texts, align):
        assert set(texts) <= {word, sentence_case(word)}
        targets = [stutter if text == word or loops_small else "Ein" for text in texts]
        return [Aligned(text, target) for text, target in zip(texts, targets, strict=True)]

    (made,) = capitals_layer(below)([word], align)
    if sentence_case(word) == word:  # of one letter
        loops_small = True
    assert made.source == word and made.target == (word if loops_small else "EIN")


@pytest.mark.parametrize("target", ["SYNOPSIS", "SYNOPSISEN", "X", ""])
def test_other_translations_of_a_heading_are_the_models(target):
    made = capitals_layer(lambda texts, align: [Aligned(text, target) for text in texts])(["SYNOPSIS"], False)
    assert made[0].target == target


@pytest.mark.parametrize("options", [{}, {"return_alignments": True}, {"beam_size": 4, "num_hypotheses": 4}])
def test_a_heading_left_as_it_is_has_spans_within_it(options):
    """All fields of the result refer to the unchanged text."""
    translator = Translator(ROOT / "models" / "ende-tiny")
    result = translator.translate("LALALALALALALALALALALALA", **options)
    for hypothesis in result.hypotheses:
        assert hypothesis.spans is None or all(0 <= b <= e <= len(hypothesis.text) for b, e in hypothesis.spans)
    result.to_dict()
