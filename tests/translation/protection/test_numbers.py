"""Digits that the model changed."""

import pytest

from cpunmt.translation.protection.numbers import agree, number_layer
from cpunmt.translation.results import Hypothesis, Result
from cpunmt.translation.texts.aligned import Aligned
from tests.translation.protection.translators import pieces


def below_that_writes(target):
    def below(texts, align):
        if not align:
            return [Aligned(text, target) for text in texts]
        return [
            Aligned(t, target, pieces(t), pieces(target), [(i, i) for i in range(len(pieces(target)))]) for t in texts
        ]

    return below


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("It has 2,200,112 people", "Es hat 2.200,12 Leute", "Es hat 2.200.112 Leute"),
        ("It costs 290.4 today", "Es kostet 2,4 heute", "Es kostet 290,4 heute"),
        ("Of 777 and 50", "Von 77777 und 50", "Von 777 und 50"),
        ("It has 2,200 people", "Es hat 2.200 Leute", "Es hat 2.200 Leute"),  # the model's separators
        ("At 10 today", "Um zehn heute", "Um zehn heute"),
        ("It is big", "Es hat 5", "Es hat 5"),
        ("Of 1 and 2", "Von 2 und 1", "Von 2 und 1"),
        ("At 5:30 p.m. we went", "Um 17.30 Uhr gingen wir", "Um 17.30 Uhr gingen wir"),  # no mistake
        ("At 5 PM we went", "Um 17 Uhr gingen wir", "Um 17 Uhr gingen wir"),
    ],
)
@pytest.mark.parametrize("align", [False, True])
def test_digits_are_copied(source, target, expected, align):
    made = number_layer(below_that_writes(target))([source], align)[0]
    assert made.target == expected and made.source == source
    assert bool(made.links) == align
    if align:
        assert [made.target[b:e] for b, e in made.target_spans] == expected.split()


def test_what_went_wrong_as_a_whole_is_not_mended():
    def below(texts, align):
        assert not align
        return [Aligned(text, "77777", found=Result((Hypothesis("77777", 0, 0, True, ("7",)),))) for text in texts]

    assert number_layer(below)(["Of 777 and 50"], False)[0].target == "77777"


def test_agreement():
    assert agree("2,200.5", "2.200,5") and agree("no", "3") and not agree("3", "no") and not agree("1 1", "1")


def test_a_real_model(student):
    from cpunmt.translation.texts.engine_layer import engine_layer

    below = engine_layer(student._model, student._default)
    lines = [f"A Boeing {number} has {number + 1000} seats." for number in range(700, 790, 3)]
    before = sum(not agree(line, made.target) for line, made in zip(lines, below(lines, False), strict=True))
    made = number_layer(below)(lines, False)
    after = sum(not agree(line, one.target) for line, one in zip(lines, made, strict=True))
    assert after < before
    assert all(one.found.text == one.target and one.found.attention is None for one in made)
    assert [one.target for one in number_layer(below)(lines, True)] == [one.target for one in made]
