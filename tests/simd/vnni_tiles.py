"""The VNNI tiles on any machine. A script for test_tile, run with CPUNMT_ISA=avx512_vnni or avx_vnni.

python -m tests.simd.vnni_tiles assembly    prints the assembly for such a processor
python -m tests.simd.vnni_tiles run         runs every shape here, the instruction emulated
"""

import ctypes
import os
import sys

import numpy as np

from cpunmt.kernels.packing import PANEL, pack_int8
from tests.guarded import Guards
from tests.simd import emulated_vnni
from tests.simd.tile_code import assembly_of, code_of, loaded


def run(tile, tiles, rows, panel_count, groups, mode, generator):
    """One tile of random integers against the exact product."""
    depth = 4 * groups
    q = generator.integers(-127, 128, (rows, depth), np.int8)
    weights = generator.integers(-127, 128, (depth, PANEL * panel_count), np.int8)
    if groups % 3 == 0:
        q, weights = np.full_like(q, 127), np.full_like(weights, -127)
    guard = Guards()
    start = guard.copy(weights.sum(axis=0, dtype=np.int32) * np.int32(-tile.OFFSET))
    a = guard.empty((rows, depth + 3), np.uint8)  # rows and panels apart from each other
    a[:, :depth] = q.astype(np.int16) + tile.OFFSET
    w = guard.empty((panel_count, 16 * depth + 64), np.int8)
    w[:, : 16 * depth] = pack_int8(weights).reshape(panel_count, -1)
    out = guard.empty((rows, PANEL * panel_count + 5), np.int32)
    before = out.copy()
    row_scales = guard.copy(np.float32(2) ** generator.integers(-3, 3, rows).astype(np.float32))
    scales = guard.copy(np.float32(2) ** generator.integers(-3, 3, PANEL * panel_count).astype(np.float32))
    bias = guard.copy(generator.integers(-99, 99, PANEL * panel_count).astype(np.float32))
    places = [array.ctypes.data for array in (a, w, start, row_scales, scales, bias, out)]
    tiles(
        rows,
        panel_count,
        places[0],
        a.strides[0],
        0,
        places[1],
        w.strides[0],
        groups,
        0,
        *places[2:],
        out.strides[0],
        mode,
    )
    guard.check()
    sums = q.astype(np.int32) @ weights.astype(np.int32)
    expected = sums
    if mode != tile.INTEGERS:  # powers of two and few bits: exact
        expected = sums.astype(np.float32) * scales * row_scales[:, None] + bias
        expected = (np.maximum(expected, 0) if mode == tile.RELU else expected).view(np.int32)
    assert np.array_equal(out[:, :-5], expected), (rows, panel_count, groups, mode)
    assert np.array_equal(out[:, -5:], before[:, -5:])


def main():
    path = os.environ["CPUNMT_ISA"]
    emulated_vnni.pretend()
    from cpunmt.simd import tile

    assert tile.OFFSET == 128 and tile.PLANES == 1
    code = code_of(tile.int8_tiles())
    if sys.argv[1] == "assembly":
        print(assembly_of(code, "x86_64-unknown-linux-gnu", *emulated_vnni.PROCESSORS[path]))
        return
    changed = emulated_vnni.emulated(code)
    assert changed != code
    engine, address = loaded(changed)
    tiles = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 16)(address)
    generator = np.random.default_rng(1)
    shapes = tile.tile_shapes(tile.SHAPES)
    for rows, panel_count in shapes:
        for groups in (4, 12, 32):
            for mode in (tile.INTEGERS, tile.AFFINE, tile.RELU):
                run(tile, tiles, rows, panel_count, groups, mode, generator)
    print(len(shapes), "shapes are exact")
    del engine


if __name__ == "__main__":
    main()
