"""The utilities equal sacrebleu's sentence scores for any two texts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from cpunmt.decoding.reranking.utilities import bleu, chrf, cube_root, exponential, ngram_overlaps, tokens
from tests.support.command_line import sentences

SACREBLEU = {"chrf": CHRF(), "bleu": BLEU(effective_order=True)}
words = st.sampled_from(
    ["ein", "Mann", "3.5", "a-b", "9-", "&amp;", "&", "...", ",", "Hund.", "<skipped>", "-\n", "\u3000"]
)
texts = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(codec=None), max_size=12),
    st.text("ab .,&-\n\t1", max_size=40),
    st.lists(words, max_size=14).map(" ".join),
)
several = st.lists(texts, min_size=1, max_size=6)


def scores(metric, given):
    """Returns float64 [texts, texts], with one call per pair."""
    return np.array([[SACREBLEU[metric].sentence_score(one, [other]).score for other in given] for one in given])


@given(several)
@example(["", " ", "a", "ab", "aaaaaaaaaaaa"])
@settings(max_examples=300)
def test_chrf_is_that_of_sacrebleu_to_the_last_bit(given):
    assert np.array_equal(chrf(given), scores("chrf", given))


@given(several)
@example(["", " ", "a", "a b", "a b c", "a b c d", "a a a a a a", "x " * 900])
@settings(max_examples=300)
def test_bleu_is_that_of_sacrebleu(given):
    assert bleu(given) == pytest.approx(scores("bleu", given), rel=1e-11, abs=1e-300)


def test_of_sentences():
    given = [*sentences(12), "Ein Mann fährt Fahrrad.", "Ein Mann fährt mit dem Fahrrad.", "狗在雪地里玩。"]
    assert np.array_equal(chrf(given), scores("chrf", given))
    assert bleu(given) == pytest.approx(scores("bleu", given), rel=1e-11)


@given(texts)
def test_words_are_those_of_sacrebleu(text):
    assert tokens(text) == SACREBLEU["bleu"].tokenizer(text.rstrip()).split()


def grams(sequence, n):
    return Counter(tuple(sequence[i : i + n]) for i in range(len(sequence) - n + 1))


@given(st.lists(st.lists(st.sampled_from([0, 1, 2, 2**21, 2**40]), max_size=12), max_size=6), st.integers(1, 7))
def test_overlaps_are_those_of_multisets(sequences, longest):
    found = list(ngram_overlaps([np.array(sequence, np.int64) for sequence in sequences], longest))
    assert len(found) == longest
    for n, (totals, common) in enumerate(found, 1):
        counts = [grams(sequence, n) for sequence in sequences]
        assert totals.tolist() == [count.total() for count in counts]
        assert common.tolist() == [[(one & other).total() for other in counts] for one in counts]


@given(st.lists(st.floats(-800, 0), min_size=1))
def test_the_exponential(numbers):
    assert exponential(np.array(numbers)) == pytest.approx([math.exp(x) for x in numbers], rel=1e-14, abs=1e-304)


@given(st.lists(st.floats(1e-60, 1), min_size=1))
def test_the_cube_root(numbers):
    assert cube_root(np.array(numbers)) == pytest.approx(np.cbrt(numbers), rel=1e-14)


def test_the_exponential_of_nothing_is_one_and_far_below_it_is_nothing():
    assert exponential(np.array([0.0, -1e9, -math.inf])).tolist() == [1.0, 0.0, 0.0]
    assert cube_root(np.array([1.0, 0.125, 0.001])) == pytest.approx([1.0, 0.5, 0.1], rel=1e-15)
