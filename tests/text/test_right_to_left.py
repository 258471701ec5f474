"""Reversed pieces."""

import pytest

from cpunmt.text.right_to_left import reversed_pieces


@pytest.mark.parametrize(
    "pieces, ended, expected",
    [("abc.", True, "cba."), ("abc", False, "cba"), (".", True, "."), ("ab", True, "ab"), ("", False, "")],
)
def test_the_end_stays_last(pieces, ended, expected):
    assert "".join(reversed_pieces(pieces, ended)) == expected
