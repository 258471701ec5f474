"""The inner instruction of the int8 product on each instruction set: four products of bytes added to every sum.

A class says which registers hold the sums, how a row and a group of weights are loaded, and how they meet:

    parts, sums     registers per panel of 16 columns, and the LLVM type of one
    row             four activations of one row, broadcast
    weights         one group of one panel
    add_products    sums + the four products of each column
"""

import llvmlite.binding as llvm
from llvmlite import ir

from cpunmt.simd import isa
from cpunmt.simd.emission import constant, load
from cpunmt.simd.isa import Isa
from cpunmt.simd.vector import INTS, call_llvm, splat_constant, splat_value

_i8, _i16, _i32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)

GROUP = 4  # depths that lie side by side
SIGNS_MATTER = isa.current() is Isa.AVX2  # rows without negative numbers multiply faster


def halves(builder, vector):
    """The two 8-lane halves of a 16-lane vector."""
    return [
        builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_i32, 8), list(range(start, start + 8))))
        for start in (0, 8)
    ]


def joined(builder, low, high):
    return builder.shuffle_vector(low, high, ir.Constant(INTS, list(range(16))))


class Vnni:
    """vpdpbusd: sums += the four products of unsigned by signed bytes. `parts` registers per panel."""

    def __init__(self, parts):
        self.parts = parts
        self.lanes = 16 // parts
        self.name = {1: "llvm.x86.avx512.vpdpbusd.512", 2: "llvm.x86.avx512.vpdpbusd.256"}[parts]
        self.sums = ir.VectorType(_i32, self.lanes)
        # LLVM 21 changed the operand types of these instructions from i32 lanes to i8 lanes
        self.operand = ir.VectorType(_i8, 4 * self.lanes) if llvm.llvm_version_info[0] >= 21 else self.sums

    def row(self, builder, row, plane, offset):
        scalar = load(builder, row, offset, _i32)
        return builder.bitcast(splat_value(builder, scalar, self.lanes), self.operand)

    def weights(self, builder, base, offset):
        size = 4 * self.lanes
        return [load(builder, base, builder.add(offset, constant(i * size)), self.operand) for i in range(self.parts)]

    def add_products(self, builder, sums, row, weights):
        return [call_llvm(builder, self.name, self.sums, [s, row, w]) for s, w in zip(sums, weights, strict=True)]


class Avx2:
    """vpsignb, vpmaddubsw, vpmaddwd (see isa.activation_planes); rows without negative numbers need no vpsignb."""

    parts = 2
    sums = ir.VectorType(_i32, 8)
    _bytes, _words = ir.VectorType(_i8, 32), ir.VectorType(_i16, 16)

    def __init__(self, signed):
        self.signed = signed

    def row(self, builder, row, plane, offset):
        def broadcast(base):
            return builder.bitcast(splat_value(builder, load(builder, base, offset, _i32), 8), self._bytes)

        return (broadcast(row) if self.signed else None, broadcast(builder.add(row, plane)))

    def weights(self, builder, base, offset):
        return [load(builder, base, builder.add(offset, constant(32 * i)), self._bytes) for i in range(2)]

    def add_products(self, builder, sums, row, weights):
        sign, magnitude = row
        ones = splat_constant(1, _i16, 16)
        made = []
        for s, w in zip(sums, weights, strict=True):
            if self.signed:
                w = call_llvm(builder, "llvm.x86.avx2.psign.b", self._bytes, [w, sign])
            pairs = call_llvm(builder, "llvm.x86.avx2.pmadd.ub.sw", self._words, [magnitude, w])
            made.append(builder.add(s, call_llvm(builder, "llvm.x86.avx2.pmadd.wd", self.sums, [pairs, ones])))
        return made


class Generic:
    """Plain vector code: widen to 32 bits, multiply, add. LLVM makes of it what the processor has."""

    parts = 1
    sums = INTS
    _narrow = ir.VectorType(_i8, 16)

    def row(self, builder, row, plane, offset):
        return [
            splat_value(builder, builder.sext(load(builder, row, builder.add(offset, constant(j)), _i8), _i32))
            for j in range(GROUP)
        ]

    def weights(self, builder, base, offset):
        group = load(builder, base, offset, ir.VectorType(_i8, 64))
        every_fourth = (ir.Constant(INTS, [GROUP * i + j for i in range(16)]) for j in range(GROUP))
        return [[builder.sext(builder.shuffle_vector(group, group, mask), INTS) for mask in every_fourth]]

    def add_products(self, builder, sums, row, weights):
        (total,), (columns,) = sums, weights
        for a, w in zip(row, columns, strict=True):
            total = builder.add(total, builder.mul(a, w))
        return [total]


def instructions(signed):
    """Of this process's instruction set; `signed=False` promises rows without negative numbers."""
    return {
        Isa.AVX512_VNNI: lambda: Vnni(parts=1),
        Isa.AVX_VNNI: lambda: Vnni(parts=2),
        Isa.AVX2: lambda: Avx2(signed),
        Isa.GENERIC: Generic,
    }[isa.current()]()
