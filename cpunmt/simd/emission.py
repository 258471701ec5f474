"""What the code generators of `simd` share: addresses, loads, a counted loop, a switch over tile shapes."""

from llvmlite import ir

_i64 = ir.IntType(64)


def pointer(builder, base, offset, llvm_type):
    return builder.inttoptr(builder.add(base, offset), llvm_type.as_pointer())


def load(builder, base, offset, llvm_type):
    value = builder.load(pointer(builder, base, offset, llvm_type))
    value.align = 1
    return value


def constant(number):
    return ir.Constant(_i64, number)


def prefetch(builder, base, offset, level=1):
    """Ask for the cache line at an address, which need not exist, into the first or second cache."""
    arguments = [pointer(builder, base, offset, ir.IntType(8))]
    # to read, how near, data
    arguments += [ir.Constant(ir.IntType(32), value) for value in (0, {1: 3, 2: 2}[level], 1)]
    function_type = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    name = "llvm.prefetch.p0"
    function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
    builder.call(function, arguments)


def _never_unrolled(module):
    """Metadata of a loop: a tile fills the registers, so two steps at once would spill half of them."""
    loop = ir.values.MDValue(module, (), name=str(len(module.metadata)))
    loop.operands = (loop, module.add_metadata(["llvm.loop.unroll.disable"]))  # its own first operand: that is the form
    return loop


def depth_loop(builder, steps, start, body):
    """for step in range(steps): values = body(step, values); returns the last values. `steps` is at least 1."""
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


def tile_shapes(shapes, tile_rows):
    """All (rows, panels) that a product needs, of `shapes` {rows: panels}: each as it is, and with one panel; those
    that tiles among others may have, of up to `tile_rows` rows, also with that many rows' panels."""
    found = {(rows, width) for rows, panels in shapes.items() for width in (panels, 1)}
    return sorted(found | {(rows, shapes[tile_rows]) for rows in range(1, tile_rows + 1)})


def switch(builder, rows, panels, shapes, emit):
    """Run `emit(r, p)` for the shape that equals (rows, panels); nothing if there is none."""
    done = builder.append_basic_block("tiled")
    choice = builder.switch(builder.add(builder.mul(rows, constant(16)), panels), done)
    for r, p in shapes:
        block = builder.append_basic_block(f"tile_{r}x{p}")
        choice.add_case(constant(16 * r + p), block)
        builder.position_at_end(block)
        emit(r, p)
        builder.branch(done)
    builder.position_at_end(done)
