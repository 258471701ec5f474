"""Packed layouts: every byte is at the place of the index formula, and unpacking restores it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels.matmul.packing import (
    GROUP,
    PAIR,
    PANEL,
    by_depth,
    pack,
    pack_codes,
    padded,
    panels,
    unpack,
    unpack_codes,
)
from tests.kernels.rows import SEEDS

depths = st.integers(1, 20).map(lambda n: 4 * n)
columns = st.integers(1, 70)


@pytest.mark.parametrize(("dtype", "group"), [(np.int8, GROUP), (np.int16, PAIR)])
@given(depth=depths, columns=columns, seed=SEEDS)
@settings(deadline=None)
def test_packing_integers_places_every_weight(dtype, group, depth, columns, seed):
    largest = np.iinfo(dtype).max
    weights = np.random.default_rng(seed).integers(-largest, largest + 1, (depth, columns), dtype)
    packed = pack(weights)
    assert packed.flags.c_contiguous and packed.dtype == dtype
    assert packed.shape == (-(-columns // 16), depth // group, 16, group)
    full = np.zeros((depth, packed.shape[0] * 16), dtype)
    full[:, :columns] = weights
    k, c = np.indices(full.shape)
    assert np.array_equal(packed[c // PANEL, k // group, c % PANEL, k % group], full)
    assert np.array_equal(unpack(packed, columns), weights)


@given(depths, columns, SEEDS)
@settings(deadline=None)
def test_pack_codes_places_every_code(depth, columns, seed):
    """Like pack, except that two groups share a block's bytes, the first with the lower halves."""
    depth *= 2
    codes = np.random.default_rng(seed).integers(0, 16, (depth, columns), np.uint8)
    packed = pack_codes(codes)
    assert packed.flags.c_contiguous and packed.dtype == np.uint8
    assert packed.shape == (-(-columns // 16), depth // 8, 16, 4)
    full = np.zeros((depth, packed.shape[0] * 16), np.uint8)
    full[:, :columns] = codes
    k, c = np.indices(full.shape)
    group = k // GROUP
    found = packed[c // PANEL, group // 2, c % PANEL, k % GROUP] >> (4 * (group % 2)) & 15
    assert np.array_equal(found, full)
    assert np.array_equal(unpack_codes(packed, columns), codes)


@given(st.integers(1, 80), columns, SEEDS)
@settings(deadline=None)
def test_pack_float32_places_every_weight(depth, columns, seed):
    weights = np.random.default_rng(seed).standard_normal((depth, columns)).astype(np.float32)
    packed = pack(weights)
    assert packed.flags.c_contiguous and packed.dtype == np.float32
    assert packed.shape == (-(-columns // 16), depth, 16)
    full = np.zeros((depth, packed.shape[0] * 16), np.float32)
    full[:, :columns] = weights
    k, c = np.indices(full.shape)
    assert np.array_equal(packed[c // PANEL, k, c % PANEL], full)
    assert np.array_equal(unpack(packed, columns), weights)


def test_the_picture_in_the_docstring():
    letters = np.arange(17, dtype=np.int8)[None, :] * 5 + np.arange(5 * 4, dtype=np.int8)[:, None] % 5
    packed = pack(letters).reshape(-1)
    assert packed[:8].tolist() == [0, 1, 2, 3, 5, 6, 7, 8]  # a0 a1 a2 a3  b0 b1 b2 b3
    assert packed[64 * 5 : 64 * 5 + 8].tolist() == [80, 81, 82, 83, 0, 0, 0, 0]  # q0 q1 q2 q3, then padding


@given(st.integers(1, 100), st.sampled_from([np.float32, np.int32]))
def test_padded_fills_whole_panels(columns, dtype):
    vector = np.arange(columns).astype(dtype)
    made = padded(vector)
    assert made.dtype == dtype and len(made) == 16 * panels(columns) < columns + 16
    assert np.array_equal(made[:columns], vector) and not made[columns:].any()


@given(st.integers(1, 20).map(lambda n: 4 * n), st.integers(1, 200), SEEDS)
@settings(deadline=None)
def test_by_depth_places_every_weight(depth, columns, seed):
    """In a block of 64 columns, 16 bytes are four columns of each of four panels."""
    weights = np.random.default_rng(seed).integers(-127, 128, (depth, columns), np.int8)
    made = by_depth(pack(weights))
    assert made.flags.c_contiguous and made.dtype == np.int8 and made.ctypes.data % 64 == 0
    assert made.shape == (depth, -(-columns // 64) * 64)
    full = np.zeros(made.shape, np.int8)
    full[:, :columns] = weights
    block, panel, four, column = np.indices((made.shape[1] // 64, 4, 4, 4)).reshape(4, -1)
    assert np.array_equal(made[:, 64 * block + 16 * four + 4 * panel + column], full)
