"""Tables are right to the last bit on every machine, by comparison with 50 decimal digits."""

from decimal import Decimal, getcontext, localcontext

import numpy as np
import pytest

from cpunmt.kernels.tables import SIGMOID_RANGE, SIGMOID_STEPS, position_signal, powers, sigmoid_table

DIGITS = 50


@pytest.fixture(autouse=True)
def digits():
    with localcontext() as context:
        context.prec = DIGITS
        yield


def distance_to_rounding_border(exact: Decimal, rounded: np.float32) -> float:
    """Returns the distance of `exact` to the next number that rounds differently to float32; negative beyond it."""
    value = Decimal(float(rounded))
    up, down = (Decimal(float(np.nextafter(rounded, np.float32(end)))) for end in (np.inf, -np.inf))
    return float(min((value + up) / 2 - exact, exact - (value + down) / 2))


def test_sigmoid_entries_are_rounded_correctly_and_without_doubt():
    """A C library's exp has an error below 1 unit of float64; with the two later roundings, 4 are plenty."""
    table = sigmoid_table()
    assert table.dtype == np.float32 and len(table) == 2 * SIGMOID_RANGE * SIGMOID_STEPS + 1
    for i, entry in zip(range(-SIGMOID_RANGE * SIGMOID_STEPS, len(table)), table, strict=False):
        exact = 1 / (1 + (Decimal(-i) / SIGMOID_STEPS).exp())
        assert distance_to_rounding_border(exact, entry) > 4 * float(exact) * 2.0**-52, i


def test_sigmoid_table_rises_and_is_symmetric():
    table = sigmoid_table().astype(np.float64)
    assert (np.diff(table) >= 0).all()
    assert np.abs(table + table[::-1] - 1).max() <= 2.0**-24  # both are rounded, the larger one more coarsely


def test_the_bound_in_the_proof():
    """h^2 / 8 times the largest second derivative, 1 / (6 sqrt 3); beyond the table; rounding of two entries."""
    x = np.linspace(-6, 6, 200_001)
    s = 1 / (1 + np.exp(-x))
    second = np.abs(s * (1 - s) * (1 - 2 * s)).max()
    assert second == pytest.approx(1 / (6 * 3**0.5), rel=1e-6) and second < 0.0963
    line = SIGMOID_STEPS**-2 / 8 * 0.0963
    assert line < 7.4e-7
    assert 1 / (1 + np.exp(SIGMOID_RANGE)) < 1.2e-7
    assert line + 2e-7 < 1.1e-6


def exact_angles(positions, half):
    """Computes (sine, cosine) of every angle, Decimal, by turning position p into p + 1."""
    log = Decimal(10000).ln()
    for i in range(half):
        rate = (-i * log / max(half - 1, 1)).exp()
        sine, cosine = _sine(rate), _cosine(rate)
        s, c = Decimal(0), Decimal(1)
        for position in range(positions):
            yield position, i, s, c
            s, c = s * cosine + c * sine, c * cosine - s * sine


def _series(x, term, first):
    total, n = term, first
    while abs(term) > Decimal(10) ** -(getcontext().prec + 2):
        term *= -x * x / (n * (n + 1))
        total += term
        n += 2
    return total


def _sine(x):
    return _series(x, x, 2)


def _cosine(x):
    return _series(x, Decimal(1), 1)


@pytest.mark.parametrize("positions, model_dim", [(128, 64), (3, 2), (1, 32), (400, 8)])
def test_position_signal_is_rounded_correctly(positions, model_dim):
    """Float64 angles and rotations have errors below 1e-12; so has an entry, besides its own rounding."""
    table = position_signal(positions, model_dim)
    half = model_dim // 2
    assert table.shape == (positions, model_dim) and table.dtype == np.float32
    for position, i, sine, cosine in exact_angles(positions, half):
        for exact, entry in ((sine, table[position, i]), (cosine, table[position, half + i])):
            assert distance_to_rounding_border(exact, entry) > -1e-12, (position, i)


def test_position_signal_of_the_shipped_model_is_in_no_doubt():
    """C libraries differ by units of 2^-53; ten rotations keep this below 2^-46, and entries are not that near."""
    table = position_signal(128, 256)
    for position, i, sine, cosine in exact_angles(128, 128):
        for exact, entry in ((sine, table[position, i]), (cosine, table[position, 128 + i])):
            assert distance_to_rounding_border(exact, entry) >= abs(float(exact)) * 2.0**-46, (position, i)


def test_position_signal_does_not_depend_on_how_many_are_made():
    long = position_signal(1000, 32)
    for count in (1, 2, 127, 128, 129):
        assert position_signal(count, 32).tobytes() == long[:count].tobytes()


@pytest.mark.parametrize("exponent", [0.0, 0.2, 0.5, 0.6, 1.0, 1.7])
def test_powers_are_rounded_correctly(exponent):
    """Equals `decimal` with more digits, without using a C library."""
    table = powers(700, exponent)
    assert table.dtype == np.float32 and table.shape == (701,) and table[0] == 1
    for n in range(1, 701):
        exact = Decimal(n) ** Decimal(exponent)
        assert distance_to_rounding_border(exact, table[n]) >= 0, n
