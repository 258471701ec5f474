"""Joining a text: the gaps between its parts, and the joined results."""

import math

import pytest

from cpunmt.results.results import Hypothesis, Result
from cpunmt.sentences.cut_text import CutText as Cut
from cpunmt.sentences.cut_text import assembled, joined


def result(*hypotheses, weight=2):
    return Result(hypotheses, num_source_pieces=weight, num_source_characters=3)


def said(text, score=-0.5, **more):
    return Hypothesis(text, score, 2 * score, more.pop("truncated", False), tuple(text.split()), **more)


def test_gaps_stay_and_spans_say_where():
    cut = Cut("\t- One.\r\n\n  Two. \u2028", [(3, 7), (12, 16)])
    assert cut.parts == ["One.", "Two."]
    text, spans = assembled(cut, ["Eins.", "Zwei!!"], False)
    assert text == "\t- Eins.\r\n\n  Zwei!! \u2028" and [text[slice(*span)] for span in spans] == ["Eins.", "Zwei!!"]
    assert assembled(cut, ["", ""], True)[0] == "\t- \r\n\n   \u2028"


@pytest.mark.parametrize(
    ("source", "targets", "unspaced", "expected"),
    [
        ("One. Two.", ["一。", "二。"], True, "一。二。"),
        ("One. Two.", ["一。", "二。"], None, "一。二。"),
        ("One. Two.", ["Un.", "二。"], None, "Un. 二。"),
        ("One. Two.", ["一。", "二。"], False, "一。 二。"),
        ("One.  Two.", ["一。", "二。"], True, "一。  二。"),
        ("One.\nTwo.", ["一。", "二。"], True, "一。\n二。"),
        ("一。 二。", ["One.", "Two."], False, "One. Two."),
        ("一。二。", ["One.", "Two."], False, "One. Two."),
        ("一。二。", ["One.", "Two."], None, "One. Two."),
        ("一。二。", ["いち。", "に。"], None, "いち。に。"),
        ("一。二。", ["", "Two."], None, "Two."),
        ("a.b.", ["A.", "B."], False, "A.B."),
        ("一ab二", ["A", "B"], False, "AB"),
        ("One. Two.", ["一a", "二。"], None, "一a 二。"),
    ],
)
def test_languages_with_and_without_spaces(source, targets, unspaced, expected):
    spans = [(0, len(source) // 2), (len(source) - len(source) // 2, len(source))]
    if "  " in source:
        spans = [(0, 4), (6, 10)]
    assert assembled(Cut(source, spans), targets, unspaced)[0] == expected


def test_ranks_are_joined_and_scores_weighted():
    cut = Cut("a b", [(0, 1), (2, 3)])
    made = joined(cut, [result(said("A"), said("B", -1.0), weight=3), result(said("C", -0.1), weight=1)], False)
    assert [h.text for h in made.hypotheses] == ["A C", "B C"]
    assert made.score == pytest.approx((3 * -0.5 - 0.1) / 4) and made.log_prob == pytest.approx(-1.2)
    assert made.num_source_pieces == 4 and made.num_sentences == 2
    assert [(s.source, s.target, s.score) for s in made.sentences] == [((0, 1), (0, 1), -0.5), ((2, 3), (2, 3), -0.1)]


def test_doubts_are_those_of_a_sentence():
    loop = said("ha " * 20)
    cut = Cut("a b c d", [(0, 1), (2, 3), (4, 5), (6, 7)])
    made = joined(cut, [result(said("A", truncated=True)), *[result(said("B"))] * 3], False)
    assert made.truncated and [s.truncated for s in made.sentences] == [True, False, False, False]
    assert joined(cut, [result(said("ja ja ja"))] * 4, False).repeats is False  # twelve in a row, three in each
    looping = joined(cut, [*[result(said("A"))] * 3, result(loop)], False)
    assert looping.repeats and [s.repeats for s in looping.sentences] == [False, False, False, True]


def test_impossible_and_empty_parts():
    cut = Cut("a b", [(0, 1), (2, 3)])
    assert joined(cut, [result(said("", -math.inf), weight=0), result(said("B"))], False).score == -math.inf
    assert joined(cut, [result(said("", 0.0), weight=0)] * 2, False).score == 0.0
