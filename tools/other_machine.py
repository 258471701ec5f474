"""Compiles for another architecture in a process that runs none of the compiled code.

Numba and LLVM compile for the machine that they find. Here they find another one: the same passes with the same target
produce that machine's own code.
"""

import llvmlite.binding as llvm

from cpunmt.simd import processor

TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}


def compile_on_behalf_of(machine: str) -> None:
    """Sets the architecture for the rest of this process; call it before Numba is imported."""
    triple, target_of = TRIPLES[machine], llvm.Target.from_triple
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.get_process_triple = llvm.get_default_triple = lambda: triple
    llvm.Target.from_default_triple = classmethod(lambda kind: target_of(triple))
    processor.machine = lambda: machine
