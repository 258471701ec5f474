"""Names that are nearly right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.values.spelling import CLOSELY, did_you_mean, nearest

OPTIONS = ["beam_size", "num_hypotheses", "max_length", "max_length_factor", "vocabulary"]
TYPES = ["default", "auto", "int8", "int8_float32", "int16", "float32"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("bem_size", "beam_size"),
        ("beam", "beam_size"),
        ("beamsize", "beam_size"),
        ("BEAM_SIZE", "beam_size"),
        ("max_len", "max_length"),
        ("vocab", "vocabulary"),
        ("num_hypothesis", "num_hypotheses"),
        ("temperature", None),
        ("x", None),
        ("", None),
        ("b" * 101, None),
        (3, None),
    ],
)
def test_options(word, expected):
    assert nearest(word, OPTIONS) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("int-8", "int8"),
        ("INT8", "int8"),
        ("flaot32", "float32"),
        ("int9", None),
        ("float16", None),
        ("bfloat16", None),
    ],
)
def test_where_one_letter_means_something_else(word, expected):
    assert nearest(word, TYPES, CLOSELY) == expected


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=5))
def test_whatever_is_compared_one_of_them_or_none_is_found(word, known):
    found = nearest(word, known)
    assert found is None or found in known
    assert did_you_mean(word, known) in ("", f" (did you mean {found}?)")
    for name in known:
        assert did_you_mean(name, [name]) == ""
