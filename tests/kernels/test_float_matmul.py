"""Float32 products: one chain of fused multiply-adds for each output, to the bit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.matmul.float_matmul import FLOAT_PRODUCT
from cpunmt.kernels.matmul.int8_matmul import AFFINE, INTEGERS, RELU
from cpunmt.kernels.matmul.packing import pack, panels
from tests.definitions.matmul import float_linear_reference
from tests.kernels.rows import MISALIGNED, ROWS, SEEDS, check_independent
from tests.support.float_steps import UNIT, fma, same_bits
from tests.support.guarded import Guards
from tests.support.packed_linear import float_record


def chain(a, w):
    """Computes a[:, 0] * w[0] + a[:, 1] * w[1] + ..., fused: float32 [rows, columns]."""
    out = np.zeros((len(a), w.shape[1]), np.float32)
    for k in range(a.shape[1]):
        out = fma(a[:, k, None], w[k], out)
    return out


def random_matrix(generator, *shape):
    return generator.standard_normal(shape).astype(np.float32)


def multiply(program, x, weights, bias, mode=AFFINE, misaligned=0):
    """Returns float_linear's output without the padding; checks the guards."""
    guard = Guards(misaligned)
    record = float_record(guard, weights, bias)
    out = guard.empty((len(x), 16 * panels(weights.shape[1])), np.float32)
    program.float_linear(record, guard.copy(x), len(x), out, mode)
    guard.check()
    return np.ascontiguousarray(out[:, : weights.shape[1]])


@given(SEEDS, ROWS, st.integers(1, 6), st.integers(1, 20 * 16), MISALIGNED)
@settings(deadline=None)
def test_linear_is_a_chain_of_fused_steps(program, seed, rows, sixteens, columns, misaligned):
    """The error is at most that number of roundings of the sum of magnitudes; the bias adds one."""
    generator = np.random.default_rng(seed)
    depth = 16 * sixteens
    x, weights = random_matrix(generator, rows, depth), random_matrix(generator, depth, columns)
    bias = random_matrix(generator, columns)
    expected = chain(x, weights)
    assert same_bits(multiply(program, x, weights, bias, INTEGERS, misaligned), expected)
    assert same_bits(multiply(program, x, weights, bias, AFFINE, misaligned), expected + bias)
    relu = multiply(program, x, weights, bias, RELU, misaligned)
    assert np.array_equal(relu, np.maximum(expected + bias, 0))
    magnitude = np.abs(x).astype(np.float64) @ np.abs(weights) + np.abs(bias)
    reference = float_linear_reference(x, pack(weights), columns, bias, relu=True)
    assert (np.abs(relu - reference) <= (depth + 2) * UNIT * magnitude).all()


def check_strided(kernel, guard, a, w, expected, **strides):
    """Runs `kernel` with outputs apart from each other, and checks the gaps."""
    rows, columns = expected.shape
    out = guard.empty((rows, columns + 16), np.float32)
    before = out.copy()
    product = np.zeros(1, FLOAT_PRODUCT)
    product["rows"], product["panels"], product["out_row_bytes"] = rows, columns // 16, out.strides[0]
    for name, value in strides.items():
        product[name] = value
    kernel(product, a, w, out)
    guard.check()
    assert same_bits(out[:, columns:].copy(), before[:, columns:].copy())
    assert same_bits(out[:, :columns].copy(), expected)


@given(SEEDS, ROWS, st.integers(1, 6), st.integers(1, 70), st.booleans(), st.booleans(), MISALIGNED)
@settings(deadline=None)
def test_matmul_with_strides(program, seed, rows, panel_count, depth, packed, turned, misaligned):
    """Rows, panels and depths apart from each other."""
    generator = np.random.default_rng(seed)
    columns = 16 * panel_count
    a, w = random_matrix(generator, rows, depth), random_matrix(generator, depth, columns)
    guard = Guards(misaligned)
    given_a = guard.empty((depth, rows + 5) if turned else (rows, depth + 5), np.float32)
    if turned:
        given_a[:, :rows] = a.T
    else:
        given_a[:, :depth] = a
    if packed:
        given_w = guard.empty((panel_count, depth + 1, 16), np.float32)
        given_w[:, :depth] = pack(w)
        between_panels, between_depths = given_w.strides[:2]
    else:  # columns of a row-major matrix
        given_w = guard.empty((depth, columns + 32), np.float32)
        given_w[:, :columns] = w
        between_panels, between_depths = 64, given_w.strides[0]
    between_rows, between_steps = given_a.strides[::-1] if turned else given_a.strides
    check_strided(
        program.float_matmul,
        guard,
        given_a,
        given_w,
        chain(a, w),
        depth=depth,
        a_row_bytes=between_rows,
        a_depth_bytes=between_steps,
        w_panel_bytes=between_panels,
        w_depth_bytes=between_depths,
    )


@given(SEEDS, st.integers(2, 120), st.integers(1, 20))
@settings(deadline=None)
def test_a_row_does_not_depend_on_the_others(program, seed, rows, panel_count):
    generator = np.random.default_rng(seed)
    x, weights = random_matrix(generator, rows, 32), random_matrix(generator, 32, 16 * panel_count)
    bias = random_matrix(generator, 16 * panel_count)
    check_independent(seed, rows, lambda part: [multiply(program, x[part], weights, bias)])


def test_huge_and_tiny_values(program):
    x = np.full((2, 16), 1e-30, np.float32)
    weights = np.full((16, 16), 1e-30, np.float32)
    x[1], weights[:, 1] = 1e18, 1e18
    out = multiply(program, x, weights, np.zeros(16, np.float32))
    assert out[0, 0] == 0 and np.isfinite(out).all() and out[1, 1] == chain(x, weights)[1, 1]


@given(SEEDS, st.integers(1, 17), st.integers(1, 9), st.integers(1, 70), st.booleans(), st.booleans(), MISALIGNED)
@settings(deadline=None)
def test_heads_are_products_of_one_row_each(program, seed, heads, panel_count, depth, packed, placed, misaligned):
    """Each head has its own weights; heads, panels and depths are apart from each other, or depths are anywhere."""
    generator = np.random.default_rng(seed)
    columns = 16 * panel_count
    a = random_matrix(generator, heads, depth)
    w = random_matrix(generator, heads, depth, columns)
    guard = Guards(misaligned)
    given_a = guard.empty((heads, depth + 3), np.float32)
    given_a[:, :depth] = a
    if packed:
        given_w = guard.empty((panel_count, heads, depth, 16), np.float32)
        given_w[:] = w.reshape(heads, depth, panel_count, 16).transpose(2, 0, 1, 3)
        between_panels, between_heads, between_depths = given_w.strides[:3]
    else:
        given_w = guard.empty((heads, depth, columns + 32), np.float32)
        given_w[:, :, :columns] = w
        between_panels, (between_heads, between_depths) = 64, given_w.strides[:2]
    places = guard.empty(depth, np.int64)
    order = generator.permutation(depth)
    places[:] = between_depths * order
    if placed:  # the weights of depth k are where those of depth order[k] were
        given_w[:] = np.take(given_w, np.argsort(order), axis=2 if packed else 1)
    check_strided(
        program.float_heads,
        guard,
        given_a,
        given_w,
        np.concatenate([chain(a[h : h + 1], w[h]) for h in range(heads)]),
        depth=depth,
        a_row_bytes=given_a.strides[0],
        a_depth_bytes=4,
        w_panel_bytes=between_panels,
        w_depth_bytes=between_depths,
        w_row_bytes=between_heads,
        w_places=places.ctypes.data if placed else 0,
    )
