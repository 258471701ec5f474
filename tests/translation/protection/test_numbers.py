"""Digits that the model changed."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.numbers.__main__ import layer_table
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


LINKED = [  # what a right translation says, with each number aligned with one of the source's
    ("3 1/2 hours", "3,5 Stunden"),
    ("12/31/99", "31.12.99"),
    ("1200万人", "12 million people"),
    ("3万円", "30,000 yen"),
    ("2 dozen eggs", "24 Eier"),
    ("1e6 dogs", "1.000.000 Hunde"),
    ("at 9 in the evening", "um 21 Uhr"),
    ("6 ft tall", "1,83 m groß"),
    ("100 miles away", "160 km entfernt"),
    ("20 lakh people", "2 Millionen Menschen"),
    ("$10.00 today", "10 Dollar heute"),
]


@pytest.mark.parametrize(("source", "target"), LINKED)
def test_right_translations_stay(source, target):
    def below(texts, align):
        sources, targets = pieces(source), pieces(target)
        links = [(s, t) for t, (begin, _) in enumerate(targets) for s in range(len(sources)) if target[begin].isdigit()]
        return [Aligned(source, target, sources, targets, links)]

    for links in (below, below_that_writes(target)):
        assert number_layer(links)([source], True)[0].target == target


def test_a_number_is_not_replaced_by_a_part_of_several():
    source, target = "In 1998 and 1999 again", "In 19989 und 5 wieder"

    def below(texts, align):
        links = [(0, 0), (1, 1), (3, 1), (2, 2), (4, 4)]
        return [Aligned(source, target, pieces(source), pieces(target), links)]

    assert number_layer(below)([source], True)[0].target == target
    assert (
        number_layer(below_that_writes("In 19989 und 1999 wieder"))([source], True)[0].target
        == "In 1998 und 1999 wieder"
    )


def test_two_mistakes_are_mended_each_with_its_own():
    made = number_layer(below_that_writes("Von 19989 und 47111 und 47111"))(["Of 1998 and 4711 and 4711"], True)[0]
    assert made.target == "Von 1998 und 4711 und 4711"
    once = number_layer(below_that_writes("Von 4711 und 47111"))(["Of 4711 and 4711"], True)[0]
    assert once.target == "Von 4711 und 4711"  # the first is the first


@given(st.lists(st.sampled_from(["777", "77777", "1998", "19989", "42", "422", "5", "3.50", "x", "Mio."]), max_size=5))
@settings(max_examples=300)
def test_only_numbers_change_and_only_to_the_sources(words):
    source, target = "Of 777 and 1998 or 42, with 3.50 dollars more", " und ".join(words)
    made = number_layer(below_that_writes(target))([source], True)[0]
    made_words = made.target.split(" und ") if words else []
    for before, after in zip(words, made_words, strict=True):
        assert after == before or (before not in ("777", "1998", "42", "5", "x", "Mio.") and after in source)
    assert number_layer(lambda texts, align: [made])([source], True)[0].target == made.target  # nothing more to mend


def test_many_numbers_take_linear_time():
    source, target = " ".join(map(str, range(1000, 6000))), " ".join(map(str, range(20_000, 25_000)))
    began = time.process_time()
    assert number_layer(below_that_writes(target))([source], True)[0].target == target
    assert time.process_time() - began < 10


def test_styles_in_frames():
    """The table of `bench.numbers`: no right translation changes, and bad copies become right or stay."""
    rows = layer_table()
    assert len(rows) == 60
    for pair in ("en-de", "de-en"):
        told = [row[pair] for row in rows]
        assert sum(row["changed"] + row["worse"] for row in told) == 0
        assert sum(row["mended"] for row in told) >= 900


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
