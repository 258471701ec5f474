"""One row that is mostly zeros times a matrix whose rows are contiguous: reads only the rows for nonzero values.

    sum[c] = start[c] + sum_j value[j] * w[index[j], c]      exact in int32, on every instruction set

The row is a list of entries; four of them are a group of depths, put together in registers from four rows of the
matrix, with two shuffles for each register of weights. Layout of the matrix: `kernels/matmul/packing`, by_depth.
"""

from typing import NamedTuple

from llvmlite import ir
from numba.core.types import int64

from cpunmt.simd.dot_products import BLOCK_BYTES, GROUP_BYTES, Bytes, Generic, int8_products
from cpunmt.simd.emission import (
    FLOATS,
    INTS,
    LANES,
    broadcast_value,
    call_llvm,
    constant,
    depth_loop,
    element_pointer,
    function,
    load,
    pointer,
    prefetch,
    tile_function,
)
from cpunmt.simd.tile_shapes import SPARSE_PANELS
from cpunmt.simd.vector import f32x16, i32x16

_i8, _i16, _i32, _i64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_LANE = 16  # bytes within which a shuffle moves
_BLOCK_PANELS = 4  # panels that a block of 64 bytes of a row holds

ENTRIES = 4  # in a group
PLACE_BYTES = 8  # unit of an entry, so that it fits 32 bits
# Entries by which rows are prefetched ahead, since no processor can predict them: 5 to 10 % faster with weights in the
# L3 cache, as fast in the L2 cache; 8 and 32 gained less (Intel Xeon).
AHEAD = 16

_use = int8_products()
MOST = _use.most_unsigned  # the largest value: a larger one is split into two entries


class SparseTile(NamedTuple):
    """The arguments of a tile: integers for compiled code, LLVM values here.

    entries      address of int32 [ENTRIES * groups]: the beginnings of rows of the matrix in PLACE_BYTES, 0 the first
    values       address of bytes [ENTRIES * groups], 0 to MOST
    groups       at least 1
    w            address of the first block of the matrix' first row
    start        address of int32 [16 * panels]: initial sums
    out          address of int32 [16 * panels]; written
    """

    entries: int
    values: int
    groups: int
    w: int
    start: int
    out: int


class _Interleaved:
    """Four rows' bytes, interleaved in registers, are a group of depths for the instructions of the dense tile."""

    def __init__(self, use):
        self.use = use
        self.size = use.register
        self.registers = [(panel, part) for panel in range(_BLOCK_PANELS) for part in range(use.parts)]

    def place(self, register):
        """Returns the byte offset of the register in a block's sums."""
        panel, part = register
        return 64 * panel + self.size * part

    def load_sums(self, builder, base, offset):
        return load(builder, base, offset, self.use.sums)

    def store_sums(self, builder, base, offset, value):
        builder.store(value, pointer(builder, base, offset, self.use.sums)).align = 4

    def values(self, builder, base, offset):
        return self.use.unsigned(builder, base, offset)

    def add_products(self, builder, sums, values, rows, offset):
        """Adds products with a block's bytes of four rows to its sums, in the order of `registers`."""
        kind = ir.VectorType(_i8, self.size)
        parts = []
        for part in range(self.use.parts):
            place = builder.add(offset, constant(self.size * part))
            parts.append(self._interleaved(builder, [load(builder, row, place, kind) for row in rows]))
        made = []
        for panel in range(_BLOCK_PANELS):
            first = panel * self.use.parts
            weights = [builder.bitcast(part[panel], self.use.operand) for part in parts]
            made += self.use.add_unsigned(builder, sums[first : first + self.use.parts], values, weights)
        return made

    def _interleaved(self, builder, rows):
        """Interleaves the bytes of four registers: one result for the first four bytes of each lane, and so on."""
        low, high = zip(*(self._pairs(builder, *rows[i : i + 2], 1) for i in (0, 2)), strict=True)
        return [*self._pairs(builder, *low, 2), *self._pairs(builder, *high, 2)]

    def _pairs(self, builder, x, y, size):
        """Interleaves elements of `size` bytes of two registers, of the lower and of the upper half of each lane."""
        lanes = range(0, self.size, _LANE)
        halves = []
        for half in range(2):
            mask = [
                which + lane + half * _LANE // 2 + size * i + byte
                for lane in lanes
                for i in range(_LANE // 2 // size)
                for which in (0, self.size)
                for byte in range(size)
            ]
            halves.append(builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_i32, self.size), mask)))
        return halves


class _Widened:
    """Plain vector code: a value times sixteen bytes of a row fits 16 bits."""

    registers = range(_BLOCK_PANELS)  # of a block: a lane's four bytes of each panel
    _words = ir.VectorType(_i16, _LANE)

    def place(self, register):
        return 4 * ENTRIES * register

    def load_sums(self, builder, base, offset):
        """Loads four times four sums, a panel apart."""
        kind = ir.VectorType(_i32, 4)
        parts = [load(builder, base, builder.add(offset, constant(64 * panel)), kind) for panel in range(_BLOCK_PANELS)]
        low, high = (self._joined(builder, *parts[i : i + 2]) for i in (0, 2))
        return self._joined(builder, low, high)

    def _joined(self, builder, x, y):
        mask = list(range(2 * x.type.count))
        return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_i32, len(mask)), mask))

    def store_sums(self, builder, base, offset, value):
        kind = ir.VectorType(_i32, 4)
        for panel in range(_BLOCK_PANELS):
            part = builder.shuffle_vector(value, value, ir.Constant(kind, list(range(4 * panel, 4 * panel + 4))))
            place = builder.add(offset, constant(64 * panel))
            builder.store(part, pointer(builder, base, place, kind)).align = 4

    def values(self, builder, base, offset):
        scalars = [load(builder, base, builder.add(offset, constant(i)), _i8) for i in range(ENTRIES)]
        return [broadcast_value(builder, builder.zext(scalar, _i16)) for scalar in scalars]

    def add_products(self, builder, sums, values, rows, offset):
        made = list(sums)
        for value, row in zip(values, rows, strict=True):
            for i in range(_BLOCK_PANELS):
                place = builder.add(offset, constant(_LANE * i))
                weights = builder.sext(load(builder, row, place, ir.VectorType(_i8, _LANE)), self._words)
                made[i] = builder.add(made[i], builder.sext(builder.mul(weights, value), INTS))
        return made


class _PairsWidened(_Widened):
    """Plain vector code that adds up the products of two rows in 16 bits: values of at most 127 fit."""

    def add_products(self, builder, sums, values, rows, offset):
        made = list(sums)
        for i in range(_BLOCK_PANELS):
            place = builder.add(offset, constant(_LANE * i))
            products = [
                builder.mul(builder.sext(load(builder, row, place, ir.VectorType(_i8, _LANE)), self._words), value)
                for value, row in zip(values, rows, strict=True)
            ]
            for first in range(0, ENTRIES, 2):
                pair = builder.add(*products[first : first + 2])
                made[i] = builder.add(made[i], builder.sext(pair, INTS))
        return made


def _chosen():
    if isinstance(_use, Generic):
        return _Widened()
    return _PairsWidened() if isinstance(_use, Bytes) else _Interleaved(_use)


_how = _chosen()


@tile_function([(1, SPARSE_PANELS >> i) for i in range(SPARSE_PANELS.bit_length() - 2)], SparseTile)
def sparse_tiles(builder, rows, panels, tile):
    """Runs a SparseTile, as `sparse_tiles(1, panels, tile)` of SPARSE_PANELS, or a half of that, down to 4."""
    blocks = panels // _BLOCK_PANELS
    places = [(256 * block, register) for block in range(blocks) for register in _how.registers]

    def place(base, register):
        return constant(base + _how.place(register))

    def body(step, sums):
        offset = builder.mul(step, constant(GROUP_BYTES))
        values = _how.values(builder, tile.values, offset)
        rows = [_row_address(builder, tile, builder.add(offset, constant(i))) for i in range(ENTRIES)]
        early = [_row_address(builder, tile, builder.add(offset, constant(AHEAD + i))) for i in range(ENTRIES)]
        for row in early:
            for block in range(blocks):
                prefetch(builder, row, constant(BLOCK_BYTES * block))
        made = []
        for block in range(blocks):
            count = len(_how.registers)
            part = sums[block * count : (block + 1) * count]
            made += _how.add_products(builder, part, values, rows, constant(BLOCK_BYTES * block))
        return made

    first = [_how.load_sums(builder, tile.start, place(*where)) for where in places]
    for where, value in zip(places, depth_loop(builder, tile.groups, first, body), strict=True):
        _how.store_sums(builder, tile.out, place(*where), value)


def _entry(builder, entries, number):
    return builder.zext(load(builder, entries, builder.mul(number, constant(4)), _i32), _i64)


def _row_address(builder, tile, number):
    return builder.add(tile.w, builder.mul(_entry(builder, tile.entries, number), constant(PLACE_BYTES)))


@function(f32x16(int64, int64, int64))
def gather(builder, numbers, entries, first):
    """Gathers the float32 whose indices are in the sixteen int32 from `first` on."""
    vector = ir.Constant(FLOATS, ir.Undefined)
    for lane in range(LANES):
        index = _entry(builder, entries, builder.add(first, constant(lane)))
        number = builder.load(element_pointer(builder, numbers, index, ir.FloatType(), 4))
        vector = builder.insert_element(vector, number, ir.Constant(_i32, lane))
    return vector


@function(int64(int64, int64, i32x16, i32x16, i32x16))
def store_larger(builder, address, index, values, x, limit):
    """Stores the lanes of `values` where x > limit, one after another from int32 `index` on; returns their number.

    Overwrites the following lanes, up to 16 in all.
    """
    target = builder.add(address, builder.mul(index, constant(4)))
    chosen = builder.icmp_signed(">", x, limit)
    return _store_chosen(builder, target, values, chosen)


def _counted(builder, bits):
    kind = bits.type
    return builder.zext(builder.ctpop(bits), _i64) if kind.width < 64 else builder.ctpop(bits)


def _store_compressed(builder, target, values, chosen):
    name = "llvm.x86.avx512.mask.compress.v16i32"
    first = call_llvm(builder, name, INTS, [values, ir.Constant(INTS, None), chosen])
    builder.store(first, pointer(builder, target, constant(0), INTS)).align = 4
    return _counted(builder, builder.bitcast(chosen, _i16))


def _store_permuted(builder, target, values, chosen):
    """Stores eight lanes at a time, by a table of the lanes' places for each of 256 choices."""
    half, bits = ir.VectorType(_i32, 8), builder.bitcast(chosen, _i16)
    table, count = _places(builder), constant(0)
    for i, first in enumerate((0, 8)):
        choice = builder.zext(builder.trunc(builder.lshr(bits, ir.Constant(_i16, first)), _i8), _i64)
        places = load(builder, table, builder.mul(choice, constant(8)), ir.VectorType(_i8, 8))
        lanes = builder.shuffle_vector(values, values, ir.Constant(half, list(range(first, first + 8))))
        kept = call_llvm(builder, "llvm.x86.avx2.permd", half, [lanes, builder.zext(places, half)])
        place = builder.mul(count, constant(4)) if i else constant(0)
        builder.store(kept, pointer(builder, target, place, half)).align = 4
        count = builder.add(count, _counted(builder, builder.trunc(choice, _i8)))
    return count


def _places(builder):
    """Returns the address of bytes [256, 8]: the positions of the 1 bits of each number, the lowest first."""
    table = []
    for bits in range(256):
        places = [i for i in range(8) if bits >> i & 1]
        table += places + [0] * (8 - len(places))
    return _table(builder, "cpunmt_places", table)


def _table(builder, name, table):
    """Returns the address of constant bytes."""
    module = builder.module
    if name not in module.globals:
        kind = ir.ArrayType(_i8, len(table))
        made = ir.GlobalVariable(module, kind, name)
        made.global_constant, made.linkage, made.initializer = True, "internal", ir.Constant(kind, table)
    return builder.ptrtoint(module.globals[name], _i64)


def _store_looked_up(builder, target, values, chosen):
    """Stores four lanes at a time, by tables of the lanes' bytes and the number of lanes for each of 16 choices."""
    counts = [bits.bit_count() for bits in range(16)]
    places = [[4 * i + byte for i in range(4) if bits >> i & 1 for byte in range(4)] for bits in range(16)]
    places = _table(builder, "cpunmt_bytes", [byte for some in places for byte in some + [0] * (16 - len(some))])
    counts, count = _table(builder, "cpunmt_counts", counts), constant(0)
    kind, lanes = ir.VectorType(_i8, 16), ir.VectorType(_i32, 4)
    for first in range(0, LANES, 4):
        mask = ir.Constant(lanes, list(range(first, first + 4)))
        four, wanted = (builder.shuffle_vector(vector, vector, mask) for vector in (values, chosen))
        choice = builder.zext(builder.bitcast(wanted, ir.IntType(4)), _i64)
        place = load(builder, places, builder.mul(choice, constant(16)), kind)
        kept = _use.look_up(builder, builder.bitcast(four, kind), place)
        builder.store(kept, pointer(builder, target, builder.mul(count, constant(4)), kind)).align = 4
        count = builder.add(count, builder.zext(load(builder, counts, choice, _i8), _i64))
    return count


def _store_one_by_one(builder, target, values, chosen):
    """Writes every lane to the place of the next chosen one."""
    count = constant(0)
    for lane in range(LANES):
        place = ir.Constant(_i32, lane)
        where = pointer(builder, target, builder.mul(count, constant(4)), _i32)
        builder.store(builder.extract_element(values, place), where).align = 4
        count = builder.add(count, builder.zext(builder.extract_element(chosen, place), _i64))
    return count


# registers of 64 bytes come with vpcompressd, those of 32 with vpermd, those of 16 with tbl
_store_chosen = {64: _store_compressed, 32: _store_permuted, 16: _store_looked_up}[_use.register]
if isinstance(_use, Generic):
    _store_chosen = _store_one_by_one
