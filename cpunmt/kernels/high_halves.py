"""Bounds on the scores of a table of pieces by the upper halves of its 8-bit weights.

An int8 weight w has a number i of its upper four bits, from 0 to 15, and a small rest r:

    w = level[i] + r        level[i] = 16 i - 120 (packing.HALF_LEVELS),  r from -8 to 7
    x.w = x.level + x.r     |x.r| <= |x| |r|        (Cauchy and Schwarz)

The products with the levels need half of the bytes. A column whose upper bound lies below another one's lower bound
cannot have the largest score.
"""

import numpy as np

from cpunmt.kernels.candidates import LOWER
from cpunmt.kernels.matmul.packing import PANEL
from cpunmt.kernels.records import BLOCK, HALVES, POSSIBLE, TABLE
from cpunmt.kernels.softmax import LOWEST
from cpunmt.simd.intrinsics import (
    at,
    lesser,
    load_f32,
    load_i32,
    load_i64,
    square_root,
    store_f32,
    store_i32,
    store_i64,
    trailing_zeros,
)
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.tile import OFFSET
from cpunmt.simd.vector import (
    absolute,
    broadcast,
    broadcast_int,
    fma,
    lanes_above,
    largest,
    load,
    load_ints,
    maximum,
    roots,
    store,
    store_ints,
    to_floats,
    total,
    transpose,
    where_above,
)

FLIPPED = 0x08080808  # the highest bit of a half of each of four bytes
# What float32 adds to the distance between a score and its bound, as a share of the largest possible terms: a score
# is made by five roundings of 2^-24 each.
ROUNDING = np.float32(2.0**-21)
LARGEST_PRODUCT = np.float32(127 * 255)  # of a weight and a step of an activation
HALF_STEP = np.float32(0.51)  # the most that an activation is rounded by, in steps
SPARE = np.float32(1 + 2.0**-16)  # for the roundings of the bounds themselves
# Scores and distances above this are not bounded: a term of such a score may be infinity.
UNBOUNDED = np.float32(1e30)
LEAST_SQUARES = np.float32(1e-30)  # of a row: smaller squares vanish in float32


@kernel
def split_halves(table: address, pieces: count, depth: count, pointers: address, packed: address, halves: address):
    """Writes the levels of the int8 rows of a TABLE as the codes of a LINEAR record, and the reach of each column.

    depth       a multiple of 16
    pointers    room for int64 [16]
    packed      room for bytes [16 * depth]
    halves      HALVES, whose addresses hold room for ceil(pieces / 16) panels: `codes`, `scales`, `start`, `totals`,
                `bias` and `reach` are written; columns beyond the pieces get the score LOWEST
    """
    t, h = at(TABLE, table, 0), at(HALVES, halves, 0)
    high = h.high
    for panel in range((pieces + PANEL - 1) // PANEL):
        for lane in range(PANEL):
            store_i64(pointers, lane, t.rows + lesser(PANEL * panel + lane, pieces - 1) * depth)
        whole = depth // 64 * 64
        for offset in range(0, whole, 64):
            transpose(pointers, offset, packed + 16 * offset, 64)
        for lane in range(PANEL):
            row = load_i64(pointers, lane)
            for group in range(whole // 4, depth // 4):
                store_i32(packed, 16 * group + lane, load_i32(row, group))
        codes, lower, fifteen = high.codes + 8 * depth * panel, broadcast_int(LOWER), broadcast_int(15)
        numbers, squares = broadcast_int(0), broadcast_int(0)
        for pair in range(depth // 8):
            both = broadcast_int(0)
            for half in range(2):
                four = load_ints(packed, 16 * (2 * pair + half))
                upper = (((four >> broadcast_int(4)) & lower) + broadcast_int(FLIPPED)) & lower
                both = both + (upper << broadcast_int(4 * half))
                for byte in range(0, 32, 8):
                    shift = broadcast_int(byte)
                    rest = ((four >> shift) & fifteen) - broadcast_int(8)
                    numbers, squares = numbers + ((upper >> shift) & fifteen), squares + rest * rest
            store_ints(codes, 16 * pair, both)
        sums = (numbers << broadcast_int(4)) - broadcast_int(120 * depth)
        norms = to_floats(squares)
        store_ints(high.start, 16 * panel, sums * broadcast_int(-OFFSET))
        for lane in range(PANEL):
            column, piece = PANEL * panel + lane, lesser(PANEL * panel + lane, pieces - 1)
            used = column < pieces
            store_f32(high.scales, column, load_f32(t.scales, piece) if used else np.float32(0.0))
            store_f32(high.bias, column, load_f32(t.bias, piece) if used else LOWEST)
        scales = load(high.scales, PANEL * panel)
        store(high.totals, PANEL * panel, scales * to_floats(sums))
        norms = roots(maximum(to_floats(squares), broadcast(np.float32(1.0))))  # so a reach is also at least a scale
        store(h.reach, PANEL * panel, scales * norms * broadcast(SPARE))


@kernel
def distance_of(x: address, depth: count, row_scale: address) -> real:
    """Returns by how many times a column's reach its score may differ from the one of its levels.

    x is float32 [depth]; `row_scale` the scale and shift of its integers.
    """
    squares, scale = broadcast(np.float32(0.0)), load_f32(row_scale, 0)
    for k in range(0, depth, 16):
        squares = fma(load(x, k), load(x, k), squares)
    many, length = np.float32(depth), total(squares)
    if not length > LEAST_SQUARES:
        return np.float32(np.inf)  # all columns are kept
    rounded = HALF_STEP * square_root(many) + ROUNDING * LARGEST_PRODUCT * many
    return (square_root(length) + rounded * scale) * SPARE


@kernel
def keep_possible(possible: address, scores: address, reach: address, distance: real, first: count, length: count):
    """Adds the columns that may have the largest score to a POSSIBLE, from float32 scores [length] by the levels.

    length      a multiple of 16; of the columns from `first` on
    reach       float32 [length]
    scores      overwritten
    """
    w, far, share = at(POSSIBLE, possible, 0), broadcast(distance), broadcast(ROUNDING)
    infinite, most = broadcast(np.float32(np.inf)), broadcast(UNBOUNDED)
    for begin in range(0, length, BLOCK):
        end, low = lesser(begin + BLOCK, length), broadcast(w.least)
        for j in range(begin, end, 16):
            score = load(scores, j)
            size = absolute(score)
            apart = fma(load(reach, j), far, size * share)
            apart = apart + where_above(maximum(size, apart), most, infinite)
            low = maximum(score - apart, low)
            store(scores, j, score + apart)
        w.least = largest(low)
        least = broadcast(w.least)
        for j in range(begin, end, 16):
            kept = lanes_above(least, load(scores, j)) ^ 0xFFFF
            while kept != 0:
                i = j + trailing_zeros(kept)
                kept &= kept - 1
                store_i32(w.pieces, w.count, first + i)
                store_f32(w.most, w.count, load_f32(scores, i))
                w.count += 1


@kernel
def drop_impossible(possible: address, pieces: count):
    """Drops the columns of a POSSIBLE that a later one excluded, and those that belong to none of the pieces."""
    w, count = at(POSSIBLE, possible, 0), 0
    for i in range(w.count):
        if not load_f32(w.most, i) < w.least and load_i32(w.pieces, i) < pieces:
            store_i32(w.pieces, count, load_i32(w.pieces, i))
            count += 1
    w.count = count
