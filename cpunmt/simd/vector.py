"""`f32x16` and `i32x16`: sixteen lanes that compiled code uses like numbers.

Every float kernel is written on these types, whatever the processor: LLVM splits them into the registers
the machine has (one of AVX-512, two of AVX2, four of SSE or NEON) without changing a bit of any lane, and sums over
lanes end in one fixed tree. So float results do not depend on the instruction set.

Operators: `+ - * /` on two f32x16, `+ - <<` on two i32x16. Everything else is a function below. Addresses are
integers, indices count elements; loads and stores need 4-byte alignment only, and are not bounds-checked.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

LANES = 16

_i8, _i16, _i32, _i64, _f32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
FLOATS = ir.VectorType(_f32, LANES)
INTS = ir.VectorType(_i32, LANES)


class _VectorType(types.Type):
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
    """Give two vectors of one type a binary operator, as one LLVM instruction."""

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
_operator(operator.mul, {f32x16: "fmul"})
_operator(operator.truediv, {f32x16: "fdiv"})
_operator(operator.lshift, {i32x16: "shl"})


def element_pointer(builder, address, index, llvm_type, size):
    """Pointer to `llvm_type` at address + index * size, for code generators."""
    offset = builder.mul(index, ir.Constant(_i64, size))
    return builder.inttoptr(builder.add(address, offset), llvm_type.as_pointer())


def splat_constant(number, element_type=_i32, lanes=LANES):
    return ir.Constant(ir.VectorType(element_type, lanes), [number] * lanes)


def splat_value(builder, scalar, lanes=LANES):
    """Vector of `lanes` copies of an LLVM scalar."""
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(_i32, 0))
    return builder.shuffle_vector(first, undefined, splat_constant(0, lanes=lanes))


def call_llvm(builder, name, result_type, arguments):
    """Call the LLVM intrinsic `name`."""
    function_type = ir.FunctionType(result_type, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
    return builder.call(function, arguments)


def function(result, arguments, doc):
    """Decorator: make `emit(builder, *values)` a function for compiled code, of the given Numba types."""

    def decorate(emit):
        def typed(typing_context, *given):
            def generate(context, builder, sig, values):
                made = emit(builder, *values)
                return context.get_dummy_value() if result is types.void else made

            return result(*arguments), generate

        names = ", ".join(f"argument{i}" for i in range(len(arguments)))
        scope = {"typed": typed}
        exec(f"def {emit.__name__}(typing_context, {names}): return typed(typing_context, {names})", scope)
        function = scope[emit.__name__]
        function.__doc__ = doc
        return intrinsic(function)

    return decorate


def _load(vector_type, name):
    def emit(builder, address, index):
        value = builder.load(element_pointer(builder, address, index, vector_type.llvm_type, 4))
        value.align = 4
        return value

    emit.__name__ = name
    return function(vector_type, (types.int64, types.int64), "Sixteen consecutive elements from `index` on.")(emit)


def _store(vector_type, name):
    def emit(builder, address, index, value):
        stored = builder.store(value, element_pointer(builder, address, index, vector_type.llvm_type, 4))
        stored.align = 4

    emit.__name__ = name
    return function(types.void, (types.int64, types.int64, vector_type), "Inverse of the load.")(emit)


load = _load(f32x16, "load")
load_ints = _load(i32x16, "load_ints")
store = _store(f32x16, "store")
store_ints = _store(i32x16, "store_ints")


@function(f32x16, (types.float32,), "Sixteen copies of a float32.")
def splat(builder, scalar):
    return splat_value(builder, scalar)


@function(i32x16, (types.int64,), "Sixteen copies of an integer, taken modulo 2**32.")
def splat_int(builder, scalar):
    return splat_value(builder, builder.trunc(scalar, _i32))


@function(types.float32, (f32x16,), "The first lane.")
def first_lane(builder, x):
    return builder.extract_element(x, ir.Constant(_i32, 0))


@function(f32x16, (f32x16, f32x16, f32x16), "x * y + z with one rounding.")
def fma(builder, x, y, z):
    return call_llvm(builder, "llvm.fma.v16f32", FLOATS, [x, y, z])


@function(f32x16, (f32x16,), "|x|.")
def absolute(builder, x):
    return call_llvm(builder, "llvm.fabs.v16f32", FLOATS, [x])


@function(f32x16, (f32x16,), "To the nearest integer, halves to even.")
def round_even(builder, x):
    return call_llvm(builder, "llvm.rint.v16f32", FLOATS, [x])  # in the rounding mode that is never changed


@function(f32x16, (f32x16, f32x16), "The larger of each pair (of finite numbers).")
def maximum(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


@function(f32x16, (f32x16, f32x16), "The smaller of each pair (of finite numbers).")
def minimum(builder, x, y):
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


@function(i32x16, (i32x16, i32x16), "The larger of each pair.")
def maximum_ints(builder, x, y):
    return builder.select(builder.icmp_signed(">", x, y), x, y)


@function(i32x16, (i32x16, i32x16), "The larger of each pair, both read without a sign.")
def maximum_unsigned(builder, x, y):
    return builder.select(builder.icmp_unsigned(">", x, y), x, y)


@function(i32x16, (f32x16,), "Integers from whole floats below 2**31 in magnitude.")
def to_ints(builder, x):
    return builder.fptosi(x, INTS)


@function(f32x16, (i32x16,), "Nearest floats.")
def to_floats(builder, x):
    return builder.sitofp(x, FLOATS)


@function(f32x16, (i32x16,), "The same bits, read as floats.")
def bits_to_floats(builder, x):
    return builder.bitcast(x, FLOATS)


@function(f32x16, (f32x16, types.int64, f32x16), "The first `count` lanes of one vector, the others of another.")
def first_lanes(builder, x, count, others):
    numbers = ir.Constant(INTS, list(range(LANES)))
    kept = builder.icmp_signed("<", numbers, splat_value(builder, builder.trunc(count, _i32)))
    return builder.select(kept, x, others)


@function(i32x16, (f32x16,), "The same bits, read as integers.")
def float_bits_of(builder, x):
    return builder.bitcast(x, INTS)


def _load_narrow(element, name):
    size = element.width // 8

    def emit(builder, address, index):
        narrow = ir.VectorType(element, LANES)
        value = builder.load(element_pointer(builder, address, index, narrow, size))
        value.align = size
        return builder.sitofp(builder.sext(value, INTS), FLOATS)

    emit.__name__ = name
    doc = f"Sixteen consecutive int{element.width} from `index` on, as floats."
    return function(f32x16, (types.int64, types.int64), doc)(emit)


def _store_narrow(element, name):
    size = element.width // 8

    def emit(builder, address, index, value):
        narrow = ir.VectorType(element, LANES)
        stored = builder.store(builder.trunc(value, narrow), element_pointer(builder, address, index, narrow, size))
        stored.align = size

    emit.__name__ = name
    doc = f"Store the low {element.width} bits of each lane, `index` counting them."
    return function(types.void, (types.int64, types.int64, i32x16), doc)(emit)


load_bytes = _load_narrow(_i8, "load_bytes")
load_words = _load_narrow(_i16, "load_words")
store_bytes = _store_narrow(_i8, "store_bytes")
store_words = _store_narrow(_i16, "store_words")


@function(types.void, (types.int64, types.int64, i32x16), "Store the magnitude of each lane's low byte, -128 as 128.")
def store_magnitudes(builder, address, index, value):
    narrow = ir.VectorType(_i8, LANES)
    value = builder.trunc(value, narrow)
    negative = builder.icmp_signed("<", value, splat_constant(0, _i8))
    value = builder.select(negative, builder.sub(splat_constant(0, _i8), value), value)
    builder.store(value, element_pointer(builder, address, index, narrow, 1)).align = 1


@function(
    f32x16,
    (types.int64, i32x16, f32x16),
    "Lane by lane, the line between floats `index` and `index + 1` of a table: fma(fraction, next - this, this).",
)
def interpolate(builder, table, indices, fraction):
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
    return call_llvm(builder, "llvm.fma.v16f32", FLOATS, [fraction, builder.fsub(high, low), low])


def fold(builder, vector, combine):
    """Combine all lanes in the fixed tree 16 -> 8 -> 4 -> 2 -> 1."""
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        low, high = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(_i32, lanes), list(range(start, start + lanes)))
            )
            for start in (0, lanes)
        )
        vector = combine(low, high)
    return builder.extract_element(vector, ir.Constant(_i32, 0))


@function(types.float32, (f32x16,), "Sum of the lanes, in a fixed tree.")
def total(builder, x):
    return fold(builder, x, builder.fadd)


@function(types.float32, (f32x16,), "Largest lane.")
def largest(builder, x):
    return fold(builder, x, lambda low, high: builder.select(builder.fcmp_ordered(">", low, high), low, high))


@function(types.float32, (f32x16,), "Smallest lane.")
def smallest(builder, x):
    return fold(builder, x, lambda low, high: builder.select(builder.fcmp_ordered("<", low, high), low, high))


@function(types.int64, (i32x16,), "Largest lane.")
def largest_int(builder, x):
    most = fold(builder, x, lambda low, high: builder.select(builder.icmp_signed(">", low, high), low, high))
    return builder.sext(most, _i64)


@function(types.int64, (i32x16,), "Largest lane, read without a sign.")
def largest_unsigned(builder, x):
    most = fold(builder, x, lambda low, high: builder.select(builder.icmp_unsigned(">", low, high), low, high))
    return builder.zext(most, _i64)


def _transposed(builder, rows):
    """Columns of a 16 x 16 matrix given as vectors: swap blocks of 8, 4, 2 and 1 across the diagonal."""
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


@function(
    types.void,
    (types.int64, types.int64, types.int64, types.int64),
    "Write the transpose of 16 rows of 16 four-byte elements: row i lies at the i-th int64 address in `pointers`, "
    "plus `offset` bytes; column j goes to `target + j * target_bytes`.",
)
def transpose(builder, pointers, offset, target, target_bytes):
    rows = []
    for i in range(LANES):
        row = builder.load(element_pointer(builder, pointers, ir.Constant(_i64, i), _i64, 8))
        value = builder.load(builder.inttoptr(builder.add(row, offset), INTS.as_pointer()))
        value.align = 4
        rows.append(value)
    for j, column in enumerate(_transposed(builder, rows)):
        place = builder.add(target, builder.mul(target_bytes, ir.Constant(_i64, j)))
        builder.store(column, builder.inttoptr(place, INTS.as_pointer())).align = 4
