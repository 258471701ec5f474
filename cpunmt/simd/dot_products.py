"""The inner instructions of the integer products: the products of one group of depths added to every int32 sum.

A group is what four bytes of a row hold: four int8 depths, or two int16. A class says which registers hold the
sums, how a row and a block of 64 bytes of weights are loaded, and how they meet:

    parts, sums     registers per panel of 16 columns, and the LLVM type of one
    groups          of a block: 1, or 2 where weights are stored as 4-bit codes
    row             one group of one row, broadcast
    weights         one block of one panel: for each group its parts
    add_products    sums + the products of each column

Rows of unsigned bytes, of which none is above `most_unsigned`, are cheaper on some; `simd/sparse_tile` has such:

    unsigned        one group of one row, broadcast
    add_unsigned    sums + the products of each column
"""

from llvmlite import ir

from cpunmt.simd import isa
from cpunmt.simd.emission import INTS, broadcast_constant, broadcast_value, call_llvm, constant, load
from cpunmt.simd.isa import Isa

_i8, _i16, _i32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)

GROUP_BYTES = 4  # of a row
BLOCK_BYTES = 64  # of a panel


def _load_parts(builder, base, offset, kind, parts):
    size = BLOCK_BYTES // parts
    return [load(builder, base, builder.add(offset, constant(i * size)), kind) for i in range(parts)]


def _broadcast_group(builder, row, offset, kind):
    scalar = load(builder, row, offset, _i32)
    return builder.bitcast(broadcast_value(builder, scalar, kind.count * kind.element.width // 32), kind)


class _Instructions:
    """Instructions that take rows and weights as they are stored, on registers of type `operand`."""

    groups = 1

    def row(self, builder, row, plane, offset):
        return _broadcast_group(builder, row, offset, self.operand)

    def unsigned(self, builder, row, offset):
        return _broadcast_group(builder, row, offset, self.operand)

    def weights(self, builder, base, offset):
        return [_load_parts(builder, base, offset, self.operand, self.parts)]


class Vnni(_Instructions):
    """vpdpbusd (unsigned by signed bytes) or vpdpwssd (signed words) on `parts` registers per panel."""

    def __init__(self, name, parts):
        self.parts = parts
        self.name = f"llvm.x86.avx512.{name}.{512 // parts}"
        self.sums = ir.VectorType(_i32, 16 // parts)
        # what LLVM took until version 21; from 22 on it wants lanes of 8 and 16 bits, and converts older code itself
        self.operand = self.sums

    def add_products(self, builder, sums, row, weights):
        return [call_llvm(builder, self.name, self.sums, [s, row, w]) for s, w in zip(sums, weights, strict=True)]

    most_unsigned = 255
    add_unsigned = add_products


class Avx2Bytes(_Instructions):
    """vpsignb, vpmaddubsw, vpmaddwd: see isa.activation_planes."""

    parts = 2
    sums = ir.VectorType(_i32, 8)
    operand = ir.VectorType(_i8, 32)
    most_unsigned = 129  # a sum of two products, at most 2 * 129 * 127, does not saturate either
    _words = ir.VectorType(_i16, 16)

    def row(self, builder, row, plane, offset):
        return [_broadcast_group(builder, base, offset, self.operand) for base in (row, builder.add(row, plane))]

    def add_products(self, builder, sums, row, weights):
        sign, magnitude = row
        signed = [call_llvm(builder, "llvm.x86.avx2.psign.b", self.operand, [w, sign]) for w in weights]
        return self.add_unsigned(builder, sums, magnitude, signed)

    def add_unsigned(self, builder, sums, row, weights):
        ones = broadcast_constant(1, _i16, 16)
        made = []
        for s, w in zip(sums, weights, strict=True):
            pairs = call_llvm(builder, "llvm.x86.avx2.pmadd.ub.sw", self._words, [row, w])
            made.append(builder.add(s, call_llvm(builder, "llvm.x86.avx2.pmadd.wd", self.sums, [pairs, ones])))
        return made


class Avx2Words(_Instructions):
    """vpmaddwd."""

    parts = 2
    sums = ir.VectorType(_i32, 8)
    operand = ir.VectorType(_i16, 16)

    def add_products(self, builder, sums, row, weights):
        return [
            builder.add(s, call_llvm(builder, "llvm.x86.avx2.pmadd.wd", self.sums, [row, w]))
            for s, w in zip(sums, weights, strict=True)
        ]


class Generic:
    """Plain vector code: widen to 32 bits, multiply, add. LLVM makes of it what the processor has."""

    groups = 1
    parts = 1
    sums = INTS
    most_unsigned = 255

    def __init__(self, element):
        self.element = element
        self.size = element.width // 8
        self.depths = GROUP_BYTES // self.size  # of a group

    def row(self, builder, row, plane, offset):
        def depth(j):
            return load(builder, row, builder.add(offset, constant(j * self.size)), self.element)

        return [broadcast_value(builder, builder.sext(depth(j), _i32)) for j in range(self.depths)]

    def weights(self, builder, base, offset):
        block = load(builder, base, offset, ir.VectorType(self.element, BLOCK_BYTES // self.size))
        masks = (ir.Constant(INTS, [self.depths * i + j for i in range(16)]) for j in range(self.depths))
        return [[[builder.sext(builder.shuffle_vector(block, block, mask), INTS) for mask in masks]]]

    def add_products(self, builder, sums, row, weights):
        (total,), (columns,) = sums, weights
        for a, w in zip(row, columns, strict=True):
            total = builder.add(total, builder.mul(a, w))
        return [total]


class Coded:
    """Another class's instructions on weights of 4 bits: codes, with which a byte shuffle looks the int8 weights up.

    A block holds two groups: the lower and the upper halves of its bytes.
    """

    groups = 2

    def __init__(self, builder, bytewise, levels):
        """`levels` is the address of the int8 [16] that the codes stand for; they are loaded here."""
        self.parts, self.sums, self.operand = bytewise.parts, bytewise.sums, bytewise.operand
        self.row, self.add_products = bytewise.row, bytewise.add_products
        size = BLOCK_BYTES // self.parts
        table = load(builder, levels, constant(0), ir.VectorType(_i8, 16))
        mask = ir.Constant(ir.VectorType(_i32, size), list(range(16)) * (size // 16))
        self._table = builder.shuffle_vector(table, table, mask)

    def weights(self, builder, base, offset):
        kind = self._table.type
        shuffle = {1: "llvm.x86.avx512.pshuf.b.512", 2: "llvm.x86.avx2.pshuf.b"}[self.parts]

        def decoded(codes):
            return builder.bitcast(call_llvm(builder, shuffle, kind, [self._table, codes]), self.operand)

        parts = _load_parts(builder, base, offset, kind, self.parts)
        four, fifteen = (broadcast_constant(number, _i8, kind.count) for number in (4, 15))
        lower = [decoded(builder.and_(part, fifteen)) for part in parts]
        upper = [decoded(builder.lshr(part, four)) for part in parts]
        return [lower, upper]


def int8_products():
    """The instructions of this process's instruction set for int8."""
    return _products("vpdpbusd", Avx2Bytes, _i8)


def int16_products():
    """The instructions of this process's instruction set for int16."""
    return _products("vpdpwssd", Avx2Words, _i16)


def _products(vnni, avx2, element):
    return {
        Isa.AMX_INT8: lambda: Vnni(vnni, parts=1),
        Isa.AVX512_VNNI: lambda: Vnni(vnni, parts=1),
        Isa.AVX_VNNI: lambda: Vnni(vnni, parts=2),
        Isa.AVX2: avx2,
        Isa.GENERIC: lambda: Generic(element),
    }[isa.current()]()
