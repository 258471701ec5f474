"""Pairs of an attention matrix, Marian's text format, and joined matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cpunmt.results.alignments import (
    alignment_kind,
    alignment_text,
    hard_alignment,
    matrix_rows,
    pharaoh_text,
    threshold_alignment,
    whole_matrix,
)

ATTENTION = np.array([[0.1, 0.7, 0.2], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.9, 0.05, 0.05]], np.float32)
MATRICES = st.tuples(st.integers(0, 6), st.integers(0, 6)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.floats(0, 1, width=32))
)


def test_hard_takes_the_first_of_the_largest():
    assert hard_alignment([ATTENTION]) == [(0, 1), (0, 3), (1, 0), (2, 2)]


def test_a_threshold_takes_all_that_is_above_it():
    assert threshold_alignment([ATTENTION], 0.25) == [(0, 1), (0, 3), (1, 0), (1, 1), (2, 2)]  # not the 0.25
    assert threshold_alignment([ATTENTION], 1.0) == []


@given(MATRICES)
def test_pairs_by_their_definition(attention):
    rows, columns = attention.shape
    largest = [(row.tolist().index(max(row)), target) for target, row in enumerate(attention)] if columns else []
    assert hard_alignment([attention]) == sorted(largest)
    for threshold in (0.0, 0.5):
        above = [(s, t) for s in range(columns) for t in range(rows) if attention[t, s] > threshold]
        assert threshold_alignment([attention], threshold) == above


def test_text_is_marians():
    assert pharaoh_text([(0, 1), (12, 3)]) == "0-1 12-3"
    assert pharaoh_text([]) == ""
    for part, kind, expected in (
        (ATTENTION[:2], "soft", "0.1,0.7,0.2 0.5,0.5,0"),
        (np.zeros((0, 3), np.float32), "soft", ""),
        (ATTENTION, "hard", "0-1 0-3 1-0 2-2"),
        (ATTENTION, 0.6, "0-3 1-0 2-2"),
        (ATTENTION[2:3], "soft", "0,0.25,0.75"),
    ):
        assert "".join(alignment_text([part], kind)) == expected


def test_kinds():
    assert [alignment_kind(text) for text in ("hard", "soft", "1", "1.0", "0.5", "0")] == [
        "hard",
        "soft",
        "hard",
        "hard",
        0.5,
        0.0,
    ]
    for text in ("", "Hard", "-0.1", "1.1", "nan", "inf"):
        with pytest.raises(
            ValueError, match="is not a kind of alignment, expected 'hard', 'soft' or a number from 0 to 1"
        ):
            alignment_kind(text)


# A text in several parts

PARTS = st.lists(MATRICES.filter(lambda matrix: matrix.shape[1] > 0), min_size=1, max_size=4)


@given(PARTS)
def test_parts_follow_each_other_in_source_and_target(parts):
    whole = whole_matrix(parts)
    assert whole.dtype == np.float32
    assert whole.shape == tuple(np.sum([part.shape for part in parts], axis=0))
    assert whole.sum(dtype=np.float64) == pytest.approx(sum(part.sum(dtype=np.float64) for part in parts))
    row = column = 0
    for part in parts:
        rows, columns = part.shape
        assert np.array_equal(whole[row : row + rows, column : column + columns], part)
        row, column = row + rows, column + columns
    assert np.array_equal(np.array(list(matrix_rows(parts)), np.float32).reshape(whole.shape), whole)


@given(PARTS)
def test_pairs_and_text_of_parts_are_those_of_the_whole(parts):
    """Except that a piece without attention is aligned within its part."""
    whole = whole_matrix(parts)
    for threshold in (0.0, 0.5):
        assert threshold_alignment(parts, threshold) == threshold_alignment([whole], threshold)
    expected = "".join(alignment_text([whole], "soft"))
    assert "".join(alignment_text(parts, "soft")) == expected
    found = {target: source for source, target in hard_alignment(parts)}
    for source, target in hard_alignment([whole]):
        assert target not in found or found[target] == source or not whole[target].any()
    assert hard_alignment(parts) == sorted(hard_alignment(parts))


def test_the_pairs_of_a_long_text_take_memory_of_its_length():
    """2,000 parts of 128 pieces: the whole matrix would have 65 billion numbers."""
    parts = [np.eye(128, dtype=np.float32)] * 2000
    assert hard_alignment(parts) == threshold_alignment(parts, 0.5) == [(i, i) for i in range(256_000)]
    assert len(next(alignment_text(parts, "soft"))) == 2 * 256_000 - 1
