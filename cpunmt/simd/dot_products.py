"""The instructions for the integer products of this process (`simd/products`), and for weights of 4 bits."""

from llvmlite import ir

from cpunmt.simd import isa
from cpunmt.simd.emission import broadcast_constant, constant, load
from cpunmt.simd.isa import Isa
from cpunmt.simd.products.arm import Bytes, DotProducts, MatrixProducts, Words
from cpunmt.simd.products.plain import BLOCK_BYTES, GROUP_BYTES, Generic, i8, i16, load_parts, shuffled
from cpunmt.simd.products.x86 import Avx2Bytes, Avx2Words, Vnni

__all__ = ["BLOCK_BYTES", "GROUP_BYTES", "Avx2Bytes", "Bytes", "Coded", "Generic", "int8_products", "int16_products"]


class Coded:
    """Another class's instructions on weights of 4 bits: a byte shuffle looks up the int8 weights of the codes.

    A block holds two groups: the lower and the upper halves of its bytes.
    """

    groups, pieces = 2, 1

    def __init__(self, builder, bytewise, levels):
        """Loads the values of the codes, int8 [16] at the address `levels`."""
        self._bytewise, size = bytewise, bytewise.register
        table = load(builder, levels, constant(0), ir.VectorType(i8, 16))
        self._table = shuffled(builder, table, table, list(range(16)) * (size // 16))

    def __getattr__(self, name):
        return getattr(self._bytewise, name)  # everything else is unchanged

    def weights(self, builder, base, offset, piece):
        kind = self._table.type

        def decoded(codes):
            return builder.bitcast(self.look_up(builder, self._table, codes), self.operand)

        parts = load_parts(builder, base, offset, kind, BLOCK_BYTES // self.register)
        four, fifteen = (broadcast_constant(number, i8, kind.count) for number in (4, 15))
        lower = [decoded(builder.and_(part, fifteen)) for part in parts]
        upper = [decoded(builder.lshr(part, four)) for part in parts]
        return [lower, upper]


def int8_products(rows=1):
    """Returns the instructions of this process's instruction set for int8, for tiles of `rows` rows."""
    if isa.current() is Isa.I8MM and rows >= _MATRIX_ROWS:
        return MatrixProducts()
    return _products("vpdpbusd", Avx2Bytes, Bytes, i8)


def int16_products():
    """Returns the instructions of this process's instruction set for int16."""
    return _products("vpdpwssd", Avx2Words, Words, i16)


# smmla needs fewer instructions than sdot, but first spends them on zipping: for 3 rows 52 instead of 48, for 4 rows 52
# instead of 64, for 6 rows 70 instead of 96, each for 16 depths by 16 columns.
_MATRIX_ROWS = 4


def _products(vnni, avx2, neon, element):
    bytewise = element is i8
    return {
        Isa.AMX_INT8: lambda: Vnni(vnni, parts=1),
        Isa.AVX512_VNNI: lambda: Vnni(vnni, parts=1),
        Isa.AVX_VNNI: lambda: Vnni(vnni, parts=2),
        Isa.AVX2: avx2,
        Isa.I8MM: lambda: DotProducts(mixed=True) if bytewise else neon(),
        Isa.DOTPROD: lambda: DotProducts() if bytewise else neon(),
        Isa.NEON: neon,
        Isa.GENERIC: lambda: Generic(element),
    }[isa.current()]()
