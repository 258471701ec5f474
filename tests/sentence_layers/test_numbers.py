# ruff: noqa: RUF001 - signs that look like letters
"""Repair of digits that the model changed."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.numbers.__main__ import layer_table
from cpunmt.alignment.aligned import Aligned
from cpunmt.results.results import Hypothesis, Result
from cpunmt.sentence_layers.numbers import _edits, _unmatched, agree, is_doubtful, lost_numbers, number_layer
from cpunmt.sentence_layers.quantities import resembles, rewritten, writing
from tests.sentence_layers.translators import pieces


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
        ("At 5:30 p.m. we went", "Um 17.30 Uhr gingen wir", "Um 17.30 Uhr gingen wir"),  # not an error
        ("At 5 PM we went", "Um 17 Uhr gingen wir", "Um 17 Uhr gingen wir"),
        ("It costs 1,234.56 today", "Es kostet 1,234,56 heute", "Es kostet 1.234,56 heute"),
        ("It has 1,234,567 people", "Es hat 1.234,567 Leute", "Es hat 1.234.567 Leute"),
        ("Es kostet 1.234,56 heute", "It costs 1.234.56 today", "It costs 1,234.56 today"),
        ("It costs 25.50 today", "Es kostet 2550 heute", "Es kostet 2550 heute"),  # separators of the target unknown
        ("It costs 25.50 today", "Es kostet 2,550 heute", "Es kostet 2,550 heute"),
        ("Of 10,20 today", "Von 10, 20 heute", "Von 10, 20 heute"),  # a list
        ("The 10² pixels", "Die 102 Pixel", "Die 10² Pixel"),
        ("Add 1½ cups", "Addiere 11⁄2 Tassen", "Addiere 1½ Tassen"),
        ("Of 2.5² and 777", "Von 2,52 und 77777", "Von 2,5² und 777"),
        ("80 m² today", "80 m2 heute", "80 m² heute"),
        ("Of 10² and 102", "Von 102 und 102", "Von 102 und 102"),  # unknown which
    ],
)
@pytest.mark.parametrize("align", [False, True])
def test_digits_are_copied(source, target, expected, align):
    made = number_layer(below_that_writes(target))([source], align)[0]
    assert made.target == expected and made.source == source
    assert bool(made.links) == align
    if align:
        assert [made.target[b:e] for b, e in made.target_spans] == expected.split()


COPIES = {"777": ["77777", "777"], "1998": ["19989", "von"], "12 million": ["122", "122 million"], "1,550.5": ["155,5"]}


@st.composite
def any_alignment(draw):
    """Draws a source, and a target with bad copies; each word is linked to a nearby one."""
    numbers = draw(st.lists(st.sampled_from(sorted(COPIES)), min_size=1, max_size=3))
    words = [
        word
        for number in numbers
        for word in (*["von"] * draw(st.integers(0, 1)), draw(st.sampled_from(COPIES[number])))
    ]
    texts, spans = [" ".join(numbers), " ".join(words)], []
    for text in texts:
        gaps = [match.start() + draw(st.integers(0, 1)) for match in re.finditer(" ", text)]
        spans.append(list(pairwise([0, *gaps, len(text)])))
    near = st.lists(st.integers(0, 2), max_size=2, unique=True)
    links = {(s, min(s + more, len(spans[1]) - 1)) for s in range(len(spans[0])) for more in draw(near)}
    return Aligned(*texts, *spans, sorted(links, key=lambda link: link[::-1]))


def edits_by_definition(aligned):
    """Replaces each bad copy that is aligned with exactly one missing number."""
    missing, surplus = _unmatched(aligned.source, aligned.target)
    touched = []
    for number in missing:
        of_it = [
            aligned.target_spans[t]
            for s, t in aligned.links
            if aligned.source_spans[s][0] < number.end and aligned.source_spans[s][1] > number.begin
        ]
        begin, end = (min(b for b, _ in of_it), max(e for _, e in of_it)) if of_it else (0, 0)
        touched.append([one for one in surplus if max(one.begin, begin) < min(one.end, end)])
    found = []
    for number, some in zip(missing, touched, strict=True):
        if len(some) != 1 or sum(some[0] in others for others in touched) > 1 or len(number.digits) < 2:
            continue
        ways = [writing(*pair) for pair in ((aligned.source, number), (aligned.target, some[0]))]
        is_copy = resembles(some[0].digits, number.digits) and set(number.factors) & set(some[0].factors)
        if None not in ways and ways[0] == ways[1] and is_copy:
            text = rewritten(number.written, some[0].written)
            found += [(some[0].begin, some[0].end, text)] if text is not None else []
    return sorted(found)


@given(any_alignment())
@settings(max_examples=1000)
def test_what_is_replaced_is_as_defined(aligned):
    assert [edit[:3] for edit in _edits(aligned)] == edits_by_definition(aligned)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("It has 12 million today", "Es hat 122 heute", "Es hat 122 heute"),  # an unrelated number
        ("It has 120 million today", "Es hat 1200 Millionen heute", "Es hat 120 Millionen heute"),
    ],
)
def test_what_is_counted_is_the_same(source, target, expected):
    def below(texts, align):
        spans = [pieces(source), pieces(target)]
        return [Aligned(source, target, *spans, [(2, 2)])]

    assert number_layer(below)([source], True)[0].target == expected


LINKED = [  # a right translation, with each number aligned
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
    assert number_layer(lambda texts, align: [made])([source], True)[0].target == made.target  # nothing left to repair


def test_many_numbers_take_linear_time():
    source, target = " ".join(map(str, range(1000, 6000))), " ".join(map(str, range(20_000, 25_000)))
    began = time.process_time()
    assert number_layer(below_that_writes(target))([source], True)[0].target == target
    assert time.process_time() - began < 10


def test_styles_in_frames():
    """The table of `bench.numbers`: right translations stay, bad copies become right or stay."""
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


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It weighs 2.5 kg", "Es wiegt 25 kg"),
        ("10.50 dollars", "1.050 Dollar"),
        ("Pay 25.50 now", "Zahle 2550 jetzt"),
        ("1,234.56", "12,345.6"),
        ("1,234.56", "1,234,56"),
        ("1,234,56", "123456"),  # a number without a usual form
        ("1,234,567", "1.234,567"),
        ("1,234.567", "1.234.567"),
        ("Add 1.2 kg", "Füge 12 kg hinzu"),  # small, but not a word there
        ("Add 0.05 kg", "Füge 0,5 kg hinzu"),
    ],
)
def test_moved_separators_are_seen(source, target):
    assert not agree(source, target) and lost_numbers(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("1,234.56", "1.234,56"),
        ("2.5", "2,5"),
        ("10,000", "10.000"),
        ("10,000", "10 000"),
        ("10,000", "10\u202f000"),
        ("1,234,567", "1234567"),
        ("1'234.50", "1.234,50"),
        ("12,34,567", "1.234.567"),  # Indian groups
        ("1.50", "1,5"),
        ("1,500 or 1.5", "1500 oder 1,5"),
        ("on 31.12.1999", "am 31.12.1999"),
        ("10:30", "10.30"),
        ("10:30:15", "10.30.15"),
        ("12:30", "1230"),
        ("Python 3.11.7", "Python 3.11.7"),
        ("192.168.1.1", "192.168.1.1"),
        ("+49 30 123456", "+49 30 123456"),
        ("(555) 123-4567", "(555) 123-4567"),
        ("see 2.4.1", "siehe 2.4.1"),
        ("10-20 or 2.5-3", "10–20 oder 2,5–3"),
        ("5'11", "5’11"),
        ("1,2,3", "1, 2, 3"),
    ],
)
def test_other_separators_and_codes_agree(source, target):
    assert agree(source, target) and not lost_numbers(source, target) and not is_doubtful(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [("10² pixels", "102 Pixel"), ("Add 1½ cups", "Addiere 11⁄2 Tassen"), ("2.5² m", "2,52 m"), ("10⁻³ m", "10−3 m")],
)
def test_small_digits_that_became_ordinary_ones_are_seen(source, target):
    assert lost_numbers(source, target) and is_doubtful(source, target)
    assert not lost_numbers(source, source) and not is_doubtful(source, source)
    assert not is_doubtful("CO₂ is", "CO2 ist")  # without ordinary digits a text alone meets no layer


def test_small_digits_of_a_real_model_are_restored_in_any_batch(student):
    texts = ["The picture has 10² pixels.", "The room has 80 m² and a door.", "Add ½ cup of sugar.", "CO₂ is a gas."]
    texts += ["It costs 1,234.56 dollars.", "The dog is black."]
    alone = [student.translate(text) for text in texts]
    assert [result.text for result in student.translate(texts)] == [result.text for result in alone]
    aligned = student.translate(texts, return_alignments=True)
    assert [result.text for result in aligned] == [result.text for result in alone]
    assert "²" in alone[0].text or "numbers" in alone[0].doubts


def test_agreement():
    assert agree("2,200.5", "2.200,5") and agree("no", "3") and not agree("3", "no") and not agree("1 1", "1")


def test_a_real_model(student):
    from cpunmt.sentences.engine_layer import engine_layer

    below = engine_layer(student.loaded, student._default)
    lines = [f"A Boeing {number} has {number + 1000} seats." for number in range(700, 790, 3)]
    before = sum(not agree(line, made.target) for line, made in zip(lines, below(lines, False), strict=True))
    made = number_layer(below)(lines, False)
    after = sum(not agree(line, one.target) for line, one in zip(lines, made, strict=True))
    assert after < before
    assert all(one.found.text == one.target and one.found.attention is None for one in made)
    assert [one.target for one in number_layer(below)(lines, True)] == [one.target for one in made]
