"""Attention: within the error of its products and of softmax, and independent of everything around it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.attention import attention_reference
from tests.float_steps import UNIT, same_bits
from tests.guarded import Guards

EXP = 2e-7  # relative error of exp: kernels/activations
lengths = st.integers(1, 70)
shapes = st.sampled_from([(1, 16), (2, 32), (3, 48), (8, 256), (4, 128), (5, 160), (1, 64)])  # heads, model_dim
misaligned = st.sampled_from([0, 4, 36])
seeds = st.integers(0, 2**32 - 1)


def padded(length):
    return -(-length // 16) * 16


def factor(model_dim, heads):
    return np.float32(1 / np.sqrt(model_dim // heads))


def self_attention(program, qkv, heads, stride=None, misaligned=0):
    """float32 [length, model_dim] of float32 [length, 3 * model_dim]; the guards are checked."""
    length, model_dim = len(qkv), qkv.shape[1] // 3
    stride = stride or padded(length)
    guard = Guards(misaligned)
    out = guard.empty((length, model_dim), np.float32)
    program.self_attention(
        guard.copy(qkv),
        length,
        model_dim,
        heads,
        factor(model_dim, heads),
        guard.empty((model_dim // heads, stride), np.float32),
        guard.empty((length, stride), np.float32),
        guard.empty(length, np.float32),
        guard.empty(16, np.int64),
        stride,
        out,
    )
    guard.check()
    return out.copy()


def cross_attention(program, q, k, v, heads, stride=None, misaligned=0):
    """float32 [model_dim] of one query and float32 [length, model_dim] keys and values; the guards are checked."""
    length, model_dim = k.shape
    stride = stride or padded(length)
    guard = Guards(misaligned)
    keys = guard.empty((model_dim, stride), np.float32)
    program.transpose_keys(guard.copy(k), k.strides[0], length, model_dim, guard.empty(16, np.int64), keys, stride)
    out = guard.empty(model_dim, np.float32)
    program.cross_attention_row(
        guard.copy(q),
        keys,
        guard.copy(v),
        length,
        model_dim,
        heads,
        factor(model_dim, heads),
        guard.empty((heads, stride), np.float32),
        guard.empty(heads, np.float32),
        stride,
        out,
    )
    guard.check()
    return out.copy()


def random_matrix(seed, rows, columns, spread=1.0):
    return (spread * np.random.default_rng(seed).standard_normal((rows, columns))).astype(np.float32)


def tolerance(q, k, v, heads):
    """What the roundings of scores, exp, softmax and the weighted sum can amount to, per output."""
    length, head_dim = len(k), q.shape[1] // heads
    magnitude = [
        (np.abs(a) @ np.abs(b).T).max() for a, b in zip(*(np.split(x, heads, axis=1) for x in (q, k)), strict=True)
    ]
    score = (head_dim + 3) * UNIT * max(magnitude) / np.sqrt(head_dim)  # absolute, so relative after exp
    relative = 2 * (2 * score + EXP) + (padded(length) / 16 + 8 + length) * UNIT
    weighted = attention_reference(q, k, np.abs(v), heads)  # sum of p |v|
    return relative * weighted + length * np.exp(-87.0) * np.abs(v).max()


@given(seeds, lengths, shapes, st.sampled_from([0.01, 1.0, 3.0]), misaligned)
@settings(deadline=None)
def test_self_attention_equals_its_reference(program, seed, length, shape, spread, misaligned):
    heads, model_dim = shape
    qkv = random_matrix(seed, length, 3 * model_dim, spread)
    q, k, v = np.split(qkv, 3, axis=1)
    made = self_attention(program, qkv, heads, misaligned=misaligned)
    assert (np.abs(made - attention_reference(q, k, v, heads)) <= tolerance(q, k, v, heads)).all()


@given(seeds, lengths, shapes, st.sampled_from([0.01, 1.0, 3.0]), misaligned)
@settings(deadline=None)
def test_cross_attention_equals_its_reference(program, seed, length, shape, spread, misaligned):
    heads, model_dim = shape
    q, k, v = np.split(random_matrix(seed, 2 * length + 1, model_dim, spread), [1, length + 1])
    made = cross_attention(program, q[0], k, v, heads, misaligned=misaligned)
    assert (np.abs(made - attention_reference(q, k, v, heads)) <= tolerance(q, k, v, heads)).all()


@given(seeds, lengths, shapes, st.integers(0, 5))
@settings(deadline=None)
def test_the_bits_do_not_depend_on_the_room(program, seed, length, shape, more):
    """A longer sentence in the batch makes the stride larger, and leaves its own numbers behind."""
    heads, model_dim = shape
    stride = padded(length) + 16 * more
    qkv = random_matrix(seed, length, 3 * model_dim)
    q, k, v = (np.ascontiguousarray(x) for x in np.split(qkv, 3, axis=1))
    assert same_bits(self_attention(program, qkv, heads, stride), self_attention(program, qkv, heads))
    assert same_bits(cross_attention(program, q[0], k, v, heads, stride), cross_attention(program, q[0], k, v, heads))


@given(seeds, lengths, shapes)
@settings(deadline=None)
def test_a_query_gets_the_same_bits_alone(program, seed, length, shape):
    """Self-attention of a query among `length` is cross-attention of that query alone."""
    heads, model_dim = shape
    qkv = random_matrix(seed, length, 3 * model_dim)
    q, k, v = (np.ascontiguousarray(x) for x in np.split(qkv, 3, axis=1))
    together = self_attention(program, qkv, heads)
    row = seed % length
    assert same_bits(cross_attention(program, q[row], k, v, heads), together[row])


def test_one_key_is_copied(program):
    q, k, v = np.split(random_matrix(1, 3, 64, 5.0), 3)
    assert np.allclose(cross_attention(program, q[0], k, v, 4), v[0], rtol=4 * UNIT, atol=0)


@given(seeds, lengths, st.integers(1, 5), st.integers(0, 3), misaligned)
@settings(deadline=None)
def test_transpose_keys(program, seed, length, sixteens, more, misaligned):
    """Transposed, finite numbers up to a multiple of 16 (softmax passes over them), and nothing beyond."""
    depth, stride = 16 * sixteens, padded(length) + 16 * more
    guard = Guards(misaligned)
    keys = guard.empty((length, depth + 7), np.float32)
    keys[:, :depth] = random_matrix(seed, length, depth)
    out = guard.empty((depth, stride), np.float32)
    untouched = out[:, padded(length) :].copy()
    program.transpose_keys(keys, keys.strides[0], length, depth, guard.empty(16, np.int64), out, stride)
    guard.check()
    assert np.array_equal(out[:, :length], keys[:, :depth].T)
    assert (np.abs(out[:, length : padded(length)]) < 100).all()
    assert same_bits(out[:, padded(length) :].copy(), untouched)
