"""Expected utilities are weighted means of sacrebleu's scores, and decide the ranking."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import expected_utilities
from cpunmt.decoding.reranking.bayes_risk import MOST, reranked
from tests.decoding.reranking.test_utilities import scores, several

HYPOTHESES = ["Zwei Hunde spielen im Schnee.", "Zwei Hunde spielen im Sand.", "Katzen", "Zwei Hunde spielen im Schnee."]


@given(several, st.data(), st.sampled_from(["chrf", "bleu"]))
@settings(max_examples=100)
def test_they_are_weighted_means_of_the_utility(given, data, utility):
    weights = data.draw(st.one_of(st.none(), st.lists(st.floats(0.01, 9), min_size=len(given), max_size=len(given))))
    shares = weights or [1.0] * len(given)
    means = [sum(u * w for u, w in zip(row, shares, strict=True)) / sum(shares) for row in scores(utility, given)]
    assert expected_utilities(given, utility, weights) == pytest.approx(means, rel=1e-10, abs=1e-290)


def test_a_text_that_is_there_twice_counts_twice():
    one, two, three, again = expected_utilities(HYPOTHESES)
    assert one == again > two > three
    assert expected_utilities(HYPOTHESES[:3], weights=[2, 1, 1]) == [one, two, three]
    assert expected_utilities([HYPOTHESES[1], *HYPOTHESES])[0] > two


def test_of_none_and_of_one():
    assert expected_utilities([]) == [] and expected_utilities([], "bleu", []) == []
    assert expected_utilities(["Ein Hund."]) == [100.0] and expected_utilities([""], "bleu") == [0.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["a"], "chfr"), ValueError, "utility is 'chfr', expected 'chrf' or 'bleu'"),
        ((["a"], "BLEU"), ValueError, "utility is 'BLEU', expected 'chrf' or 'bleu' (did you mean bleu?)"),
        ((["a"], None), TypeError, "utility is None, expected 'chrf' or 'bleu'"),
        (("a text",), TypeError, "expected_utilities takes text or a list of texts, not str"),
        ((["a", None],), TypeError, "hypothesis 1 is None, expected str; they are counted from 0"),
        ((["a", "b"], "chrf", [1]), ValueError, "weights has 1 items, expected one for each of the 2 hypotheses"),
        (
            (["a"], "chrf", [1, 2]),
            ValueError,
            "weights has more than 1 items, expected one for each of the 1 hypotheses",
        ),
        ((["a"], "chrf", [0]), ValueError, "weights are all 0, expected at least one that is not"),
        ((["a"], "chrf", [-1]), ValueError, "weights[0] is -1, expected 0.0 to 1000000.0"),
        ((["a"], "chrf", [float("nan")]), ValueError, "weights[0] is nan, expected 0.0 to 1000000.0"),
        ((["a"], "chrf", 3), TypeError, "weights takes a list with a number for each hypothesis, not int"),
        (
            (["a"] * (MOST + 1),),
            ValueError,
            "expected_utilities has more than 1024 hypotheses; give at most 1024",
        ),
    ],
)
def test_what_is_wrong_is_one_line(arguments, error, message):
    with pytest.raises(error) as caught:
        expected_utilities(*arguments)
    assert str(caught.value) == message


def test_the_best_comes_first_and_of_equal_ones_the_first():
    assert reranked([0, 1, 2, 3], HYPOTHESES, "mbr-chrf", 4) == [0, 1, 2]
    assert reranked([0, 1, 2, 3], HYPOTHESES[::-1], "mbr-chrf", 1) == [0]
    assert reranked(list("abcd"), ["Hund", "Katze", "Maus", "Ente"], "mbr-bleu", 3) == ["a", "b", "c"]  # all alike
    assert reranked(["a"], [""], "mbr-chrf", 3) == ["a"]
