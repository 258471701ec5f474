"""The words of a translation that come from a part of its source."""

import itertools

import pytest

from cpunmt.alignment.aligned import Aligned
from cpunmt.alignment.target_words import Target


def target(text, linked):
    """Returns a target of which the spans `linked` come from the source's piece 0, "a", all else from piece 1."""
    cuts = sorted({0, len(text), *(place for span in linked for place in span)})
    pieces = list(itertools.pairwise(cuts))
    links = [(0 if piece in linked else 1, number) for number, piece in enumerate(pieces)]
    return Target(Aligned("a b", text, [(0, 1), (2, 3)], pieces, links))


@pytest.mark.parametrize(
    ("text", "linked", "expected"),
    [
        ("der rote Hund bellt", [(4, 8)], "rote"),
        ("der rote-Hund bellt", [(4, 8), (9, 13)], "rote-Hund"),  # a joint is part of a run
        ("der rote Hund bellt", [(4, 8), (9, 13)], "rote Hund"),
        ("der rote. Hund bellt", [(4, 8), (10, 13)], "rote"),  # a stop is not; the first of two runs
        ("der rot. Hunde bellt", [(4, 7), (9, 14)], "Hunde"),  # the run with most letters
        ("eine rote Katze, ein Hund", [(0, 4), (5, 9), (21, 25)], "eine rote"),
        ("der rote Hund bellt", [(4, 6)], "rote"),  # half of a word is enough,
        ("der rote Hund bellt", [(4, 5), (9, 11)], "Hund"),  # a quarter is not if another has half,
        ("der rote Hund bellt", [(4, 5)], "rote"),  # but is taken if it is all there is
        ("der rote Hunden bellt", [(4, 5), (9, 11)], "Hunden"),  # of such the one with most letters
    ],
)
def test_the_words_of_a_part(text, linked, expected):
    begin, end = target(text, linked).of_source(0, 1)
    assert text[begin:end] == expected


def test_no_word_comes_from_a_part_without_links():
    assert target("der Hund", []).of_source(0, 1) is None
    assert target("der, Hund", [(3, 4)]).of_source(0, 1) is None  # a comma is not a word
