"""Single reads and writes through an address, for compiled code: scalars and records."""

import numba
from llvmlite import ir
from numba.core.types import float32, float64, int64, void
from numba.extending import intrinsic

from cpunmt.simd.emission import call_llvm, constant, element_pointer, function, prefetch

_i8, _i32, _i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_f32, _f64 = ir.FloatType(), ir.DoubleType()


@function(float32(int64, int64))
def load_f32(builder, address, index):
    """Reads the float32 at `address + 4 * index`."""
    return builder.load(element_pointer(builder, address, index, _f32, 4))


@function(void(int64, int64, float32))
def store_f32(builder, address, index, value):
    """Writes a float32 at `address + 4 * index`."""
    builder.store(value, element_pointer(builder, address, index, _f32, 4))


@function(int64(int64, int64))
def load_i8(builder, address, index):
    """Reads the int8 at `address + index`, as int64."""
    return builder.sext(builder.load(element_pointer(builder, address, index, _i8, 1)), _i64)


@function(void(int64, int64, int64))
def store_i8(builder, address, index, value):
    """Writes the low 8 bits of `value` at `address + index`."""
    builder.store(builder.trunc(value, _i8), element_pointer(builder, address, index, _i8, 1))


@function(int64(int64, int64))
def load_i32(builder, address, index):
    """Reads the int32 at `address + 4 * index`, as int64."""
    return builder.sext(builder.load(element_pointer(builder, address, index, _i32, 4)), _i64)


@function(void(int64, int64, int64))
def store_i32(builder, address, index, value):
    """Writes the low 32 bits of `value` at `address + 4 * index`."""
    builder.store(builder.trunc(value, _i32), element_pointer(builder, address, index, _i32, 4))


@function(int64(int64, int64))
def load_i64(builder, address, index):
    """Reads the int64 at `address + 8 * index`."""
    return builder.load(element_pointer(builder, address, index, _i64, 8))


@function(void(int64, int64, int64))
def store_i64(builder, address, index, value):
    """Writes an int64 at `address + 8 * index`."""
    builder.store(value, element_pointer(builder, address, index, _i64, 8))


@function(int64(int64, int64))
def load_flag(builder, address, index):
    """Returns the int32 at `address + 4 * index`; earlier writes of the thread that stored it are visible
    afterwards."""
    pointer = element_pointer(builder, address, index, _i32, 4)
    return builder.sext(builder.load_atomic(pointer, "acquire", 4), _i64)


@function(void(int64, int64, int64))
def store_flag(builder, address, index, value):
    """Stores a flag for `load_flag`, visible to any thread."""
    pointer = element_pointer(builder, address, index, _i32, 4)
    builder.store_atomic(builder.trunc(value, _i32), pointer, "release", 4)


@function(float32(float32))
def square_root(builder, x):
    """Returns sqrt(x), correctly rounded."""
    return call_llvm(builder, "llvm.sqrt.f32", _f32, [x])


@function(int64(int64, int64))
def lesser(builder, x, y):
    """Returns the smaller of two int64; Python's `min` brings code that raises."""
    return builder.select(builder.icmp_signed("<", x, y), x, y)


@function(int64(float64))
def float_bits(builder, x):
    """Returns the bits of a float64, as an int64."""
    return builder.bitcast(x, _i64)


@function(float64(int64))
def bits_float(builder, bits):
    """Inverts `float_bits`."""
    return builder.bitcast(bits, _f64)


@function(int64(int64))
def trailing_zeros(builder, bits):
    """Returns the position of the lowest 1 bit of a nonzero int64."""
    return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))


@function(void(int64))
def prefetch_line(builder, address):
    """Prefetches the cache line at an address, which need not exist."""
    prefetch(builder, address, constant(0))


@function(void(int64))
def prefetch_early(builder, address):
    """Prefetches into the L2 cache, which waits for more lines at once than the L1 cache."""
    prefetch(builder, address, constant(0), level=2)


@intrinsic
def address_of(typing_context, record):
    """Returns the address of a record, or of a record inside a record."""

    def generate(context, builder, sig, args):
        return builder.ptrtoint(args[0], _i64)

    return int64(record), generate


@intrinsic
def at(typing_context, record, address, index):
    """Returns record `index` of an array of NumPy records of type `record` that begins at `address`."""
    found = record.dtype

    def generate(context, builder, sig, args):
        offset = builder.mul(args[2], constant(found.size))
        return builder.inttoptr(builder.add(args[1], offset), context.get_value_type(found))

    return found(record, int64, int64), generate


def local_record(dtype):
    """Makes a function `make()` for compiled code that returns a NumPy record on the stack, not shared by threads.

    Its fields are uninitialized; it ends with the kernel that made it.
    """
    record = numba.from_dtype(dtype)

    @intrinsic
    def make(typing_context):
        def generate(context, builder, sig, args):
            with builder.goto_entry_block():
                memory = builder.alloca(ir.ArrayType(_i64, -(-dtype.itemsize // 8)))
            return builder.bitcast(memory, context.get_value_type(record))

        return record(), generate

    return make
