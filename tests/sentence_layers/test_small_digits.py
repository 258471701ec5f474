# ruff: noqa: RUF001 - signs that look like letters
"""Superscripts, subscripts and fractions that a vocabulary replaced by ordinary digits."""

import time

import pytest

from cpunmt.alignment.edits import edited
from cpunmt.sentence_layers.small_digits import flattened


@pytest.mark.parametrize(
    ("source", "target", "restored", "numbers"),
    [
        ("10² px", "102 px", "10² px", 1),
        ("2.5²", "2,52", "2,5²", 1),
        ("1,000²", "1.0002", "1.000²", 1),
        ("10⁻³", "10−3", "10⁻³", 1),
        ("2010¹", "20101", "2010¹", 1),
        ("1¼ x 1½", "11⁄4 x 11/2", "1¼ x 1½", 2),
        ("½ cup", "1⁄2 Tasse", "½ Tasse", 0),
        ("80 m² and 3 cm², 9 m²", "80 m2 und 3 cm2, 9 m2", "80 m² und 3 cm², 9 m²", 0),
        ("Fe₂O₃", "Fe2O3", "Fe₂O₃", 0),
        ("Ca²⁺-rich", "Ca2+-reich", "Ca²⁺-reich", 0),
        ("a ² and ⁻ in-line", "ein 2 und - in-line", "ein 2 und - in-line", 0),
        ("10² px", "102,5 px von 3,102", "102,5 px von 3,102", 0),  # other numbers
        ("Footnote¹", "Fußnote1", "Fußnote1", 0),
        ("10² of 102", "10² von 102", "10² von 102", 0),
        ("10² of 102", "102 von 102", "102 von 102", 1),  # unknown which
        ("10² px", "1024 px", "1024 px", 0),
        ("10 px", "102 px", "102 px", 0),
        ("10² px", "10² px", "10² px", 0),
    ],
)
def test_small_digits_are_found_and_restored(source, target, restored, numbers):
    found = flattened(source, target)
    assert edited(target, sorted(edit for one in found for edit in one.mends)).text == restored
    assert sum(one.is_number for one in found) == numbers


def test_many_take_little_time():
    source = " ".join(f"{number}²" for number in range(1000, 4000)) + "1" * 50_000 + "²"
    began = time.process_time()
    assert len(flattened(source, source.replace("²", "2"))) == 100
    assert time.process_time() - began < 5
