"""The instructions of x86-64: see `simd/products/plain` for the contract of a class."""

from llvmlite import ir

from cpunmt.simd.emission import broadcast_constant, call_llvm
from cpunmt.simd.products.plain import Instructions, broadcast_group, i8, i16, i32


class Vnni(Instructions):
    """vpdpbusd (unsigned by signed bytes) or vpdpwssd (signed words) on `parts` registers per panel."""

    def __init__(self, name, parts):
        self.parts = parts
        self.name = f"llvm.x86.avx512.{name}.{512 // parts}"
        self.sums = ir.VectorType(i32, 16 // parts)
        # the lanes of LLVM until version 21; version 22 has lanes of 8 and 16 bits, and converts older code itself
        self.operand = self.sums
        self.look_up = Avx2Bytes.look_up if parts == 2 else _look_up512

    def add_products(self, builder, sums, row, weights):
        return [call_llvm(builder, self.name, self.sums, [s, row, w]) for s, w in zip(sums, weights, strict=True)]

    most_unsigned = 255
    add_unsigned = add_products


def _look_up512(builder, table, codes):
    return call_llvm(builder, "llvm.x86.avx512.pshuf.b.512", table.type, [table, codes])


class Avx2Bytes(Instructions):
    """Bytes by vpsignb, vpmaddubsw and vpmaddwd: see isa.activation_planes."""

    parts = 2
    sums = ir.VectorType(i32, 8)
    operand = ir.VectorType(i8, 32)
    most_unsigned = 129  # a sum of two products, at most 2 * 129 * 127, does not saturate either
    _words = ir.VectorType(i16, 16)

    def row(self, builder, rows, plane, offset):
        (row,) = rows
        return [[broadcast_group(builder, base, offset, self.operand) for base in (row, builder.add(row, plane))]]

    def add_products(self, builder, sums, row, weights):
        sign, magnitude = row
        signed = [call_llvm(builder, "llvm.x86.avx2.psign.b", self.operand, [w, sign]) for w in weights]
        return self.add_unsigned(builder, sums, magnitude, signed)

    def add_unsigned(self, builder, sums, row, weights):
        ones = broadcast_constant(1, i16, 16)
        made = []
        for s, w in zip(sums, weights, strict=True):
            pairs = call_llvm(builder, "llvm.x86.avx2.pmadd.ub.sw", self._words, [row, w])
            made.append(builder.add(s, call_llvm(builder, "llvm.x86.avx2.pmadd.wd", self.sums, [pairs, ones])))
        return made

    @staticmethod
    def look_up(builder, table, codes):
        return call_llvm(builder, "llvm.x86.avx2.pshuf.b", table.type, [table, codes])


class Avx2Words(Instructions):
    """Words by vpmaddwd."""

    parts = 2
    sums = ir.VectorType(i32, 8)
    operand = ir.VectorType(i16, 16)

    def add_products(self, builder, sums, row, weights):
        return [
            builder.add(s, call_llvm(builder, "llvm.x86.avx2.pmadd.wd", self.sums, [row, w]))
            for s, w in zip(sums, weights, strict=True)
        ]
