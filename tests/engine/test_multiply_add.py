"""x * y + z with one rounding, computed with doubles: the exact result, rounded once."""

import ctypes
import functools
import math
from fractions import Fraction

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpunmt.engine import multiply_add
from cpunmt.engine.object_code import ObjectCode, initialize_llvm

LANES = 16
SMALLEST, LARGEST = np.float32(2.0**-149), np.finfo(np.float32).max

_CALLS = """
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare float @llvm.fma.f32(float, float, float)
define void @vectors(ptr %x, ptr %y, ptr %z, ptr %out) {
  %a = load <16 x float>, ptr %x, align 4
  %b = load <16 x float>, ptr %y, align 4
  %c = load <16 x float>, ptr %z, align 4
  %made = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %c)
  store <16 x float> %made, ptr %out, align 4
  ret void
}
define float @scalar(float %x, float %y, float %z) {
  %made = call float @llvm.fma.f32(float %x, float %y, float %z)
  ret float %made
}
"""


@functools.cache
def functions():
    """Compiles functions (of pointers to 16 floats, of floats) for a processor without the instruction."""
    initialize_llvm()
    module = llvm.parse_assembly(_CALLS)
    multiply_add.define(module)
    assert not [one.name for one in module.functions if one.name.startswith("llvm.fma")]
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu="x86-64" if "x86" in target.name else "generic", reloc="pic", codemodel="small"
    )
    code = ObjectCode(machine.emit_object(module))
    pointers, floats = [ctypes.c_void_p] * 4, [ctypes.c_float] * 3
    return code, (
        code.function("vectors", ctypes.CFUNCTYPE(None, *pointers)),
        code.function("scalar", ctypes.CFUNCTYPE(ctypes.c_float, *floats)),
    )


def made(x, y, z) -> np.ndarray:
    """Computes arrays of 16."""
    _, (vectors, scalar) = functions()
    out = np.empty(LANES, np.float32)
    vectors(*(array.ctypes.data for array in (x, y, z, out)))
    alone = np.array([scalar(*operands) for operands in zip(x, y, z, strict=True)], np.float32)
    assert np.array_equal(out, alone, equal_nan=True) and np.array_equal(np.signbit(out), np.signbit(alone))
    return out


def exact(x, y, z) -> np.float32:
    """Implements the definition: rounded once, to nearest, ties to even."""
    x, y, z = map(float, (x, y, z))
    if not all(map(math.isfinite, (x, y, z))):
        with np.errstate(invalid="ignore", over="ignore"):
            return np.float32(np.float64(x) * np.float64(y) + np.float64(z))  # infinite, or not a number
    whole = Fraction(x) * Fraction(y) + Fraction(z)
    if whole == 0:
        return np.float32(x * y + z)  # the sign of a zero; the product is exact
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(float(whole))
        around = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    # for rounding, the next power of two follows the largest float
    places = [Fraction(float(n)) if np.isfinite(n) else Fraction(int(np.sign(n)) * 2**128) for n in around]
    odd = [int(n.view(np.uint32)) & 1 for n in around]
    best = min(range(3), key=lambda i: (abs(places[i] - whole), odd[i]))
    return np.copysign(around[best], np.float32(1 if whole > 0 else -1))


any_float = st.floats(width=32)
near_one = st.integers(-40, 40).map(lambda n: float(np.float32(1 + n * 2.0**-23)))
powers = st.integers(-149, 127).map(lambda n: 2.0**n)
signed = st.one_of(any_float, near_one, powers, powers.map(lambda p: -p), st.sampled_from([0.0, -0.0, float(LARGEST)]))


@settings(max_examples=400)
@given(st.lists(st.tuples(signed, signed, signed), min_size=LANES, max_size=LANES))
# A tie of the double whose lost part decides: x * y = 1 + 2^-23 + 2^-24 + ..., and z far below.
@example(
    [(1 + 2.0**-12, 1 + 2.0**-12, sign * 2.0**-n) for sign in (-1, 1) for n in (24, 25, 50, 70, 90, 120, 140, 149)]
)
@example(
    [(1 + 2.0**-23, 1 - 2.0**-23, sign * 2.0**n) for sign in (-1, 1) for n in (-149, -126, -47, -46, -1, 0, 24, 60)]
)
@example(
    [(2.0**-75, 2.0**-75, sign * (k * 2.0**-149)) for sign in (-1, 1) for k in range(8)]
)  # below half of the smallest
@example([(float(LARGEST), 1 + k * 2.0**-23, sign * 2.0**103) for sign in (-1, 1) for k in range(8)])  # at the largest
def test_it_is_the_exact_result_rounded_once(operands):
    x, y, z = np.array(operands, np.float32).T.copy()
    found, expected = made(x, y, z), np.array([exact(*each) for each in operands], np.float32)
    assert np.array_equal(found, expected, equal_nan=True), list(zip(operands, found, expected, strict=True))
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_ties_that_a_far_smaller_number_decides():
    """An odd x times 3 lies in the middle between two floats. A double keeps nothing of what z adds."""
    generator, differ = np.random.default_rng(1), 0
    for _ in range(200):
        x = (generator.integers(1 << 22, 5 << 20, LANES) * 2 + 1).astype(np.float32)
        y = np.full(LANES, 3, np.float32)
        z = np.ldexp(generator.choice([-1.0, 1.0], LANES), -generator.integers(30, 149, LANES)).astype(np.float32)
        expected = np.array([exact(*each) for each in zip(x, y, z, strict=True)], np.float32)
        assert np.array_equal(made(x, y, z), expected)
        differ += int(np.sum((x.astype(np.float64) * y + z).astype(np.float32) != expected))
    assert differ > 1000  # of 3200, if rounded twice: this test would detect it


def test_only_floats():
    module = llvm.parse_assembly("declare double @llvm.fma.f64(double, double, double)")
    with pytest.raises(TypeError, match=r"llvm\.fma\.f64: only floats"):
        multiply_add.define(module)
