"""Register tiles of the integer products: their inner loops, written as LLVM code for the chosen instruction set.

A tile keeps rows x panels sums in registers while it walks down the depth once; a panel is 16 columns, one vector of
sums per row. Only here is a loop generated rather than written: it assigns the registers, which compilers do not do
well enough. The instructions are those of `dot_products`.

    sum[r, c] = start[c] + sum_k a[r, k] * w[k, c]     exact in int32, on every instruction set; made a float
                                                       while it is in its register

Layout of packed weights: see kernels/packing. The depths of a group, four int8 or two int16, are neighbours, because
the instructions add the products of neighbours:

    group g of panel p (64 bytes):   w[4g..4g+3, 16p]  w[4g..4g+3, 16p+1]  ...  w[4g..4g+3, 16p+15]
    row r of a:                      a[r, 4g..4g+3] broadcast to all columns
"""

import itertools
from typing import NamedTuple

from llvmlite import ir

from cpunmt.simd import isa
from cpunmt.simd.dot_products import BLOCK_BYTES, GROUP_BYTES, Coded, int8_products, int16_products
from cpunmt.simd.emission import (
    FLOATS,
    INTS,
    broadcast_value,
    constant,
    depth_loop,
    load,
    multiply_add,
    opaque,
    pointer,
    prefetch,
    tile_function,
)
from cpunmt.simd.tile_shapes import CODED_SHAPES, INT8, INT16, STREAM_ROWS

INTEGERS, AFFINE, RELU = 0, 1, 2  # results of a tile: see kernels/int8_matmul

OFFSET = isa.activation_offset()
PLANES = isa.activation_planes()

# One row against one panel has only one sum to wait for. It walks down several groups at a time, each with sums of its
# own (`chains` of the instructions), and reads the weights as one stream, prefetched AHEAD bytes before they are read.
# With 2 MB of weights in the L3 cache it reaches 115 GB/s with vpdpbusd (Zen 5, whose limit is 128), 46 GB/s on AVX2
# (Zen 3; without prefetching 38). Two and four panels side by side were slower on both. Two rows do the same with
# vpdpbusd (10 to 20 % faster than four panels at a time); from three on the rows' loads cost more. STREAM_ROWS is the
# most rows that do it.
EVERY = 4  # groups that the depth is a multiple of
AHEAD = 2048  # bytes

# If a column of tiles has several, the first LEADERS of them prefetch the next panels, LINES_AHEAD lines at each step,
# into the L2 cache: weights that come from the L3 cache or from memory are then up to twice as fast. A single tile does
# not prefetch, since it needs all of its instructions. int16 tiles do not either, since weights that are already in the
# caches would be up to 5 % slower.
WIDE, TALL = 4, 4  # panels and rows of such tiles
LEADERS, LINES_AHEAD = 2, 2


class Tile(NamedTuple):
    """The arguments of a tile of integers: integers for compiled code, LLVM values here. None: not used by this tile.

    a            address of rows of activations, `row_bytes` apart: one byte per depth, q + OFFSET; where PLANES is 2,
                 |q| follows `plane` bytes after q; or int16
    w            address of the first of the panels of packed weights, `panel_bytes` apart
    groups       of GROUP_BYTES, of the depth; a multiple of EVERY
    ahead        address of weights to prefetch, `ahead_step` bytes further at each step; need not exist
    levels       address of int8 [16], the values of codes of 4 bits
    start        address of int32 [16 * panels]: initial sums
    totals, scales, bias    addresses of float32 [16 * panels]
    row_scales   address of float32 [rows, 2]: the scale and the shift of each row
    out          address of int32 or float32 [rows, 16 * panels], rows `out_bytes` apart; written
    mode         INTEGERS, AFFINE or RELU
    """

    a: int
    row_bytes: int
    plane: int
    w: int
    panel_bytes: int
    groups: int
    ahead: int | None
    ahead_step: int
    levels: int
    start: int | None
    totals: int | None
    row_scales: int
    scales: int
    bias: int
    out: int
    out_bytes: int
    mode: int


def _emit_tile(builder, rows, panels, use, tile):
    """Chooses the number of groups of weights per step of a tile, and the number of chains with their own sums."""
    if rows == panels == 1 and use.chains * use.group_bytes > EVERY * GROUP_BYTES:
        odd = builder.trunc(builder.udiv(tile.groups, constant(EVERY)), ir.IntType(1))
        with builder.if_else(odd) as (few, many):
            for branch, chains in ((few, use.few_chains), (many, use.chains)):
                with branch:
                    _emit_loop(builder, 1, 1, chains, True, use, tile)
    elif rows == panels == 1:
        _emit_loop(builder, 1, 1, use.chains, True, use, tile)
    elif panels == 1 and (rows <= STREAM_ROWS or use.groups > 1):
        _emit_loop(builder, rows, 1, use.few_chains, True, use, tile)
    else:
        _emit_loop(builder, rows, panels, 1, False, use, tile)


def _emit_loop(builder, rows, panels, chains, stream, use, tile):
    """Emits one walk down the depth, in steps of `chains` groups, or of the groups in one load of a row; a `stream`
    prefetches later blocks."""
    row_addresses = [builder.add(tile.a, builder.mul(tile.row_bytes, constant(r))) for r in range(rows)]
    units = [row_addresses[r : r + use.unit] for r in range(0, rows, use.unit)]
    panel_addresses = [builder.add(tile.w, builder.mul(tile.panel_bytes, constant(p))) for p in range(panels)]
    beginning = [_first_sums(builder, use, tile, p) for p in range(panels)]
    first = [part for _ in units for panel in beginning for part in panel]
    taken = max(chains, use.row_groups)  # groups of a step
    blocks, row_bytes = taken // use.groups, taken * use.group_bytes  # of a step
    # a separate address: from a common one LLVM would add offsets that a load cannot encode
    soon = builder.add(tile.w, constant(AHEAD))
    soon = opaque(builder, soon) if use.pieces > 1 else soon
    block_bytes, width = BLOCK_BYTES * use.group_bytes // GROUP_BYTES, use.parts // use.pieces

    def body(step, flat):
        sums = [list(flat[i : i + len(first)]) for i in range(0, len(flat), len(first))]  # of each chain
        operands = [[] for _ in units]  # of each group that has been loaded
        for i, piece in itertools.product(range(blocks), range(use.pieces)):
            block = builder.add(builder.mul(step, constant(blocks)), constant(i))
            offset = builder.mul(block, constant(block_bytes))
            if stream and piece == 0:
                for line in range(0, block_bytes, BLOCK_BYTES):
                    prefetch(builder, soon, builder.add(offset, constant(line)))
            elif tile.ahead is not None and panels >= WIDE and TALL <= rows <= INT8.tile_rows:
                early = builder.mul(block, tile.ahead_step)
                for line in range(LINES_AHEAD):
                    prefetch(builder, tile.ahead, builder.add(early, constant(BLOCK_BYTES * line)), level=2)
            weights = [use.weights(builder, panel, offset, piece) for panel in panel_addresses]
            for j, (u, unit) in itertools.product(range(use.groups), enumerate(units)):
                group = use.groups * i + j
                if group == len(operands[u]):
                    place = builder.add(builder.mul(step, constant(row_bytes)), constant(group * use.group_bytes))
                    operands[u] += use.row(builder, unit, tile.plane, place)
                for p, panel in enumerate(weights):
                    begin = (u * panels + p) * use.parts + piece * width
                    which, chain = slice(begin, begin + width), sums[group % chains]
                    made = use.add_products(builder, chain[which], operands[u][group], panel[j])
                    chain[which] = [opaque(builder, value) for value in made] if use.pieces > 1 else made
        return [value for chain in sums for value in chain]

    steps = builder.udiv(tile.groups, constant(row_bytes // GROUP_BYTES))
    zero = ir.Constant(use.sums, None)
    made = depth_loop(builder, steps, first + [zero] * len(first) * (chains - 1), body)
    while len(made) > len(first):  # add further chains to the first
        made, last = made[: -len(first)], made[-len(first) :]
        made[: len(first)] = [builder.add(x, y) for x, y in zip(made, last, strict=False)]
    joined = [use.joined(builder, made[i : i + use.parts]) for i in range(0, len(made), use.parts)]
    units = [joined[u : u + panels] for u in range(0, len(joined), panels)]
    sums = [[panel[r] for panel in unit] for unit in units for r in range(use.unit)]
    _emit_epilogue(builder, sums[:rows], tile)


def _first_sums(builder, use, tile, panel):
    """Loads the initial sums of a panel into its `parts` registers."""
    if tile.start is None:
        return [ir.Constant(use.sums, None)] * use.parts
    return use.first_sums(builder, load(builder, tile.start, constant(64 * panel), INTS))


def _emit_epilogue(builder, sums, tile):
    """Stores sums[row][panel] in the form of `mode`."""
    rows = [builder.add(tile.out, builder.mul(tile.out_bytes, constant(r))) for r in range(len(sums))]
    with builder.if_else(builder.icmp_signed("==", tile.mode, constant(INTEGERS))) as (as_integers, as_floats):
        with as_integers:
            for row, vectors in zip(rows, sums, strict=True):
                for p, vector in enumerate(vectors):
                    builder.store(vector, pointer(builder, row, constant(64 * p), INTS)).align = 4
        with as_floats:
            _emit_floats(builder, rows, sums, tile)


def _emit_floats(builder, rows, sums, tile):
    def of_row(r, which):
        return broadcast_value(builder, load(builder, tile.row_scales, constant(8 * r + 4 * which), ir.FloatType()))

    relu = builder.icmp_signed("==", tile.mode, constant(RELU))
    zero, lowest = (ir.Constant(ir.FloatType(), number) for number in (0.0, float("-inf")))
    floor = broadcast_value(builder, builder.select(relu, zero, lowest))
    for p in range(len(sums[0])):
        scale, bias = (load(builder, base, constant(64 * p), FLOATS) for base in (tile.scales, tile.bias))
        if tile.totals is not None:
            total = load(builder, tile.totals, constant(64 * p), FLOATS)
        for r, row in enumerate(rows):
            value = builder.fmul(builder.sitofp(sums[r][p], FLOATS), scale)
            added = bias if tile.totals is None else multiply_add(builder, of_row(r, 1), total, bias)
            value = multiply_add(builder, value, of_row(r, 0), added)
            value = builder.select(builder.fcmp_ordered(">", value, floor), value, floor)
            builder.store(value, pointer(builder, row, constant(64 * p), FLOATS)).align = 4


def _tiles(name, shapes, make, doc, **missing):
    """Makes a function for compiled code that runs the tile of a shape on the instructions of `make(builder, rows,
    tile)`."""

    @tile_function(shapes, Tile, name, doc)
    def tiles(builder, rows, panels, tile):
        tile = tile._replace(**missing)
        _emit_tile(builder, rows, panels, make(builder, rows, tile), tile)

    return tiles


def int8_tiles():
    """Makes a function `tiles(rows, panels, tile)` of a Tile of a shape of INT8.every(); for others it does nothing.

    A group is four depths. `levels` is ignored.
    """
    return _tiles("int8_tiles", INT8.every(), lambda _, rows, __: int8_products(rows), int8_tiles.__doc__)


def coded_tiles():
    """Makes the same function for weights of 4 bits, on the shapes CODED_SHAPES."""
    use = int8_products()

    def make(builder, rows, tile):
        return Coded(builder, use, tile.levels)

    return _tiles("coded_tiles", CODED_SHAPES, make, coded_tiles.__doc__)


def int16_tiles():
    """Makes the same function for int16, on the shapes INT16.every().

    A group is two depths. `plane`, `ahead`, `levels`, `start` and `totals` are ignored: sums begin with 0, and
    rows have no shift.
    """
    use = int16_products()
    return _tiles(
        "int16_tiles", INT16.every(), lambda *_: use, int16_tiles.__doc__, start=None, totals=None, ahead=None
    )
