"""Compiled functions; only this module calls Numba's compiler.

    @kernel                                  one unit of machine code, called by its symbol
    def layer_norm(x: address, ..., rows: count): ...

    @inlined                                 a helper that becomes part of every kernel that uses it
    def exp(x): ...

A kernel takes addresses, counts and floats, writes through the addresses and returns nothing (or one number).
Kernels call one another like functions, but each is compiled once, on its own, and linked by symbol like object files
of C. Otherwise Numba would optimise every callee again inside each of its callers, and the first start would take
minutes instead of seconds.

`program` gathers the kernels, stores the machine code on disk, and lets Python call them. Once that file exists, this
module and Numba are not imported.
"""

import inspect

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types

from cpunmt.simd.emission import function

address = types.int64  # of the first byte of a C-contiguous array
count = types.int64  # a size, an index or an id
real = types.float32

inlined = numba.njit(error_model="numpy", inline="always")

KERNELS = {}  # name -> Kernel, callees before callers: the order of definition
_NOWHERE = 1 << 12  # an address without code, for the kernels that Numba's own machine code, never used, calls


class Kernel:
    """A function of typed arguments that compiled code calls by symbol."""

    def __init__(self, function):
        annotations = dict(function.__annotations__)
        result = annotations.pop("return", types.void)
        self.name = function.__name__
        self.symbol = "cpunmt_" + self.name
        self.function = function
        self.signature = result(*annotations.values())
        #: one letter for the result, then one for each argument: see program._TYPES
        letter = {types.int64: "i", types.float32: "f", types.void: "v"}
        self.letters = letter[result] + "".join(letter[argument] for argument in annotations.values())
        self._numba_type_ = types.ExternalFunction(self.symbol, self.signature)
        llvm.add_symbol(self.symbol, _NOWHERE)  # Numba resolves the references of callers at once

    def compile(self) -> llvm.ModuleRef:
        """Compiles the kernel; returns an optimised LLVM module that defines `symbol`."""
        compiled = numba.cfunc(self.signature, error_model="numpy")(self.function)
        module = llvm.parse_assembly(compiled.inspect_llvm())
        if any(function.name == "numba_gil_ensure" for function in module.functions):
            raise TypeError(f"kernel {self.name} may raise: leave out min, max, and the index of a tuple")
        module.get_function(compiled.native_name).name = self.symbol
        for number, defined in enumerate([*module.functions, *module.global_variables]):
            if not defined.is_declaration and defined.name != self.symbol:
                defined.name = f"{self.symbol}_{number}"  # Numba's names count earlier compilations
        return module


def kernel(function):
    """Registers `function`, whose arguments are annotated with `address`, `count` or `real`, as a kernel."""
    made = Kernel(function)
    if made.name in KERNELS:
        raise TypeError(f"two kernels are called {made.name!r}")
    KERNELS[made.name] = made
    return made


def one_of(kernels):
    """Makes a function for compiled code that takes a number and arguments, and calls that one of `kernels` with them.

    All have the same signature. For a number beyond them the function calls no kernel, and its result is undefined.
    """
    signature = kernels[0].signature
    if any(kernel.signature != signature for kernel in kernels):
        raise TypeError(f"kernels of different signatures: {', '.join(kernel.name for kernel in kernels)}")

    def chosen(builder, number, *arguments):
        result = {types.void: ir.VoidType(), types.int64: ir.IntType(64)}[signature.return_type]
        function_type = ir.FunctionType(result, [argument.type for argument in arguments])
        begun, done, results = builder.block, builder.append_basic_block("done"), []
        choice = builder.switch(number, done)
        for index, kernel in enumerate(kernels):
            block = builder.append_basic_block(kernel.name)
            choice.add_case(ir.Constant(number.type, index), block)
            builder.position_at_end(block)
            known = builder.module.globals.get(kernel.symbol)
            call = builder.call(known or ir.Function(builder.module, function_type, kernel.symbol), arguments)
            results.append((call, block))
            builder.branch(done)
        builder.position_at_end(done)
        if signature.return_type is types.void:
            return None
        joined = builder.phi(result)
        for made, block in [*results, (ir.Constant(result, ir.Undefined), begun)]:
            joined.add_incoming(made, block)
        return joined

    names = ["builder", "number", *(f"argument{i}" for i in range(len(signature.args)))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    chosen.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return function(signature.return_type(types.int64, *signature.args))(chosen)
