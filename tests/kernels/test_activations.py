"""exp, log and sigmoid, through kernels that return their values: the errors stay below their bounds."""

import numpy as np
import pytest

from cpunmt.kernels.activations import LOG2_E
from cpunmt.kernels.records import POWERS
from cpunmt.kernels.tables import sigmoid_table
from tests.definitions.kernels import sigmoid_reference
from tests.support.float_steps import UNIT, same_bits


def sigmoid(program, x):
    """Computes the cell's update with c = 1 and z = 0, which is the gate itself."""
    x = x.astype(np.float32).reshape(1, -1)
    gates = np.concatenate([np.zeros_like(x), x], axis=1)
    cells, out = np.ones_like(x), np.empty_like(x)
    program.ssru_row(gates, 0, 0, cells, x.shape[1], sigmoid_table(), cells, out)
    return cells[0]


def powers(program, x):
    """Computes softmax rows of (0, x1, ..., x15), float32 [len(x) / 15, 16]."""
    rows = np.zeros((len(x) // 15, 16), np.float32)
    rows[:, 1:] = x.reshape(-1, 15)
    program.softmax_rows(rows, len(rows), 16, 16, 1.0, np.empty(len(rows), np.float32))
    return rows


def exp(program, x):
    """Computes exp of x < -20: beside exp(0) = 1, the other terms vanish in the sum of their row."""
    rows = powers(program, x)
    assert (rows[:, 0] == 1).all()
    return rows[:, 1:].ravel()


def test_sigmoid_is_within_its_bound(program):
    x = np.linspace(-20, 20, 1 << 20, dtype=np.float32)
    error = np.abs(sigmoid(program, x) - sigmoid_reference(x))
    assert error.max() < 1.1e-6


def test_sigmoid_between_two_grid_points(program):
    """Every float32 from one grid point to beyond the next, where the line is worst (sigmoid'' is largest)."""
    first = np.float32(1.3125).view(np.int32)
    last = np.float32(1.3125 + 1.1 / 128).view(np.int32)
    x = np.arange(first, first + (last - first) // 16 * 16, dtype=np.int32).view(np.float32)
    made = sigmoid(program, x)
    assert np.abs(made - sigmoid_reference(x)).max() < 1.1e-6
    assert (np.diff(made) >= -2 * UNIT).all()  # a line, up to rounding


def squashed(program, x):
    x = x.copy()
    program.squash(x, len(x), sigmoid_table())
    return x


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "exact", "bound"),
    [
        pytest.param(sigmoid, sigmoid_reference, 1.1e-6, id="sigmoid"),
        pytest.param(squashed, lambda x: np.tanh(x.astype(np.float64)), 2.3e-6, id="tanh"),
    ],
)
def test_every_float_is_within_the_bound(program, function, exact, bound):
    """All float32 from 2 ** -24 to 32 and their negatives, 486 million; beyond these the value is constant."""
    first, last = (int(np.float32(x).view(np.int32)) for x in (2.0**-24, 32.0))
    most = 0.0
    for begin in range(first, last, 1 << 22):
        x = np.arange(begin, min(begin + (1 << 22), last), dtype=np.int32).view(np.float32)
        for signed in (x, -x):
            most = max(most, float(np.abs(function(program, signed) - exact(signed)).max()))
    assert most < bound
    ends = np.float32([2.0**-24, 1e-30, 0, 1e-45, 32, 100, 1e30, 3.4e38, *[0] * 8])
    for signed in (ends, -ends):
        assert np.abs(function(program, signed) - exact(np.clip(signed, -700, 700))).max() < bound


def test_sigmoid_of_extremes(program):
    x = np.array([0, -0.0, 16, -16, 15.999999, -15.999999, 17, -17, 1e10, -1e10, 3.4e38, -3.4e38, 1e-45, 0, 0, 0])
    made = sigmoid(program, x)
    assert np.abs(made - sigmoid_reference(np.clip(x, -700, 700))).max() < 1.1e-6
    assert (made[[0, 1, 12]] == 0.5).all() and (made >= 0).all() and (made <= 1).all()
    table = sigmoid_table()
    assert same_bits(made[[6, 7, 8, 9, 10, 11]], table[[-1, 0, -1, 0, -1, 0]])


def test_sigmoid_meets_the_table_at_its_grid_points(program):
    x = np.arange(-2048, 2048) / 128
    assert same_bits(sigmoid(program, x), sigmoid_table()[:-1])


def test_exp_below_minus_20_is_within_its_bound(program):
    x = np.linspace(-87, -20.5, 15 << 12, dtype=np.float32)
    exact = np.exp(x.astype(np.float64))
    assert (np.abs(exp(program, x) - exact) <= 2e-7 * exact).all()


def test_exp_from_minus_20_to_0_is_within_its_bound(program):
    """Quotients of softmax entries: three more roundings (both contain the sum's inverse)."""
    x = np.linspace(-20.5, 0, 15 << 12, dtype=np.float32)
    rows = powers(program, x)
    exact = np.exp(x.astype(np.float64))
    quotient = (rows[:, 1:] / rows[:, :1].astype(np.float64)).ravel()
    assert (np.abs(quotient - exact) <= (2e-7 + 3 * UNIT) * exact).all()


@pytest.mark.parametrize("x", [-87.0, -88.0, -1e10, -3.4e38])
def test_exp_stays_a_normal_number(program, x):
    made = exp(program, np.full(15, x, np.float32))
    assert np.abs(made / np.exp(-87.0) - 1).max() < 2e-7 and (made >= np.finfo(np.float32).tiny).all()


def powers_of_two(program, x):
    """Computes exp2 of c x for float32 x [15 n] below 0: each lane of `add_powers` has one, beside a score of 0."""
    found = []
    for part in np.ascontiguousarray(x, np.float32).reshape(-1, 15):
        powers = np.zeros(1, POWERS)
        program.no_powers(powers)
        program.add_powers(powers, np.concatenate([np.zeros(1, np.float32), part]), 16)
        assert powers["sums"][0, 0] == 1 and powers["peak"][0] == 0
        found.append(powers["sums"][0, 1:])
    return np.concatenate(found)


def test_exp2_is_within_its_bound(program):
    """With c x rounded once, its argument has an error of half a unit in its last place, at most 4e-6 at -126."""
    x = np.concatenate([np.linspace(-87, -1, 15 << 10), np.linspace(-1, 0, 15 << 10)]).astype(np.float32)
    argument = (x.astype(np.float64) * np.float64(LOG2_E)).astype(np.float32)
    exact = np.exp2(argument.astype(np.float64))
    assert (np.abs(powers_of_two(program, x) - exact) <= 2e-7 * exact).all()


@pytest.mark.parametrize("x", [-87.4, -88.0, -1e10, -3.4e38, -np.inf])
def test_exp2_stays_a_normal_number(program, x):
    assert (powers_of_two(program, np.full(15, x)) == np.float32(2.0**-126)).all()


def test_log_is_within_its_bound(program):
    """For equal scores of 0: log(16) up to log(100,000), rounded to float32 once."""
    scores = np.zeros(100_000, np.float32)
    for length in [*range(16, 4096, 16), 10_000, 65_536, 100_000]:
        exact = np.log(length)
        made = program.log_sum_exp(scores, length)
        assert abs(made - exact) <= np.spacing(np.float32(exact)) / 2 + 1e-12


def test_log_of_one_is_zero(program):
    scores = np.full(16, -3e38, np.float32)
    scores[5] = 0
    assert program.log_sum_exp(scores, 16) == 0
