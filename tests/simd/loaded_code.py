"""Loads LLVM code into memory, for tests that call it."""

import llvmlite.binding as llvm

from cpunmt.simd import isa


def loaded(code: str, name: str = "tiles"):
    """Compiles LLVM `code` for this machine; returns (execution engine, to be kept, address of the function)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = isa.target_cpu(isa.supported()[0])
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=1)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    return engine, engine.get_function_address(name)
