"""The common parts of the code generators of `simd`: addresses, loads, broadcasts, a counted loop, a switch over tile
shapes, and the conversion of generators to functions for compiled code."""

import inspect

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cpunmt.simd import processor

_i32, _i64 = ir.IntType(32), ir.IntType(64)
LANES = 16
FLOATS, INTS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_i32, LANES)


def function(signature, name="", doc=""):
    """Decorates `emit(builder, ...)`: makes it a function for compiled code, of a Numba signature. It has the arguments
    and the docstring of `emit`, unless a name and a docstring are passed."""

    def decorate(emit):
        parameters = inspect.signature(emit)  # the builder stands for Numba's typing context

        def typed(*given, **named):
            parameters.bind(*given, **named)  # or raises TypeError

            def generate(context, builder, sig, values):
                made = emit(builder, *values)
                return context.get_dummy_value() if signature.return_type is types.void else made

            return signature, generate

        typed.__signature__ = parameters  # read by Numba
        typed.__name__, typed.__doc__ = name or emit.__name__, doc or emit.__doc__
        return intrinsic(typed)

    return decorate


def tile_function(shapes, record, name="", doc=""):
    """Decorates `emit(builder, rows, panels, tile)`, which emits one tile: makes it a function for compiled code.

    The function takes (rows, panels, tile) and runs the tile of that shape, or nothing if `shapes` lacks it. The
    arguments of a tile are a NamedTuple `record`, of int64 for compiled code, of LLVM values for `emit`.
    """
    given = types.NamedUniTuple(types.int64, len(record._fields), record)

    def decorate(emit):
        @function(types.void(types.int64, types.int64, given), name or emit.__name__, doc or emit.__doc__)
        def tiles(builder, rows, panels, tile):
            fields = record(*(builder.extract_value(tile, i) for i in range(len(record._fields))))
            _switch(builder, rows, panels, shapes, lambda r, p: emit(builder, r, p, fields))

        return tiles

    return decorate


def element_pointer(builder, address, index, llvm_type, size):
    """Returns a pointer to `llvm_type` at address + index * size."""
    offset = builder.mul(index, ir.Constant(_i64, size))
    return builder.inttoptr(builder.add(address, offset), llvm_type.as_pointer())


def broadcast_constant(number, element_type, lanes=LANES):
    """Returns a vector of `lanes` copies of a number."""
    return ir.Constant(ir.VectorType(element_type, lanes), [number] * lanes)


def broadcast_value(builder, scalar, lanes=LANES):
    """Returns a vector of `lanes` copies of an LLVM scalar."""
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(_i32, 0))
    return builder.shuffle_vector(first, undefined, broadcast_constant(0, _i32, lanes))


def call_llvm(builder, name, result_type, arguments):
    """Calls the LLVM intrinsic `name`."""
    function_type = ir.FunctionType(result_type, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
    return builder.call(function, arguments)


def multiply_add(builder, x, y, z):
    """Returns x * y + z of FLOATS, with one rounding."""
    return call_llvm(builder, "llvm.fma.v16f32", FLOATS, [x, y, z])


def pointer(builder, base, offset, llvm_type):
    return builder.inttoptr(builder.add(base, offset), llvm_type.as_pointer())


def load(builder, base, offset, llvm_type):
    value = builder.load(pointer(builder, base, offset, llvm_type))
    value.align = 1
    return value


def constant(number):
    return ir.Constant(_i64, number)


def prefetch(builder, base, offset, level=1):
    """Prefetches the cache line at an address, which need not exist, into the L1 or the L2 cache."""
    # to read, how near, data
    details = [ir.Constant(_i32, value) for value in (0, {1: 3, 2: 2}[level], 1)]
    call_llvm(builder, "llvm.prefetch.p0", ir.VoidType(), [pointer(builder, base, offset, ir.IntType(8)), *details])


def opaque(builder, value):
    """Returns the same value hidden from the optimizer: a vector or a float in a vector register, or an
    integer.

    The compiler does not move loads of later values before this one.
    """
    registers = "w" if processor.machine() == "aarch64" else "v"
    constraint = f"={'r' if isinstance(value.type, ir.IntType) else registers},0"
    return builder.asm(ir.FunctionType(value.type, [value.type]), "", constraint, [value], side_effect=True)


def in_order(builder, vector):
    """Returns the same FLOATS. Keeps sums in source order on aarch64, where LLVM would load so early that registers
    spill."""
    if processor.machine() != "aarch64":
        return vector
    kind = ir.VectorType(_i32, 4)
    parts = (ir.Constant(kind, list(range(first, first + 4))) for first in range(0, LANES, 4))
    parts = [opaque(builder, builder.shuffle_vector(vector, vector, mask)) for mask in parts]
    eight = ir.Constant(ir.VectorType(_i32, 8), list(range(8)))
    low, high = (builder.shuffle_vector(*pair, eight) for pair in (parts[:2], parts[2:]))
    return builder.shuffle_vector(low, high, ir.Constant(INTS, list(range(LANES))))


def _never_unrolled(module):
    """Makes a loop's metadata against unrolling: a tile fills the registers, so two steps at once would spill."""
    loop = ir.values.MDValue(module, (), name=str(len(module.metadata)))
    loop.operands = (loop, module.add_metadata(["llvm.loop.unroll.disable"]))  # its own first operand, as LLVM requires
    return loop


def depth_loop(builder, steps, start, body):
    """Emits `for step in range(steps): values = body(step, values)`, steps at least 1; returns the last values."""
    before = builder.block
    loop, done = builder.append_basic_block("depth"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    step = builder.phi(_i64)
    step.add_incoming(constant(0), before)
    values = []
    for value in start:
        phi = builder.phi(value.type)
        phi.add_incoming(value, before)
        values.append(phi)
    made = body(step, values)
    following = builder.add(step, constant(1))
    step.add_incoming(following, builder.block)
    for phi, value in zip(values, made, strict=True):
        phi.add_incoming(value, builder.block)
    again = builder.cbranch(builder.icmp_signed("<", following, steps), loop, done)
    again.set_metadata("llvm.loop", _never_unrolled(builder.module))
    builder.position_at_end(done)
    return made


def _switch(builder, rows, panels, shapes, emit):
    """Runs `emit(r, p)` for the shape that equals (rows, panels), or nothing if `shapes` lacks it."""
    done = builder.append_basic_block("tiled")
    choice = builder.switch(builder.add(builder.mul(rows, constant(16)), panels), done)
    for r, p in shapes:
        block = builder.append_basic_block(f"tile_{r}x{p}")
        choice.add_case(constant(16 * r + p), block)
        builder.position_at_end(block)
        emit(r, p)
        builder.branch(done)
    builder.position_at_end(done)
