"""Coverage against the definition, sentence by sentence."""

import numpy as np
import pytest

from cpunmt.text.shortlist import Shortlist
from quantize.shortlist.corpus import Corpus
from quantize.shortlist.coverage import Coverage, coverage, table


def example():
    lists = [[9], [], [20, 40], [41]]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Shortlist(offsets, np.array([i for ids in lists for i in ids], np.int32), 2, 5, 64)


def corpus():
    # sources 2 and 3 1; references 20 40 2 60, and 41 1
    target = np.array([20, 40, 2, 60, 41, 1], np.int32)
    return Corpus(np.array([2, 3, 1], np.int32), np.array([0, 1, 3]), target, np.array([0, 4, 6]), np.ones(2, "f4"))


def test_coverage_by_hand():
    # With </s> = 0, whose list is 9: candidates 0 1 9 20 40 and 2 3 4; then 0 1 9 41 and 2 3 4 5.
    assert coverage(example(), corpus(), False, 0) == Coverage(5 / 6, 1 / 2, 8.0)


@pytest.mark.parametrize("shared", [False, True])
def test_coverage_is_that_of_the_candidates(shared):
    text, shortlist = corpus(), example()
    chosen = [set(shortlist.candidates([*ids, 0], shared).tolist()) for ids in ([2], [3, 1])]
    hits = sum(t in chosen[0] for t in (20, 40, 2, 60)) + sum(t in chosen[1] for t in (41, 1))
    found = coverage(shortlist, text, shared, 0)
    assert found.pieces == hits / 6 and found.candidates == sum(map(len, chosen)) / 2


def test_the_table_is_aligned():
    lines = table(
        [("news", "a.bin", example(), Coverage(0.97, 0.5, 88.25)), ("x", "longer", example(), Coverage(1, 1, 8))]
    )
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["news", "a.bin", "2", "5", "97.00", "50.00", "88.2"]
    assert table([]) == []
