"""int8 products of rows from a ReLU: reads only the weights that meet a nonzero activation.

Such a row has no negative number, so a quantized zero is -128 (0 if a multiplier was found beforehand), and all the
zeros together add a constant. With d = q - q(0), 0 to 255, mostly 0:

    sum_k q[k] * w[k, c] = sum_{d[k] > 0} d[k] * w[k, c] + q(0) * sum_k w[k, c]

`sparse_start` holds the second sum. All sums are exact, so the result is that of `int8_linear` on `quantize_rows`, to
the bit, for any number of zeros. The choice between sparse and dense is made for all rows of a product together, during
the search for their largest numbers, which a dense product uses too.

A row becomes a list of entries, (index, d), and the weights lie by depth (`packing.by_depth`): each entry reads one
row of them. In a trained network 5 to 18 % of the activations are not 0; 50 % with random weights.

"The Lazy Neuron Phenomenon", Li et al. 2023, https://arxiv.org/abs/2210.06313.
"""

import numpy as np

from cpunmt.kernels.matmul.int8_matmul import INTEGERS, RELU, int8_linear
from cpunmt.kernels.matmul.packing import BLOCK
from cpunmt.kernels.matmul.quantize_rows import (
    INFINITY,
    LARGEST,
    MIDDLE,
    MINUS_ZERO,
    ONE,
    ROUNDING,
    ZERO,
    make_finite,
    quantize_rows,
    steps_of,
)
from cpunmt.kernels.records import LINEAR, LISTS
from cpunmt.simd.intrinsics import at, lesser, load_f32, store_f32
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.sparse_tile import ENTRIES, MOST, PLACE_BYTES, SparseTile, gather, sparse_tiles, store_larger
from cpunmt.simd.tile_shapes import SPARSE_PANELS, SPARSE_SHARES
from cpunmt.simd.vector import (
    broadcast,
    broadcast_int,
    first_lanes,
    float_bits_of,
    fma,
    lane_numbers,
    largest_int,
    load,
    load_ints,
    maximum,
    maximum_ints,
    minimum,
    minimum_ints,
    store,
    store_bytes,
    store_ints,
    to_floats,
    total_ints,
)

SAMPLES = 4  # rows of a product whose zeros are counted, about
_SHARES = np.array(SPARSE_SHARES)


@kernel
def count_positive(x: address, depth: count) -> count:
    """Counts the nonzero numbers of float32 x [depth], a multiple of 16, without negative numbers."""
    c0, c1, one = broadcast_int(0), broadcast_int(0), broadcast_int(1)
    whole = depth // 32 * 32
    for k in range(0, whole, 32):
        c0 = c0 + minimum_ints(load_ints(x, k), one)
        c1 = c1 + minimum_ints(load_ints(x, k + 16), one)
    for k in range(whole, depth, 16):
        c0 = c0 + minimum_ints(load_ints(x, k), one)
    return total_ints(c0 + c1)


@kernel
def list_row(x: address, depth: count, multiplier: real, row_bytes: count, row_scale: address, lists: address) -> count:
    """Quantizes float32 x [depth] into a list; returns its number of groups of ENTRIES, or -1 if q is 0 everywhere.

    row_bytes    of the matrix, from a row to the next
    row_scale    float32 [2]: scale and shift, as `quantize_row` writes them
    lists        a LISTS record
    """
    w, found, above = at(LISTS, lists, 0), 0, 0
    entries, nothing, most = w.entries, broadcast_int(0), broadcast_int(0)
    numbers, sixteen, apart = lane_numbers(), broadcast_int(16), broadcast_int(row_bytes // PLACE_BYTES)
    for k in range(0, depth, 16):
        given = load_ints(x, k)
        most = maximum_ints(given, most)  # floats of one sign are ordered like their bits
        found += store_larger(entries, found, numbers, given, nothing)
        numbers = numbers + sixteen
    store_ints(entries, found, nothing)
    factor, limit = broadcast(multiplier), broadcast(LARGEST)
    if multiplier > ZERO:
        store_f32(row_scale, 0, ONE)
        store_f32(row_scale, 1, ZERO)
    else:
        bits = largest_int(most)
        if bits >= INFINITY:
            make_finite(x, depth)
            bits = INFINITY - 1  # the largest float32
        scale, inverse, middle = steps_of(MINUS_ZERO, bits)
        store_f32(row_scale, 0, scale)
        store_f32(row_scale, 1, (MIDDLE - middle) * scale)
        if inverse == ZERO:
            return -1
        factor = broadcast(inverse)
    rounding, zero = broadcast(ROUNDING), broadcast(ZERO)
    largest, eight = broadcast_int(MOST), broadcast_int(8)
    for i in range(0, found, 16):
        value = first_lanes(gather(x, entries, i), found - i, zero)  # zeros fill the last group
        rounded = minimum(value * factor, limit) + rounding if multiplier > ZERO else fma(value, factor, rounding)
        d, indices = float_bits_of(rounded), load_ints(entries, i)
        store_ints(entries, i, indices * apart)
        if MOST < 255:  # the rest becomes an entry of its own
            d = d & broadcast_int(255)
            indices = indices << eight
            rest = d - largest
            above += store_larger(w.split, above, indices + minimum_ints(rest, largest), d, largest)
            if 2 * MOST < 255:  # 255 is three entries
                above += store_larger(w.split, above, indices + rest - largest, rest, largest)
            d = minimum_ints(d, largest)
        store_bytes(w.values, i, d)
    if MOST < 255 and above > 0:
        store_ints(w.split, above, nothing)
        for i in range(0, above + ENTRIES, 16):  # including the zeros that fill the last group
            entry = load_ints(w.split, i)
            store_ints(entries, found + i, (entry >> eight) * apart)
            store_bytes(w.values, found + i, entry)
        found += above
    return (found + ENTRIES - 1) // ENTRIES


@kernel
def sparse_row(linear: address, lists: address, groups: count, row_scale: address, out: address, mode: count):
    """Multiplies a row's list by the weights of a LINEAR record: out float32 [16 * panels] (int32 for INTEGERS)."""
    w = at(LINEAR, linear, 0)
    blocks = (w.panels + BLOCK - 1) // BLOCK
    row, panel = at(LISTS, lists, 0), 0
    sums = row.sums
    while panel < BLOCK * blocks:
        width = SPARSE_PANELS
        while width > BLOCK * blocks - panel:
            width //= 2
        if groups > 0:
            tile = SparseTile(
                entries=row.entries,
                values=row.values,
                groups=groups,
                w=w.by_depth + 16 * panel,
                start=w.sparse_start + 64 * panel,
                out=sums + 64 * panel,
            )
            sparse_tiles(1, width, tile)
        else:  # a row of zeros: the initial sums, or zeros
            for column in range(16 * panel, 16 * (panel + width), 16):
                store_ints(sums, column, load_ints(w.sparse_start, column) if groups == 0 else broadcast_int(0))
        panel += width
    scale, shift = broadcast(load_f32(row_scale, 0)), broadcast(load_f32(row_scale, 1))
    floor = broadcast(np.float32(0.0)) if mode == RELU else broadcast(np.float32(-np.inf))
    for column in range(0, 16 * w.panels, 16):
        found = load_ints(sums, column)
        if mode == INTEGERS:
            store_ints(out, column, found)
        else:  # in the order of simd/tile
            value = to_floats(found) * load(w.scales, column)
            added = fma(shift, load(w.totals, column), load(w.bias, column))
            store(out, column, maximum(fma(value, scale, added), floor))


@kernel
def sparse_linear(
    linear: address,
    x: address,
    rows: count,
    lists: address,
    q: address,
    row_scales: address,
    out: address,
    mode: count,
):
    """Multiplies float32 x [rows, depth], without negative numbers, by the weights of a LINEAR record.

    lists         a LISTS record
    q             bytes [rows, PLANES * depth]: overwritten
    row_scales    float32 [rows, 2]: overwritten
    out           float32 [rows, 16 * panels] (int32 for INTEGERS)
    mode          INTEGERS, AFFINE or RELU
    """
    w = at(LINEAR, linear, 0)
    depth, sample, step, positive = w.depth, 0, 1 + rows // SAMPLES, 0
    row_bytes = 64 * ((w.panels + BLOCK - 1) // BLOCK)
    for row in range(rows):
        if row == sample:
            positive += count_positive(x + 4 * row * depth, depth)
            sample += step
    sampled = (rows + step - 1) // step * depth
    if positive <= _SHARES[lesser(rows, len(_SHARES)) - 1] * sampled:
        for row in range(rows):
            row_scale = row_scales + 8 * row
            groups = list_row(x + 4 * row * depth, depth, w.multiplier, row_bytes, row_scale, lists)
            sparse_row(linear, lists, groups, row_scale, out + 64 * w.panels * row, mode)
    else:
        quantize_rows(x, rows, depth, w.multiplier, q, row_scales)
        int8_linear(linear, q, row_scales, rows, out, mode, 0)
