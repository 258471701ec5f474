"""From a part of the source to a part of the translation."""

import pytest

from cpunmt.alignment.aligned import Aligned
from cpunmt.alignment.projection import target_range

#                 0123456789012345       01234567890123456
ONE = Aligned(
    "the big red dogs", "die Hunde, gross ",
    [(0, 3), (4, 7), (8, 11), (11, 11), (12, 16)], [(0, 3), (4, 9), (9, 10), (11, 16), (16, 16)],
    [(0, 0), (4, 1), (3, 2), (1, 3), (4, 4)],
)  # fmt: skip


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (0, 3, (0, 3)),
        (5, 6, (11, 16)),
        (4, 16, (4, 16)),
        (12, 16, (4, 9)),
        (0, 16, (0, 16)),
        (8, 11, None),
        (3, 4, None),
        (11, 12, None),
        (5, 5, None),
    ],
)
def test_the_smallest_range_of_what_is_linked(begin, end, expected):
    assert target_range(ONE, begin, end) == expected
    assert target_range(Aligned("a", "b"), 0, 1) is None
