"""`f32x16` and `i32x16`: sixteen lanes that compiled code uses like numbers.

Every float kernel uses these types, for any processor: LLVM splits them into the machine's registers (one of AVX-512,
two of AVX2, four of SSE or NEON) without changing a bit of any lane. Sums over lanes end in one fixed tree, so float
results do not depend on the instruction set.

Operators: `+ - * /` on two f32x16, `+ - * << >> &` on two i32x16 (`>>` brings zeros). Everything else is a function
below. Addresses are integers, indices count elements; loads and stores need 4-byte alignment only, and are not
bounds-checked.
"""

import operator

from llvmlite import ir
from numba.core.datamodel.models import PrimitiveModel
from numba.core.types import Type, float32, int64, void
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model

from cpunmt.simd.emission import (
    FLOATS,
    INTS,
    LANES,
    broadcast_constant,
    broadcast_value,
    call_llvm,
    element_pointer,
    function,
    multiply_add,
)

_i8, _i16, _i32, _i64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)


class _VectorType(Type):
    def __init__(self, name, llvm_type):
        super().__init__(name)
        self.llvm_type = llvm_type


f32x16 = _VectorType("f32x16", FLOATS)
i32x16 = _VectorType("i32x16", INTS)


@register_model(_VectorType)
class _VectorModel(PrimitiveModel):
    def __init__(self, manager, vector_type):
        super().__init__(manager, vector_type, vector_type.llvm_type)


def _operator(python_operator, instructions):
    """Defines a binary operator on two vectors of one type, as one LLVM instruction."""

    @infer_global(python_operator)
    class _Typing(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and args[0] == args[1] and args[0] in instructions:
                return signature(args[0], *args)

    for vector_type, instruction in instructions.items():

        @lower_builtin(python_operator, vector_type, vector_type)
        def _lower(context, builder, sig, args, instruction=instruction):
            return getattr(builder, instruction)(*args)


_operator(operator.add, {f32x16: "fadd", i32x16: "add"})
_operator(operator.sub, {f32x16: "fsub", i32x16: "sub"})
_operator(operator.mul, {f32x16: "fmul", i32x16: "mul"})
_operator(operator.truediv, {f32x16: "fdiv"})
_operator(operator.lshift, {i32x16: "shl"})
_operator(operator.rshift, {i32x16: "lshr"})
_operator(operator.and_, {i32x16: "and_"})


@function(f32x16(int64, int64))
def load(builder, address, index):
    """Loads sixteen consecutive float32 from `index` on."""
    value = builder.load(element_pointer(builder, address, index, FLOATS, 4))
    value.align = 4
    return value


@function(void(int64, int64, f32x16))
def store(builder, address, index, value):
    """Stores sixteen float32 from `index` on."""
    builder.store(value, element_pointer(builder, address, index, FLOATS, 4)).align = 4


@function(i32x16(int64, int64))
def load_ints(builder, address, index):
    """Loads sixteen consecutive int32 from `index` on."""
    value = builder.load(element_pointer(builder, address, index, INTS, 4))
    value.align = 4
    return value


@function(void(int64, int64, i32x16))
def store_ints(builder, address, index, value):
    """Stores sixteen int32 from `index` on."""
    builder.store(value, element_pointer(builder, address, index, INTS, 4)).align = 4


@function(i32x16())
def lane_numbers(builder):
    """Returns the numbers 0 to 15."""
    return ir.Constant(INTS, list(range(LANES)))


@function(f32x16(float32))
def broadcast(builder, scalar):
    """Returns sixteen copies of a float32."""
    return broadcast_value(builder, scalar)


@function(i32x16(int64))
def broadcast_int(builder, scalar):
    """Returns sixteen copies of an integer, taken modulo 2**32."""
    return broadcast_value(builder, builder.trunc(scalar, _i32))


@function(float32(f32x16))
def first_lane(builder, x):
    """Returns the first lane."""
    return builder.extract_element(x, ir.Constant(_i32, 0))


fma = function(f32x16(f32x16, f32x16, f32x16), "fma", "Returns x * y + z with one rounding.")(multiply_add)


@function(f32x16(f32x16))
def roots(builder, x):
    """Returns the square roots, correctly rounded."""
    return call_llvm(builder, "llvm.sqrt.v16f32", FLOATS, [x])


@function(f32x16(f32x16))
def absolute(builder, x):
    """Returns |x|."""
    return call_llvm(builder, "llvm.fabs.v16f32", FLOATS, [x])


def _larger(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _smaller(builder, x, y):
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


def _larger_int(builder, x, y):
    return builder.select(builder.icmp_signed(">", x, y), x, y)


def _smaller_int(builder, x, y):
    return builder.select(builder.icmp_signed("<", x, y), x, y)


def _larger_unsigned(builder, x, y):
    return builder.select(builder.icmp_unsigned(">", x, y), x, y)


maximum = function(f32x16(f32x16, f32x16), "maximum", "Returns the larger of each pair (of finite numbers).")(_larger)
minimum = function(f32x16(f32x16, f32x16), "minimum", "Returns the smaller of each pair (of finite numbers).")(_smaller)
maximum_ints = function(i32x16(i32x16, i32x16), "maximum_ints", "Returns the larger of each pair.")(_larger_int)
minimum_ints = function(i32x16(i32x16, i32x16), "minimum_ints", "Returns the smaller of each pair.")(_smaller_int)
maximum_unsigned = function(
    i32x16(i32x16, i32x16), "maximum_unsigned", "Returns the larger of each pair, both read without a sign."
)(_larger_unsigned)


@function(i32x16(f32x16))
def to_ints(builder, x):
    """Converts whole floats below 2**31 in magnitude to integers."""
    return builder.fptosi(x, INTS)


@function(f32x16(i32x16))
def to_floats(builder, x):
    """Returns the nearest floats."""
    return builder.sitofp(x, FLOATS)


@function(f32x16(i32x16))
def bits_to_floats(builder, x):
    """Returns the same bits, read as floats."""
    return builder.bitcast(x, FLOATS)


@function(f32x16(f32x16, int64, f32x16))
def first_lanes(builder, x, count, others):
    """Returns the first `count` lanes of one vector and the other lanes of another."""
    numbers = ir.Constant(INTS, list(range(LANES)))
    kept = builder.icmp_signed("<", numbers, broadcast_value(builder, builder.trunc(count, _i32)))
    return builder.select(kept, x, others)


@function(f32x16(f32x16, f32x16, f32x16))
def where_above(builder, x, y, chosen):
    """Returns the lanes of `chosen` where x > y, and 0 elsewhere."""
    return builder.select(builder.fcmp_ordered(">", x, y), chosen, broadcast_constant(0.0, ir.FloatType()))


@function(int64(f32x16, f32x16))
def lanes_above(builder, x, y):
    """Returns one bit for each lane, the first lane's lowest: 1 if x > y."""
    return builder.zext(builder.bitcast(builder.fcmp_ordered(">", x, y), _i16), _i64)


@function(i32x16(f32x16))
def float_bits_of(builder, x):
    """Returns the same bits, read as integers."""
    return builder.bitcast(x, INTS)


def _load_narrow(name, element):
    narrow, size = ir.VectorType(element, LANES), element.width // 8

    def emit(builder, address, index):
        value = builder.load(element_pointer(builder, address, index, narrow, size))
        value.align = size
        return builder.sitofp(builder.sext(value, INTS), FLOATS)

    doc = f"Loads sixteen consecutive int{element.width} from `index` on, as floats."
    return function(f32x16(int64, int64), name, doc)(emit)


def _store_narrow(name, element):
    narrow, size = ir.VectorType(element, LANES), element.width // 8

    def emit(builder, address, index, value):
        stored = builder.store(builder.trunc(value, narrow), element_pointer(builder, address, index, narrow, size))
        stored.align = size

    doc = f"Stores the low {element.width} bits of each lane; `index` counts these."
    return function(void(int64, int64, i32x16), name, doc)(emit)


load_bytes, store_bytes = _load_narrow("load_bytes", _i8), _store_narrow("store_bytes", _i8)
load_words, store_words = _load_narrow("load_words", _i16), _store_narrow("store_words", _i16)


@function(void(int64, int64, i32x16))
def store_magnitudes(builder, address, index, value):
    """Stores the magnitude of each lane's low byte, -128 as 128."""
    narrow = ir.VectorType(_i8, LANES)
    value = builder.trunc(value, narrow)
    negative = builder.icmp_signed("<", value, broadcast_constant(0, _i8))
    value = builder.select(negative, builder.sub(broadcast_constant(0, _i8), value), value)
    builder.store(value, element_pointer(builder, address, index, narrow, 1)).align = 1


@function(f32x16(int64, i32x16, f32x16))
def interpolate(builder, table, indices, fraction):
    """Interpolates in each lane between floats `index` and `index + 1` of a table: fma(fraction, next - this, this)."""
    pairs = []  # both neighbours are one load of eight bytes
    for half in range(2):
        vector = ir.Constant(ir.VectorType(_i64, LANES // 2), ir.Undefined)
        for lane in range(LANES // 2):
            index = builder.extract_element(indices, ir.Constant(_i32, LANES // 2 * half + lane))
            pair = builder.load(element_pointer(builder, table, builder.sext(index, _i64), _i64, 4))
            pair.align = 4
            vector = builder.insert_element(vector, pair, ir.Constant(_i32, lane))
        pairs.append(builder.bitcast(vector, FLOATS))
    low, high = (
        builder.shuffle_vector(*pairs, ir.Constant(INTS, list(range(first, 2 * LANES, 2)))) for first in (0, 1)
    )
    return multiply_add(builder, fraction, builder.fsub(high, low), low)


def fold(builder, vector, combine):
    """Combines all lanes in the fixed tree 16 -> 8 -> 4 -> 2 -> 1."""
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        low, high = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(_i32, lanes), list(range(start, start + lanes)))
            )
            for start in (0, lanes)
        )
        vector = combine(builder, low, high)
    return builder.extract_element(vector, ir.Constant(_i32, 0))


@function(float32(f32x16))
def total(builder, x):
    """Returns the sum of the lanes, in a fixed tree."""
    return fold(builder, x, ir.IRBuilder.fadd)


@function(int64(i32x16))
def total_ints(builder, x):
    """Returns the sum of the lanes, modulo 2**32."""
    return builder.sext(fold(builder, x, ir.IRBuilder.add), _i64)


@function(float32(f32x16))
def largest(builder, x):
    """Returns the largest lane."""
    return fold(builder, x, _larger)


@function(int64(i32x16))
def largest_int(builder, x):
    """Returns the largest lane."""
    return builder.sext(fold(builder, x, _larger_int), _i64)


@function(int64(i32x16))
def largest_unsigned(builder, x):
    """Returns the largest lane, read without a sign."""
    return builder.zext(fold(builder, x, _larger_unsigned), _i64)


def _transposed(builder, rows):
    """Returns the columns of a 16 x 16 matrix of vectors, by swapping blocks of 8, 4, 2 and 1 across the diagonal."""
    for size in (8, 4, 2, 1):
        kept = [lane if not lane & size else LANES + lane - size for lane in range(LANES)]
        moved = [lane + size if not lane & size else LANES + lane for lane in range(LANES)]
        swapped = list(rows)
        for i in range(LANES):
            if not i & size:
                pair = rows[i], rows[i | size]
                swapped[i] = builder.shuffle_vector(*pair, ir.Constant(INTS, kept))
                swapped[i | size] = builder.shuffle_vector(*pair, ir.Constant(INTS, moved))
        rows = swapped
    return rows


@function(void(int64, int64, int64, int64))
def transpose(builder, pointers, offset, target, target_bytes):
    """Writes the transpose of 16 rows of 16 four-byte elements.

    Row i lies at the i-th int64 address in `pointers`, plus `offset` bytes; column j at `target + j * target_bytes`.
    """
    rows = []
    for i in range(LANES):
        row = builder.load(element_pointer(builder, pointers, ir.Constant(_i64, i), _i64, 8))
        value = builder.load(builder.inttoptr(builder.add(row, offset), INTS.as_pointer()))
        value.align = 4
        rows.append(value)
    for j, column in enumerate(_transposed(builder, rows)):
        place = builder.add(target, builder.mul(target_bytes, ir.Constant(_i64, j)))
        builder.store(column, builder.inttoptr(place, INTS.as_pointer())).align = 4
