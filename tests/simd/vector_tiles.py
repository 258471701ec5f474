"""The tiles of VNNI and of Arm on any machine. A script for test_tile, run with CPUNMT_ISA=avx512_vnni, i8mm and so on.

python -m tests.simd.vector_tiles assembly    prints the assembly for such a processor
python -m tests.simd.vector_tiles run         runs every shape here, the instructions emulated
"""

import ctypes
import os
import sys
from typing import NamedTuple

import numpy as np

from cpunmt.kernels.matmul.packing import PANEL, pack, pack_codes
from tests.simd import emulation
from tests.simd.loaded_code import loaded
from tests.support.guarded import Guards
from tools.tile_code import assembly_of, code_of


class Kind(NamedTuple):
    """Tiles of one scheme: bits of an integer, the intrinsic, its shapes; the levels if it reads codes."""

    bits: int
    made: object
    shapes: list
    levels: np.ndarray | None


def operands(bits, rows, columns, depth, extreme, generator):
    """Draws (q, weights) of this number of bits, whose sums fit into int32."""
    lowest, most, heaviest = {8: (-128, 127, 127), 16: (-1023, 1023, 16000)}[bits]
    dtype = {8: np.int8, 16: np.int16}[bits]
    if extreme:
        return np.full((rows, depth), lowest, dtype), np.full((depth, columns), -heaviest, dtype)
    q = generator.integers(lowest, most + 1, (rows, depth), dtype)
    return q, generator.integers(-heaviest, heaviest + 1, (depth, columns), dtype)


def run(kind, tiles, shape, groups, mode, generator):
    """Compares one compiled tile of random integers with the exact product."""
    from cpunmt.simd import tile

    (rows, panel_count), (bits, _, _, levels) = shape, kind
    depth = groups * 32 // bits
    columns = PANEL * panel_count
    q, weights = operands(bits, rows, columns, depth, groups % 3 == 0, generator)
    packed = pack(weights)
    if levels is not None:
        codes = generator.integers(0, 16, weights.shape, np.uint8)
        weights, packed = levels[codes], pack_codes(codes)
    guard = Guards()
    offset = tile.OFFSET if bits == 8 else 0
    start = guard.copy(weights.sum(axis=0, dtype=np.int32) * np.int32(-offset))
    a = guard.empty((rows, depth + 6), np.uint8 if bits == 8 else np.int16)  # rows and panels apart from each other
    a[:, :depth] = q.astype(np.int16) + offset
    w = guard.empty((panel_count, packed[0].size + 64), packed.dtype)
    w[:, :-64] = packed.reshape(panel_count, -1)
    out = guard.empty((rows, columns + 5), np.int32)
    before = out.copy()
    row_scales = guard.copy(np.float32(2) ** generator.integers(-3, 3, (rows, 2)).astype(np.float32))
    scales = guard.copy(np.float32(2) ** generator.integers(-3, 3, columns).astype(np.float32))
    bias, totals = (guard.copy(generator.integers(-99, 99, columns).astype(np.float32)) for _ in range(2))
    levels = guard.copy(np.zeros(16, np.int8) if levels is None else levels)
    given = tile.Tile(
        a=a.ctypes.data,
        row_bytes=a.strides[0],
        plane=0,
        w=w.ctypes.data,
        panel_bytes=w.strides[0],
        groups=groups,
        ahead=0,
        ahead_step=0,
        levels=levels.ctypes.data,
        start=start.ctypes.data,
        totals=totals.ctypes.data,
        row_scales=row_scales.ctypes.data,
        scales=scales.ctypes.data,
        bias=bias.ctypes.data,
        out=out.ctypes.data,
        out_bytes=out.strides[0],
        mode=mode,
    )
    tiles(rows, panel_count, *given)
    guard.check()
    sums = (q.astype(np.int64) @ weights.astype(np.int64)).astype(np.int32)
    expected = sums
    if mode != tile.INTEGERS:  # powers of two and few bits: exact, or rounded once
        scale, shift = row_scales.astype(np.float64).T[:, :, None]
        added = shift * totals + bias if bits == 8 else bias
        expected = (sums.astype(np.float32).astype(np.float64) * scales * scale + added).astype(np.float32)
        expected = (np.maximum(expected, 0) if mode == tile.RELU else expected).view(np.int32)
    assert np.array_equal(out[:, :-5], expected), (bits, rows, panel_count, groups, mode)
    assert np.array_equal(out[:, -5:], before[:, -5:])


def main():
    path = os.environ["CPUNMT_ISA"]
    emulation.pretend()
    from cpunmt.simd import tile, tile_shapes

    offset = 0 if path in emulation.ARM else 128
    assert (offset, 1) == (tile.OFFSET, tile.PLANES)
    levels = np.array([7, -127, 3, 0, 127, 50, -50, 1, -1, 2, -2, 9, 99, -99, 64, -64], np.int8)
    kinds = [
        Kind(8, tile.int8_tiles(), tile_shapes.INT8.every(), None),
        Kind(16, tile.int16_tiles(), tile_shapes.INT16.every(), None),
    ]
    if tile_shapes.CODED_SHAPES:
        kinds.append(Kind(8, tile.coded_tiles(), tile_shapes.CODED_SHAPES, levels))
    if sys.argv[1] == "assembly":
        for kind in kinds:
            print(assembly_of(code_of(kind.made), "x86_64-unknown-linux-gnu", *emulation.PROCESSORS[path]))
        return
    count, generator = 0, np.random.default_rng(1)
    for kind in kinds:
        code = code_of(kind.made)
        changed = emulation.emulated(code)
        assert changed != code
        engine, address = loaded(changed)
        tiles = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (2 + len(tile.Tile._fields)))(address)
        for shape in kind.shapes:
            for groups in (4, 12, 32) if kind.bits == 8 else (8, 24, 64):
                for mode in (tile.INTEGERS, tile.AFFINE, tile.RELU):
                    run(kind, tiles, shape, groups, mode, generator)
            count += 1
        del engine
    print(count, "shapes are exact")


if __name__ == "__main__":
    main()
