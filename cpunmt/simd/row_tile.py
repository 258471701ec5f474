"""Sixteen rows of a matrix times one vector: contiguous rows at any places, as in a table of pieces.

    sum[c] = sum_k a[k] * w[piece[c], k]      exact in int32 for integers; for floats one chain of fused multiply-adds
                                              over k in ascending order, as in simd/float_tile

A register of a row is multiplied by the same depths of `a`, lane by lane, with the instructions of the dense tiles, so
an integer row ends as a register of partial sums. Shuffles add up those of four rows to four lanes, and four such
results to sixteen. The order of float sums requires a lane for each row: floats are transposed on their way, a square
at a time.

Reads stay within a row, whose last bytes may be a file's last.
"""

from llvmlite import ir
from numba.core.types import UniTuple, int64

from cpunmt.simd.dot_products import BLOCK_BYTES, Avx2Bytes, Generic, int8_products, int16_products
from cpunmt.simd.emission import (
    FLOATS,
    LANES,
    broadcast_constant,
    broadcast_value,
    call_llvm,
    constant,
    depth_loop,
    function,
    load,
    prefetch,
)
from cpunmt.simd.products.plain import concatenated
from cpunmt.simd.vector import f32x16, i32x16

_i8, _i16, _i32, _i64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_float = ir.FloatType()
_QUAD = 4  # rows at a time: the lanes within which a shuffle stays


class _Registers:
    """Rows in registers of the dense tile's instructions; the end of a row is loaded in part."""

    def __init__(self, use):
        self.use, self.sums = use, use.sums
        self.size = use.register
        self._kind = ir.VectorType(_i32, self.size // 4)

    def load(self, builder, base, offset, mask=None):
        if mask is None:
            return load(builder, base, offset, self.use.operand)
        name = f"llvm.masked.load.v{self._kind.count}i32.p0"
        place = builder.inttoptr(builder.add(base, offset), self._kind.as_pointer())
        given = [place, ir.Constant(_i32, 1), mask, ir.Constant(self._kind, None)]
        return builder.bitcast(call_llvm(builder, name, self._kind, given), self.use.operand)

    def load_vector(self, builder, a, plane, offset, mask=None):
        if not isinstance(self.use, Avx2Bytes):
            return self.load(builder, a, offset, mask)
        return [self.load(builder, base, offset, mask) for base in (a, builder.add(a, plane))]

    def add_products(self, builder, total, vector, row):
        return self.use.add_products(builder, [total], vector, [row])[0]

    def add_rest(self, builder, sums, left, products):
        """Adds the products of the last `left` bytes, at most a block."""
        numbers = ir.Constant(self._kind, list(range(0, self.size, 4)))
        for first in range(0, BLOCK_BYTES, self.size):
            begun = builder.trunc(builder.sub(left, constant(first)), _i32)
            mask = builder.icmp_signed("<", numbers, broadcast_value(builder, begun, self._kind.count))
            sums = products(sums, constant(first), mask)
        return sums


class _Sixteen:
    """Registers of sixteen bytes; the length of a row is a multiple."""

    size = 16
    sums = ir.VectorType(_i32, 4)

    def __init__(self, use):
        self.use, self._kind = use, use.operand

    def load(self, builder, base, offset, mask=None):
        return load(builder, base, offset, self._kind)

    def load_vector(self, builder, a, plane, offset, mask=None):
        return self.load(builder, a, offset)

    def add_products(self, builder, total, vector, row):
        return self.use.add_lanes(builder, total, vector, row)

    def add_rest(self, builder, sums, left, products):
        """Adds the products of the last `left` bytes, a multiple of 16."""

        def body(step, sums):
            return products(sums, builder.mul(step, constant(self.size)))

        return depth_loop(builder, builder.udiv(left, constant(self.size)), sums, body)


class _Plain(_Sixteen):
    """Plain vector code. Products of neighbours are added first, which is one step on many processors."""

    def __init__(self, use):
        self._kind = ir.VectorType(use.element, 16 // use.size)

    def add_products(self, builder, total, vector, row):
        pair = [builder.sext(x, ir.VectorType(_i16, x.type.count)) for x in (vector, row)]
        for first in range(0, row.type.count, 8):
            products = []
            for odd in (0, 1):
                mask = ir.Constant(self.sums, [first + odd + 2 * i for i in range(4)])
                x, y = (builder.sext(builder.shuffle_vector(v, v, mask), self.sums) for v in pair)
                products.append(builder.mul(x, y))
            total = builder.add(total, builder.add(*products))
        return total


def _address(builder, rows, row_bytes, pieces, number):
    piece = builder.sext(load(builder, pieces, constant(4 * number), _i32), _i64)
    return builder.add(rows, builder.mul(piece, row_bytes))


def _halves_added(builder, x, y, size):
    """Adds both halves of each 2 * size lanes of x, and then of y."""
    count = x.type.count
    runs = [range(run, run + size) for run in range(0, count, size)]
    low, high = (
        [which + lane for which in (0, count) for i in range(first, len(runs), 2) for lane in runs[i]]
        for first in (0, 1)
    )
    masks = (ir.Constant(ir.VectorType(_i32, count), lanes) for lanes in (low, high))
    return builder.add(*(builder.shuffle_vector(x, y, mask) for mask in masks))


def _unpacked(builder, x, y, size):
    """Interleaves x and y within each four lanes, `size` lanes of both in turn, with halves added."""
    count = x.type.count
    low, high = (
        [
            which + four + 2 * half + size * i + lane
            for four in range(0, count, 4)
            for i in range(2 // size)
            for which in (0, count)
            for lane in range(size)
        ]
        for half in (0, 1)
    )
    masks = (ir.Constant(ir.VectorType(_i32, count), lanes) for lanes in (low, high))
    return builder.add(*(builder.shuffle_vector(x, y, mask) for mask in masks))


def _quad_sums(builder, how, a, plane, row_bytes, addresses, early):
    """Returns a register in which each four lanes are partial sums of the four rows; prefetches `early` rows."""

    def products(begin):
        def add(sums, offset, mask=None):
            place = builder.add(begin, offset)
            vector = how.load_vector(builder, a, plane, place, mask)
            return [
                how.add_products(builder, total, vector, how.load(builder, row, place, mask))
                for total, row in zip(sums, addresses, strict=True)
            ]

        return add

    def prefetched(begin):
        for row in early:
            prefetch(builder, row, begin, level=2)

    def body(step, sums):
        begin = builder.mul(step, constant(BLOCK_BYTES))
        prefetched(begin)
        for first in range(0, BLOCK_BYTES, how.size):
            sums = products(begin)(sums, constant(first))
        return sums

    # the last block is separate: a row may end in it
    steps = builder.udiv(builder.sub(row_bytes, constant(1)), constant(BLOCK_BYTES))
    before, zero = builder.block, ir.Constant(how.sums, None)
    with builder.if_then(builder.icmp_signed(">", steps, constant(0))):
        made, walked = depth_loop(builder, steps, [zero] * _QUAD, body), builder.block
    sums = []
    for value in made:
        joined = builder.phi(value.type)
        joined.add_incoming(zero, before)
        joined.add_incoming(value, walked)
        sums.append(joined)
    begin = builder.mul(steps, constant(BLOCK_BYTES))
    prefetched(begin)
    sums = how.add_rest(builder, sums, builder.sub(row_bytes, begin), products(begin))
    low, high = (_unpacked(builder, *sums[i : i + 2], 1) for i in (0, 2))
    return _unpacked(builder, low, high, 2)


def _integers(name, use):
    how = _Plain(use) if isinstance(use, Generic) else _Sixteen(use) if use.register == 16 else _Registers(use)

    @function(i32x16(*(int64,) * 6), name)
    def sums(builder, a, plane, rows, row_bytes, pieces, early):
        """Returns exact sums of 16 rows, int32 `pieces` [16] of a matrix at `rows`, times the vector at `a`.

        plane        the storage of the vector: see simd/tile
        row_bytes    of a row, a multiple of 16
        early        int32 [16]: rows to prefetch into the L2 cache
        """
        quads = []
        for first in range(0, LANES, _QUAD):
            quad = [[_address(builder, rows, row_bytes, p, first + i) for i in range(_QUAD)] for p in (pieces, early)]
            quads.append(_quad_sums(builder, how, a, plane, row_bytes, *quad))
        lanes = how.sums.count
        while lanes > _QUAD:  # add the halves of each register
            lanes //= 2
            quads = [_halves_added(builder, *quads[i : i + 2], lanes) for i in range(0, len(quads), 2)]
        return concatenated(builder, quads)

    return sums


int8_row_sums = _integers("int8_row_sums", int8_products())
int16_row_sums = _integers("int16_row_sums", int16_products())

# floats of a register: squares of this many rows and depths are transposed in registers
_SIDE = 4 if isinstance(int8_products(), Generic) else int8_products().register // 4


def _transposed(builder, rows):
    """Returns the columns of a square matrix of vectors, or of several side by side in them, by swapping blocks across
    the diagonal."""
    side, count = len(rows), rows[0].type.count
    size, kind = side, ir.VectorType(_i32, count)
    while size > 1:
        size //= 2
        kept = [lane if not lane & size else count + lane - size for lane in range(count)]
        moved = [lane + size if not lane & size else count + lane for lane in range(count)]
        swapped = list(rows)
        for i in range(side):
            if not i & size:
                pair = rows[i], rows[i | size]
                swapped[i] = builder.shuffle_vector(*pair, ir.Constant(kind, kept))
                swapped[i | size] = builder.shuffle_vector(*pair, ir.Constant(kind, moved))
        rows = swapped
    return rows


@function(f32x16(*(int64,) * 5))
def float_row_sums(builder, a, rows, row_bytes, pieces, early):
    """Returns sums of 16 rows, int32 `pieces` [16] of a float32 matrix at `rows`, times float32 at `a`.

    row_bytes    of a row, a multiple of 64
    early        int32 [16]: rows to prefetch into the L2 cache
    """
    kind = ir.VectorType(_float, _SIDE)
    addresses, soon = ([_address(builder, rows, row_bytes, p, i) for i in range(LANES)] for p in (pieces, early))

    def body(step, sums):
        block = builder.mul(step, constant(BLOCK_BYTES))
        for row in soon:
            prefetch(builder, row, block, level=2)
        for first in range(0, BLOCK_BYTES, 4 * _SIDE):
            made, offset = [], builder.add(block, constant(first))
            for i, total in enumerate(sums):
                square = [load(builder, row, offset, kind) for row in addresses[i * _SIDE : (i + 1) * _SIDE]]
                for depth, column in enumerate(_transposed(builder, square)):
                    number = load(builder, a, builder.add(offset, constant(4 * depth)), _float)
                    given = [broadcast_value(builder, number, _SIDE), column, total]
                    total = call_llvm(builder, f"llvm.fma.v{_SIDE}f32", kind, given)
                made.append(total)
            sums = made
        return sums

    zero = [broadcast_constant(0.0, _float, _SIDE)] * (LANES // _SIDE)
    return concatenated(builder, depth_loop(builder, builder.udiv(row_bytes, constant(BLOCK_BYTES)), zero, body))


@function(UniTuple(f32x16, _QUAD)(int64, int64))
def quadruples(builder, numbers, places):
    """Loads float32 [.., 4] at sixteen int32 places: a vector of the first of each, and so on."""
    kind = ir.VectorType(_float, _QUAD)
    addresses = [_address(builder, numbers, constant(4 * _QUAD), places, i) for i in range(LANES)]
    found = [load(builder, address, constant(0), kind) for address in addresses]
    # one register of every fourth place, so that its squares belong to neighbours
    made = ir.Constant(ir.ArrayType(FLOATS, _QUAD), ir.Undefined)
    joined = [concatenated(builder, found[i::_QUAD]) for i in range(_QUAD)]
    for i, vector in enumerate(_transposed(builder, joined)):
        made = builder.insert_value(made, vector, i)
    return made
