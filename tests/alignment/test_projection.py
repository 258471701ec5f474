"""Finding the part of a translation that comes from a part of the source."""

import pytest

from cpunmt.alignment.aligned import Aligned
from cpunmt.alignment.projection import Projection, least_crossed

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
    assert Projection(ONE).target_range(begin, end) == expected
    assert Projection(Aligned("a", "b")).target_range(0, 1) is None


@pytest.mark.parametrize(
    ("links", "piece", "expected"),
    [
        ([], 1, None),
        ([(30, 0)], 5, None),  # too far
        *(([(5, 0)], 30, None), ([(6, 0)], 30, 1), ([(53, 0)], 30, 0), ([(54, 0)], 30, None)),
        ([*[(0, 0)] * 255, (0, 9)], 1, 10),
        ([*[(0, 0)] * 256, (0, 9)], 1, 1),  # only the first 256 links count
        ([(0, 0), (1, 1), (2, 2)], 1, 1),
        ([(0, 2), (1, 0), (2, 1)], 1, 0),  # equally many links cross before 0 and behind 2: the first counts
        ([(0, 0), (1, 0), (2, 1)], 2, 1),
        ([(0, 3), (5, 1)], 1, 4),  # the near link counts most
    ],
)
def test_a_gap_is_where_the_fewest_links_cross(links, piece, expected):
    assert least_crossed(links, piece) == expected
