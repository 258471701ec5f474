"""int8 products of rows that a ReLU has made: only the weights that meet something else than 0 are read.

Such a row has no negative number, so a quantized zero is -128 (0 where a multiplier was found beforehand), and all the
zeros together are a constant. With d = q - q(0), 0 to 255, mostly 0:

    sum_k q[k] * w[k, c] = sum_{d[k] > 0} d[k] * w[k, c] + q(0) * sum_k w[k, c]

The second sum is what `sparse_start` holds. All is exact, so the result is that of `int8_linear` on `quantize_rows`, to
the bit, however many zeros there are. Whether there are enough of them is decided for all rows of a product together,
while their largest numbers are looked for; a dense product uses these too.

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
    round_row,
    steps_of,
)
from cpunmt.kernels.records import LINEAR, LISTS
from cpunmt.simd.intrinsics import at, lesser, load_f32, load_i32, store_f32, store_i32
from cpunmt.simd.jit import address, count, kernel, real
from cpunmt.simd.sparse_tile import ENTRIES, INDEX_SHIFT, MOST, SparseTile, sparse_tiles, store_larger
from cpunmt.simd.tile import PLANES
from cpunmt.simd.tile_shapes import SPARSE_PANELS, SPARSE_SHARES
from cpunmt.simd.vector import (
    broadcast,
    broadcast_int,
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

ROUNDING_BITS = int(ROUNDING.view(np.int32))  # of the float that 0 is rounded to
_SHARES = np.array(SPARSE_SHARES)


@kernel
def measure_rows(x: address, rows: count, step: count, depth: count, row_scales: address) -> count:
    """How many numbers of every `step`-th row are positive, none being negative; puts each row's largest into
    `row_scales`, as bits, and makes the row finite.

    x             float32 [rows, depth], a multiple of 16
    row_scales    int32 [rows, 2]: the first of each is written
    """
    positive = 0
    one = broadcast_int(1)
    whole = depth // 64 * 64
    row = 0
    while row < rows:
        line = x + 4 * row * depth
        zero = broadcast_int(0)
        m0, m1, m2, m3, c0, c1 = zero, zero, zero, zero, zero, zero
        for k in range(0, whole, 64):
            x0, x1 = load_ints(line, k), load_ints(line, k + 16)
            x2, x3 = load_ints(line, k + 32), load_ints(line, k + 48)
            m0, m1, m2, m3 = maximum_ints(x0, m0), maximum_ints(x1, m1), maximum_ints(x2, m2), maximum_ints(x3, m3)
            c0 = c0 + minimum_ints(x0, one) + minimum_ints(x1, one)
            c1 = c1 + minimum_ints(x2, one) + minimum_ints(x3, one)
        for k in range(whole, depth, 16):
            x0 = load_ints(line, k)
            m0, c0 = maximum_ints(x0, m0), c0 + minimum_ints(x0, one)
        bits = largest_int(maximum_ints(maximum_ints(m0, m1), maximum_ints(m2, m3)))
        if bits >= INFINITY:
            make_finite(line, depth)
            bits = INFINITY - 1  # the largest float32
        store_i32(row_scales, 2 * row, bits)
        positive += total_ints(c0 + c1)
        row += step
    return positive


@kernel
def list_row(x: address, depth: count, multiplier: real, row_scale: address, lists: address) -> count:
    """Quantize float32 x [depth] into a list; returns how many groups of ENTRIES it has, or -1 if q is 0 everywhere.

    row_scale    what `measure_rows` has left there; scale and shift, as `quantize_row` writes them
    lists        a LISTS record
    """
    w, found = at(LISTS, lists, 0), 0
    entries = w.entries
    nothing = broadcast_int(ROUNDING_BITS)
    # an entry: index << INDEX_SHIFT, plus d, which is in the low bits of a float that was rounded
    numbers = (lane_numbers() << broadcast_int(INDEX_SHIFT)) - nothing
    sixteen = broadcast_int(16 << INDEX_SHIFT)
    if multiplier > ZERO:
        factor, most, rounding = broadcast(multiplier), broadcast(LARGEST), broadcast(ROUNDING)
        for k in range(0, depth, 16):
            bits = float_bits_of(minimum(load(x, k) * factor, most) + rounding)
            found += store_larger(entries, found, bits + numbers, bits, nothing)
            numbers = numbers + sixteen
        store_f32(row_scale, 0, ONE)
        store_f32(row_scale, 1, ZERO)
    else:
        scale, inverse, middle = steps_of(MINUS_ZERO, load_i32(row_scale, 0))
        store_f32(row_scale, 0, scale)
        store_f32(row_scale, 1, (MIDDLE - middle) * scale)
        if inverse == ZERO:
            return -1
        factor, rounding = broadcast(inverse), broadcast(ROUNDING)
        for k in range(0, depth, 16):
            bits = float_bits_of(fma(load(x, k), factor, rounding))
            found += store_larger(entries, found, bits + numbers, bits, nothing)
            numbers = numbers + sixteen
    store_ints(entries, found, broadcast_int(0))  # entries of 0 fill the last group
    above = 0
    for i in range(0, found, 16):
        entry = load_ints(entries, i)
        if MOST < 255:
            d = entry & broadcast_int(255)
            above += store_larger(w.split, above, entry - broadcast_int(MOST), d, broadcast_int(MOST))
            entry = minimum_ints(d, broadcast_int(MOST))
        store_bytes(w.values, i, entry)
    if MOST < 255 and above > 0:
        store_ints(w.split, above, broadcast_int(0))
        for i in range(0, above, 16):
            entry = load_ints(w.split, i)
            store_ints(entries, found + i, entry)
            store_bytes(w.values, found + i, entry)
        found += above
    return (found + ENTRIES - 1) // ENTRIES


@kernel
def sparse_row(linear: address, lists: address, groups: count, row_scale: address, out: address, mode: count):
    """Multiply a row's list by the weights of a LINEAR record: out float32 [16 * panels] (int32 for INTEGERS)."""
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
                row_bytes=64 * blocks,
                start=w.sparse_start + 64 * panel,
                out=sums + 64 * panel,
            )
            sparse_tiles(1, width, tile)
        else:  # the row of zeros: what all sums begin with, or with q = 0 nothing at all
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
    """Multiply float32 x [rows, depth], of which no number is negative, by the weights of a LINEAR record.

    lists         a LISTS record
    q             bytes [rows, PLANES * depth]: overwritten
    row_scales    float32 [rows, 2]: overwritten
    out           float32 [rows, 16 * panels] (int32 for INTEGERS)
    mode          INTEGERS, AFFINE or RELU
    """
    w = at(LINEAR, linear, 0)
    depth, step = w.depth, 1
    if w.multiplier > ZERO:
        step = 1 + rows // 8  # nothing else is measured: some rows tell enough
    positive = measure_rows(x, rows, step, depth, row_scales)
    measured = (rows + step - 1) // step * depth
    if positive <= _SHARES[lesser(rows, len(_SHARES)) - 1] * measured:
        for row in range(rows):
            row_scale = row_scales + 8 * row
            groups = list_row(x + 4 * row * depth, depth, w.multiplier, row_scale, lists)
            sparse_row(linear, lists, groups, row_scale, out + 64 * w.panels * row, mode)
        return
    if w.multiplier > ZERO:
        quantize_rows(x, rows, depth, w.multiplier, q, row_scales)
    else:
        for row in range(rows):
            bits = load_i32(row_scales, 2 * row)
            place, row_scale = q + row * PLANES * depth, row_scales + 8 * row
            round_row(x + 4 * row * depth, depth, MINUS_ZERO, bits, place, row_scale)
    int8_linear(linear, q, row_scales, rows, out, mode)
