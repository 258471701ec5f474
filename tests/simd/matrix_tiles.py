"""The tiles of matrix registers on any machine. A script for test_tile, run with CPUNMT_ISA=amx_int8.

python -m tests.simd.matrix_tiles assembly    prints the assembly for such a processor
python -m tests.simd.matrix_tiles run         runs every shape here, the instructions emulated
"""

import ctypes
import sys

import numpy as np

from cpunmt.kernels.matmul.packing import PANEL, pack
from tests.simd import emulation
from tests.simd.loaded_code import loaded
from tests.support.float_steps import fma
from tests.support.guarded import Guards
from tools.tile_code import assembly_of, code_of


def check(tiles, shape, rows, steps, mode, generator):
    """Compares one compiled tile of random integers with the exact product; all arrays lie apart from each other."""
    from cpunmt.simd import matrix_tile, tile

    blocks, panels = shape
    depth, columns = matrix_tile.DEPTHS * steps, PANEL * panels
    q = generator.integers(-128, 128, (blocks, rows, depth), np.int8)
    weights = generator.integers(-127, 128, (depth, columns), np.int8)
    guard, packed = Guards(), pack(weights)
    a = guard.empty((blocks, rows, depth + 48), np.uint8)
    a[..., :depth] = q.astype(np.int16) + tile.OFFSET
    w = guard.empty((panels, packed[0].size + 64), packed.dtype)
    w[:, :-64] = packed.reshape(panels, -1)
    out = guard.empty((blocks, rows, columns + 5), np.int32)
    before = out.copy()
    row_scales = guard.copy(generator.normal(0, 3, (blocks, rows, 2)).astype(np.float32))
    scales, bias, totals = (guard.copy(generator.normal(0, 3, columns).astype(np.float32)) for _ in range(3))
    start = guard.copy(weights.sum(axis=0, dtype=np.int32) * np.int32(-tile.OFFSET))
    given = matrix_tile.MatrixTile(
        a=a[0].ctypes.data,
        next_a=a[-1].ctypes.data,
        row_bytes=a.strides[1],
        w=w.ctypes.data,
        panel_bytes=w.strides[0],
        steps=steps,
        ahead=0,
        lines=1,
        start=start.ctypes.data,
        totals=totals.ctypes.data,
        scales=scales.ctypes.data,
        bias=bias.ctypes.data,
        row_scales=row_scales[0].ctypes.data,
        next_row_scales=row_scales[-1].ctypes.data,
        out=out[0].ctypes.data,
        next_out=out[-1].ctypes.data,
        out_bytes=out.strides[1],
        rows=rows,
        mode=mode,
    )
    tiles(blocks, panels, *given, rows)
    guard.check()
    expected = q.astype(np.int32) @ weights.astype(np.int32)
    if mode != tile.INTEGERS:
        scale, shift = row_scales[..., :1], row_scales[..., 1:]
        expected = fma(expected.astype(np.float32) * scales, scale, fma(shift, totals, bias))
        expected = (np.maximum(expected, 0) if mode == tile.RELU else expected).view(np.int32)
    assert np.array_equal(out[..., :-5], expected), (shape, rows, steps, mode)
    assert np.array_equal(out[..., -5:], before[..., -5:])


def main():
    emulation.pretend()
    from cpunmt.simd import matrix_tile, tile

    code = code_of(matrix_tile.matrix_tiles, matrix_tile.begin, matrix_tile.end)
    if sys.argv[1] == "assembly":
        print(assembly_of(code, "x86_64-unknown-linux-gnu", *emulation.PROCESSORS["amx_int8"]))
        return
    engine, address = loaded(emulation.emulated(code))
    tiles = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (3 + len(matrix_tile.MatrixTile._fields)))(address)
    generator = np.random.default_rng(1)
    for shape in matrix_tile.SHAPES:
        for rows in range(1, matrix_tile.ROWS + 1):
            for steps in (1, 2, 5):
                for mode in (tile.INTEGERS, tile.AFFINE, tile.RELU):
                    check(tiles, shape, rows, steps, mode, generator)
                    assert emulation.emulated_matrices.registers.released
    del engine
    print(len(matrix_tile.SHAPES), "shapes are exact")


if __name__ == "__main__":
    main()
