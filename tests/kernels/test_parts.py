"""Parts of a layer: their products are the columns of the whole one's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from cpunmt.kernels.matmul.int8_matmul import INTEGERS
from cpunmt.kernels.matmul.packing import pack
from tests.definitions.matmul import int8_matmul_reference, stored_bytes
from tests.kernels.rows import SEEDS
from tests.support.guarded import Guards
from tests.support.packed_linear import coded_record, int8_record

DEPTH = 32


@given(SEEDS, st.integers(1, 9), st.data())
@settings(deadline=None)
def test_a_part_has_the_columns_of_its_panels(program, seed, panels, data):
    generator, guard, columns = np.random.default_rng(seed), Guards(), 16 * panels
    codes, levels = generator.integers(0, 16, (DEPTH, columns), np.uint8), np.arange(-8, 8, dtype=np.int8)
    ones, q = np.ones(columns, np.float32), generator.integers(-128, 128, (3, DEPTH), np.int8)
    coded = data.draw(st.booleans())
    whole = coded_record(guard, codes, levels, ones, ones) if coded else int8_record(guard, levels[codes], ones, ones)
    first, most = data.draw(st.integers(0, panels - 1)), data.draw(st.integers(1, 10))
    part = np.zeros(1, records.LINEAR)
    count = program.cut_panels(whole, first, most, part)
    assert count == part["panels"][0] == min(most, panels - first)
    out, row_scales = guard.empty((3, 16 * count), np.int32), np.ones((3, 2), np.float32)
    program.int8_linear(part, guard.copy(stored_bytes(q)), row_scales, 3, out, INTEGERS, 0)
    guard.check()
    expected = int8_matmul_reference(q, pack(levels[codes]), columns)
    assert np.array_equal(out, expected[:, 16 * first : 16 * (first + count)])


@pytest.mark.parametrize("absent", ["weights", "codes"])
def test_a_form_that_is_absent_is_absent_in_parts(program, absent):
    guard, ones = Guards(), np.ones(64, np.float32)
    whole = coded_record(guard, np.zeros((DEPTH, 64), np.uint8), np.arange(16, dtype=np.int8), ones, ones)
    whole[absent], part = 0, np.zeros(1, records.LINEAR)
    program.cut_panels(whole, 2, 1, part)
    sizes = {"weights": 2 * 16 * DEPTH, "codes": 2 * 8 * DEPTH}
    expected = {name: int(whole[name][0]) + size for name, size in sizes.items()} | {absent: 0}
    assert {name: int(part[name][0]) for name in sizes} == expected
