"""IBM Model 1 by its tables, and alignments of a language of known words."""

import numpy as np

from models.train.text.word_alignment import parallel, train_aligner, train_table
from tests.definitions.word_alignment import translations_reference


def corpus(count=200, seed=1):
    """Returns texts in which word w is translated as w + 20, in reverse order; words are from 2 to 9."""
    generator = np.random.default_rng(seed)
    sources = [generator.integers(2, 10, generator.integers(1, 5)) for _ in range(count)]
    return sources, [source[::-1] + 20 for source in sources]


def test_the_table_is_that_of_model_1():
    pairs = parallel(*corpus(30))
    found, (counts, _, _) = train_table(pairs, 40, 40, rounds=3), translations_reference(pairs, 40, 40, 3, 0.0, 0.0)
    for s, t in np.argwhere(counts):
        got = found.lookup(np.array([s]), np.array([t]))[0]
        assert abs(got - max(counts[s, t] / counts[s].sum(), 1e-4)) < 1e-5
    assert found.lookup(np.array([39]), np.array([2]))[0] == np.float32(1e-4)


def test_words_find_their_translations():
    sources, targets = corpus()
    aligner = train_aligner(sources, targets, 40, 40)
    points = aligner.points(np.array([2, 3, 4, 5, 0]), np.array([25, 24, 23, 22, 0]))
    assert sorted(map(tuple, points)) == [(0, 3), (1, 2), (2, 1), (3, 0), (4, 4)]


def test_the_diagonal_decides_between_equal_words():
    sources, targets = corpus()
    aligner = train_aligner(sources, targets, 40, 40)
    points = aligner.points(np.array([2, 3, 2, 0]), np.array([22, 23, 22, 0]))
    assert sorted(map(tuple, points)) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_unknown_words_and_empty_texts_align_nothing_but_ends():
    aligner = train_aligner(*corpus(), 40, 40)
    assert aligner.points(np.array([30, 31, 0]), np.array([5, 0])).tolist() == [[2, 1]]
    assert aligner.points(np.array([0]), np.array([22, 0])).tolist() == [[0, 1]]
