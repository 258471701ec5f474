"""The learning rate."""

import pytest

from models.train.updates.schedule import learning_rate


def test_it_rises_and_falls():
    rates = [learning_rate(update, 1e-3, 100) for update in (1, 50, 100, 400, 10_000)]
    assert rates == pytest.approx([1e-5, 5e-4, 1e-3, 5e-4, 1e-4])


def test_it_falls_to_nothing_at_the_end():
    rates = [learning_rate(update, 1.0, 0, total=100, cooldown=0.2) for update in (1, 80, 81, 91, 100)]
    assert rates == pytest.approx([1, 1, 1, 0.5, 0.05])
    assert learning_rate(150, 1.0, 0, total=100, cooldown=0.2) == 0
