"""IBM Model 1 by EM: the compiled loops against dense matrices, and what EM promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantize.shortlist import word_alignment
from quantize.shortlist.corpus import Corpus
from quantize.shortlist.word_alignment import pair_table, translations
from tests.definitions.word_alignment import translations_reference


def corpus(pairs, weights=None):
    """Returns a Corpus of [(source ids, target ids), ...]."""
    sides = []
    for side in (0, 1):
        ids = [pair[side] for pair in pairs]
        sides += [np.concatenate([np.array(x, np.int32) for x in ids]), np.cumsum([0, *map(len, ids)], dtype=np.int64)]
    return Corpus(*sides, np.array(weights or [1] * len(pairs), np.float32))


def dense(learnt, source_size, target_size):
    counts = np.zeros((source_size, target_size))
    counts[np.repeat(np.arange(source_size), np.diff(learnt.offsets)), learnt.targets] = learnt.counts
    return counts


# 70 and 130 pieces: one, two and three words of the bitmap
SIZES = (70, 130)


@st.composite
def corpora(draw):
    sentence = [st.lists(st.integers(0, size - 1), min_size=1, max_size=9) for size in SIZES]
    pairs = draw(st.lists(st.tuples(*sentence), min_size=1, max_size=8))
    weights = draw(st.lists(st.sampled_from([1, 0.5, 0.2]), min_size=len(pairs), max_size=len(pairs)))
    return corpus(pairs, weights)


@settings(max_examples=60)
@given(corpora(), st.integers(1, 4), st.sampled_from([0.0, 2.0, 50.0]), st.sampled_from([0.0, 0.05]))
def test_em_is_the_definition(text, iterations, diagonal, null):
    learnt = translations(text, *SIZES, iterations, diagonal, null)
    counts, empty, perplexities = translations_reference(text, *SIZES, iterations, diagonal, null)
    # probabilities are kept in float32: 6e-8 each iteration, and shares of them as much again
    np.testing.assert_allclose(dense(learnt, *SIZES), counts, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(learnt.empty, empty, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(learnt.perplexities, perplexities, rtol=1e-5)
    mass = np.dot(np.diff(text.target_ends), text.weights)  # every piece is counted once, and EM climbs
    assert learnt.counts.sum() + learnt.empty.sum() == pytest.approx(mass, rel=1e-5)
    assert (np.diff(learnt.perplexities) <= 1e-4 * np.array(learnt.perplexities[1:])).all()


@given(corpora())
def test_the_table_has_the_pairs_that_occur(text):
    table = pair_table(text, *SIZES)
    expected = set()
    for k in range(text.pairs):
        s, t = (x[e[k] : e[k + 1]].tolist() for x, e in zip(text[:4:2], text[1:4:2], strict=True))
        expected |= {(a, b) for a in s for b in t}
    offsets = table.offsets()
    sources = np.repeat(np.arange(SIZES[0]), np.diff(offsets))
    assert list(zip(sources.tolist(), table.targets().tolist(), strict=True)) == sorted(expected)


def test_two_iterations_by_hand():
    # das Haus / the house, das Buch / the book; ids 0 1 2, no empty word. The first iteration shares each piece
    # evenly: c(the|das) = 1, c(the|Haus) = c(the|Buch) = 1/2, c(house|das) = c(house|Haus) = 1/2, book alike.
    # So p(the|das) = 1/2, p(the|Haus) = 1/2, p(house|das) = 1/4, p(house|Haus) = 1/2; then "house" comes from
    # Haus with 1/2 against 1/4, and "the" still evenly.
    text = corpus([([0, 1], [0, 1]), ([0, 2], [0, 2])])
    learnt = translations(text, 3, 3, 2, diagonal=0.0, null=0.0)
    expected = [[1, 1 / 3, 1 / 3], [1 / 2, 2 / 3, 0], [1 / 2, 0, 2 / 3]]
    np.testing.assert_allclose(dense(learnt, 3, 3), expected, rtol=1e-6)
    assert learnt.perplexities[0] == pytest.approx(3)
    assert learnt.empty.tolist() == [0, 0, 0]


def test_progress_adds_up(monkeypatch):
    monkeypatch.setattr(word_alignment, "_CHUNK", 4)
    told = []
    text = corpus([([0], [1])] * 10)
    chunked = translations(text, 1, 2, 3, progress=told.append)
    assert told == [4, 4, 2] * 3
    monkeypatch.setattr(word_alignment, "_CHUNK", 100)
    assert translations(text, 1, 2, 3).counts.tolist() == chunked.counts.tolist()


def test_vocabularies_whose_pairs_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="vocabularies of 200000 and 200000 pieces"):
        pair_table(corpus([([0], [1])]), 200_000, 200_000)
