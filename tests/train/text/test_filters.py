"""Pairs unsuitable for training."""

import pytest

from models.train.text.corpora import Corpus, Example
from models.train.text.filters import fault, filtered

GOOD = ("A small dog runs.", "Ein kleiner Hund rennt.")


@pytest.mark.parametrize(
    "source, target, expected",
    [
        (*GOOD, None),
        ("Yes.", "Aber natürlich, gerne doch!", None),
        ("Yes.", "Aber natürlich, gerne doch, das mache ich sofort, wenn du willst.", "lengths do not fit"),
        ("Angela Merkel, Angela Merkel", "Angela Merkel, Angela Merkel!", "copied"),
        ("Angela Merkel", "Angela Merkel", None),
        ("He laughed and laughed.", "Er" + " lachte" * 6, "loops"),
        ("ha ha ha ha ha ha ha", "ha ha ha ha ha ha", None),
        ("x" * 601, "y" * 601, "too long"),
    ],
)
def test_faults(source, target, expected):
    assert fault(source, target) == expected


def test_a_text_stays_if_it_fits_any_other():
    example = Example((GOOD[0],), (GOOD[1], "Hund " * 40))
    kept, faults = filtered(Corpus("c", [example, Example(("a b c d",), ("a b c d",))]))
    assert kept.examples == [Example((GOOD[0],), (GOOD[1],))]
    assert faults == {"lengths do not fit": 1, "copied": 1}
