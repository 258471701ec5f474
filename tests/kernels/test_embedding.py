"""Token vectors: one fused multiply-add per number, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from cpunmt.kernels.tables import position_signal
from cpunmt.layers.filling import decoded_rows
from tests.kernels.rows import DEPTHS, MISALIGNED, SEEDS
from tests.kernels.test_candidates import random_codes
from tests.support.float_steps import fma, same_bits
from tests.support.guarded import Guards

VOCABULARY, POSITIONS = 20, 9


def embed(program, rows, scales, positions, piece, position, misaligned=0, codes=None):
    """Computes float32 [model_dim]; checks the guards. `scales` is None for float32 rows. `codes`: (codes, levels) that
    stand for the rows."""
    guard = Guards(misaligned)
    depth = rows.shape[1]
    record = np.zeros(1, records.EMBEDDING)
    record["depth"], record["scale"], table = depth, np.sqrt(depth), record["table"]
    table["scheme"] = {np.float32: records.FLOAT32, np.int8: records.INT8, np.int16: records.INT16}[rows.dtype.type]
    table["rows"], record["positions"] = guard.copy(rows).ctypes.data, guard.copy(positions).ctypes.data
    if codes is not None:
        table["rows"] = 0
        table["codes"], table["levels"] = (guard.copy(array).ctypes.data for array in codes)
    if scales is not None:
        table["scales"] = guard.copy(scales).ctypes.data
    out = guard.empty(depth, np.float32)
    program.embed(record, piece, position, out)
    guard.check()
    return out.copy()


@given(SEEDS, DEPTHS, st.integers(0, VOCABULARY - 1), st.integers(0, POSITIONS - 1), MISALIGNED)
@settings(deadline=None)
def test_float32_rows(program, seed, depth, piece, position, misaligned):
    rows = np.random.default_rng(seed).standard_normal((VOCABULARY, depth)).astype(np.float32)
    signal = position_signal(POSITIONS, depth)
    expected = fma(rows[piece], np.float32(np.sqrt(depth)), signal[position])
    assert same_bits(embed(program, rows, None, signal, piece, position, misaligned), expected)


@given(
    SEEDS,
    st.sampled_from([np.int8, np.int16]),
    DEPTHS,
    st.integers(0, VOCABULARY - 1),
    st.integers(0, POSITIONS - 1),
    MISALIGNED,
)
@settings(deadline=None)
def test_integer_rows(program, seed, dtype, depth, piece, position, misaligned):
    generator, most = np.random.default_rng(seed), np.iinfo(dtype).max
    rows = generator.integers(-most, most + 1, (VOCABULARY, depth), dtype)
    scales = generator.lognormal(-5, 1, VOCABULARY).astype(np.float32)
    signal = position_signal(POSITIONS, depth)
    expected = fma(rows[piece], scales[piece] * np.float32(np.sqrt(depth)), signal[position])
    assert same_bits(embed(program, rows, scales, signal, piece, position, misaligned), expected)


@given(SEEDS, DEPTHS, st.integers(0, VOCABULARY - 1), st.integers(0, POSITIONS - 1), MISALIGNED)
@settings(deadline=None)
def test_rows_that_are_codes_alone(program, seed, depth, piece, position, misaligned):
    generator = np.random.default_rng(seed)
    codes, levels = random_codes(generator, VOCABULARY, depth)
    rows, scales = decoded_rows(codes, levels), generator.lognormal(-5, 1, VOCABULARY).astype(np.float32)
    given_ = rows, scales, position_signal(POSITIONS, depth), piece, position, misaligned
    assert same_bits(embed(program, *given_, codes=(codes, levels)), embed(program, *given_))


@pytest.mark.parametrize("position", [0, 5])
def test_the_start_of_the_decoder_is_the_position_alone(program, position):
    rows, signal = np.ones((VOCABULARY, 32), np.float32), position_signal(POSITIONS, 32)
    assert same_bits(embed(program, rows, None, signal, -1, position), signal[position])
