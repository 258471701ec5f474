"""Single reads and writes through an address, for compiled code: scalars and records."""

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cpunmt.simd.emission import prefetch
from cpunmt.simd.vector import call_llvm, element_pointer

_i8, _i32, _i64, _f32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()


@intrinsic
def load_f32(typing_context, address, index):
    """The float32 at `address + 4 * index`."""

    def generate(context, builder, sig, args):
        return builder.load(element_pointer(builder, *args, _f32, 4))

    return types.float32(types.int64, types.int64), generate


@intrinsic
def store_f32(typing_context, address, index, value):
    """Write a float32 at `address + 4 * index`."""

    def generate(context, builder, sig, args):
        builder.store(args[2], element_pointer(builder, args[0], args[1], _f32, 4))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float32), generate


@intrinsic
def load_i32(typing_context, address, index):
    """The int32 at `address + 4 * index`, as int64."""

    def generate(context, builder, sig, args):
        return builder.sext(builder.load(element_pointer(builder, *args, _i32, 4)), _i64)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def store_i32(typing_context, address, index, value):
    """Write the low 32 bits of `value` at `address + 4 * index`."""

    def generate(context, builder, sig, args):
        builder.store(builder.trunc(args[2], _i32), element_pointer(builder, args[0], args[1], _i32, 4))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def load_i64(typing_context, address, index):
    """The int64 at `address + 8 * index`."""

    def generate(context, builder, sig, args):
        return builder.load(element_pointer(builder, *args, _i64, 8))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def store_i64(typing_context, address, index, value):
    """Write an int64 at `address + 8 * index`."""

    def generate(context, builder, sig, args):
        builder.store(args[2], element_pointer(builder, args[0], args[1], _i64, 8))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def square_root(typing_context, x):
    """sqrt(x), correctly rounded."""

    def generate(context, builder, sig, args):
        return call_llvm(builder, "llvm.sqrt.f32", _f32, list(args))

    return types.float32(types.float32), generate


@intrinsic
def lesser(typing_context, x, y):
    """The smaller of two int64; Python's `min` brings code that raises."""

    def generate(context, builder, sig, args):
        return builder.select(builder.icmp_signed("<", *args), *args)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def address_of(typing_context, record):
    """Address of a record, or of a record inside a record."""

    def generate(context, builder, sig, args):
        return builder.ptrtoint(args[0], _i64)

    return types.int64(record), generate


@intrinsic
def float_bits(typing_context, x):
    """The bits of a float64, as an int64."""

    def generate(context, builder, sig, args):
        return builder.bitcast(args[0], _i64)

    return types.int64(types.float64), generate


@intrinsic
def bits_float(typing_context, bits):
    """Inverse of `float_bits`."""

    def generate(context, builder, sig, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def trailing_zeros(typing_context, bits):
    """Position of the lowest 1 bit of an int64 that is not 0."""

    def generate(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def prefetch_line(typing_context, address):
    """Ask for the cache line at an address, which need not exist."""

    def generate(context, builder, sig, args):
        prefetch(builder, args[0], ir.Constant(_i64, 0))
        return context.get_dummy_value()

    return types.void(types.int64), generate


def record_reader(dtype):
    """A function `read(address, index)` for compiled code: record `index` of an array of NumPy records."""
    record = numba.from_dtype(dtype)
    size = dtype.itemsize

    @intrinsic
    def read(typing_context, address, index):
        def generate(context, builder, sig, args):
            offset = builder.mul(args[1], ir.Constant(_i64, size))
            return builder.inttoptr(builder.add(args[0], offset), context.get_value_type(record))

        return record(types.int64, types.int64), generate

    return read
