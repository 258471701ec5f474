"""The contract of a class of instructions, and the instructions that every processor has.

A group is the part of a row that an instruction adds up at once: four bytes, which are four int8 depths or two int16,
or eight bytes. A class defines the registers of the sums, and how rows and weights are loaded and multiplied:

    register            bytes of a register
    unit                rows that are multiplied together: 1, or 2
    parts, sums         registers of sums of a unit and a panel of 16 columns, and the LLVM type of one
    group_bytes         of a row
    groups              number that `weights` loads
    pieces              of a panel, loaded by `weights` one after another, so that few registers hold weights
    row_groups          number that `row` loads
    chains, few_chains  groups with their own sums in a tile of one row, of two: see simd/tile

    first_sums          a panel's int32 [16] in its registers of sums
    row                 the operands of a unit of rows, of each group
    weights             the weights of a piece of a panel, of each group
    add_products        a piece's sums + the products of one group
    joined              int32 [16] of each row, from a unit's sums of one panel

Rows of unsigned bytes up to `most_unsigned` are cheaper on some processors; `simd/sparse_tile` uses them:

    unsigned            one group of one row, broadcast
    add_unsigned        sums + the products of each column
"""

from llvmlite import ir

from cpunmt.simd.emission import INTS, broadcast_value, constant, load

i8, i16, i32, i64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)

GROUP_BYTES = 4  # of a row, in the layout of weights
BLOCK_BYTES = 64  # of a panel: a group


def shuffled(builder, x, y, lanes):
    """Selects lanes of two vectors, the second's numbered after the first's."""
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(i32, len(lanes)), lanes))


def load_parts(builder, base, offset, kind, count):
    """Loads `count` registers, one after another."""
    size = kind.count * kind.element.width // 8
    return [load(builder, base, builder.add(offset, constant(i * size)), kind) for i in range(count)]


def broadcast_group(builder, row, offset, kind):
    """Fills a register with copies of four bytes of a row."""
    scalar = load(builder, row, offset, i32)
    return builder.bitcast(broadcast_value(builder, scalar, kind.count * kind.element.width // 32), kind)


def concatenated(builder, vectors):
    """Concatenates vectors, a power of two of them."""
    while len(vectors) > 1:
        lanes = list(range(2 * vectors[0].type.count))
        vectors = [shuffled(builder, *vectors[i : i + 2], lanes) for i in range(0, len(vectors), 2)]
    return vectors[0]


class Instructions:
    """Instructions that take rows and weights as they are stored, on registers of type `operand`."""

    unit = pieces = groups = row_groups = 1
    group_bytes = GROUP_BYTES
    register = property(lambda self: BLOCK_BYTES // self.parts)
    chains = property(lambda self: 8 // self.parts)  # eight registers of sums
    few_chains = property(lambda self: 4 // self.parts)

    def first_sums(self, builder, vector):
        lanes = self.sums.count
        return [
            shuffled(builder, vector, vector, list(range(first, first + lanes)))
            for first in range(0, INTS.count, lanes)
        ]

    def row(self, builder, rows, plane, offset):
        return [broadcast_group(builder, rows[0], offset, self.operand)]

    def unsigned(self, builder, row, offset):
        return broadcast_group(builder, row, offset, self.operand)

    def weights(self, builder, base, offset, piece):
        return [load_parts(builder, base, offset, self.operand, self.parts)]

    def joined(self, builder, sums):
        return [concatenated(builder, sums)]


class Generic(Instructions):
    """Plain vector code: widen to 32 bits, multiply, add. LLVM translates it for the processor."""

    parts = 1
    sums = INTS
    operand = ir.VectorType(i8, BLOCK_BYTES)  # of bytes that are looked up
    most_unsigned = 255

    def __init__(self, element):
        self.element = element
        self.size = element.width // 8
        self.depths = GROUP_BYTES // self.size  # of a group

    def first_sums(self, builder, vector):
        return [vector]

    def row(self, builder, rows, plane, offset):
        def depth(j):
            return load(builder, rows[0], builder.add(offset, constant(j * self.size)), self.element)

        return [[broadcast_value(builder, builder.sext(depth(j), i32)) for j in range(self.depths)]]

    def weights(self, builder, base, offset, piece):
        block = load(builder, base, offset, ir.VectorType(self.element, BLOCK_BYTES // self.size))
        lanes = ([self.depths * i + j for i in range(16)] for j in range(self.depths))
        return [[[builder.sext(shuffled(builder, block, block, which), INTS) for which in lanes]]]

    @staticmethod
    def look_up(builder, table, codes):
        lanes, found = codes.type.count, range(16)
        found = [shuffled(builder, table, table, [code] * lanes) for code in found]
        for bit in range(4):  # halves the number of levels that are left
            mask = ir.Constant(codes.type, [1 << bit] * lanes)
            chosen = builder.icmp_unsigned("==", builder.and_(codes, mask), mask)
            found = [builder.select(chosen, odd, even) for even, odd in zip(found[::2], found[1::2], strict=True)]
        return found[0]

    def add_products(self, builder, sums, row, weights):
        (total,), (columns,) = sums, weights
        for a, w in zip(row, columns, strict=True):
            total = builder.add(total, builder.mul(a, w))
        return [total]
