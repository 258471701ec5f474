"""Sentences in capitals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.translation.protection.capitals import capitals_layer, is_in_capitals, sentence_case
from cpunmt.translation.texts.engine_layer import engine_layer
from tests.translation.protection.translators import identity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TWO DOGS AND I ARE IN THE SNOW.", "Two dogs and I are in the snow."),
        ("“WHO IS IT?”", "“Who is it?”"),
        ("ДВЕ СОБАКИ", "Две собаки"),
        ("NATO", None),
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
    layer = capitals_layer(engine_layer(student._model, student._default))
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
