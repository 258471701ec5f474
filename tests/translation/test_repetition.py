"""Loops: exactly what the definition says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.translation.repetition import LEAST_PIECES, LEAST_TIMES, LONGEST_GROUP, repeats


def repeats_reference(pieces) -> bool:
    """The definition of `repeats`, word by word."""
    for size in range(1, LONGEST_GROUP + 1):
        for begin in range(len(pieces)):
            times = max(LEAST_TIMES, -(-LEAST_PIECES // size))
            group = pieces[begin : begin + size]
            if len(group) == size and pieces[begin : begin + times * size] == group * times:
                return True
    return False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("aaaaaaa", False),  # seven of one
        ("aaaaaaaa", True),
        ("xyaaaaaaaaz", True),
        ("aaaabaaaa", False),
        ("abababa", False),
        ("abababab", True),
        ("abcabcabcab", False),  # four times is twelve
        ("abcabcabcabc", True),
        ("xabcabcabcabcd", True),
        ("abcdefgh" * 3, False),
        ("abcdefgh" * 4, True),
        ("abcdefgh" * 3 + "abcdefg", False),
        ("abcdefghi" * 9, False),  # nine are too long a group
        ("Ein Mann fährt Fahrrad.", False),
    ],
)
def test_examples(text, expected):
    assert repeats(tuple(text)) is expected
    assert repeats_reference(tuple(text)) is expected


@given(st.lists(st.sampled_from("ab"), max_size=40).map(tuple))
def test_it_equals_its_reference(pieces):
    assert repeats(pieces) is repeats_reference(pieces)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=10), st.integers(1, 9), st.text("abc", max_size=5))
def test_it_equals_its_reference_where_loops_are(group, times, around):
    pieces = (*around, *group * times, *around)
    assert repeats(pieces) is repeats_reference(pieces)
