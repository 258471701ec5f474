"""Attention: within the error of its products and of softmax, and independent of neighbouring data."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import pack
from tests.definitions.kernels import attention_reference
from tests.kernels.rows import MISALIGNED, ROWS, SEEDS
from tests.support.float_steps import UNIT, same_bits
from tests.support.guarded import Guards

EXP = 2e-7  # relative error of exp: kernels/activations
shapes = st.sampled_from([(1, 16), (2, 32), (3, 48), (8, 256), (4, 128), (5, 160), (1, 64)])  # heads, model_dim


def padded(length):
    return -(-length // 16) * 16


def described(model_dim, heads, **buffers):
    """Makes the (SETTINGS, SCRATCH) records that attention needs."""
    settings, scratch = np.zeros(1, records.SETTINGS), np.zeros(1, records.SCRATCH)
    settings["model_dim"], settings["attention_dim"], settings["heads"] = model_dim, model_dim, heads
    settings["attention_scale"] = (model_dim // heads) ** -0.5
    for name, array in buffers.items():
        scratch[name] = array.ctypes.data
    return settings, scratch


def self_attention(program, qkv, heads, misaligned=0):
    """Computes float32 [length, model_dim] from float32 [length, 3 * model_dim]; checks the guards."""
    length, model_dim = len(qkv), qkv.shape[1] // 3
    guard = Guards(misaligned)
    out = guard.empty((length, model_dim), np.float32)
    described_by = described(
        model_dim,
        heads,
        packed=guard.empty((model_dim // heads, padded(length)), np.float32),
        scores=guard.empty((length, padded(length)), np.float32),
        pointers=guard.empty(16, np.int64),
    )
    program.self_attention(*described_by, 0, guard.copy(qkv), length, out)
    guard.check()
    return out.copy()


def cross_attention(program, q, k, v, heads, misaligned=0):
    """Computes float32 [model_dim] from a query and float32 [length, model_dim] keys and values; checks the guards."""
    length, model_dim = k.shape
    guard = Guards(misaligned)
    keys = guard.empty((heads, padded(length) // 16, model_dim // heads, 16), np.float32)
    values = guard.empty((heads, length, model_dim // heads), np.float32)
    out = guard.empty(model_dim, np.float32)
    scores, sums = guard.empty((heads, padded(length)), np.float32), guard.empty(heads, np.float32)
    pointers = guard.empty(16, np.int64)
    described_by = described(model_dim, heads, scores=scores, sums=sums, pointers=pointers)
    program.pack_source(*described_by, guard.copy(np.concatenate([k, v], axis=1)), length, keys, values)
    program.cross_attention_row(*described_by, guard.copy(q), keys, values, length, out, 0)
    guard.check()
    return out.copy()


def path_of(program, numbers, attention_dim, heads, guard):
    """Makes the PATH record of the keys and values with these ascending numbers."""
    panels = np.unique(np.array(numbers) // 16)
    columns = 16 * np.searchsorted(panels, np.array(numbers) // 16) + np.array(numbers) % 16
    path = np.zeros(1, records.PATH)
    path["length"], path["panels"] = len(numbers), len(panels)
    value_places = np.array([program.value_place(attention_dim, heads, number) for number in numbers])
    places = 64 * attention_dim * panels, columns, value_places
    for name, array in zip(("keys", "columns", "values"), places, strict=True):
        path[name] = guard.copy(array.astype(np.int64)).ctypes.data
    path["scores"] = guard.empty((heads, 16 * len(panels)), np.float32).ctypes.data
    return path


def path_attention(program, described_by, q, k, v, numbers, heads, guard, relative=0):
    """Computes float32 [attention_dim] as the query at the end of a path does, whose keys and values k and v
    [length, attention_dim] have these ascending numbers among others, which are NaN."""
    dim = k.shape[1]
    panels = max(numbers) // 16 + 1
    keys, values = (guard.empty((panels, dim, 16), np.float32) for _ in range(2))
    keys[:], values[:] = np.nan, np.nan
    for number, key, value in zip(numbers, k, v, strict=True):
        program.add_key(guard.copy(key), dim, keys, number)
        program.add_value(guard.copy(value), dim, heads, values, number)
    out = guard.empty(dim, np.float32)
    path = path_of(program, numbers, dim, heads, guard)
    program.path_attention_row(*described_by, relative, guard.copy(q), path, keys, values, out)
    guard.check()
    return out.copy()


def random_matrix(seed, rows, columns, spread=1.0):
    return (spread * np.random.default_rng(seed).standard_normal((rows, columns))).astype(np.float32)


def tolerance(q, k, v, heads):
    """Bounds the roundings of scores, exp, softmax and the weighted sum, per output."""
    length, head_dim = len(k), q.shape[1] // heads
    magnitude = [
        (np.abs(a) @ np.abs(b).T).max() for a, b in zip(*(np.split(x, heads, axis=1) for x in (q, k)), strict=True)
    ]
    score = (head_dim + 3) * UNIT * max(magnitude) / np.sqrt(head_dim)  # absolute, so relative after exp
    relative = 2 * (2 * score + EXP) + (2 * length + 8) * UNIT
    weighted = attention_reference(q, k, np.abs(v), heads)  # sum of p |v|
    return relative * weighted + length * np.exp(-87.0) * np.abs(v).max()


@given(SEEDS, ROWS, shapes, st.sampled_from([0.01, 1.0, 3.0]), MISALIGNED)
@settings(deadline=None)
def test_self_attention_equals_its_reference(program, seed, length, shape, spread, misaligned):
    heads, model_dim = shape
    qkv = random_matrix(seed, length, 3 * model_dim, spread)
    q, k, v = np.split(qkv, 3, axis=1)
    made = self_attention(program, qkv, heads, misaligned=misaligned)
    assert (np.abs(made - attention_reference(q, k, v, heads)) <= tolerance(q, k, v, heads)).all()


@given(SEEDS, ROWS, shapes, st.sampled_from([0.01, 1.0, 3.0]), MISALIGNED)
@settings(deadline=None)
def test_cross_attention_equals_its_reference(program, seed, length, shape, spread, misaligned):
    heads, model_dim = shape
    q, k, v = np.split(random_matrix(seed, 2 * length + 1, model_dim, spread), [1, length + 1])
    made = cross_attention(program, q[0], k, v, heads, misaligned=misaligned)
    assert (np.abs(made - attention_reference(q, k, v, heads)) <= tolerance(q, k, v, heads)).all()


@given(SEEDS, ROWS, shapes, st.integers(1, 40), MISALIGNED)
@settings(deadline=None)
def test_a_path_has_the_bits_of_its_keys_alone(program, seed, length, shape, beam, misaligned):
    """One key of each step, whichever of `beam`: with those of one hypothesis only the contexts are the same."""
    heads, model_dim = shape
    q, k, v = np.split(random_matrix(seed, 2 * length + 1, model_dim), [1, length + 1])
    items = np.random.default_rng(seed).integers(0, beam, length)
    guard = Guards(misaligned)
    scores, sums = guard.empty((heads, padded(length)), np.float32), guard.empty(heads, np.float32)
    described_by = described(model_dim, heads, scores=scores, sums=sums)
    numbers = [step * beam + item for step, item in enumerate(items.tolist())]
    made = path_attention(program, described_by, q[0], k, v, numbers, heads, guard)
    assert same_bits(made, cross_attention(program, q[0], k, v, heads))


@given(SEEDS, ROWS, shapes)
@settings(deadline=None)
def test_a_query_does_not_depend_on_the_others(program, seed, length, shape):
    """Reordered queries give the same contexts, reordered."""
    heads, model_dim = shape
    qkv = random_matrix(seed, length, 3 * model_dim)
    order = np.random.default_rng(seed).permutation(length)
    shuffled = qkv.copy()
    shuffled[:, :model_dim] = qkv[order, :model_dim]
    assert same_bits(self_attention(program, shuffled, heads), self_attention(program, qkv, heads)[order])


def test_one_key_is_copied(program):
    q, k, v = np.split(random_matrix(1, 3, 64, 5.0), 3)
    assert np.allclose(cross_attention(program, q[0], k, v, 4), v[0], rtol=4 * UNIT, atol=0)


@given(SEEDS, ROWS, st.integers(1, 5), MISALIGNED)
@settings(deadline=None)
def test_pack_rows(program, seed, length, sixteens, misaligned):
    depth = 16 * sixteens
    guard = Guards(misaligned)
    rows = guard.empty((length, depth + 7), np.float32)
    rows[:, :depth] = random_matrix(seed, length, depth)
    out = guard.empty((padded(length) // 16, depth, 16), np.float32)
    program.pack_rows(rows, rows.strides[0], length, depth, guard.empty(16, np.int64), out)
    guard.check()
    filled = rows[np.minimum(np.arange(padded(length)), length - 1), :depth]
    assert same_bits(out.copy(), pack(filled.T))
