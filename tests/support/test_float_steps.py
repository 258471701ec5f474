"""The arithmetic that float tests rely on, against rational numbers."""

from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.float_steps import fma, same_bits

floats = st.floats(-(2.0**40), 2.0**40, width=32).filter(lambda x: x == 0 or abs(x) > 2.0**-40)


@given(floats, floats, floats)
@example(1.0 + 2.0**-23, 1.0 + 2.0**-23, 2.0**-24)  # a float64 sum would lie on a tie of float32
@example(1.0 + 2.0**-12, 1.0 + 2.0**-12, 2.0**30)
@settings(deadline=None, max_examples=500)
def test_fma_rounds_once(x, y, z):
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    made = fma(x, y, z)
    others = np.nextafter(made, np.float32(np.inf)), np.nextafter(made, np.float32(-np.inf))
    error = abs(Fraction(float(made)) - exact)
    for other in others:
        away = abs(Fraction(float(other)) - exact)
        assert error < away or (error == away and int(made.view(np.uint32)) % 2 == 0)


def test_same_bits_tells_zeros_and_shapes_apart():
    zero = np.zeros(3, np.float32)
    assert same_bits(zero, zero.copy())
    assert not same_bits(zero, -zero)
    assert not same_bits(zero, np.zeros(4, np.float32))
