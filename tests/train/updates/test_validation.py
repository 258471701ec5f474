"""Scores."""

import pytest

from models.train.updates.validation import score

PERFECT = ["Ein kleiner Hund rennt über das Feld.", "Zwei Frauen lesen im Park eine Zeitung."]


def test_perfect_and_hopeless():
    references = [(text,) for text in PERFECT]
    assert score(PERFECT, references) == pytest.approx((100, 100))
    assert score(["x", "y"], references).bleu < 1


def test_any_reference_counts_for_bleu_and_the_first_for_chrf():
    references = [("Irgendein Hund läuft da.", PERFECT[0]), (PERFECT[1],)]
    found = score(PERFECT, references)
    assert found.bleu == pytest.approx(100)
    assert found.chrf < 90
