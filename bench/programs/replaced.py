"""The program with some kernels replaced, to measure a part of the engine with all else equal."""

import functools
from collections.abc import Mapping

import llvmlite.binding as llvm

from cpunmt.engine.compiler import emit
from cpunmt.engine.object_code import ObjectCode, initialize_llvm
from cpunmt.engine.program import Program
from cpunmt.simd import jit


@functools.cache
def _compiled(kernel: jit.Kernel) -> llvm.ModuleRef:
    return kernel.compile()


def program_with(replacements: Mapping[str, jit.Kernel]) -> Program:
    """Returns the program. `replacements`: name of one of the engine's kernels -> a kernel with the same arguments."""
    import cpunmt.search.beam  # noqa: F401  defines the kernels

    initialize_llvm()
    linked, signatures = llvm.parse_assembly(""), {}
    for name, kernel in jit.KERNELS.items():
        if not (kernel.function.__module__ or "").startswith("cpunmt."):  # a benchmark's
            continue
        chosen = replacements.get(name, kernel)
        if chosen.letters != kernel.letters:
            raise TypeError(f"{chosen.name} takes other arguments than {name}")
        _compiled(kernel)  # its callers are compiled against it
        module = _compiled(chosen).clone()
        module.get_function(chosen.symbol).name = kernel.symbol
        linked.link_in(module)
        signatures[name] = kernel.letters
    return Program(ObjectCode(emit(linked)), signatures)
