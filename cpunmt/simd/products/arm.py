"""The instructions of aarch64, on registers of 16 bytes: see `simd/products/plain` for the contract of a class.

Most of them can multiply by one element of a register: sixteen bytes of a row are loaded once, without broadcasting.
LLVM compiles a shuffle that repeats a lane to this form.

`add_lanes` is for contiguous rows (simd/row_tile): four sums + the products of two registers, of neighbours.
"""

from llvmlite import ir

from cpunmt.simd.emission import call_llvm, constant, load, opaque
from cpunmt.simd.products.plain import (
    BLOCK_BYTES,
    GROUP_BYTES,
    Instructions,
    broadcast_group,
    concatenated,
    i8,
    i16,
    i32,
    i64,
    shuffled,
)

BYTES, WORDS, SUMS = ir.VectorType(i8, 16), ir.VectorType(i16, 8), ir.VectorType(i32, 4)
_REGISTERS = BLOCK_BYTES // 16  # of a block: four columns each


def _half(builder, register, which):
    count = register.type.count // 2
    return shuffled(builder, register, register, list(range(which * count, (which + 1) * count)))


def _multiplied(builder, x, y):
    """Emits smull: the products of half a register, in lanes of twice the width."""
    wide = ir.VectorType({8: i16, 16: i32}[x.type.element.width], x.type.count)
    return call_llvm(builder, f"llvm.aarch64.neon.smull.v{wide.count}i{wide.element.width}", wide, [x, y])


def _pairs_added(builder, total, words):
    """Emits sadalp: adds sums of neighbours to four sums."""
    return builder.add(total, call_llvm(builder, "llvm.aarch64.neon.saddlp.v4i32.v8i16", SUMS, [words]))


class _Arm(Instructions):
    """Four registers of sums, and of weights, of four columns each; a load of a row has four groups."""

    register = 16
    parts, sums = _REGISTERS, SUMS
    row_groups = 4
    pieces = _REGISTERS
    chains, few_chains = 4, 2  # sixteen registers of sums

    def weights(self, builder, base, offset, piece):
        return [[self._register(builder, base, offset, piece, 0)]]

    def _register(self, builder, base, offset, number, block):
        """Loads a register of a block, the first one or the next."""
        place = builder.add(offset, constant(16 * number + BLOCK_BYTES * block))
        return load(builder, base, place, self.operand)

    @staticmethod
    def look_up(builder, table, codes):
        return call_llvm(builder, "llvm.aarch64.neon.tbl1.v16i8", BYTES, [table, codes])


class DotProducts(_Arm):
    """Instructions that add four products of bytes to each of four sums: sdot; usdot (unsigned by signed) with i8mm."""

    operand = BYTES

    def __init__(self, mixed=False):
        self.most_unsigned = 255 if mixed else 127  # as a signed byte
        self._unsigned = "usdot" if mixed else "sdot"

    def row(self, builder, rows, plane, offset):
        four = builder.bitcast(load(builder, rows[0], offset, BYTES), SUMS)
        return [builder.bitcast(shuffled(builder, four, four, [lane] * 4), BYTES) for lane in range(4)]

    def add_products(self, builder, sums, row, weights):
        return [self.add_lanes(builder, s, w, row) for s, w in zip(sums, weights, strict=True)]

    def add_lanes(self, builder, total, x, y):
        return call_llvm(builder, "llvm.aarch64.neon.sdot.v4i32.v16i8", SUMS, [total, x, y])

    def add_unsigned(self, builder, sums, row, weights):
        name = f"llvm.aarch64.neon.{self._unsigned}.v4i32.v16i8"
        return [call_llvm(builder, name, SUMS, [s, row, w]) for s, w in zip(sums, weights, strict=True)]


class MatrixProducts(_Arm):
    """Instructions that multiply two rows by two columns, of eight depths each (smmla); four sums are a register.

    Two groups hold eight depths of a column: four registers of each become eight by zipping. For two rows that takes as
    many instructions as it saves, so this class is for four rows and more.
    """

    unit = 2
    operand = SUMS  # the four depths of a column
    parts = 2 * _REGISTERS
    group_bytes = 2 * GROUP_BYTES
    row_groups = 1
    chains = few_chains = 1

    def first_sums(self, builder, vector):
        return [shuffled(builder, vector, vector, [first, first + 1] * 2) for first in range(0, 16, 2)]

    def row(self, builder, rows, plane, offset):
        """Loads two rows; a unit of one row has it twice."""
        halves = [load(builder, row, offset, i64) for row in (rows[0], rows[-1])]
        made = ir.Constant(ir.VectorType(i64, 2), ir.Undefined)
        for lane, half in enumerate(halves):
            made = builder.insert_element(made, half, ir.Constant(i32, lane))
        return [builder.bitcast(made, BYTES)]

    def weights(self, builder, base, offset, piece):
        low, high = (self._register(builder, base, offset, piece, block) for block in (0, 1))
        return [[builder.bitcast(shuffled(builder, low, high, [i, 4 + i, i + 1, 5 + i]), BYTES) for i in (0, 2)]]

    def add_products(self, builder, sums, row, weights):
        name = "llvm.aarch64.neon.smmla.v4i32.v16i8"
        return [call_llvm(builder, name, SUMS, [s, row, w]) for s, w in zip(sums, weights, strict=True)]

    def joined(self, builder, sums):
        pairs = list(zip(sums[::2], sums[1::2], strict=True))
        rows = ([0, 1, 4, 5], [2, 3, 6, 7])
        return [concatenated(builder, [shuffled(builder, *pair, lanes) for pair in pairs]) for lanes in rows]


class Bytes(_Arm):
    """Instructions of every processor (smull, smlal, sadalp): the products of two groups, at most 2 * 128 * 127, are
    added up in 16 bits, and those of neighbours to 32. So a column has two sums."""

    parts = 2 * _REGISTERS
    operand = BYTES
    group_bytes = 2 * GROUP_BYTES
    row_groups = 1
    chains, few_chains = 2, 1
    most_unsigned = 127

    def first_sums(self, builder, vector):
        zero = ir.Constant(vector.type, None)
        return [shuffled(builder, vector, zero, [first, 16, first + 1, 16]) for first in range(0, 16, 2)]

    def row(self, builder, rows, plane, offset):
        places = [builder.add(offset, constant(i)) for i in (0, GROUP_BYTES)]
        # hides from the compiler that both halves are equal, or it would not use smull2
        return [[opaque(builder, broadcast_group(builder, rows[0], place, BYTES)) for place in places]]

    def weights(self, builder, base, offset, piece):
        return [[tuple(self._register(builder, base, offset, piece, block) for block in (0, 1))]]

    def add_products(self, builder, sums, row, weights):
        made = []
        for i, total in enumerate(sums):
            words = [
                _multiplied(builder, _half(builder, w, i % 2), _half(builder, a, i % 2))
                for w, a in zip(weights[i // 2], row, strict=True)
            ]
            made.append(_pairs_added(builder, total, builder.add(*words)))
        return made

    def add_lanes(self, builder, total, x, y):
        words = [_multiplied(builder, *(_half(builder, register, which) for register in (x, y))) for which in (0, 1)]
        return _pairs_added(builder, total, builder.add(*words))

    def joined(self, builder, sums):
        made = []
        for low, high in zip(sums[::2], sums[1::2], strict=True):
            made.append(builder.add(*(shuffled(builder, low, high, [i, i + 2, i + 4, i + 6]) for i in (0, 1))))
        return [concatenated(builder, made)]


class Words(_Arm):
    """Instructions that multiply four columns of one depth (smlal); unzipping neighbours joins products of a depth."""

    operand = WORDS
    pieces = _REGISTERS // 2

    def row(self, builder, rows, plane, offset):
        eight = load(builder, rows[0], offset, WORDS)
        depths = [shuffled(builder, eight, eight, [lane] * 4) for lane in range(8)]
        return [depths[lane : lane + 2] for lane in range(0, 8, 2)]

    def weights(self, builder, base, offset, piece):
        pair = [self._register(builder, base, offset, 2 * piece + i, 0) for i in (0, 1)]
        depths = [shuffled(builder, *pair, list(range(first, 16, 2))) for first in (0, 1)]
        return [[[_half(builder, depth, which) for depth in depths] for which in (0, 1)]]

    def add_products(self, builder, sums, row, weights):
        made = []
        for total, depths in zip(sums, weights, strict=True):
            for a, w in zip(row, depths, strict=True):
                total = builder.add(total, _multiplied(builder, w, a))
            made.append(total)
        return made

    def add_lanes(self, builder, total, x, y):
        for which in (0, 1):
            total = builder.add(total, _multiplied(builder, *(_half(builder, v, which) for v in (x, y))))
        return total
